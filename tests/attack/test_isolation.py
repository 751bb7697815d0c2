"""Two tenants of one home: whatever one asks by the ids, labels and words of the other, it is told
nothing of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from operator import attrgetter

import msgspec
import pytest
from asking import Call
from hostile_sql import Grammar as SqlGrammar
from hostile_statements import Grammar as StatementGrammar
from tenants_apart import CANARY, plant, seen

from remloom import Edge, Entity, Memory, Moment, RemloomError, Resource
from remloom.predicates import Contains, Eq, Query
from remloom.testing.embedder import WordEmbedder

LABELS = (
    f"{CANARY} entity",
    f"{CANARY} alias",
    f"{CANARY} note",
    f"{CANARY} moment",
    f"{CANARY} thin",
    CANARY,
)
_BY_NAME = (
    "lookup",
    "fuzzy",
    "traverse",
    "search_text",
    "search",
    "admin.describe",
    "history",
    "get_edges",
    "admin.complete",
)
URIS = (f"{CANARY}/1.md", CANARY)


class Secrets:
    """What of the other tenant an attacker may have come to know: ids, labels, sources, words, a
    vector."""

    def __init__(self, home: str) -> None:
        with Memory.open(home, tenant="other", embedder=WordEmbedder()) as memory:
            self.ids = [record.id for record in memory.admin.store.records.all()]
            self.run = memory.dreams.moments(model=False, hours=None).run.id
            self.job = memory.jobs.add("moments", {"hours": 1}, key=CANARY).id
            memory.profile.set("dietary_style", CANARY)
            memory.profile.set("extras.secret", CANARY, subject=CANARY)
            self.ids += [
                record.id
                for record in memory.admin.store.records.all()
                if record.id not in self.ids
            ]
        self.vector = [float(x) for x in WordEmbedder().embed_query(f"The {CANARY} sings at noon.")]


def calls(secrets: Secrets) -> Iterator[Call]:
    """Every method that takes something by which a record can be named, with what names the
    other's."""
    named = (*secrets.ids, *LABELS, *URIS)
    for name in named:
        for method in (
            "lookup",
            "fuzzy",
            "traverse",
            "search_text",
            "search",
            "admin.describe",
            "history",
            "get_edges",
            "admin.complete",
        ):
            yield Call(method, (name,))
        yield Call("get_edges", (name,), {"direction": "in"})
        yield Call("traverse", (name,), {"direction": "both", "max_depth": 3})
        yield Call("forget", (name,), {"dry_run": True})
        yield Call("forget", (name,))
        yield Call("recall", (f"What of {name}?",))
        yield Call("context", (f"What of {name}?",))
        yield Call("admin.delete_edge", (name, CANARY, f"{CANARY} thin"))
        yield Call("search_entities", (name,), {"threshold": 0.1})
        yield Call("query", (f'LOOKUP "{name}"',))
        yield Call("query", (f'TRAVERSE * WITH "{name}" DIRECTION both DEPTH 3',))
        yield Call(
            "query",
            (f"SELECT * FROM resources WHERE id = '{name}' OR name = '{name}' OR uri = '{name}'",),
        )
        yield Call(
            "query", (f"SELECT * FROM entities WHERE id = '{name}' OR name LIKE '%{name}%'",)
        )
        for method in ("query_resources", "query_entities", "query_moments"):
            yield Call(method, (Query(Eq("id", name)),))
            yield Call(method, (Query(Contains("name", name)),))
    for id in secrets.ids:
        for method in ("get_resource", "get_entity", "get_moment", "delete_resource"):
            yield Call(method, (id,))
        yield Call("update_entity", (id, {"stolen": True}))
        yield Call("write", ([Edge(src=id, rel_type="steals", dst="Person 1")],))
        yield Call("write", ([Resource(content="I rest on it.", parents=(id,), kind="synthesis")],))
        yield Call("write", ([Moment(name="It refers", resource_refs=(id,), parent_moment=id)],))
    yield Call("search", (), {"vector": secrets.vector, "limit": 100, "schema": "resources"})
    yield Call("search", (), {"vector": secrets.vector, "limit": 100, "schema": "entities"})
    yield Call("search_text", ("sings at noon",))
    yield Call("get_moments_by_type", (CANARY,))
    yield Call(
        "get_moments_by_time", (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
    )
    yield Call("runs.rollback", (secrets.run,))
    yield Call("runs.records", (secrets.run,))
    for method in ("jobs.retry", "jobs.remove"):
        yield Call(method, (secrets.job,))
    for method in (
        "admin.stats",
        "jobs.list",
        "runs.list",
        "runs.failed",
        "admin.check",
        "admin.usage",
        "dreams.metrics",
        "profile.show",
        "profile.subjects",
        "profile.changes",
        "profile.export",
    ):
        yield Call(method)
    for method in ("profile.why", "profile.get", "profile.history", "profile.forget"):
        yield Call(method, ("dietary_style",))
        yield Call(method, ("extras.secret",), {"subject": CANARY})


def told(memory: Memory, call: Call) -> str:
    """All that a call says, errors too."""
    try:
        answer = attrgetter(call.method)(memory)(*call.args, **call.given)
    except RemloomError as error:
        return f"{error} {error.as_dict()}"
    except RecursionError as error:
        return f"{error}"
    return msgspec.json.encode(
        answer.as_dict() if hasattr(answer, "as_dict") else answer, enc_hook=repr
    ).decode()  # fmt: skip


def exported(home: str, tenant: str) -> list[bytes]:
    import io

    stream = io.BytesIO()
    with Memory.open(home, tenant=tenant, embedder="none", create=False) as memory:
        memory.admin.export(stream)
    return sorted(stream.getvalue().splitlines())


def test_no_method_tells_or_touches_what_is_another_tenants(
    home: str, store: str, counted: Callable[[str, int], None]
) -> None:
    plant(home, records=20)
    secrets = Secrets(home)
    before = exported(home, "other")
    tried = 0
    with Memory.open(home, tenant="mine", embedder=WordEmbedder()) as memory:
        for call in calls(secrets):
            said = told(memory, call)
            asked = f"{call.args} {call.given}"
            assert "sings" not in said or "sings" in asked, (call, said[:500])
            # A name that the caller said may come back in an error or as the statement, but no
            # record of that name.
            assert not _shown(said, asked), (call, said[:800])
            tried += 1
    assert exported(home, "other") == before
    with Memory.open(home, tenant="other", embedder="none") as memory:
        assert [job.id for job in memory.jobs.list()] == [secrets.job]
        assert memory.runs.list()[0].status == "done"
        assert memory.admin.check() == []
    counted(f"calls with the ids, labels and sources of another tenant, {store}", tried)


def _shown(said: str, asked: str) -> str:
    """A canary that is not one of the caller's own words."""
    rest = said
    for name in sorted({*LABELS, *URIS}, key=len, reverse=True):
        if name in asked:
            for dress in (name, name.replace(" ", "-"), name.replace(" ", "_")):
                rest = rest.replace(dress, "")
    return seen(rest, asked if CANARY not in asked else "")


def test_the_same_names_and_ids_in_two_tenants_are_two_things(home: str, store: str) -> None:
    """The attacker writes records with the very ids and labels of the other's: nothing of the
    other's changes."""
    plant(home, records=5)
    secrets = Secrets(home)
    before = exported(home, "other")
    with Memory.open(home, tenant="mine", embedder=WordEmbedder()) as memory:
        for id in secrets.ids:
            for record in (
                Entity(id=id, name=LABELS[0], summary="mine"),
                Resource(id=id, name=LABELS[2], content="mine", uri=URIS[0]),
                Moment(id=id, name=LABELS[3], summary="mine"),
            ):  # fmt: skip
                told(memory, Call("write", ([record],)))
        memory.write(
            [
                Edge(
                    src=LABELS[0],
                    rel_type=CANARY,
                    dst=LABELS[4],
                    weight=0.1,
                    properties={"mine": True},
                )
            ]
        )
        memory.embed_pending()
        for label in LABELS:
            memory.forget(label) if memory.lookup(label).records else None
    assert exported(home, "other") == before
    with Memory.open(home, tenant="other", embedder=WordEmbedder()) as memory:
        assert memory.admin.check() == []
        assert memory.search("sings at noon", limit=1).records[0].record.name == f"{CANARY} note"


@pytest.mark.crash
def test_threads_that_switch_tenants_over_one_pool_never_mix_them(
    home: str, store: str, rounds: Callable[[int, int], int], counted: Callable[[str, int], None]
) -> None:
    """Eight threads, six tenants, each with its own word in everything: each answer has its
    tenant's word alone."""
    tenants = [f"tenant{n}" for n in range(6)]
    words = {tenant: f"{CANARY}{n}x" for n, tenant in enumerate(tenants)}
    memories = {
        tenant: Memory.open(home, tenant=tenant, embedder=WordEmbedder()) for tenant in tenants
    }
    for tenant, memory in memories.items():
        word = words[tenant]
        memory.write([
            Resource(name=f"note {word}", content=f"Tea of {word}.", uri="same.md", category="same"),
            Entity(name="Same Name", type="person", summary=word, properties={"word": word}),
            Edge(src="Same Name", rel_type="knows", dst=f"friend {word}"),
        ])  # fmt: skip
        memory.embed_pending()
    each = rounds(40, 1_500)

    def work(thread: int) -> list[str]:
        chosen, wrong = random.Random(thread), []
        for turn in range(each):
            tenant = chosen.choice(tenants)
            memory, word = memories[tenant], words[tenant]
            said = told(memory, chosen.choice(_asking(word, thread, turn)))
            foreign = [other for other in words.values() if other != word and other in said]
            if foreign:
                wrong.append(f"{tenant} was told of {foreign}: {said[:300]}")
        return wrong

    with ThreadPoolExecutor(8) as pool:
        wrong = [line for lines in pool.map(work, range(8)) for line in lines]
    for memory in memories.values():
        assert memory.admin.check() == []
        memory.close()
    assert not wrong, "\n".join(wrong[:10])
    counted(f"calls of eight threads that switch tenants, {store}", 8 * each)


def _asking(word: str, thread: int, turn: int) -> list[Call]:
    return [
        Call("lookup", ("Same Name",)), Call("search_text", ("tea",)), Call("fuzzy", ("Same Nam",)), Call("admin.stats"),
        Call("traverse", ("Same Name",)), Call("search", ("Tea of",)), Call("query", ("SELECT * FROM resources",)),
        Call("query", ("SELECT name, summary FROM entities",)), Call("recall", ("What of the tea?",)),
        Call("query_entities", (Query(),)), Call("admin.describe", ("Same Name",)),
        Call("query", ('TRAVERSE * WITH "Same Name"',)),
        Call("write", ([Entity(name=f"own {thread} {turn}", summary=word)],)),
        Call("write", ([Resource(content=f"Own {word} {thread} {turn}.", uri=f"{thread}/{turn}")],)),
        Call("query", (SqlGrammar(thread * 10_000 + turn)._plain(),)),
        Call("query", (StatementGrammar(thread * 10_000 + turn)._clauses(),)),
    ]  # fmt: skip
