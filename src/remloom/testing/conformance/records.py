"""The store contract as tests: writing records and reading them back."""

from __future__ import annotations

import threading
from datetime import datetime
from typing import Any

import pytest
from msgspec.structs import replace

from ...errors import ConflictError, InvalidInputError, StoreClosedError
from ...model import Edge, Entity, Moment, Record, Resource
from ...store.batch import Batch, BatchRecord
from ...store.contract import Store
from ...store.rules.indexed_text import embedded_text
from ...store.specs import ChunkRange, EdgeSpec, NameSpec, SearchSpec
from .opening import DAY, T0, Opened, Opening, edge_between, edge_keys, lookup, names, put
from .schemas import RecordSchema


class RecordCases(Opened):
    """Writing records and reading them back."""

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
        found = store.records.get("moments", identity)
        assert isinstance(found, Moment)
        assert (found.name, found.starts_at, found.ends_at, found.topic_tags) == (
            "Kickoff",
            T0,
            T0 + DAY,
            ("alpha",),
        )
        assert found.metadata == {"room": 5, "deep": {"list": [1, None, "ü"]}}
        assert found.created_at is not None
        assert found.created_at.tzinfo is not None

    def test_long_content_comes_back_whole(self, store: Store, schema: RecordSchema) -> None:
        text = "Ein langer Satz mit Ümlauten und 東京. " * 2_000
        (identity,) = put(store, schema.make(name="long", text=text)).ids
        found = store.records.get(schema.name, identity)
        assert found is not None
        assert text in embedded_text(found)

    def test_an_unknown_id_and_an_id_of_another_schema_are_none(
        self, store: Store, schema: RecordSchema
    ) -> None:
        (identity,) = put(store, schema.make(name="Sarah")).ids
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
        first, last = (store.records.texts_after(0, 9)[place][0] for place in (0, -1))
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
        assert store.admin.check() == []

    def test_entities_come_in_the_order_in_which_they_were_made(self, store: Store) -> None:
        put(store, Resource(name="r", content="Text."), Entity(name="a"), Entity(id="b", name="b"))
        put(store, Edge(src="a", rel_type="r", dst="thin"), Moment(name="m"))
        found, last = store.records.entities_after(0, 9)
        assert [entity.name for entity in found] == ["a", "b", "thin"]
        first, at = store.records.entities_after(0, 1)
        assert [entity.name for entity in first] == ["a"]
        assert [entity.name for entity in store.records.entities_after(at, 9)[0]] == ["b", "thin"]
        put(store, Entity(id="b", name="b", summary="It changed."))
        put(store, *(Resource(name=f"r{n}", content=f"Text {n}.") for n in range(9)))
        assert store.records.entities_after(last, 9)[0] == []
        put(store, Entity(name="c"))
        assert [entity.name for entity in store.records.entities_after(last, 9)[0]] == ["c"]

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
        assert [turn.name for turn in found] == ["chat/1 1", "chat/1 2"]
        assert store.records.messages("chat/1", []) == []

    def test_the_moments_that_refer_to_a_record_are_found_by_it(self, store: Store) -> None:
        first, second, third = put(
            store, *(Resource(name=f"r{n}", content=f"Text {n}.") for n in range(3))
        ).ids
        one = put(store, Moment(name="One", type="talk", resource_refs=(first, second))).ids[0]
        put(store, Moment(name="Two", type="talk", resource_refs=(second,), parent_moment=one))
        assert [moment.name for moment in store.records.referring([second])] == ["One", "Two"]
        assert [moment.name for moment in store.records.referring([first, second])] == [
            "One",
            "Two",
        ]
        assert [moment.name for moment in store.records.referring([one])] == ["Two"]
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
        assert [record.name for record in store.records.originating("page")] == [
            "of page",
            "Page",
            "Talk",
        ]
        for source in ("page/inner", "a page", "Æ/*?["):
            found = store.records.originating(source)
            assert [record.name for record in found] == [f"of {source}"]
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
        start = threading.Barrier(8)

        def work(worker: int) -> None:
            start.wait()
            put(
                store,
                Entity(name="Everybody's Friend", type="person", properties={f"w{worker}": worker}),
            )

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (found,) = lookup(store, "everybody's-friend")
        assert isinstance(found, Entity)
        assert len(found.properties) == 8

    def test_a_record_with_a_given_id_is_replaced(self, store: Store, named: RecordSchema) -> None:
        put(store, named.make(id="e1", name="Old Name", aliases=("old",), values={"a": 1}))
        put(store, named.make(id="e1", name="New Name"))
        found = store.records.lookup(["old-name", "old", "new-name"])
        assert (found["old-name"], found["old"]) == ([], [])
        assert names(found["new-name"]) == ["New Name"]
        assert store.admin.check() == []

    def test_created_at_survives_replacement_and_updated_at_moves(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(store, schema.make(id="e1", name="A", created_at=T0))
        put(store, schema.make(id="e1", name="A", text="more"))
        found = store.records.get(None, "e1")
        assert found is not None
        assert found.created_at == T0
        assert found.updated_at is not None
        assert found.updated_at > T0

    def test_an_id_that_a_record_of_another_schema_has_is_refused(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(store, schema.make(id="x", name="Ann"))
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
            put(store, schema.make(name="good"), Entity(name="  "))
        naive = datetime(2025, 1, 1)  # noqa: DTZ001
        with pytest.raises(InvalidInputError, match="time zone"):
            put(store, schema.make(name="good"), schema.make(name="m", created_at=naive))
        assert lookup(store, "good") == []

    def test_of_a_write_that_fails_in_the_store_nothing_is_left(
        self, store: Store, schema: RecordSchema
    ) -> None:
        other = (
            Moment(id="other", name="Other")
            if schema.name != "moments"
            else Entity(id="other", name="Other")
        )
        put(store, schema.make(id="kept", name="Kept", text="first words", embedding=[1, 0]), other)
        before = list(store.records.all())
        # the last one is refused, when the others are written already
        with pytest.raises(ConflictError):
            put(
                store,
                schema.make(id="kept", name="Renamed", text="second words", embedding=[0, 1]),
                schema.make(id="new", name="New", text="third words"),
                edge_between("New", "Hub"),
                schema.make(id="other", name="Clash"),
            )
        assert list(store.records.all()) == before
        assert list(store.graph.all_edges()) == []
        assert not any(store.records.lookup(["renamed", "new", "hub", "clash"]).values())
        assert names(store.search.text("words", SearchSpec(limit=9))) == ["Kept"]
        assert store.search.text("second third", SearchSpec(limit=9)) == []
        (found,) = store.search.vector([1, 0], SearchSpec(schema=schema.name, limit=9))
        assert found.score == pytest.approx(1.0, abs=1e-3)
        assert store.admin.check() == []

    def test_it_is_all_there_after_reopening(
        self, store: Store, named: RecordSchema, reopen: Opening
    ) -> None:
        put(
            store,
            named.make(name="Sarah Chen", aliases=("S. Chen",)),
            Edge(src="Sarah Chen", rel_type="manages", dst="Bob"),
        )
        put(store, named.make(name="r", text="pricing talk", embedding=[1.0, 0.0]))
        store.close()
        again = reopen()
        assert names(again.records.lookup(["s.-chen"])["s.-chen"]) == ["Sarah Chen"]
        assert again.graph.edges(EdgeSpec(["bob"], direction="in"))[0].src == "sarah-chen"
        assert names(again.search.text("pricing", SearchSpec(limit=5))) == ["r"]
        assert names(again.search.vector([1.0, 0.0], SearchSpec(schema=named.name, limit=1))) == [
            "r"
        ]
        assert names(again.search.names("sara chen", NameSpec(threshold=0.5, limit=5))) == [
            "Sarah Chen"
        ]

    def test_another_store_of_the_tenant_sees_a_write_at_once(
        self, store: Store, schema: RecordSchema, reopen: Opening
    ) -> None:
        # opened before the write, with its caches filled by the search below
        other = reopen()
        assert other.search.names("sarah", NameSpec(threshold=0.5, limit=5)) == []
        put(
            store,
            schema.make(name="Sarah"),
            schema.make(name="r", text="tea time", embedding=[0.6, 0.8]),
        )
        assert names(other.search.names("sarah", NameSpec(threshold=0.5, limit=5))) == ["Sarah"]
        assert names(other.search.text("tea", SearchSpec(limit=5))) == ["r"]
        assert names(other.search.vector([0.6, 0.8], SearchSpec(schema=schema.name, limit=5))) == [
            "r"
        ]
        store.delete([record.id for record in lookup(store, "sarah")])
        assert other.search.names("sarah", NameSpec(threshold=0.5, limit=5)) == []

    def test_use_after_closing_is_an_error_that_says_so(self, store: Store) -> None:
        store.close()
        with pytest.raises(StoreClosedError):
            store.records.get(None, "x")

    # -- whole store -------------------------------------------------------------------------------

    def test_every_record_and_edge_can_be_listed(self, store: Store, schema: RecordSchema) -> None:
        put(
            store,
            schema.make(name="a"),
            schema.make(name="b", text="b"),
            edge_between("a", "b"),
        )
        assert [record.name for record in store.records.all()] == ["a", "b"]
        assert [record.name for record in store.records.all(schema.name)] == ["a", "b"]
        assert edge_keys(store.graph.all_edges()) == [("a", "r", "b")]

    def test_a_thin_entity_that_went_and_came_back_stands_where_it_stood(
        self, store: Store
    ) -> None:
        put(
            store,
            Entity(name="a"),
            edge_between("a", "x"),
            edge_between("a", "y"),
        )
        put(store, Entity(name="b"))
        before = list(store.records.all())
        assert [record.name for record in before][:2] == ["a", "b"]
        thin = next(record for record in before if record.name == "x")
        # the last edge of a placeholder takes it along
        store.write(Batch(deleted_edges=(("a", "r", "x"),)))
        assert [record.name for record in store.records.all()] == ["a", "b", "y"]
        edge = edge_between("a", "x", created_at=T0)
        store.write(Batch((BatchRecord(thin, ("x",), ""),), (edge,)))
        assert [record.id for record in store.records.all()] == [record.id for record in before]

    def test_stats_count_what_is_there(self, store: Store, schema: RecordSchema) -> None:
        put(
            store,
            schema.make(name="a"),
            schema.make(name="b", text="b", embedding=[1.0]),
            edge_between("a", "c"),
        )
        stats = store.admin.stats()
        expected = {"resources": 0, "entities": 0, "moments": 0, schema.name: 2}
        # what the edge leads to
        expected["entities"] += 1
        assert stats.records == expected
        assert (stats.edges, stats.edge_types, stats.vectors.count) == (1, {"r": 1}, 1)

    def test_threads_write_and_read_together_and_lose_nothing(
        self, store: Store, schema: RecordSchema
    ) -> None:
        errors: list[BaseException] = []

        def work(worker: int) -> None:
            try:
                for i in range(20):
                    put(
                        store,
                        schema.make(name=f"w{worker} n{i}"),
                        edge_between(f"w{worker} n{i}", "hub"),
                    )
                    assert names(store.records.lookup([f"w{worker}-n{i}"])[f"w{worker}-n{i}"])
                    store.search.names(f"w{worker} n{i}", NameSpec(threshold=0.5, limit=1))
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert store.graph.count(["hub"], direction="in") == 120
        assert store.admin.check() == []
