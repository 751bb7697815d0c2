"""What an import or a write carries needs the scope of doing the same directly; and where a key
lacks it, nothing is written."""

import io
import json
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import anyio
import pytest

from guarded import OWN, bearer, guarded, make_key
from remloom import Memory, Resource
from remloom.kv import Entry
from remloom.memory.admin import _exported_namespaces
from remloom.model import Taxonomy
from remloom.operations import OPERATIONS
from remloom.operations.table import CARRIED
from remloom.serve.caller import Caller
from remloom.serve.mcp.tools import call_tool
from remloom.store.rules.admission import EXPIRY, SCHEMA

TABLE = {one.name: one for one in OPERATIONS}
NOW = datetime.now(UTC)
SOON, LATER, PAST = (NOW + timedelta(days=days) for days in (1, 2, -1))
TEXT = "application/octet-stream"


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def server(request, tmp_path_factory):
    """A home, and the client of its server."""
    home = tmp_path_factory.mktemp("home")
    if request.param == "postgres":
        home = request.getfixturevalue("postgres")
    with guarded(home) as client:
        keys = {scope: make_key(home, *(one for one in OWN if one != scope)) for scope in OWN}
        yield client, {**keys, "": make_key(home)}


def state(client, key):
    """All that the memory has, as an export tells it."""
    got = client.get("/v1/export", headers=bearer(key))
    assert got.status_code == 200
    return sorted(got.text.splitlines()[1:-1])


def with_entry(namespace, value):
    def carry(memory):
        entry = Entry(namespace, "of/somebody", json.dumps(value).encode())
        memory.admin.store.kv.put([entry])

    return carry


def with_own_slot(memory):
    # another each time: what is there already needs nothing
    name = f"Desk {uuid4().hex}"
    id = f"work.{name.lower().replace(chr(32), chr(95))}"
    memory.profile.define_slot({"id": id, "hub": "soft_identity", "label": name})
    memory.profile.set(id, "by the window")


def with_forgotten_belief(memory):
    memory.profile.set("allergies", "peanuts")
    memory.profile.forget("allergies")


# What a memory may carry, the operation that does the same, and how it comes there.
OF_PROFILE = {
    "an own slot": ("profile_define_slot", with_own_slot),
    "a belief": ("profile_set", lambda memory: memory.profile.set("allergies", "nuts")),
    "a forgotten belief": ("profile_forget", with_forgotten_belief),
}
OF_MEMORY = {
    **OF_PROFILE,
    "a schema": (
        "register_schema",
        lambda memory: memory.schemas.register(schema_name="boats", fields={"length": "number"}),
    ),
    "a taxonomy": (
        "set_taxonomy",
        lambda memory: memory.schemas.set_taxonomy(Taxonomy(parents={"customer": "party"})),
    ),
    "an end of what is there": (
        "set_expiry",
        lambda memory: memory.write([Resource(id="there", content="Plums.", expires_at=SOON)]),
    ),
    **{
        f"an entry of {namespace}": (
            CARRIED.get(namespace, "profile_set"),
            with_entry(namespace, {}),
        )
        for namespace in _exported_namespaces()
    },
}


def test_all_that_may_be_carried_is_tried_and_done_directly_by_what_there_is():
    tried = {name for name, _ in OF_MEMORY.values()}
    assert set(CARRIED.values()) <= tried
    assert set(CARRIED) == {EXPIRY, SCHEMA, *CARRIED.keys() & set(_exported_namespaces())}
    assert tried <= TABLE.keys()


def carried(tmp_path, carry, way):
    with Memory.open(tmp_path / "source", tenant="acme", embedder="none") as memory:
        carry(memory)
        if way == "/v1/profile/import":
            memory.profile.export(tmp_path / "p.json")
            return (tmp_path / "p.json").read_bytes()
        stream = io.BytesIO()
        memory.admin.export(stream)
        return stream.getvalue()


WAYS = [
    *(("/v1/import", *one) for one in OF_MEMORY.items()),
    *(("/v1/profile/import", *one) for one in OF_PROFILE.items()),
]


@pytest.mark.parametrize(
    ("way", "kind", "how"), WAYS, ids=[f"{way[4:]}-{kind}" for way, kind, _ in WAYS]
)
def test_an_import_needs_the_scopes_of_what_it_carries(server, tmp_path, way, kind, how):
    client, keys = server
    directly, carry = how
    there = {"records": [{"schema": "resources", "id": "there", "content": "Plums."}]}
    assert client.post("/v1/write", json=there, headers=bearer(keys[""])).status_code == 200
    sent = carried(tmp_path, carry, way)
    before = state(client, keys[""])
    needed = {TABLE[directly].scope, "write"}
    for scope in OWN:
        if scope not in needed:
            continue
        got = client.post(way, content=sent, headers=bearer(keys[scope], **{"Content-Type": TEXT}))
        assert (got.status_code, got.json().get("fields")) == (403, {"scope": scope}), got.text
        assert state(client, keys[""]) == before
    if kind.startswith("an entry of"):
        # which is nothing that could be read
        return
    key = make_key_with(server, needed)
    got = client.post(way, content=sent, headers=bearer(key, **{"Content-Type": TEXT}))
    assert got.status_code == 200, got.text
    if directly != "profile_set":
        assert state(client, keys[""]) != before


def make_key_with(server, scopes):
    client, keys = server
    sent = {"name": "k", "scopes": sorted(scopes), "tenant": "acme"}
    return client.post("/v1/keys", json=sent, headers=bearer(keys[""])).json()["key"]


def over_rest(client, key, name, values):
    one = TABLE[name]
    path = one.route.path.format(**values)
    body = {field: value for field, value in values.items() if f"{{{field}}}" not in one.route.path}
    got = client.request(one.route.method, path, json=body, headers=bearer(key))
    return got.status_code < 300, got.json() if got.content else {}


def over_mcp(client, key, name, values):
    """As MCP does, whatever tools it lists."""
    service = client.app.state.service
    scopes = client.get("/v1/session", headers=bearer(key)).json()["scopes"]
    caller = Caller(key_id="k", tenant="acme", scopes=frozenset(scopes))
    done = anyio.run(call_tool, service, caller, TABLE[name], values)
    return not done.is_error, [one.text for one in done.content]


DOORS = pytest.mark.parametrize("door", [over_rest, over_mcp])
_BY = {"id": "by-id", "content": "Pears.", "schema": "resources"}
_ENDING = {"id": "ending", "content": "Figs.", "schema": "resources"}
_NAMED = {"name": "Ann", "type": "person", "schema": "entities"}
_TEXT = {"content": "The door code is 4711.", "uri": "door.md", "schema": "resources"}


def written(*records):
    return "write", {"records": list(records)}


def at(record, when):
    return {**record, "expires_at": when.isoformat()}


# what is written, and whether that takes something away
WRITES = {
    "a new record": (written(_BY | {"id": "new"}), False),
    "a new record with an end": (written(at(_BY | {"id": "new-ending"}, SOON)), False),
    "a new moment with an end": (
        written(at({"schema": "moments", "name": "m", "starts_at": NOW.isoformat()}, SOON)),
        False,
    ),
    "a new record that has expired": (written(at(_BY | {"id": "expired"}, PAST)), True),
    "what is there, as it was": (written(_BY | {"content": "Pears and plums."}), False),
    "what is there, with a past end": (written(at(_BY, PAST)), True),
    "what is there, with an end": (written(at(_BY, SOON)), True),
    "what ends, with the same end": (written(at(_ENDING | {"name": "f"}, SOON)), False),
    "what ends, later": (written(at(_ENDING, LATER)), True),
    "what ends, without its end": (written(_ENDING), True),
    "an entity by name, with an end": (written(at(_NAMED, SOON)), True),
    "an entity by name": (written(_NAMED | {"summary": "Knows plums."}), False),
    "the same text, without its end": (written(_TEXT), True),
    "beside others": (written(_BY | {"id": "new-too"}, at(_NAMED, SOON)), True),
    "create_resource": (("create_resource", {"resource": at(_BY, SOON)}), True),
}  # fmt: skip


@DOORS
@pytest.mark.parametrize(("call", "takes"), WRITES.values(), ids=WRITES)
def test_to_take_a_record_away_by_writing_needs_what_set_expiry_needs(server, door, call, takes):
    client, keys = server
    stored = written(_BY, at(_ENDING, SOON), _NAMED | {"id": "ann"}, at(_TEXT, SOON))
    assert over_rest(client, keys[""], *stored)[0]
    before = state(client, keys[""])
    name, values = call
    values = {
        field: value
        for field, value in values.items()
        if field in TABLE[name].takes.__struct_fields__
    }
    assert values.keys() == call[1].keys(), TABLE[name].takes.__struct_fields__
    done, reply = door(client, keys["forget"], name, values)
    assert done is not takes, reply
    if takes:
        assert "'forget'" in json.dumps(reply)
        assert state(client, keys[""]) == before
        assert door(client, keys[""], name, values)[0]
    clean = {"targets": ["by-id", "ending", "ann", "door.md"]}
    over_rest(client, keys[""], "forget", clean)


@DOORS
def test_a_job_is_begun_again_by_whoever_may_add_it(server, door):
    client, keys = server
    later = (NOW + timedelta(days=300)).isoformat()
    for kind, scopes in (("sweep", ("dream", "forget")), ("moments", ("dream",))):
        added = {"kind": kind, "not_before": later, "key": f"{door.__name__}-{kind}"}
        added = over_rest(client, keys[""], "add_job", added)
        assert added[0], added
        id = added[1]["id"]
        for scope in scopes:
            done, reply = door(client, keys[scope], "retry_job", {"id": id})
            assert not done
            assert f"'{scope}'" in json.dumps(reply)
        job = client.get(f"/v1/jobs/{id}", headers=bearer(keys[""])).json()
        assert job["not_before"][:10] == later[:10]
        key = make_key_with(server, scopes)
        done, reply = door(client, key, "retry_job", {"id": id})
        assert done, reply
