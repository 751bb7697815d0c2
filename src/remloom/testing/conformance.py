"""The store contract as tests. A provider's test module inherits `StoreConformance` and supplies two fixtures.

    class TestSqlite(StoreConformance):
        @pytest.fixture
        def opening(self, tmp_path):
            return lambda: SqliteStore(tmp_path / "memory.db")

`opening()` opens the same tenant each time it is called; stores it opened are closed by the suite.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from .. import labels
from ..errors import (
    ChangedError,
    ConflictError,
    EmbedderMismatchError,
    GoneError,
    InvalidInputError,
    StoreClosedError,
    UnknownNameError,
    VectorError,
)
from ..journal import JournalEntry
from ..model import Edge, Entity, Moment, Record, Resource
from ..predicates import (
    All,
    And,
    Contains,
    EndsWith,
    Eq,
    Exists,
    Gt,
    Gte,
    In,
    Lt,
    Matches,
    Ne,
    Not,
    NotExists,
    NotIn,
    Or,
    Predicate,
    Query,
    StartsWith,
    VectorSimilar,
)
from ..store import batch
from ..store.contract import Batch, EdgeOrder, Expected, Store, Vector, Written

__all__ = ["StoreConformance", "put"]

Opening = Callable[[], Store]
T0 = datetime(2025, 1, 15, 10, tzinfo=UTC)
DAY = timedelta(days=1)


def put(store: Store, *items: Record | Edge, model: str = "") -> Written:
    """Write items as `Memory` does."""
    return store.write(batch.build(items, tenant="conformance", model=model))


def names(found: list[Any]) -> list[str]:
    return [getattr(item, "record", item).name for item in found]


class StoreConformance:
    """What every provider must do. `store` is a fresh, empty tenant."""

    @pytest.fixture
    def opening(self, tmp_path: Any) -> Opening:
        raise NotImplementedError("return a function that opens the tenant under test")

    @pytest.fixture
    def reopen(self, opening: Opening) -> Iterator[Opening]:
        opened: list[Store] = []

        def reopen() -> Store:
            opened.append(opening())
            return opened[-1]

        yield reopen
        for store in opened:
            store.close()

    @pytest.fixture
    def store(self, reopen: Opening) -> Store:
        return reopen()

    # -- records ---------------------------------------------------------------------------------------------

    def test_a_record_is_read_back_as_it_was_written(self, store: Store) -> None:
        moment = Moment(
            name="Kickoff", type="meeting", starts_at=T0, ends_at=T0 + DAY, topic_tags=("alpha",), summary="We began.",
            metadata={"room": 5, "deep": {"list": [1, None, "ü"]}},
        )  # fmt: skip
        (identity,) = put(store, moment).ids
        found = store.get("moments", identity)
        assert isinstance(found, Moment)
        assert (found.name, found.starts_at, found.ends_at, found.topic_tags) == ("Kickoff", T0, T0 + DAY, ("alpha",))
        assert found.metadata == {"room": 5, "deep": {"list": [1, None, "ü"]}}
        assert found.created_at is not None
        assert found.created_at.tzinfo is not None

    def test_long_content_comes_back_whole(self, store: Store) -> None:
        text = "Ein langer Satz mit Ümlauten und 東京. " * 2_000
        (identity,) = put(store, Resource(name="long", content=text)).ids
        found = store.get("resources", identity)
        assert isinstance(found, Resource)
        assert found.content == text

    def test_an_unknown_id_and_an_id_of_another_schema_are_none(self, store: Store) -> None:
        (identity,) = put(store, Entity(name="Sarah")).ids
        assert store.get(None, "nowhere") is None
        assert store.get("resources", identity) is None
        assert store.get("entities", identity) is not None

    def test_the_same_text_from_the_same_place_is_written_once(self, store: Store) -> None:
        chunk = Resource(name="a", uri="a.md", content="Hello.")
        first, second = put(store, chunk), put(store, chunk)
        assert first.ids == second.ids
        assert (first.created, second.created, second.unchanged) == (1, 0, 1)
        assert store.stats()["records"]["resources"] == 1

    def test_an_entity_written_again_by_name_keeps_what_was_known(self, store: Store) -> None:
        put(
            store,
            Entity(name="Sarah Chen", type="person", aliases=("S. Chen",), properties={"team": "data", "age": 40}),
        )
        put(store, Entity(name="sarah chen", type="person", properties={"age": 41}, summary="Leads the data team."))
        ((found,),) = store.lookup(["sarah-chen"]).values()
        assert isinstance(found, Entity)
        assert found.aliases == ("S. Chen",)
        assert found.properties == {"team": "data", "age": 41}
        assert found.summary == "Leads the data team."

    def test_namesakes_of_different_types_are_two_entities(self, store: Store) -> None:
        put(store, Entity(name="Jordan", type="person"), Entity(name="Jordan", type="place"))
        assert sorted(record.type for record in store.lookup(["jordan"])["jordan"]) == ["person", "place"]  # type: ignore[union-attr]

    def test_an_entity_that_many_write_at_once_is_one_entity(self, store: Store) -> None:
        start = threading.Barrier(8)

        def work(worker: int) -> None:
            start.wait()
            put(store, Entity(name="Everybody's Friend", type="person", properties={f"w{worker}": worker}))

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (found,) = store.lookup(["everybody's-friend"])["everybody's-friend"]
        assert isinstance(found, Entity)
        assert len(found.properties) == 8

    def test_a_record_with_a_given_id_is_replaced(self, store: Store) -> None:
        put(store, Entity(id="e1", name="Old Name", aliases=("old",), properties={"a": 1}))
        put(store, Entity(id="e1", name="New Name"))
        found = store.lookup(["old-name", "old", "new-name"])
        assert (found["old-name"], found["old"]) == ([], [])
        assert names(found["new-name"]) == ["New Name"]
        assert store.check() == []

    def test_created_at_survives_replacement_and_updated_at_moves(self, store: Store) -> None:
        put(store, Entity(id="e1", name="A", created_at=T0))
        put(store, Entity(id="e1", name="A", summary="more"))
        found = store.get(None, "e1")
        assert found is not None
        assert found.created_at == T0
        assert found.updated_at is not None
        assert found.updated_at > T0

    def test_an_id_that_a_record_of_another_schema_has_is_refused(self, store: Store) -> None:
        put(store, Entity(id="x", name="Ann"))
        with pytest.raises(ConflictError):
            put(store, Entity(name="Bob"), Resource(id="x", name="note", content="text"))
        assert store.get("entities", "x") is not None
        assert store.lookup(["bob", "note"]) == {"bob": [], "note": []}

    def test_a_batch_is_written_wholly_or_not_at_all(self, store: Store) -> None:
        with pytest.raises(InvalidInputError, match="item 1"):
            put(store, Entity(name="good"), Entity(name="  "))
        with pytest.raises(InvalidInputError, match="time zone"):
            put(store, Entity(name="good"), Moment(name="m", starts_at=datetime(2025, 1, 1)))  # noqa: DTZ001
        assert store.lookup(["good"])["good"] == []

    def test_it_is_all_there_after_reopening(self, store: Store, reopen: Opening) -> None:
        put(
            store,
            Entity(name="Sarah Chen", aliases=("S. Chen",)),
            Edge(src="Sarah Chen", rel_type="manages", dst="Bob"),
        )
        put(store, Resource(name="r", content="pricing talk", embedding=[1.0, 0.0]))
        store.close()
        again = reopen()
        assert names(again.lookup(["s.-chen"])["s.-chen"]) == ["Sarah Chen"]
        assert again.edges(["bob"], direction="in", rel_types=None, limit=None)[0].src == "sarah-chen"
        assert names(again.search_text("pricing", schema=None, where=None, limit=5)) == ["r"]
        assert names(again.search_vector([1.0, 0.0], schema="resources", where=None, limit=1, min_score=None)) == ["r"]
        assert names(again.fuzzy("sara chen", type=None, threshold=0.5, limit=5)) == ["Sarah Chen"]

    def test_another_store_of_the_tenant_sees_a_write_at_once(self, store: Store, reopen: Opening) -> None:
        other = reopen()
        assert other.fuzzy("sarah", type=None, threshold=0.5, limit=5) == []
        put(store, Entity(name="Sarah"), Resource(name="r", content="tea time", embedding=[0.6, 0.8]))
        assert names(other.fuzzy("sarah", type=None, threshold=0.5, limit=5)) == ["Sarah"]
        assert names(other.search_text("tea", schema=None, where=None, limit=5)) == ["r"]
        assert names(other.search_vector([0.6, 0.8], schema="resources", where=None, limit=5, min_score=None)) == ["r"]
        store.delete([record.id for record in store.lookup(["sarah"])["sarah"]])
        assert other.fuzzy("sarah", type=None, threshold=0.5, limit=5) == []

    def test_use_after_closing_is_an_error_that_says_so(self, store: Store) -> None:
        store.close()
        with pytest.raises(StoreClosedError):
            store.get(None, "x")

    # -- lookup ----------------------------------------------------------------------------------------------

    def test_lookup_sees_every_schema(self, store: Store) -> None:
        put(store, Entity(name="Alpha"), Resource(name="alpha", content="x"), Moment(name="ALPHA"))
        assert {record.schema for record in store.lookup(["alpha"])["alpha"]} == {"entities", "resources", "moments"}

    def test_lookup_finds_by_alias_and_keeps_the_order_of_keys(self, store: Store) -> None:
        put(store, Entity(name="Sarah Chen", aliases=("sc@example.com",)), Entity(name="Bob"))
        found = store.lookup(["bob", "sc@example.com", "nobody"])
        assert list(found) == ["bob", "sc@example.com", "nobody"]
        assert [names(records) for records in found.values()] == [["Bob"], ["Sarah Chen"], []]

    def test_a_looked_up_record_shows_its_outgoing_edges(self, store: Store) -> None:
        put(
            store,
            Entity(name="Sarah", aliases=("SC",)),
            Edge(src="SC", rel_type="owns", dst="Alpha", properties={"since": 2020}),
        )
        (edge,) = store.lookup(["sarah"])["sarah"][0].graph_paths
        assert (edge.src, edge.rel_type, edge.dst, edge.properties) == ("sc", "owns", "alpha", {"since": 2020})

    @pytest.mark.parametrize(
        "label", ["a 'quoted\" name", "line\nbreak", "50% off_", "C:\\x", "🙂", "東京", "x" * 10_000]
    )
    def test_any_label_can_be_looked_up(self, store: Store, label: str) -> None:
        put(store, Entity(name=label), Edge(src=label, rel_type="is", dst="odd"))
        key = labels.key(label)
        assert len(store.lookup([key])[key]) == 1
        assert len(store.edges([key], direction="out", rel_types=None, limit=None)) == 1

    def test_completion_goes_by_prefix_in_key_order(self, store: Store) -> None:
        put(store, Entity(name="Sarah Chen", aliases=("Sara",)), Entity(name="Sandra"), Entity(name="Bob"))
        assert store.complete("sa", 10) == ["Sandra", "Sara", "Sarah Chen"]
        assert store.complete("sa", 1) == ["Sandra"]

    # -- fuzzy -----------------------------------------------------------------------------------------------

    def test_fuzzy_forgives_typos_and_ranks_the_equal_name_first(self, store: Store) -> None:
        put(store, Entity(name="Sarah Chen"), Entity(name="Sarah Chan"), Moment(name="Q4 Retrospective"))
        found = store.fuzzy("sarah chen", type=None, threshold=0.5, limit=5)
        assert names(found)[0] == "Sarah Chen"
        assert found[0].score == pytest.approx(1.0)
        assert names(store.fuzzy("retrospectve", type=None, threshold=0.5, limit=5)) == ["Q4 Retrospective"]

    def test_fuzzy_finds_the_seeds_afternoons(self, store: Store) -> None:
        put(store, Moment(name="Friday Afternoon"), Moment(name="Monday Afternoon"), Moment(name="Kickoff"))
        found = store.fuzzy("find afternoon", type=None, threshold=0.5, limit=5)
        assert sorted(names(found)) == ["Friday Afternoon", "Monday Afternoon"]

    def test_fuzzy_filters_by_type_and_threshold(self, store: Store) -> None:
        put(store, Entity(name="Jordan", type="person"), Entity(name="Jordan River", type="place"))
        assert names(store.fuzzy("jordan", type="place", threshold=0.3, limit=5)) == ["Jordan River"]
        assert store.fuzzy("jrdn", type=None, threshold=0.99, limit=5) == []

    def test_fuzzy_gives_a_record_once_with_its_best_name(self, store: Store) -> None:
        put(store, Entity(name="Sarah Chen", aliases=("Sara Chen", "Sarah Chenn")))
        (found,) = store.fuzzy("sara chen", type=None, threshold=0.5, limit=5)
        assert found.score == pytest.approx(1.0)

    # -- text ------------------------------------------------------------------------------------------------

    def test_text_search_ranks_by_words_stems_and_ignores_stop_words(self, store: Store) -> None:
        put(
            store,
            Resource(name="a", content="The pricing of products was discussed."),
            Resource(name="b", content="Discussing prices and pricing, pricing again."),
            Resource(name="c", content="Cats sleep all day."),
        )
        assert names(store.search_text("the pricing discussions", schema=None, where=None, limit=5)) == ["b", "a"]
        assert store.search_text("the", schema=None, where=None, limit=5) == []

    def test_text_search_keeps_schema_and_filter(self, store: Store) -> None:
        put(
            store,
            Resource(name="a", content="tea", category="note"),
            Resource(name="b", content="tea", category="mail"),
            Entity(name="Tea Party", summary="tea"),
        )
        assert names(store.search_text("tea", schema="resources", where=Eq("category", "mail"), limit=5)) == ["b"]
        assert names(store.search_text("tea", schema="entities", where=None, limit=5)) == ["Tea Party"]

    def test_a_changed_text_is_found_by_its_new_words_only(self, store: Store) -> None:
        put(store, Resource(id="r", name="r", content="apples"))
        put(store, Resource(id="r", name="r", content="pears"))
        assert store.search_text("apples", schema=None, where=None, limit=5) == []
        assert names(store.search_text("pears", schema=None, where=None, limit=5)) == ["r"]

    # -- vectors ---------------------------------------------------------------------------------------------

    def test_vector_search_ranks_by_cosine_and_honours_the_minimum(self, store: Store) -> None:
        put(
            store,
            Resource(name="x", content="x", embedding=[1, 0, 0]),
            Resource(name="xy", content="xy", embedding=[1, 1, 0]),
            Resource(name="z", content="z", embedding=[0, 0, 5]),
        )
        found = store.search_vector([2, 0, 0], schema="resources", where=None, limit=3, min_score=None)
        assert names(found) == ["x", "xy", "z"]
        assert [match.score for match in found] == pytest.approx([1.0, 0.7071, 0.0], abs=1e-3)
        assert names(store.search_vector([2, 0, 0], schema="resources", where=None, limit=3, min_score=0.5)) == [
            "x",
            "xy",
        ]

    def test_a_record_scores_as_its_best_window_and_comes_once(self, store: Store) -> None:
        put(store, Resource(id="r", name="r", content="two windows"), model="fake")
        windows = tuple(Vector(i, i + 1, np.eye(3, dtype=np.float32)[i].tobytes()) for i in (0, 1))
        store.embed({"r": windows}, model="fake", dims=3)
        (found,) = store.search_vector([0, 1, 0], schema="resources", where=None, limit=5, min_score=None)
        assert found.score == pytest.approx(1.0, abs=1e-3)
        assert found.matched == "1:2"

    def test_a_filter_costs_no_recall(self, store: Store) -> None:
        rng = np.random.default_rng(7)
        centres = rng.normal(size=(5, 16))
        rows = centres[rng.integers(5, size=3_000)] + 0.3 * rng.normal(size=(3_000, 16))
        put(store, *(Resource(name=f"n{i}", content=f"{i}", ordinal=i, embedding=row) for i, row in enumerate(rows)))
        store.settle()
        query = rows[17]
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        order = np.argsort(-(unit @ query))
        for share in (2, 100):
            wanted = [f"n{i}" for i in order if i % share == 0][:10]
            where = In("ordinal", list(range(0, 3_000, share)))
            found = names(
                store.search_vector(query.tolist(), schema="resources", where=where, limit=10, min_score=None)
            )
            assert len(set(found) & set(wanted)) >= 9

    @pytest.mark.parametrize("vector", [[1.0], [1.0, 2.0, 3.0], [float("nan"), 1.0], [0.0, 0.0], [float("inf"), 0.0]])
    def test_a_vector_that_does_not_fit_is_refused_and_nothing_is_written(
        self, store: Store, vector: list[float]
    ) -> None:
        put(store, Resource(name="ok", content="ok", embedding=[1.0, 0.0]))
        with pytest.raises(VectorError):
            put(store, Entity(name="bystander"), Resource(name="bad", content="bad", embedding=vector))
        assert store.lookup(["bystander"])["bystander"] == []
        with pytest.raises(VectorError):
            store.search_vector(vector, schema="resources", where=None, limit=1, min_score=None)

    def test_models_are_not_mixed(self, store: Store) -> None:
        put(store, Resource(name="a", content="a", embedding=[1.0, 0.0]), model="one")
        with pytest.raises(EmbedderMismatchError, match="one") as caught:
            put(store, Resource(name="b", content="b", embedding=[1.0, 0.0]), model="two")
        assert "reembed" in caught.value.remedy
        assert store.model() == ("one", 2)

    def test_texts_queue_for_embedding_and_leave_the_queue_with_their_vectors(self, store: Store) -> None:
        put(store, Resource(id="r", name="r", content="hello"), Entity(name="nothing to embed"), model="fake")
        assert [(item.id, item.text) for item in store.pending(10)] == [("r", "hello")]
        vector = Vector(0, 5, np.array([1, 0], np.float32).tobytes(), b"0123456789abcdef")
        store.embed({"r": (vector,), "gone": (vector,)}, model="fake", dims=2)
        assert store.pending(10) == []
        assert list(store.cached([b"0123456789abcdef"], model="fake")) == [b"0123456789abcdef"]
        assert store.cached([b"0123456789abcdef"], model="other") == {}

    def test_the_windows_of_several_records_are_read_at_once_as_one_by_one(self, store: Store) -> None:
        windows = (Vector(0, 3, np.array([1, 0], np.float32).tobytes(), b"0" * 16),
                   Vector(3, 5, np.array([0, 1], np.float32).tobytes()))  # fmt: skip
        put(store, *(Resource(id=id, content=f"text {id}") for id in ("a", "b", "none")), model="fake")
        store.embed({"a": windows, "b": windows[1:]}, model="fake", dims=2)
        assert store.vectors_of(["b", "a", "none", "gone"]) == {"a": list(windows), "b": list(windows[1:])}
        assert store.vectors("a") == list(windows)

    def test_a_text_that_keeps_failing_is_parked_with_its_reason(self, store: Store) -> None:
        put(store, Resource(id="r", name="r", content="hello"), model="fake")
        for _ in range(3):
            store.park("r", "no answer")
        assert store.pending(10) == []
        assert store.stats()["parked"] == 1
        assert store.unpark() == 1
        assert len(store.pending(10)) == 1

    def test_moving_to_another_model_keeps_the_old_vectors_until_it_is_adopted(self, store: Store) -> None:
        put(store, Resource(id="r", name="r", content="hello", embedding=[1.0, 0.0]), model="old")
        assert [item.id for item in store.unembedded("new", 10)] == ["r"]
        new = Vector(0, 5, np.array([0, 0, 1], np.float32).tobytes())
        store.embed({"r": (new,)}, model="new", dims=3, current=False)
        assert store.unembedded("new", 10) == []
        assert names(store.search_vector([1.0, 0.0], schema="resources", where=None, limit=1, min_score=0.9)) == ["r"]
        store.adopt("new")
        assert store.model() == ("new", 3)
        assert names(store.search_vector([0, 0, 1], schema="resources", where=None, limit=1, min_score=0.9)) == ["r"]
        assert store.check() == []

    # -- edges -----------------------------------------------------------------------------------------------

    def test_an_edge_written_again_merges(self, store: Store) -> None:
        put(
            store,
            Edge(src="A", rel_type="knows", dst="B", weight=0.4, properties={"x": 1, "y": 1}, created_at=T0 + DAY),
        )
        put(store, Edge(src="a", rel_type="knows", dst="b", weight=0.9, properties={"y": 2}, created_at=T0))
        put(store, Edge(src="a", rel_type="knows", dst="b", weight=0.1, properties={"z": None}))
        (edge,) = store.edges(["a"], direction="out", rel_types=None, limit=None)
        assert (edge.weight, edge.properties, edge.created_at) == (0.9, {"x": 1, "y": 2, "z": None}, T0)

    def test_an_edge_to_an_unknown_label_makes_a_thin_entity(self, store: Store) -> None:
        put(
            store,
            Edge(
                src="Alpha",
                rel_type="owned_by",
                dst="sarah-chen",
                properties={"dst_name": "Sarah Chen", "dst_entity_type": "person/employee"},
            ),
        )
        (sarah,) = store.lookup(["sarah-chen"])["sarah-chen"]
        assert isinstance(sarah, Entity)
        assert (sarah.name, sarah.type, sarah.thin) == ("Sarah Chen", "person/employee", True)

    def test_a_real_record_takes_the_place_of_a_thin_entity(self, store: Store) -> None:
        put(store, Edge(src="A", rel_type="r", dst="Sarah"), Edge(src="A", rel_type="r", dst="Doc"))
        thin = store.lookup(["sarah"])["sarah"][0].id
        put(store, Entity(name="Sarah", type="person"), Resource(name="Doc", content="text"))
        (sarah,), (doc,) = store.lookup(["sarah", "doc"]).values()
        assert (sarah.id, sarah.type, sarah.thin) == (thin, "person", False)  # type: ignore[union-attr]
        assert doc.schema == "resources"
        assert len(store.edges(["a"], direction="out", rel_types=None, limit=None)) == 2

    def test_an_edge_can_be_taken_away_and_takes_the_thin_entity_it_alone_made(self, store: Store) -> None:
        put(
            store,
            Entity(name="a"),
            *(Edge(src="a", rel_type=rel, dst=dst) for rel, dst in (("r", "x"), ("r", "y"), ("s", "y"))),
        )
        gone = [("a", "r", "x"), ("a", "r", "y"), ("a", "r", "nowhere"), ("a", "never", "y")]
        again = [Edge(src="a", rel_type="t", dst="z")]
        store.write(batch.build(again, tenant="conformance", model="", unlinked=gone))
        assert {(edge.src, edge.rel_type, edge.dst) for edge in store.all_edges()} == {("a", "s", "y"), ("a", "t", "z")}
        assert store.lookup(["x"])["x"] == []
        assert names(store.lookup(["y"])["y"]) == ["y"]
        assert names(store.lookup(["a"])["a"]) == ["a"]
        assert store.check() == []

    def test_edges_are_seen_as_stored_whatever_their_validity(self, store: Store) -> None:
        put(
            store,
            Entity(name="a", aliases=("alpha",)),
            Edge(src="a", rel_type="was", dst="b", valid_from=T0 - DAY, valid_to=T0, properties={"n": 1}),
            Edge(src="a", rel_type="will", dst="c", valid_from=T0 + 100_000 * DAY),
            Edge(src="d", rel_type="is", dst="a", weight=0.5),
            Edge(src="alpha", rel_type="is", dst="b"),
        )
        assert [edge.rel_type for edge in store.edges(["a"], direction="out", rel_types=None, limit=None)] == ["is"]

        def stored(direction: Any) -> set[tuple[str, str, str]]:
            return {(edge.src, edge.rel_type, edge.dst) for edge in store.stored_edges(["a"], direction=direction)}

        assert stored("out") == {("a", "was", "b"), ("a", "will", "c")}
        assert stored("in") == {("d", "is", "a")}
        assert stored("both") == stored("in") | stored("out")
        (was,) = (edge for edge in store.all_edges() if edge.rel_type == "was")
        assert was in store.stored_edges(["a", "nowhere"], direction="out")
        assert was.properties == {"n": 1}
        assert store.stored_edges([], direction="both") == []

    def test_a_batch_is_written_only_if_what_it_expects_is_so(self, store: Store) -> None:
        put(store, Resource(id="r", name="r", content="text"), Edge(src="r", rel_type="is", dst="x", weight=0.25))
        store.note([JournalEntry("run", "1", b"{}")])
        record = store.get("resources", "r")
        assert record is not None
        (edge,) = store.all_edges()
        place = ("r", "is", "x")
        right = Expected(
            there=("r",),
            records={"r": record.updated_at},
            edges={place: edge, ("r", "is", "y"): None},
            notes={("run", "1"): 1, ("run", "2"): 0},
        )
        new = batch.build([Entity(name="new")], tenant="conformance", model="")
        for wrong, error in (
            (Expected(there=("r", "gone")), GoneError),
            (Expected(records={"r": T0}), ChangedError),
            (Expected(records={"gone": T0}), ChangedError),
            (Expected(edges={place: None}), ChangedError),
            (Expected(edges={place: replace(edge, weight=0.5)}), ChangedError),
            (Expected(edges={("r", "is", "y"): edge}), ChangedError),
            (Expected(notes={("run", "1"): 0}), ChangedError),
            (Expected(notes={("run", "2"): 1}), ChangedError),
        ):
            with pytest.raises(error):
                store.write(replace(new, expected=wrong, removed=("r",)))
        assert store.lookup(["new"])["new"] == []
        assert store.get("resources", "r") == record
        store.write(replace(new, expected=right, unlinked=(place,)))
        assert names(store.lookup(["new"])["new"]) == ["new"]
        assert list(store.all_edges()) == []

    def test_edges_go_both_ways_newest_first_within_the_limit(self, store: Store) -> None:
        put(store, *(Edge(src="hub", rel_type="r", dst=f"n{i}", created_at=T0 + i * DAY) for i in range(5)))
        out = store.edges(["hub"], direction="out", rel_types=None, limit=2)
        assert [edge.dst for edge in out] == ["n4", "n3"]
        assert [edge.src for edge in store.edges(["n1"], direction="in", rel_types=None, limit=None)] == ["hub"]
        assert len(store.edges(["n1"], direction="both", rel_types=None, limit=None)) == 1

    def test_counts_by_type_and_direction_are_complete(self, store: Store) -> None:
        put(store, *(Edge(src="a", rel_type="x", dst=f"n{i}") for i in range(3)), Edge(src="n0", rel_type="y", dst="a"))
        counts = store.count_edges(["a"], direction="both")
        assert [(count.rel_type, count.direction, count.count) for count in counts] == [("x", "out", 3), ("y", "in", 1)]
        assert store.degrees(["a"], direction="both") == 4

    def test_an_edge_holds_from_valid_from_until_valid_to(self, store: Store) -> None:
        put(store, Edge(src="a", rel_type="at", dst="old", valid_from=T0, valid_to=T0 + DAY, created_at=T0))
        put(store, Edge(src="a", rel_type="at", dst="new", valid_from=T0 + DAY, created_at=T0 + DAY))

        def at(moment: datetime | None) -> list[str]:
            return [edge.dst for edge in store.edges(["a"], direction="out", rel_types=None, limit=None, as_of=moment)]

        assert (at(None), at(T0), at(T0 + DAY), at(T0 - DAY)) == (["new"], ["old"], ["new"], [])

    # -- walking ---------------------------------------------------------------------------------------------

    def walk(self, store: Store, start: str, depth: int, **options: Any) -> Any:
        arguments = {"rel_types": None, "direction": "out", "breadth": 9, "order": EdgeOrder(), **options}
        return store.walk([start], depth=depth, **arguments)

    def test_a_walk_reaches_each_key_once_even_in_cycles(self, store: Store) -> None:
        put(store, *(Edge(src=a, rel_type="r", dst=b) for a, b in ("ab", "bc", "ca", "ac")))
        walk = self.walk(store, "a", 5)
        assert sorted((step.key, step.depth) for step in walk.steps) == [("b", 1), ("c", 1)]

    def test_a_walk_tells_the_path_and_the_depth(self, store: Store) -> None:
        put(store, *(Edge(src=a, rel_type="r", dst=b) for a, b in ("ab", "bc", "cd")))
        walk = self.walk(store, "a", 2)
        assert {step.key: step.path for step in walk.steps} == {"b": ("a", "b"), "c": ("a", "b", "c")}
        assert walk.depth == 2

    def test_a_walk_filters_types_and_follows_the_direction(self, store: Store) -> None:
        put(store, Edge(src="boss", rel_type="manages", dst="a"), Edge(src="a", rel_type="knows", dst="b"))
        assert [step.key for step in self.walk(store, "a", 1, direction="in").steps] == ["boss"]
        assert self.walk(store, "a", 1, rel_types=["manages"]).steps == ()
        assert {step.key for step in self.walk(store, "a", 1, direction="both").steps} == {"boss", "b"}
        with pytest.raises(UnknownNameError, match="mangaes"):
            self.walk(store, "a", 1, rel_types=["mangaes"])

    def test_a_walk_follows_the_newest_edges_and_counts_the_rest(self, store: Store) -> None:
        put(store, *(Edge(src="hub", rel_type="r", dst=f"n{i:02}", created_at=T0 + i * DAY) for i in range(20)))
        walk = self.walk(store, "hub", 1, breadth=9)
        assert [step.key for step in walk.steps] == [f"n{i:02}" for i in range(19, 10, -1)]
        assert walk.unfollowed == 11
        everything = self.walk(store, "hub", 1, breadth=None, limit=5)
        assert (len(everything.steps), everything.reached, everything.unfollowed) == (5, 20, 0)

    @pytest.mark.parametrize(
        ("field", "order", "first"),
        [("weight", "desc", "b"), ("weight", "asc", "a"), ("dst", "asc", "a"), ("dst", "desc", "c")],
    )
    def test_a_walk_follows_edges_in_the_order_asked_for(
        self, store: Store, field: str, order: Any, first: str
    ) -> None:
        put(store, *(Edge(src="s", rel_type="r", dst=d, weight=w) for d, w in (("a", 0.1), ("b", 0.9), ("c", 0.5))))
        walk = self.walk(store, "s", 1, breadth=1, order=EdgeOrder(field, order))
        assert [step.key for step in walk.steps] == [first]

    def test_the_labels_of_one_record_are_one_node(self, store: Store) -> None:
        put(store, Entity(name="Sarah Chen", aliases=("SC",)), Edge(src="SC", rel_type="r", dst="x"))
        put(store, Edge(src="Sarah Chen", rel_type="r", dst="y"), Edge(src="z", rel_type="r", dst="SC"))
        assert {step.key for step in self.walk(store, "sarah-chen", 1).steps} == {"x", "y"}
        assert {step.key for step in self.walk(store, "z", 2).steps} == {"sc", "x", "y"}

    # -- predicates ------------------------------------------------------------------------------------------

    @pytest.fixture
    def people(self, store: Store) -> Store:
        put(
            store,
            Entity(
                name="Ann", type="person", aliases=("A1",), created_at=T0,
                properties={"age": 31, "status": "active", "tags": ["x", "y"]},
            ),
            Entity(name="Bob", type="person", properties={"age": 18, "status": "left"}, created_at=T0 + DAY),
            Entity(
                name="Über", type="company", summary="Taxi rides", created_at=T0 + 2 * DAY,
                properties={"age": 9, "nested": {"city": "Köln"}},
            ),
        )  # fmt: skip
        return store

    @pytest.mark.parametrize(
        ("predicate", "expected"),
        [
            (All(), "Ann Bob Über"),
            (Eq("type", "person"), "Ann Bob"),
            (Ne("type", "person"), "Über"),
            (Eq("summary", ""), "Ann Bob"),
            (Gt("properties.age", 18), "Ann"),
            (Gte("age", 18), "Ann Bob"),
            (Lt("age", 18), "Über"),
            (In("status", ["left", "gone"]), "Bob"),
            (In("properties.tags", ["y", "z"]), "Ann"),
            (NotIn("status", ["left"]), "Ann"),
            (Contains("summary", "TAXI"), "Über"),
            (Contains("aliases", "A1"), "Ann"),
            (Contains("properties.tags", "x"), "Ann"),
            (StartsWith("name", "Ü"), "Über"),
            (EndsWith("name", "b"), "Bob"),
            (Matches("name", "^[AB]"), "Ann Bob"),
            (Exists("status"), "Ann Bob"),
            (NotExists("status"), "Über"),
            (Eq("status", None), "Über"),
            (Eq("properties.nested.city", "Köln"), "Über"),
            (Not(Eq("status", "active")), "Bob Über"),
            (And((Eq("type", "person"), Gt("age", 20))), "Ann"),
            (Or((Eq("name", "Ann"), Eq("type", "company"))), "Ann Über"),
            (And(()), "Ann Bob Über"),
            (Or(()), ""),
            (Gt("created_at", T0), "Bob Über"),
            (Lt("created_at", "2025-01-16"), "Ann"),
        ],
        ids=lambda value: repr(value)[:60] if not isinstance(value, str) else "",
    )
    def test_predicates_select_what_they_say(self, people: Store, predicate: Predicate, expected: str) -> None:
        found = people.query("entities", Query().filter(predicate).order_by("name"))
        assert " ".join(names(found)) == expected

    def test_a_query_orders_limits_and_skips(self, people: Store) -> None:
        query = Query().order_by("age", "desc")
        assert names(people.query("entities", query)) == ["Ann", "Bob", "Über"]
        assert names(people.query("entities", query.offset(1).limit(1))) == ["Bob"]

    def test_an_index_changes_no_answer(self, people: Store) -> None:
        query = Query().filter(Eq("properties.status", "active"))
        before = people.query("entities", query)
        people.create_index("entities", "properties.status")
        people.create_index("entities", "properties.status")
        assert people.query("entities", query) == before
        assert [entry.id for entry in people.journal("index")] == ["entities.properties.status"]

    def test_unknown_fields_and_schemas_name_those_nearest(self, people: Store) -> None:
        with pytest.raises(UnknownNameError) as caught:
            people.query("entities", Query().filter(Eq("sumary", "x")))
        assert "summary" in caught.value.fields["nearest"]
        with pytest.raises(UnknownNameError, match="entites"):
            people.query("entites", Query())

    @pytest.mark.parametrize(
        "predicate",
        [Matches("name", "("), Gt("created_at", "soon"), In("name", "abc"), Eq("name'--", 1), Eq("name", object())],
    )
    def test_a_predicate_that_cannot_be_is_refused(self, people: Store, predicate: Predicate) -> None:
        with pytest.raises(InvalidInputError):
            people.query("entities", Query().filter(predicate))

    def test_vector_similar_combines_with_other_predicates(self, store: Store) -> None:
        put(
            store,
            Resource(name="en", content="1", language="en", embedding=[1, 0]),
            Resource(name="de", content="2", language="de", embedding=[1, 0.1]),
            Resource(name="far", content="3", language="en", embedding=[0, 1]),
        )
        query = Query().filter(VectorSimilar(query=[1, 0], top_k=20, min_score=0.7)).filter(Eq("language", "en"))
        assert names(store.query("resources", query)) == ["en"]
        with pytest.raises(InvalidInputError, match="VectorSimilar"):
            store.query("resources", Query().filter(Not(VectorSimilar(query=[1, 0]))))

    # -- moments ---------------------------------------------------------------------------------------------

    def test_moments_are_found_by_overlap_in_order_of_their_start(self, store: Store) -> None:
        put(
            store,
            Moment(name="day", starts_at=T0, ends_at=T0 + DAY),
            Moment(name="instant", starts_at=T0 + 3 * DAY),
            Moment(name="year", starts_at=T0 - 300 * DAY, ends_at=T0 + 65 * DAY),
            Moment(name="undated"),
        )
        found = store.moments_between
        assert names(found(T0 + DAY / 2, T0 + 4 * DAY)) == ["year", "day", "instant"]
        assert names(found(T0 + DAY, T0 + 2 * DAY)) == ["year"]
        assert names(found(T0 + 3 * DAY, T0 + 3 * DAY + timedelta(seconds=1))) == ["year", "instant"]
        assert found(T0 + 100 * DAY, T0 + 200 * DAY) == []

    # -- provenance and deletion -----------------------------------------------------------------------------

    def test_parents_and_children_are_known(self, store: Store) -> None:
        (source,) = put(store, Resource(name="s", content="source")).ids
        (insight,) = put(store, Resource(name="i", content="insight", parents=(source,), generation=1)).ids
        assert (store.parents(insight), store.children(source)) == ([source], [insight])

    def test_deleting_takes_everything_of_a_record_and_what_was_derived_from_it(self, store: Store) -> None:
        (source,) = put(store, Resource(name="s", content="unique words", embedding=[1, 0])).ids
        (child,) = put(store, Resource(name="i", content="insight", parents=(source,), embedding=[0, 1])).ids
        (moment,) = put(store, Moment(name="m", resource_refs=(source, "elsewhere"))).ids
        put(store, Edge(src="s", rel_type="mentions", dst="Only Here"), Edge(src="i", rel_type="r", dst="m"))
        store.search_text("unique", schema=None, where=None, limit=1)
        deletion = store.delete([source])
        assert set(deletion.ids) == {source, child}
        assert (deletion.derived, deletion.vectors, deletion.edges, deletion.remaining) == (1, 2, 2, ())
        assert store.search_text("unique", schema=None, where=None, limit=5) == []
        assert store.lookup(["s", "only-here"]) == {"s": [], "only-here": []}
        assert store.fuzzy("only here", type=None, threshold=0.5, limit=5) == []
        assert store.search_vector([1, 0], schema="resources", where=None, limit=5, min_score=None) == []
        kept = store.get("moments", moment)
        assert isinstance(kept, Moment)
        assert kept.resource_refs == ("elsewhere",)
        assert store.check() == []

    def test_a_moment_stays_when_the_one_it_lies_in_is_deleted(self, store: Store) -> None:
        (day,) = put(store, Moment(name="day")).ids
        (talk,) = put(store, Moment(name="talk", parent_moment=day)).ids
        assert store.delete([day]).ids == (day,)
        kept = store.get("moments", talk)
        assert isinstance(kept, Moment)
        assert kept.parent_moment == ""

    def test_a_field_that_has_its_default_is_found_by_it(self, store: Store) -> None:
        put(
            store,
            Resource(name="read", content="a"),
            Resource(name="derived", content="b", kind="synthesis", generation=2, ordinal=3, trust="derived"),
            Entity(name="Known", type="thing"),
        )

        def found(schema: str, predicate: Predicate) -> list[str]:
            return names(store.query(schema, Query().filter(predicate)))

        for predicate in (
            Eq("kind", "chunk"), Eq("trust", "read"), Lt("generation", 1), Lt("ordinal", 3),
            In("kind", ["chunk", "note"]), Ne("kind", "synthesis"), StartsWith("trust", "re"),
        ):  # fmt: skip
            assert found("resources", predicate) == ["read"], predicate
        assert found("resources", Gte("generation", 0)) == ["read", "derived"]
        assert found("resources", Gt("generation", 0)) == ["derived"]
        assert found("entities", Eq("thin", False)) == ["Known"]
        assert found("entities", Eq("thin", True)) == []

    def test_text_is_not_compared_with_numbers(self, store: Store) -> None:
        put(store, Entity(name="3", type="number"))
        for predicate in (Gt("name", 2), Eq("type", 1), In("name", [3])):
            with pytest.raises(InvalidInputError, match="is text"):
                store.query("entities", Query().filter(predicate))

    def test_a_key_another_record_has_keeps_its_edges(self, store: Store) -> None:
        put(store, Entity(name="Alpha", type="project"), Edge(src="Alpha", rel_type="r", dst="x"))
        (doc,) = put(store, Resource(name="Alpha", content="text")).ids
        store.delete([doc])
        assert len(store.edges(["alpha"], direction="out", rel_types=None, limit=None)) == 1

    def test_deleting_what_is_not_there_does_nothing(self, store: Store) -> None:
        assert store.delete(["nowhere"]).ids == ()

    # -- journal ---------------------------------------------------------------------------------------------

    def test_a_journal_entry_is_read_back_as_it_was_noted(self, store: Store, reopen: Opening) -> None:
        store.note([JournalEntry("run", "r1", b'{"a":"\\u00fc"}', subjects=("b", "a"))])
        store.close()
        again = reopen()
        assert again.journal_entry("run", "r1") == JournalEntry("run", "r1", b'{"a":"\\u00fc"}', ("b", "a"), version=1)
        assert again.journal_entry("run", "r2") is None
        assert again.journal_entry("runs", "r1") is None

    def test_a_journal_entry_counts_its_versions_and_starts_anew_after_it_was_struck(self, store: Store) -> None:
        for _ in range(3):
            store.note([JournalEntry("run", "r", b"1", version=40)])
        assert [entry.version for entry in store.journal("run")] == [3]
        store.note([JournalEntry("other", "r", b"2")], struck=[("run", "r"), ("run", "never")])
        assert store.journal("run") == []
        store.note([JournalEntry("run", "r", b"3")], struck=[("run", "r")])
        assert [entry.version for entry in store.journal("run")] == [1]

    def test_the_journal_is_listed_by_id_from_either_end_and_in_pages(self, store: Store) -> None:
        store.note([JournalEntry("k", id, b"0") for id in ("b/2", "a/1", "b/10", "ü", "b", "c%_")])
        store.note([JournalEntry("l", "a", b"0")])

        def ids(**asked: Any) -> list[str]:
            return [entry.id for entry in store.journal("k", **asked)]

        assert ids() == ["a/1", "b", "b/10", "b/2", "c%_", "ü"]
        assert ids(newest_first=True, limit=2) == ["ü", "c%_"]
        assert ids(prefix="b/") == ["b/10", "b/2"]
        assert ids(prefix="b/", newest_first=True) == ["b/2", "b/10"]
        assert ids(after="b/10", limit=2) == ["b/2", "c%_"]
        assert ids(after="b/10", newest_first=True) == ["b", "a/1"]
        assert ids(prefix="b", after="b") == ["b/10", "b/2"]
        assert ids(limit=0) == ids(prefix="%") == []

    def test_of_two_that_expect_the_same_version_one_is_told_of_the_conflict(self, store: Store) -> None:
        store.note([JournalEntry("lease", "job", b"0")], expect=0)
        with pytest.raises(ConflictError, match="has version 1, not 0"):
            store.note([JournalEntry("lease", "job", b"mine")], struck=[("lease", "job")], expect=0)
        with pytest.raises(InvalidInputError, match="one entry"):
            store.note([], expect=0)
        start, won = threading.Barrier(8), []

        def take(worker: int) -> None:
            start.wait()
            try:
                store.note([JournalEntry("lease", "job", str(worker).encode())], expect=1)
                won.append(str(worker).encode())
            except ConflictError:
                pass

        threads = [threading.Thread(target=take, args=(worker,)) for worker in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [(entry.data, entry.version) for entry in store.journal("lease")] == [(won[0], 2)]
        assert len(won) == 1

    def test_another_store_of_the_tenant_sees_the_journal_and_its_versions(self, store: Store, reopen: Opening) -> None:
        other = reopen()
        store.note([JournalEntry("lease", "job", b"0")], expect=0)
        with pytest.raises(ConflictError):
            other.note([JournalEntry("lease", "job", b"1")], expect=0)
        other.note([JournalEntry("lease", "job", b"1")], expect=1)
        assert [entry.data for entry in store.journal("lease")] == [b"1"]

    def test_journal_entries_are_written_with_their_batch_or_not_at_all(self, store: Store) -> None:
        put(store, Entity(id="x", name="Ann"))
        store.note([JournalEntry("parked", "doc", b"0")])
        entry, done = JournalEntry("run", "r", b"0"), (("parked", "doc"),)
        whole = batch.build([Resource(id="y", name="b", content="b")], tenant="t", model="")
        clash = batch.build([Resource(id="x", name="a", content="a")], tenant="t", model="")
        with pytest.raises(ConflictError):
            store.write(Batch(records=clash.records, journal=(entry,), struck=done))
        assert (store.journal("run"), len(store.journal("parked"))) == ([], 1)
        store.write(Batch(records=whole.records, journal=(entry,), struck=done))
        assert (len(store.journal("run")), store.journal("parked")) == (1, [])
        store.write(Batch(journal=(JournalEntry("run", "s", b"1"),)))
        assert [entry.id for entry in store.journal("run")] == ["r", "s"]

    def test_what_speaks_of_a_record_is_struck_when_the_record_is_deleted(self, store: Store) -> None:
        put(store, Resource(id="a", name="a", content="a"))
        put(store, Resource(id="b", name="b", content="b", parents=("a",)), Resource(id="c", name="c", content="c"))
        subjects = {"of a": ("a",), "of b and c": ("b", "c"), "of c": ("c", "c"), "of none": (), "of a ghost": ("z",)}
        store.note([JournalEntry("kept", id, b"0", subjects=of) for id, of in subjects.items()])
        store.note([JournalEntry("kept", "changed", b"0", subjects=("a",))])
        store.note([JournalEntry("kept", "changed", b"0", subjects=("c",))])
        assert store.check() == []
        assert store.delete(["a"]).remaining == ()
        assert [entry.id for entry in store.journal("kept")] == ["changed", "of a ghost", "of c", "of none"]
        store.write(Batch(removed=("c", "z"), journal=(JournalEntry("kept", "after", b"0", subjects=("c",)),)))
        assert [entry.id for entry in store.journal("kept")] == ["after", "of none"]
        assert store.check() == []

    def test_stats_count_the_journal_by_kind(self, store: Store) -> None:
        assert store.stats()["journal"] == {}
        store.note([JournalEntry("run", "1", b"0"), JournalEntry("usage", "1", b"0"), JournalEntry("usage", "2", b"0")])
        assert store.stats()["journal"] == {"run": 1, "usage": 2}

    @pytest.mark.parametrize(("kind", "id"), [("", "a"), ("a", ""), ("a", "b\0")])
    def test_a_journal_entry_has_a_kind_and_an_id(self, kind: str, id: str) -> None:
        with pytest.raises(InvalidInputError):
            JournalEntry(kind, id, b"0")

    # -- whole store -----------------------------------------------------------------------------------------

    def test_every_record_and_edge_can_be_listed(self, store: Store) -> None:
        put(store, Entity(name="a"), Resource(name="b", content="b"), Edge(src="a", rel_type="r", dst="b"))
        assert [record.name for record in store.records()] == ["a", "b"]
        assert [record.name for record in store.records("entities")] == ["a"]
        assert [(edge.src, edge.rel_type, edge.dst) for edge in store.all_edges()] == [("a", "r", "b")]

    def test_stats_count_what_is_there(self, store: Store) -> None:
        put(
            store,
            Entity(name="a", type="person"),
            Resource(name="b", content="b", embedding=[1.0]),
            Edge(src="a", rel_type="r", dst="c"),
        )
        stats = store.stats()
        assert stats["records"] == {"resources": 1, "entities": 2, "moments": 0}
        assert (stats["edges"], stats["edge_types"], stats["vectors"]["count"]) == (1, {"r": 1}, 1)

    def test_threads_write_and_read_together_and_lose_nothing(self, store: Store) -> None:
        errors: list[BaseException] = []

        def work(worker: int) -> None:
            try:
                for i in range(20):
                    put(store, Entity(name=f"w{worker} n{i}"), Edge(src=f"w{worker} n{i}", rel_type="r", dst="hub"))
                    assert names(store.lookup([f"w{worker}-n{i}"])[f"w{worker}-n{i}"])
                    store.fuzzy(f"w{worker} n{i}", type=None, threshold=0.5, limit=1)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert store.degrees(["hub"], direction="in") == 120
        assert store.check() == []
