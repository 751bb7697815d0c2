"""The store contract as tests: what is changed and deleted, by many at once, with what derives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from ...errors import ChangedError, GoneError, InvalidInputError, NotFoundError
from ...kv import Entry
from ...model import Entity, Moment, Record, Resource, Row
from ...predicates import Eq, Query
from ...store import encoding
from ...store.batch import Batch, Preconditions, Vector, VectorBatch
from ...store.contract import Reads, Store
from ...store.rules import validation
from ...store.specs import EdgeSpec, SearchSpec
from .opening import (
    DAY,
    NOTES,
    T0,
    Opened,
    Opening,
    RecordSchema,
    batch_of,
    by_name,
    by_text,
    by_vector,
    edge_between,
    edge_keys,
    edges_of,
    lookup,
    put,
    register,
    relation,
    stored,
    together,
)


class Updating(Opened):
    def test_of_what_many_add_to_one_record_nothing_is_lost(
        self, store: Store, schema: RecordSchema, reopen: Opening
    ) -> None:
        put(store, schema.make("Sum", id="sum", values={"total": 0}))
        stores = [store, reopen()]

        def work(worker: int) -> None:
            used = stores[worker % 2]
            for turn in range(12):
                used.update(partial(_added, schema, name=f"{worker}.{turn}"))

        together(8, work)
        found = _values(store, schema)
        # eight workers, twelve turns each
        assert found["total"] == 96
        assert len(found) == 97

    def test_where_the_clock_stands_still_one_of_many_who_expect_a_revision_writes(
        self,
        store: Store,
        schema: RecordSchema,
        reopen: Opening,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(encoding, "now", lambda: 0)
        stores = [store, reopen()]
        put(store, schema.make("Sum", id="sum", values={"by": 0}))
        read = _stored(store, "sum")

        def work(worker: int) -> bool:
            used = stores[worker % 2]
            item = schema.make("Sum", id="sum", values={"by": worker + 1})
            expected = Preconditions(records={"sum": read.revision})
            try:
                used.write(_at(read.updated_at, replace(batch_of(used, item), expected=expected)))
            except ChangedError:
                return False
            return True

        done: list[int] = []
        together(32, lambda worker: done.append(worker) if work(worker) else None)
        assert len(done) == 1
        found = _stored(store, "sum")
        assert found.revision > read.revision
        assert _values(store, schema)["by"] == done[0] + 1

    def test_no_record_ever_has_a_revision_that_one_had(
        self, store: Store, schema: RecordSchema, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(encoding, "now", lambda: 0)
        seen = set()
        for turn in range(3):
            # forgotten and written anew, at one time by the clock
            for text in (turn, turn + 1, turn + 1):
                items = [schema.make("A", id="a", values={"n": text}), schema.make("B", id="b")]
                store.write(_at(T0, batch_of(store, *items)))
                seen |= {(id, _stored(store, id).revision) for id in ("a", "b")}
            store.set_expiry(["a"], T0 + 90 * 365 * DAY)
            store.set_expiry(["a"], T0 + 90 * 365 * DAY)
            seen.add(("a", _stored(store, "a").revision))
            expected = Preconditions(records={"a": None})
            with pytest.raises(ChangedError):
                store.write(replace(batch_of(store, schema.make("A", id="a")), expected=expected))
            store.delete(["a", "b"])
        # in each turn a is created, updated, and given a time; b is created
        assert len({revision for _, revision in seen}) == len(seen) == 12

    def test_a_copy_keeps_revisions_and_the_next_are_others(self, store: Store) -> None:
        [item] = batch_of(store, Resource(id="a", name="a", content="one")).records
        late = 2**52
        copied = replace(item, record=replace(item.record, revision=late))
        store.write(Batch((copied,), exact=True))
        assert stored(store, "a", Resource).revision == late
        again = replace(copied, record=replace(copied.record, content="two"), text="two")
        store.write(Batch((again,), exact=True))
        put(store, Resource(id="b", name="b", content="other"))
        assert stored(store, "a", Resource).revision == late + 1
        assert stored(store, "b", Resource).revision == late + 2

    def test_batches_written_as_one_are_all_there_or_none(self, store: Store) -> None:
        def batches(good: bool) -> Iterator[Batch]:
            for number in range(3):
                yield validation.build(
                    [Entity(id=f"{good} {number}", name=f"{good} {number}")], tenant="", model=""
                )
                yield validation.build(
                    [relation(f"{good} {number}", "after", f"{good} {(number or 9) - 1}")],
                    tenant="",
                    model="",
                )
            if not good:
                raise InvalidInputError("no further")

        with pytest.raises(InvalidInputError, match="no further"):
            store.write_all(lambda: batches(False))
        assert not any(store.admin.stats().records.values())
        written = store.write_all(lambda: batches(True))
        assert (written.created, written.edges, written.ids) == (3, 3, ())
        written_in_order = [
            record.id for record in store.records.all() if not getattr(record, "thin", False)
        ]
        assert written_in_order == [f"True {n}" for n in range(3)]
        assert store.graph.count(["true-1"], direction="both") == 2

    def test_an_update_sees_what_was_written_before_it_of_every_kind(self, store: Store) -> None:
        register(store, NOTES)
        ids = put(
            store,
            Row(schema="notes", name="Row", fields={"age": 3}),
            Resource(name="talk", content="pricing", embedding=[0.6, 0.8]),
            Entity(name="Ann", type="person", aliases=("A.",), properties={"age": 3}),
            Moment(name="day", starts_at=T0, ends_at=T0 + DAY),
            relation("Ann", "knows", "Bob"),
        ).ids
        put(store, Resource(name="note", content="derived", parents=ids[1:2]))
        store.kv.put([Entry("run", "r1", b"{}")])

        def everything(reads: Reads) -> tuple[object, ...]:
            return (
                [reads.records.get(None, id) for id in ids],
                reads.records.lookup(["ann", "a.", "bob"]),
                edges_of(reads, "ann", rel_types=["knows"]),
                reads.graph.stored_edges(["bob"], direction="both"),
                reads.graph.count(["a."], direction="both"),
                (reads.records.children(ids[1]), reads.records.parents(ids[1])),
                reads.records.query("entities", Query().filter(Eq("age", 3)).order_by("name")),
                reads.records.query("notes", Query().filter(Eq("age", 3))),
                reads.schemas(),
                reads.records.moments_between(T0, T0 + DAY),
                (reads.vectors.get(ids[1]), reads.vectors.of(ids), reads.vectors.model()),
                (reads.kv.list("run"), reads.kv.get("run", "r1")),
            )

        seen: list[object] = []

        def work(reads: Reads) -> Batch:
            seen[:] = everything(reads)
            return Batch()

        store.update(work)
        assert tuple(seen) == everything(store)
        # the answers above are not merely equal by being empty
        assert len(lookup(store, "ann")[0].graph_paths) == 1

    def test_what_an_update_raises_is_raised_and_others_at_the_same_moment_are_written(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(store, schema.make("Sum", id="sum", values={"total": 0}))
        refused: list[NotFoundError] = []

        def work(worker: int) -> None:
            for turn in range(8):
                if worker % 2:
                    store.update(partial(_added, schema, name=f"{worker}.{turn}"))
                else:
                    try:
                        store.update(_refuses)
                    except NotFoundError as error:
                        refused.append(error)

        together(6, work)
        assert (len(refused), _values(store, schema)["total"]) == (24, 24)

    def test_an_update_that_was_taken_back_leaves_nothing_behind(self, store: Store) -> None:
        def work(reads: Reads) -> Batch:
            # a cache filled inside the update must not survive it
            reads.records.lookup(["ghost"])
            edges_of(reads, "ghost", "both")
            return replace(
                batch_of(reads, relation("Ghost", "haunts", "House")),
                expected=Preconditions(existing=("no",)),
            )

        with pytest.raises(GoneError):
            store.update(work)
        assert store.records.lookup(["ghost", "house"]) == {"ghost": [], "house": []}
        put(store, relation("Anna", "likes", "Tea"))
        edges = store.graph.edges(EdgeSpec(["anna", "ghost"], direction="both"))
        assert edge_keys(edges) == [("anna", "likes", "tea")]

    def test_vectors_of_a_text_that_was_changed_meanwhile_are_not_taken_for_those_of_the_new(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(store, schema.make("r", "the old text", id="r"), model="m")
        put(store, schema.make("s", "another", id="s"), model="m")
        # as an embedder takes them, which is at work while the text changes
        waiting = store.vectors.pending(2)
        put(store, schema.make("r", "the new text", id="r"), model="m")
        data = np.array([1, 0], np.float32).tobytes()
        vectors: dict[str, tuple[Vector, ...]] = {
            item.id: (Vector(0, 3, data),) for item in waiting
        }
        versions = {item.id: item.version for item in waiting}
        store.vectors.put(VectorBatch(vectors, model="m", dims=2, versions=versions))
        (left,) = store.vectors.pending(2)
        assert left.id == "r"
        assert "the new text" in left.text
        assert (store.vectors.get("r"), len(store.vectors.get("s"))) == ([], 1)
        store.vectors.put(
            VectorBatch(
                {"r": vectors["r"]},
                model="m",
                dims=2,
                versions={"r": store.vectors.pending(1)[0].version},
            )
        )
        assert (store.vectors.pending(2), len(store.vectors.get("r"))) == ([], 1)

    def test_inside_an_update_nothing_is_written_or_searched(self, store: Store) -> None:
        from ...predicates import VectorSimilar

        put(store, Resource(name="r", content="x", embedding=[1.0, 0.0]))
        wrong: list[Callable[[Reads], object]] = [
            lambda _: put(store, Entity(name="inner")),
            lambda _: store.update(lambda _: Batch()),
            lambda _: store.delete(["x"]),
            lambda _: store.kv.put([Entry("a", "b", b"1")]),
            lambda reads: reads.records.query(
                "resources", Query().filter(VectorSimilar(query=[1.0, 0.0], top_k=1))
            ),
        ]
        for doing in wrong:

            def work(reads: Reads) -> Batch:
                doing(reads)  # noqa: B023
                return Batch()

            with pytest.raises(InvalidInputError, match="inside"):
                store.update(work)
        put(store, Entity(name="after"))
        assert lookup(store, "inner") == []

    def test_parents_and_children_are_known(self, store: Store) -> None:
        (source,) = put(store, Resource(name="s", content="source")).ids
        (insight,) = put(
            store, Resource(name="i", content="insight", parents=(source,), generation=1)
        ).ids
        assert store.records.parents(insight) == [source]
        assert store.records.children(source) == [insight]

    def test_deleting_takes_everything_of_a_record_and_what_was_derived_from_it(
        self, store: Store, schema: RecordSchema
    ) -> None:
        (source,) = put(store, schema.make("s", "unique words", embedding=[1, 0])).ids
        (child,) = put(
            store, Resource(name="i", content="insight", parents=(source,), embedding=[0, 1])
        ).ids
        (moment,) = put(store, Moment(name="m", resource_refs=(source, "elsewhere"))).ids
        put(store, relation("s", "mentions", "Only Here"), edge_between("i", "m"))
        # so that the text index is loaded when the record goes
        store.search.text("unique", SearchSpec(limit=1))
        deletion = store.delete([source])
        assert set(deletion.ids) == {source, child}
        assert deletion.derived == 1
        assert deletion.vectors == 2
        assert deletion.edges == 2
        assert deletion.remaining == ()
        assert by_text(store, "unique") == []
        assert store.records.lookup(["s", "only-here"]) == {"s": [], "only-here": []}
        assert by_name(store, "only here") == []
        assert by_vector(store, [1, 0], schema=schema.name) == []
        kept = stored(store, moment, Moment)
        assert kept.resource_refs == ("elsewhere",)

    def test_a_moment_stays_when_the_one_it_lies_in_is_deleted(self, store: Store) -> None:
        (day,) = put(store, Moment(name="day")).ids
        (talk,) = put(store, Moment(name="talk", parent_moment=day)).ids
        assert store.delete([day]).ids == (day,)
        kept = stored(store, talk, Moment)
        assert kept.parent_moment == ""

    def test_a_key_another_record_has_keeps_its_edges(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(store, Moment(name="Alpha"), edge_between("Alpha", "x"))
        (doc,) = put(store, schema.make("Alpha", "text")).ids
        store.delete([doc])
        assert len(edges_of(store, "alpha")) == 1

    def test_deleting_what_is_not_there_does_nothing(self, store: Store) -> None:
        assert store.delete(["nowhere"]).ids == ()


def _values(reads: Reads, schema: RecordSchema) -> dict[str, Any]:
    found: dict[str, Any] = getattr(reads.records.get(schema.name, "sum"), schema.free)
    return found


def _added(schema: RecordSchema, reads: Reads, name: str) -> Batch:
    known = _values(reads, schema)
    values = {**known, "total": known["total"] + 1, name: 1}
    return batch_of(reads, schema.make("Sum", id="sum", values=values))


def _refuses(reads: Reads) -> Batch:
    reads.records.get(None, "sum")
    raise NotFoundError("there is nothing to change")


def _at(at: datetime | None, batch: Batch) -> Batch:
    """A batch that is written at a time, by the clock."""
    records = (replace(item, record=replace(item.record, updated_at=at)) for item in batch.records)
    return replace(batch, records=tuple(records), at=at)


def _stored(store: Store, id: str) -> Record:
    record = store.records.get(None, id)
    assert record is not None
    return record
