"""Two tenants who do anything at every door of one server: nothing of one is in a reply to the
other, in a count, a suggestion, an error, a metric, a job or the audit; and nothing changes for the
one while the other is busy."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from tried import Counted, Rounds
from two_tenants import ALMOST, MARKS, NAMES, SHARED, TENANTS, Doors

from remloom import Edge, Entity, Resource
from remloom.errors import RemloomError
from remloom.operations import OPERATIONS, TOOLS, Operation

TENANT = st.sampled_from(TENANTS)
WAY = st.sampled_from(["key", "key", "page", "root"])
WORD = st.sampled_from([*SHARED, *NAMES.values(), *ALMOST.values(), "vault", "%", "' OR 1=1 --"])
# what may be written: whose name it is stays told by it
OWN_WORD = st.sampled_from([*SHARED, "vault", "%", "' OR 1=1 --"])
NUMBER = st.integers(0, 5)
# those of all tenants have no tenant's words in them
ANY = [
    one
    for one in (*OPERATIONS, *TOOLS)
    if one.needs != "home" and one.route is not None and not one.carries
]
_STATEMENTS = st.sampled_from(
    [
        'LOOKUP "Sarah Chen"',
        'FUZZY "Zebede" 0.1',
        'FUZZY "Yolanda" 0.1',
        'SEARCH "vault"',
        'TRAVERSE WITH LOOKUP "Sarah Chen" DEPTH 3',
        "SELECT * FROM resources",
        "SELECT COUNT(*) FROM entities",
        "SELEC nothing",
        *(f"SELECT * FROM resources WHERE tenant_id = '{tenant}'" for tenant in TENANTS),
    ]
)
_ARGUMENTS: dict[str, st.SearchStrategy[Any]] = {
    "statement": _STATEMENTS,
    "labels": st.lists(WORD, min_size=1, max_size=3),
    "documents": st.lists(WORD, min_size=1, max_size=2),
    "targets": st.lists(WORD, min_size=1, max_size=2),
    "schema": st.sampled_from(["resources", "entities", "moments"]),
    "limit": st.integers(1, 50),
    "first": st.just(1),
    "words": st.lists(WORD, min_size=1, max_size=2) | st.just(5),
    "slot": st.sampled_from(["food_and_dining.dietary_style", "diet", "name", "no.such"]),
    "kind": st.sampled_from(["moments", "sweep", "observe", "nothing"]),
    "model": st.just(False),
    "judge": st.just(False),
    "dry_run": st.booleans(),
    "question": WORD,
    "start": st.just("2020-01-01T00:00:00Z"),
    "end": st.just("2030-01-01T00:00:00Z"),
    "scopes": st.just(["read"]),
    "field": st.sampled_from(["name", "category", "nothing"]),
    "text": WORD | st.sampled_from(["SELECT * FROM resources", "SELECT * FROM lines"]),
}
_WRITTEN = {
    "labels": st.lists(OWN_WORD, min_size=1, max_size=3),
    "documents": st.lists(OWN_WORD, min_size=1, max_size=2),
    "words": st.lists(OWN_WORD, min_size=1, max_size=2),
    "question": OWN_WORD,
    "text": OWN_WORD,
}
_NAMED = ("id", "run", "name", "slot", "what", "src", "dst", "label", "label_or_id", "id_or_label",
          "ids", "uri", "prefix", "query", "type", "rel_type", "relation", "tenant", "key")  # fmt: skip
_TALLY: Counter[str] = Counter()


class TwoTenants(RuleBasedStateMachine):
    """Both tenants, and somebody without a key, at every door."""

    def __init__(self) -> None:
        super().__init__()
        self._home = Path(tempfile.mkdtemp(prefix="remloom-doors-"))
        self.doors = Doors(self._home)

    def teardown(self) -> None:
        _TALLY.update(self.doors.answered)
        self.doors.close()
        shutil.rmtree(self._home)

    @invariant()
    def nothing_of_another_was_told(self) -> None:
        assert not self.doors.wrong, "\n".join(self.doors.wrong)

    @rule(tenant=TENANT, way=WAY, number=NUMBER, name=st.sampled_from(SHARED), key=st.booleans())
    def write(self, tenant: str, way: str, number: int, name: str, key: bool) -> None:
        mark, own = MARKS[tenant], NAMES[tenant]
        records = [
            {"schema": "entities", "name": name, "type": "person", "summary": f"knows {mark}",
             "aliases": [f"{mark} {number}"], "properties": {mark: mark}},
            {"schema": "entities", "name": own, "type": "person", "summary": mark},
            {"schema": "resources", "name": name, "content": f"The code of the vault is {mark} {number}.",
             "uri": f"notes/{number}.md", "category": mark, "metadata": {mark: number}},
            {"schema": "edges", "src": name, "dst": own, "rel_type": f"guards_{mark}"},
        ]  # fmt: skip
        # both have the same key for what they write
        headers = {"Idempotency-Key": f"write-{number}-{name}"} if key else {}
        body = {"records": records}
        self.doors.send(tenant, "POST", "/v1/write", way=way, json=body, headers=headers)
        self.doors.undisturbed(tenant)

    @rule(tenant=TENANT, way=WAY, number=NUMBER)
    def read_in(self, tenant: str, way: str, number: int) -> None:
        mark = MARKS[tenant]
        text = f"# {mark} {number}\n\nI am {NAMES[tenant]}. I am vegetarian. The code is {mark}.\n"
        send = self.doors.send
        if number % 3 == 0:
            files = [("file", ("notes/today.md", text.encode()))]
            send(tenant, "POST", "/v1/documents?category=note", way=way, files=files)
        elif number % 3 == 1:
            named = {"X-File-Name": f"{mark}.md", "Content-Type": "text/markdown"}
            send(tenant, "POST", "/v1/documents", way=way, content=text, headers=named)
        else:
            turns = [{"speaker": NAMES[tenant], "content": text}]
            sent = {"messages": turns, "uri": "notes/today.md"}
            send(tenant, "POST", "/v1/chats", way=way, json=sent)
        self.doors.undisturbed(tenant)

    @rule(tenant=TENANT, way=WAY, data=st.data())
    def ask_anything(self, tenant: str, way: str, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(ANY))
        method, path, given = self._request(one, data)
        stream = {"Accept": "text/event-stream"} if one.is_long and data.draw(st.booleans()) else {}
        self.doors.send(tenant, method, path, way=way, headers=stream, **given)
        self.doors.undisturbed(tenant)

    @rule(tenant=TENANT, way=WAY, data=st.data(), progress=st.booleans())
    def call_a_tool(self, tenant: str, way: str, data: st.DataObject, progress: bool) -> None:
        one = data.draw(st.sampled_from([tool for tool in TOOLS if tool.is_default]))
        params: dict[str, Any] = {"name": one.name, "arguments": self._arguments(one, data)}
        if one.name == "remember":
            params["arguments"] = {"text": f"{MARKS[tenant]} lives here", "about": ["Sarah Chen"]}
        if progress:
            params["_meta"] = {"progressToken": MARKS[tenant]}
        self.doors.call(tenant, "tools/call", params, way)
        self.doors.undisturbed(tenant)

    @rule(tenant=TENANT, word=WORD)
    def read_a_resource(self, tenant: str, word: str) -> None:
        self.doors.call(tenant, "resources/read", {"uri": f"memory://record/{word}"})
        arguments = {"name": "context", "arguments": {"question": word}}
        self.doors.call(tenant, "prompts/get", arguments)

    @rule(tenant=TENANT, followed=st.booleans())
    def have_a_job_done(self, tenant: str, followed: bool) -> None:
        payload = {
            "kind": "moments",
            "payload": {"model": False},
            "key": f"nightly {MARKS[tenant]}",
        }
        made = self.doors.send(tenant, "POST", "/v1/jobs", json=payload)
        id = made.json()["id"]
        told = self.doors.send(tenant, "GET", f"/v1/jobs/{id}/events").text
        assert "event: result" in told
        if followed:
            other = next(one for one in TENANTS if one != tenant)
            for path in (f"/v1/jobs/{id}", f"/v1/jobs/{id}/events"):
                assert self.doors.send(other, "GET", path).status_code == 404
        self.doors.undisturbed(tenant)

    @rule(tenant=TENANT, value=st.sampled_from(["vegan", "none"]))
    def say_what_is_known(self, tenant: str, value: str) -> None:
        given = {"slot": "food_and_dining.dietary_style", "value": value, "note": MARKS[tenant]}
        self.doors.send(tenant, "POST", "/v1/profile/set", json=given)
        self.doors.send(tenant, "GET", "/v1/profile")
        self.doors.send(tenant, "GET", "/v1/profile/export")
        self.doors.undisturbed(tenant)

    @rule(tenant=TENANT, dry=st.booleans(), word=WORD)
    def forget(self, tenant: str, dry: bool, word: str) -> None:
        body = {"targets": [word], "dry_run": dry}
        self.doors.send(tenant, "POST", "/v1/forget", json=body)
        self.doors.undisturbed(tenant)

    @rule(tenant=TENANT, again=st.booleans())
    def take_it_out(self, tenant: str, again: bool) -> None:
        whole = self.doors.send(tenant, "GET", "/v1/export")
        self.doors.send(tenant, "GET", "/v1/backup")
        if again:
            self.doors.send(tenant, "POST", "/v1/import", content=whole.content)
        self.doors.undisturbed(tenant)

    @rule(tenant=TENANT, word=OWN_WORD, number=NUMBER)
    def use_the_client(self, tenant: str, word: str, number: int) -> None:
        memory = self.doors.client(tenant)
        mark = MARKS[tenant]
        records = [
            Entity(name=word, type="place", summary=mark),
            Resource(name=word, content=f"{mark} {number}"),
            Edge(src=word, rel_type="near", dst=NAMES[tenant]),
        ]
        calls: list[Callable[[], object]] = [
            # a word of signs alone is no name
            lambda: memory.write(records),
            lambda: memory.recall(word),
            lambda: memory.lookup(word),
            lambda: memory.reader(word).outline(),
            lambda: list(memory.admin.records()),
            lambda: memory.jobs.list(),
            lambda: memory.dreams.moments(model=False, progress=lambda *told: None),
            lambda: memory.admin.audit(limit=50),
        ]
        for call in calls:
            with contextlib.suppress(RemloomError):
                call()
        self.doors.undisturbed(tenant)

    @rule(tenant=TENANT, data=st.data())
    def guess_at_the_other(self, tenant: str, data: st.DataObject) -> None:
        other = next(one for one in TENANTS if one != tenant)
        ids = sorted(self.doors.ids[other])
        id = ids[data.draw(st.integers(0, 999)) % len(ids)]
        asks = [one for one in ANY if one.scope == "read" and one.route and "{" in one.route.path]
        one = data.draw(st.sampled_from(asks))
        assert one.route is not None
        path = re.sub(r"\{\w+\}", id, one.route.path)
        self.doors.send(tenant, one.route.method, path)
        self.doors.send(tenant, "POST", "/v1/forget", json={"targets": [id]})
        self.doors.send(tenant, "POST", "/v1/lookup", json={"labels": [id]})
        self.doors.send(tenant, "DELETE", f"/v1/resources/{id}")
        self.doors.send(tenant, "DELETE", f"/v1/keys/{id}")
        self.doors.undisturbed(tenant)

    @rule(data=st.data())
    def come_without_a_key(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(ANY))
        method, path, given = self._request(one, data)
        self.doors.without_key(method, path, **given)
        self.doors.without_key("POST", "/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"})

    @rule()
    def look_at_what_is_counted(self) -> None:
        self.doors.scrape()
        self.doors.http.app.state.service.tenants.write_audit()  # type: ignore[attr-defined]
        for tenant in TENANTS:
            self.doors.send(tenant, "GET", "/v1/audit?limit=1000")
            self.doors.send(tenant, "GET", "/v1/keys")

    def _request(self, one: Operation, data: st.DataObject) -> tuple[str, str, dict[str, Any]]:
        assert one.route is not None
        given = self._arguments(one, data)
        path = one.route.path
        for name in re.findall(r"\{(\w+)\}", path):
            value = given.pop(name, "x") or "x"
            path = path.replace(f"{{{name}}}", str(value).replace("/", "%2F").replace("%", "%25"))
        in_query = one.route.method in ("GET", "DELETE")
        return one.route.method, path, {"params": given} if in_query else {"json": given}

    def _arguments(self, one: Operation, data: st.DataObject) -> dict[str, Any]:
        given: dict[str, Any] = {}
        words = WORD if one.scope == "read" else OWN_WORD
        for name in one.takes.__struct_fields__:
            if name in _ARGUMENTS:
                asked = _ARGUMENTS if one.scope == "read" else {**_ARGUMENTS, **_WRITTEN}
                given[name] = data.draw(asked[name], label=name)
            elif name in _NAMED:
                given[name] = data.draw(words, label=name)
        return json.loads(json.dumps(given))


def test_what_somebody_sent_may_be_in_the_reply_and_nothing_else_of_another(tmp_path: Path) -> None:
    doors = Doors(tmp_path)
    try:
        asker, other = TENANTS
        name = NAMES[other]
        for one in ANY:
            if one.scope == "read" and one.route is not None and "{" in one.route.path:
                path = re.sub(r"\{\w+\}", name, one.route.path)
                doors.send(asker, one.route.method, path)
        doors.send(asker, "GET", "/v1/jobs", params={"state": name})
        doors.send(asker, "POST", "/v1/lookup", json={"labels": [name]})
        assert doors.wrong == []
        # a reply to a request that did not have it
        sent = doors.send(asker, "GET", "/v1/jobs/unknown").request
        doors._look(httpx.Response(404, text=f"there is no job {name!r}", request=sent))
        assert len(doors.wrong) == 1
    finally:
        doors.close()


def test_nothing_of_one_tenant_is_told_to_the_other(rounds: Rounds, counted: Counted) -> None:
    _TALLY.clear()
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        TwoTenants,
        settings=settings(
            max_examples=rounds(2, 60),
            stateful_step_count=rounds(10, 60),
            derandomize=True,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        ),
    )
    counted("requests of two tenants at every door", _TALLY.total())
