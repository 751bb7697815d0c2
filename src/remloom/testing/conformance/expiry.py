"""The store contract as tests: records that expire."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from ...model import Entity, Moment, Record, Resource, Row
from ...predicates import Query
from ...store.batch import Batch
from ...store.contract import Reads, Store
from ...store.specs import ChunkRange, NameSpec, SearchSpec, WalkSpec
from .opening import (
    DAY,
    HOUR,
    NOTES,
    T0,
    Clock,
    Opened,
    Opening,
    RecordSchema,
    by_text,
    edge_between,
    edges_at,
    lookup,
    names,
    put,
    register,
    relation,
    selected,
    the_entity,
)

_NEAR = [1.0, 0.0]


class Expiry(Opened):
    def test_when_a_record_expires_is_read_back_and_selected(
        self, store: Store, schema: RecordSchema, clock: Clock, reopen: Opening
    ) -> None:
        at = clock.after(2)
        ids = put(
            store,
            schema.make("note", "tea", expires_at=at),
            schema.make("Ann", expires_at=at),
            schema.make("lunch", expires_at=at),
            schema.make("Bob"),
        ).ids
        again = reopen()
        found = [again.records.get(None, id) for id in ids]
        assert [record and record.expires_at for record in found] == [at, at, at, None]
        sql = f"SELECT name FROM {schema.name} WHERE expires_at IS {{}} NULL ORDER BY name"
        assert selected(again, sql.format("NOT")).rows == [("Ann",), ("lunch",), ("note",)]
        assert selected(again, sql.format("")).rows == [("Bob",)]

    def test_nothing_returns_a_record_from_the_moment_it_expires(
        self, store: Store, clock: Clock
    ) -> None:
        register(store, NOTES)
        put(store, *_two_of_each(clock.after(2)))
        assert _seen(store) == {read: {"brief", "lasting"} for read in READS}
        clock.advance(1)
        assert _seen(store) == {read: {"brief", "lasting"} for read in READS}
        clock.advance(1)
        assert _seen(store) == {read: {"lasting"} for read in READS}

    def test_what_has_expired_takes_nobody_s_place_within_a_limit(
        self, store: Store, schema: RecordSchema, clock: Clock
    ) -> None:
        for number in range(30):
            at = clock.after(1) if number % 10 else None
            content = f"tea {'and more ' * (number % 10 == 0)}"
            embedding = [1.0, 0.1 + 0.01 * number if at is None else 0.0]
            put(
                store,
                schema.make(f"note {number}", content, embedding=embedding, expires_at=at),
            )  # fmt: skip
        clock.advance(1)
        lasting = {"note 0", "note 10", "note 20"}
        searching = SearchSpec(schema=schema.name, limit=3)
        assert set(names(store.search.text("tea", searching))) == lasting
        assert set(names(store.search.vector(_NEAR, searching))) == lasting
        spec = NameSpec(threshold=0.3, limit=3)
        assert set(names(store.search.names("note 1", spec))) == lasting
        assert set(store.records.complete("note", 3)) == lasting
        in_order = ["note 0", "note 10", "note 20"]
        query = Query().order_by("created_at").limit(1).offset(1)
        assert names(store.records.query(schema.name, query)) == ["note 10"]
        sql = f"SELECT name FROM {schema.name} ORDER BY created_at LIMIT 1 OFFSET 2"
        assert selected(store, sql).rows == [("note 20",)]
        texts = store.records.texts_after(0, 2)
        assert [record.name for _, record in texts] == in_order[:2]

    def test_chunks_that_have_expired_take_nobody_s_place(self, store: Store, clock: Clock) -> None:
        for number in range(30):
            at = clock.after(1) if number % 10 else None
            put(store, Resource(uri="a.md", ordinal=number, content="tea", expires_at=at))
        clock.advance(1)

        def ordinals(**within: Any) -> list[int]:
            found = store.records.chunks("a.md", ChunkRange(**within))
            return [chunk.ordinal for chunk in found]

        assert ordinals(limit=2) == [0, 10]
        assert ordinals(limit=2, last=True) == [10, 20]

    def test_no_walk_goes_through_what_has_expired(
        self, store: Store, named: RecordSchema, clock: Clock
    ) -> None:
        put(store, *(named.make(name) for name in ("a", "c", "d")))
        put(store, named.make("b", aliases=("bee",), expires_at=clock.after(1)))
        put(store, edge_between("a", "bee"), edge_between("b", "c"), edge_between("a", "d"))
        assert _walked(store, "a") == {"bee", "c", "d"}
        clock.advance(1)
        assert _walked(store, "a") == {"d"}
        assert _walked(store, "b") == set()
        # a label that somebody else has too is that one's
        put(store, named.make("Bee", "A bee."))
        put(store, edge_between("a", "bee"))
        assert _walked(store, "a") == {"bee", "d"}

    def test_when_a_record_expires_is_set_without_writing_it(
        self, store: Store, schema: RecordSchema, clock: Clock
    ) -> None:
        long = "long " * 2_000
        entity, note = put(store, schema.make("Ann"), schema.make("note", long)).ids
        before = store.records.get(None, note)
        at = clock.after(1)
        assert store.set_expiry([entity, note, note, "nobody"], at) == 2
        assert before is not None
        found = store.records.get(None, note)
        assert found is not None
        assert found == replace(before, expires_at=at, revision=found.revision)
        assert found.revision > before.revision
        assert store.set_expiry([note], clock.after(3)) == 1
        clock.advance(1)
        assert lookup(store, "ann") == []
        assert names(lookup(store, "note")) == ["note"]
        assert store.set_expiry([entity, note], None) == 1
        clock.advance(99)
        found = store.records.get(None, note)
        assert found is not None
        assert replace(found, revision=before.revision) == before
        assert names(store.records.expired(9)) == ["Ann"]

    def test_what_expired_is_listed_by_its_time_until_it_is_erased(
        self, store: Store, schema: RecordSchema, clock: Clock
    ) -> None:
        for name, hours in (("c", 3), ("a", 1), ("b", 2), ("d", 4)):
            put(store, schema.make(name, expires_at=clock.after(hours)))
        assert store.records.expired(9) == []
        clock.advance(3)
        assert names(store.records.expired(9)) == ["a", "b", "c"]
        assert names(store.records.expired(2)) == ["a", "b"]
        assert names(list(store.records.all())) == ["d"]
        assert names(list(store.records.all(expired=True))) == ["c", "a", "b", "d"]
        seen: list[str] = []

        def work(reads: Reads) -> Batch:
            expired = reads.records.expired(2)
            seen.extend(names([reads.records.get(None, record.id) for record in expired]))
            return Batch(deleted=tuple(record.id for record in expired))

        assert len(store.erase(work).ids) == 2
        assert seen == ["a", "b"]
        assert names(store.records.expired(9)) == ["c"]

    def test_an_update_does_not_see_what_has_expired(
        self, store: Store, schema: RecordSchema, clock: Clock
    ) -> None:
        (id,) = put(store, schema.make("Ann", expires_at=clock.after(1))).ids
        clock.advance(1)
        seen: list[Any] = []

        def work(reads: Reads) -> Batch:
            seen.extend((reads.records.get(None, id), reads.records.lookup(["ann"])["ann"]))
            return Batch()

        store.update(work)
        assert seen == [None, []]

    def test_what_is_written_over_something_expired_is_new(
        self, store: Store, clock: Clock
    ) -> None:
        put(
            store,
            Resource(id="r", name="note", content="old words", expires_at=clock.after(1)),
            Resource(id="child", name="child", content="of it", parents=("r",)),
            Entity(name="Ann", type="person", summary="old", expires_at=clock.after(1)),
            relation("Ann", "likes", "tea"),
        )
        clock.advance(1)
        written = put(
            store,
            Resource(id="r", name="note", content="new words"),
            Entity(name="Ann", type="person"),
            relation("Ann", "likes", "coffee"),
        )
        assert written.created == 2
        ann = the_entity(store, "ann")
        assert ann.summary == ""
        assert edges_at(store, "ann") == {("ann", "likes", "coffee")}
        assert store.records.get(None, "child") is None
        assert by_text(store, "words", limit=9) == ["note"]
        assert by_text(store, "old", limit=9) == []
        assert store.records.expired(9) == []

    def test_an_edge_to_the_label_of_something_expired_stays(
        self, store: Store, schema: RecordSchema, clock: Clock
    ) -> None:
        put(store, schema.make("Ann", "old", expires_at=clock.after(1)))
        clock.advance(1)
        put(store, relation("Bob", "knows", "Ann"))
        ann = the_entity(store, "ann")
        assert (ann.thin, ann.summary) == (True, "")
        store.delete([record.id for record in store.records.expired(9)])
        assert edges_at(store, "ann") == {("bob", "knows", "ann")}

    def test_an_entity_that_is_written_of_again_keeps_its_time_unless_it_gets_another(
        self, store: Store, clock: Clock
    ) -> None:
        at, later = clock.after(1), clock.after(2)
        put(store, Entity(name="Ann", expires_at=at))
        put(store, Entity(name="Ann", summary="A baker."))
        assert [record.expires_at for record in lookup(store, "ann")] == [at]
        put(store, Entity(name="Ann", expires_at=later))
        (ann,) = lookup(store, "ann")
        assert ann.expires_at == later
        # by its id, a record is replaced by what is written
        put(store, Entity(id=ann.id, name="Ann"))
        assert [record.expires_at for record in lookup(store, "ann")] == [None]

    def test_no_embedder_is_given_what_has_expired(
        self, store: Store, schema: RecordSchema, clock: Clock
    ) -> None:
        note = schema.make("r", "tea", id="r", expires_at=clock.after(1))
        put(store, note, schema.make("s", "cup", id="s"), model="m")
        assert [text.id for text in store.vectors.pending(9, ids=["r", "nobody"])] == ["r"]
        clock.advance(1)
        for waiting in (
            store.vectors.pending(9),
            store.vectors.pending(9, ids=["r", "s"]),
            store.vectors.unembedded("m", 9),
        ):
            assert [text.id for text in waiting] == ["s"]

    def test_whatever_expires_when_exactly_what_has_not_is_found(
        self, store: Store, schema: RecordSchema, clock: Clock
    ) -> None:
        chance = random.Random(7)
        expires: dict[str, datetime | None] = {}
        ids: dict[str, str] = {}
        for _ in range(60):
            name = f"note {chance.randrange(12)}"
            at = chance.choice([None, clock.after(chance.randrange(-1, 5))])
            match chance.randrange(4):
                case 0:
                    clock.advance(chance.randrange(3))
                case 1 if name in ids:
                    if _is_due(expires[name], clock.at):
                        assert store.set_expiry([ids[name]], at) == 0
                    else:
                        assert store.set_expiry([ids[name]], at) == 1
                        expires[name] = at
                case _:
                    record = schema.make(name, "tea", id=f"id of {name}", expires_at=at)
                    (ids[name],) = put(store, record).ids
                    expires[name] = at
            there = {name for name, at in expires.items() if not _is_due(at, clock.at)}
            found = by_text(store, "tea", limit=20)
            assert set(found) == there
            assert set(names(store.records.query(schema.name, Query()))) == there
            assert {
                name for (name,) in selected(store, f"SELECT name FROM {schema.name}").rows
            } == there
            assert {name for name in expires if lookup(store, name.replace(" ", "-"))} == there
            assert set(names(store.records.expired(20))) == expires.keys() - there


def _is_due(at: datetime | None, now: datetime) -> bool:
    return at is not None and at <= now


def _walked(store: Store, start: str) -> set[str]:
    walk = store.graph.walk(WalkSpec([start], direction="out", depth=3))
    return {step.key for step in walk.steps}


def _two_of_each(at: datetime) -> list[Record]:
    """Of each schema a record that expires, and one that does not."""
    records: list[Record] = []
    for name, expires_at in (("brief", at), ("lasting", None)):
        records += [
            Entity(id=f"e {name}", name=name, aliases=("two words",), expires_at=expires_at),
            Resource(
                id=f"r {name}", name=name, uri="a.md", content="tea", embedding=_NEAR,
                metadata={"message_ids": ["1"]}, expires_at=expires_at,
            ),
            Moment(
                id=f"m {name}", name=name, starts_at=T0, ends_at=T0 + HOUR,
                resource_refs=("r lasting",), expires_at=expires_at,
            ),
            Row(
                schema="notes", id=f"n {name}", name=name, summary="tea", expires_at=expires_at,
                embedding=_NEAR,
            ),
        ]  # fmt: skip
    return records


def _got(store: Store) -> list[Record]:
    ids = [f"{schema} {name}" for schema in "ermn" for name in ("brief", "lasting")]
    return [record for id in ids if (record := store.records.get(None, id)) is not None]


_FOUND = SearchSpec(schema="resources", limit=9)
READS: dict[str, Callable[[Store], Iterable[Any]]] = {
    "get": _got,
    "lookup": lambda store: lookup(store, "brief") + lookup(store, "lasting"),
    "lookup of several": lambda store: [
        record
        for records in store.records.lookup(["brief", "lasting"]).values()
        for record in records
    ],
    "lookup of an alias": lambda store: lookup(store, "two-words"),
    "chunks": lambda store: store.records.chunks("a.md"),
    "messages": lambda store: store.records.messages("a.md", ["1"]),
    "referring": lambda store: store.records.referring(["r lasting"]),
    "query": lambda store: store.records.query("entities", Query()),
    "moments_between": lambda store: store.records.moments_between(T0 - DAY, T0 + DAY),
    "texts_after": lambda store: [record for _, record in store.records.texts_after(0, 99)],
    "all": lambda store: store.records.all(),
    "names": lambda store: [
        match
        for name in ("brief", "lasting")
        for match in store.search.names(name, NameSpec(threshold=0.9, limit=9))
    ],
    "names of a type": lambda store: [
        match
        for name in ("brief", "lasting")
        for match in store.search.names(name, NameSpec(threshold=0.9, limit=9, type="moments"))
    ],
    "query of rows": lambda store: store.records.query("notes", Query()),
    "text of rows": lambda store: store.search.text("tea", SearchSpec(schema="notes", limit=9)),
    "vector of rows": lambda store: store.search.vector(_NEAR, SearchSpec(schema="notes", limit=9)),
    "text": lambda store: store.search.text("tea", _FOUND),
    "having_all": lambda store: store.search.having_all("tea", 99),
    "entities_after": lambda store: store.records.entities_after(0, 99)[0],
    "vector": lambda store: store.search.vector(_NEAR, _FOUND),
}


def _seen(store: Store) -> dict[str, set[str]]:
    """What each way of reading returns, by name."""
    seen = {read: set(names(list(call(store)))) for read, call in READS.items()}
    for schema in ("entities", "resources", "moments", "notes"):
        rows = selected(store, f"SELECT name FROM {schema}").rows
        assert {name for (name,) in rows} == seen["lookup"]
        ((count,),) = selected(store, f"SELECT count(*) FROM {schema}").rows
        assert count == len(seen["lookup"])
    assert {name for name in ("brief", "lasting") if name in store.records.complete("", 9)} == (
        seen["lookup"]
    )
    return seen
