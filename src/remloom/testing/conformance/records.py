"""The store contract as tests: writing records and reading them back."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from msgspec.structs import replace

from ...errors import ConflictError, InvalidInputError, StoreClosedError
from ...model import Entity, Moment, Record, Resource
from ...store.batch import Batch, BatchRecord
from ...store.contract import Store
from ...store.encoding import embedded_text
from ...store.specs import ChunkRange, SearchSpec
from .opening import (
    DAY,
    T0,
    Opened,
    Opening,
    RecordSchema,
    by_name,
    by_text,
    by_vector,
    edge_between,
    edge_keys,
    edges_of,
    lookup,
    names,
    put,
    relation,
    stored,
    the_entity,
    together,
)


class RecordCases(Opened):
    # -- records -----------------------------------------------------------------------------------

    def test_a_record_is_read_back_as_it_was_written(self, store: Store) -> None:
        moment = Moment(
            name="Kickoff",
            type="meeting",
            starts_at=T0,
            ends_at=T0 + DAY,
            topic_tags=("alpha",),
            summary="We began.",
            metadata={"room": 5, "deep": {"list": [1, None, "ü"]}},
        )
        (identity,) = put(store, moment).ids
        found = stored(store, identity, Moment)
        assert found.name == "Kickoff"
        assert found.starts_at == T0
        assert found.ends_at == T0 + DAY
        assert found.topic_tags == ("alpha",)
        assert found.metadata == {"room": 5, "deep": {"list": [1, None, "ü"]}}
        assert found.created_at is not None
        assert found.created_at.tzinfo is not None

    def test_long_content_comes_back_whole(self, store: Store, schema: RecordSchema) -> None:
        text = "Ein langer Satz mit Ümlauten und 東京. " * 2_000
        (identity,) = put(store, schema.make("long", text)).ids
        found = store.records.get(schema.name, identity)
        assert found is not None
        assert text in embedded_text(found)

    def test_an_unknown_id_and_an_id_of_another_schema_are_none(
        self, store: Store, schema: RecordSchema
    ) -> None:
        (identity,) = put(store, schema.make("Sarah")).ids
        assert store.records.get(None, "nowhere") is None
        other = "moments" if schema.name == "entities" else "entities"
        assert store.records.get(other, identity) is None
        assert store.records.get(schema.name, identity) is not None

    def test_the_same_text_from_the_same_place_is_written_once(self, store: Store) -> None:
        chunk = Resource(name="a", uri="a.md", content="Hello.")
        first, second = put(store, chunk), put(store, chunk)
        assert first.ids == second.ids
        assert (first.created, second.created, second.unchanged) == (1, 0, 1)
        assert store.admin.stats().records["resources"] == 1

    def test_texts_are_numbered_as_they_are_written_and_again_when_they_change(
        self, store: Store
    ) -> None:
        def texts(after: int = 0, limit: int = 9) -> list[str]:
            return [record.name for _, record in store.records.texts_after(after, limit)]

        one = Resource(id="1", name="one", content="First.", metadata={"speaker": "Ann"})
        two = Resource(id="2", name="two", content="Second.")
        put(store, one, two, Resource(id="3", name="none"), Entity(name="e", summary="An entity."))
        assert texts() == ["one", "two", "e"]
        assert texts(limit=2) == ["one", "two"]
        first, last = (store.records.texts_after(0, 9)[position][0] for position in (0, -1))
        assert texts(after=first) == ["two", "e"]
        assert texts(after=last) == []
        put(store, replace(one, metadata={"speaker": "Ann", "seen": True}))
        assert texts(after=last) == []
        put(store, replace(two, content="Once more."), replace(one, metadata={"speaker": "Ben"}))
        assert texts(after=last) == ["two", "one"]
        put(store, replace(two, content="Once more.", category="note"))
        assert texts() == ["e", "one", "two"]
        last = store.records.texts_after(0, 9)[-1][0]
        store.delete(["2"])
        put(store, replace(two, content="It is back."))
        assert texts(after=last) == ["two"]

    def test_entities_come_in_the_order_in_which_they_were_made(self, store: Store) -> None:
        put(store, Resource(name="r", content="Text."), Entity(name="a"), Entity(id="b", name="b"))
        put(store, edge_between("a", "thin"), Moment(name="m"))
        found, last = store.records.entities_after(0, 9)
        assert names(found) == ["a", "b", "thin"]
        first, at = store.records.entities_after(0, 1)
        assert names(first) == ["a"]
        assert names(store.records.entities_after(at, 9)[0]) == ["b", "thin"]
        put(store, Entity(id="b", name="b", summary="It changed."))
        put(store, *(Resource(name=f"r{n}", content=f"Text {n}.") for n in range(9)))
        assert store.records.entities_after(last, 9)[0] == []
        put(store, Entity(name="c"))
        assert names(store.records.entities_after(last, 9)[0]) == ["c"]

    def test_the_chunks_of_a_source_come_in_order_from_either_end(self, store: Store) -> None:
        put(
            store,
            *(
                Resource(name=f"c{n}", uri="a.md", ordinal=n, content=f"Part {n}.")
                for n in (3, 0, 2, 1, 5)
            ),
        )
        put(
            store,
            Resource(name="other", uri="b.md", content="Another."),
            Resource(name="none", content="No source."),
        )

        def ordinals(**options: Any) -> list[int]:
            return [chunk.ordinal for chunk in store.records.chunks("a.md", ChunkRange(**options))]

        # the gap stays: ordinals are those of the source
        assert ordinals() == [0, 1, 2, 3, 5]
        assert ordinals(limit=2) == [0, 1]
        assert ordinals(limit=2, last=True) == [3, 5]
        assert ordinals(after=1, before=5) == [2, 3]
        assert ordinals(before=3, limit=1, last=True) == [2]
        assert store.records.chunks("nowhere") == []
        assert store.records.chunks("") == []

    def test_turns_are_found_by_the_ids_of_their_messages(self, store: Store) -> None:
        for uri in ("chat/1", "chat/2"):
            for n in range(4):
                name = f"{uri} {n}"
                ids = {"message_ids": [f"m{n}"]}
                put(store, Resource(name=name, uri=uri, ordinal=n, content=name, metadata=ids))
        found = store.records.messages("chat/1", ["m2", "m1", "m2", "m9", "m'"])
        assert names(found) == ["chat/1 1", "chat/1 2"]
        assert store.records.messages("chat/1", []) == []

    def test_the_moments_that_refer_to_a_record_are_found_by_it(self, store: Store) -> None:
        first, second, third = put(
            store, *(Resource(name=f"r{n}", content=f"Text {n}.") for n in range(3))
        ).ids
        one = put(store, Moment(name="One", type="talk", resource_refs=(first, second))).ids[0]
        put(store, Moment(name="Two", type="talk", resource_refs=(second,), parent_moment=one))
        assert names(store.records.referring([second])) == ["One", "Two"]
        assert names(store.records.referring([first, second])) == ["One", "Two"]
        assert names(store.records.referring([one])) == ["Two"]
        assert store.records.referring([third, "nowhere"]) == []

    def test_what_came_from_a_source_is_found_by_it(self, store: Store) -> None:
        for number, source in enumerate(("page", "page/inner", "a page", "Æ/*?[", "")):
            text = Resource(name=f"of {source}", uri=f"u/{number}", origin=source, content="text")
            put(store, text)
        put(store, Resource(name="itself", uri="page", content="text"))
        put(store, Resource(name="looks so", uri="page/0123456789abcdef", content="text"))
        put(store, Entity(name="Page", properties={"uri": "page"}))
        put(store, Entity(name="Odd", properties={"uri": ["page"]}))
        put(store, Moment(name="Talk", type="talk", metadata={"uri": "page"}))
        assert names(store.records.originating("page")) == ["of page", "Page", "Talk"]
        for source in ("page/inner", "a page", "Æ/*?["):
            found = store.records.originating(source)
            assert names(found) == [f"of {source}"]
        for source in ("", "u", "u/0", "Page", "pag", '["page"]'):
            assert store.records.originating(source) == []

    def test_an_entity_written_again_by_name_keeps_what_was_known(self, store: Store) -> None:
        put(
            store,
            Entity(
                name="Sarah Chen",
                type="person",
                aliases=("S. Chen",),
                properties={"team": "data", "age": 40},
            ),
        )
        put(
            store,
            Entity(
                name="sarah chen",
                type="person",
                properties={"age": 41},
                summary="Leads the data team.",
            ),
        )
        ((found,),) = store.records.lookup(["sarah-chen"]).values()
        assert isinstance(found, Entity)
        assert found.aliases == ("S. Chen",)
        assert found.properties == {"team": "data", "age": 41}
        assert found.summary == "Leads the data team."

    def test_namesakes_of_different_types_are_two_entities(self, store: Store) -> None:
        put(store, Entity(name="Jordan", type="person"), Entity(name="Jordan", type="place"))
        found = lookup(store, "jordan")
        assert sorted(getattr(record, "type", "") for record in found) == ["person", "place"]

    def test_an_entity_that_many_write_at_once_is_one_entity(self, store: Store) -> None:
        # all at once: each finds no entity of that name, and would make one
        def work(worker: int) -> None:
            put(
                store,
                Entity(name="Everybody's Friend", type="person", properties={f"w{worker}": worker}),
            )

        together(8, work)
        found = the_entity(store, "everybody's-friend")
        assert len(found.properties) == 8

    def test_a_record_with_a_given_id_is_replaced(self, store: Store, named: RecordSchema) -> None:
        put(store, named.make("Old Name", id="e1", aliases=("old",), values={"a": 1}))
        put(store, named.make("New Name", id="e1"))
        found = store.records.lookup(["old-name", "old", "new-name"])
        assert (found["old-name"], found["old"]) == ([], [])
        assert names(found["new-name"]) == ["New Name"]

    def test_created_at_survives_replacement_and_updated_at_moves(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(store, schema.make("A", id="e1", created_at=T0))
        put(store, schema.make("A", "more", id="e1"))
        found = store.records.get(None, "e1")
        assert found is not None
        assert found.created_at == T0
        assert found.updated_at is not None
        assert found.updated_at > T0

    def test_an_id_that_a_record_of_another_schema_has_is_refused(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(store, schema.make("Ann", id="x"))
        other: Record = Resource(id="x", name="note", content="text")
        if schema.name == "resources":
            other = Moment(id="x", name="note")
        with pytest.raises(ConflictError):
            put(store, Entity(name="Bob"), other)
        assert store.records.get(schema.name, "x") is not None
        assert store.records.lookup(["bob", "note"]) == {"bob": [], "note": []}

    def test_a_batch_is_written_wholly_or_not_at_all(
        self, store: Store, schema: RecordSchema
    ) -> None:
        with pytest.raises(InvalidInputError, match="item 1"):
            put(store, schema.make("good"), Entity(name="  "))
        naive = datetime(2025, 1, 1)  # noqa: DTZ001
        with pytest.raises(InvalidInputError, match="time zone"):
            put(store, schema.make("good"), schema.make("m", created_at=naive))
        assert lookup(store, "good") == []

    def test_of_a_write_that_fails_in_the_store_nothing_is_left(
        self, store: Store, schema: RecordSchema
    ) -> None:
        other = (
            Moment(id="other", name="Other")
            if schema.name != "moments"
            else Entity(id="other", name="Other")
        )
        put(store, schema.make("Kept", "first words", id="kept", embedding=[1, 0]), other)
        before = list(store.records.all())
        # the last one is refused, when the others are written already
        with pytest.raises(ConflictError):
            put(
                store,
                schema.make("Renamed", "second words", id="kept", embedding=[0, 1]),
                schema.make("New", "third words", id="new"),
                edge_between("New", "Hub"),
                schema.make("Clash", id="other"),
            )
        assert list(store.records.all()) == before
        assert list(store.graph.all_edges()) == []
        assert not any(store.records.lookup(["renamed", "new", "hub", "clash"]).values())
        assert by_text(store, "words", limit=9) == ["Kept"]
        assert by_text(store, "second third", limit=9) == []
        (found,) = store.search.vector([1, 0], SearchSpec(schema=schema.name, limit=9))
        assert found.score == pytest.approx(1.0, abs=1e-3)

    def test_it_is_all_there_after_reopening(
        self, store: Store, named: RecordSchema, reopen: Opening
    ) -> None:
        put(
            store,
            named.make("Sarah Chen", aliases=("S. Chen",)),
            relation("Sarah Chen", "manages", "Bob"),
        )
        put(store, named.make("r", "pricing talk", embedding=[1.0, 0.0]))
        store.close()
        again = reopen()
        assert names(again.records.lookup(["s.-chen"])["s.-chen"]) == ["Sarah Chen"]
        assert edges_of(again, "bob", "in")[0].src == "sarah-chen"
        assert by_text(again, "pricing") == ["r"]
        assert by_vector(again, [1.0, 0.0], schema=named.name, limit=1) == ["r"]
        assert by_name(again, "sara chen") == ["Sarah Chen"]

    def test_another_store_of_the_tenant_sees_a_write_at_once(
        self, store: Store, schema: RecordSchema, reopen: Opening
    ) -> None:
        # opened before the write, with its caches filled by the search below
        other = reopen()
        assert by_name(other, "sarah") == []
        put(store, schema.make("Sarah"), schema.make("r", "tea time", embedding=[0.6, 0.8]))
        assert by_name(other, "sarah") == ["Sarah"]
        assert by_text(other, "tea") == ["r"]
        assert by_vector(other, [0.6, 0.8], schema=schema.name) == ["r"]
        store.delete([record.id for record in lookup(store, "sarah")])
        assert by_name(other, "sarah") == []

    def test_use_after_closing_is_an_error_that_says_so(self, store: Store) -> None:
        store.close()
        with pytest.raises(StoreClosedError):
            store.records.get(None, "x")

    # -- whole store -------------------------------------------------------------------------------

    def test_every_record_and_edge_can_be_listed(self, store: Store, schema: RecordSchema) -> None:
        put(store, schema.make("a"), schema.make("b", "b"), edge_between("a", "b"))
        assert names(store.records.all()) == ["a", "b"]
        assert names(store.records.all(schema.name)) == ["a", "b"]
        assert edge_keys(store.graph.all_edges()) == [("a", "r", "b")]

    def test_a_thin_entity_that_went_and_came_back_stands_where_it_stood(
        self, store: Store
    ) -> None:
        put(store, Entity(name="a"), edge_between("a", "x"), edge_between("a", "y"))
        put(store, Entity(name="b"))
        before = list(store.records.all())
        assert names(before)[:2] == ["a", "b"]
        thin = next(record for record in before if record.name == "x")
        # the last edge of a placeholder takes it along
        store.write(Batch(deleted_edges=(("a", "r", "x"),)))
        assert names(store.records.all()) == ["a", "b", "y"]
        edge = edge_between("a", "x", created_at=T0)
        store.write(Batch((BatchRecord(thin, ("x",), ""),), (edge,)))
        assert [record.id for record in store.records.all()] == [record.id for record in before]

    def test_stats_count_what_is_there(self, store: Store, schema: RecordSchema) -> None:
        put(store, schema.make("a"), schema.make("b", "b", embedding=[1.0]), edge_between("a", "c"))
        stats = store.admin.stats()
        expected = {"resources": 0, "entities": 0, "moments": 0, schema.name: 2}
        # what the edge leads to
        expected["entities"] += 1
        assert stats.records == expected
        assert (stats.edges, stats.edge_types, stats.vectors.count) == (1, {"r": 1}, 1)

    def test_threads_write_and_read_together_and_lose_nothing(
        self, store: Store, schema: RecordSchema
    ) -> None:
        def work(worker: int) -> None:
            for i in range(20):
                put(store, schema.make(f"w{worker} n{i}"), edge_between(f"w{worker} n{i}", "hub"))
                assert names(lookup(store, f"w{worker}-n{i}"))
                by_name(store, f"w{worker} n{i}", limit=1)

        together(6, work)
        assert store.graph.count(["hub"], direction="in") == 120
