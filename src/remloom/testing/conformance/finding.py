"""The store contract as tests: finding records by label, name, text and vector."""

from __future__ import annotations

import numpy as np
import pytest

from ... import labels
from ...errors import EmbedderMismatchError, VectorError
from ...model import Entity, Moment, Record, Resource
from ...predicates import Eq, In
from ...store.batch import VectorBatch
from ...store.contract import Store
from ...store.specs import MOST_SUMMARIES, NameSpec, SearchSpec
from ...store.stats import MoveStats
from .opening import (
    EVERY,
    NOTES,
    T0,
    Opened,
    RecordSchema,
    by_name,
    by_text,
    by_vector,
    edge_between,
    edges_of,
    lookup,
    names,
    put,
    register,
    relation,
    stored,
    window,
)


class Finding(Opened):
    def test_texts_with_every_word_are_found_in_the_order_of_writing(self, store: Store) -> None:
        texts = ("The price of a seat.", "Seats.", "A seat has its price.", "Prices rise.")
        put(store, *(Resource(name=str(n), content=text) for n, text in enumerate(texts)))
        put(store, Entity(name="e", summary="The price per seat."))

        def having(text: str, limit: int = 9) -> list[str]:
            return names(store.search.having_all(text, limit))

        assert having("price per seat") == []
        assert having("seat prices") == ["0", "2"]
        assert having("seat prices", 1) == ["0"]
        assert having("price per seat there", 2) == having("rise seat") == []
        assert having("the of") == having("nowhere seat") == having("") == []
        store.admin.optimize()
        put(store, Resource(name="4", content="What price this seat?"))
        assert having("seat prices") == ["0", "2", "4"]
        store.delete([store.records.lookup(["0"])["0"][0].id])
        assert having("seat prices") == ["2", "4"]

    def test_summaries_are_found_beside_texts_and_take_no_place_of_them(self, store: Store) -> None:
        register(store, NOTES)
        texts = [
            Resource(name=f"text {n}", content="tea " + "some more " * n, embedding=[1, 0.1 * n])
            for n in range(4)
        ]
        put(
            store,
            *texts,
            Entity(name="cup", summary="Tea, tea.", embedding=[1, 0.05]),
            Entity(name="tea without a summary"),
            Moment(name="tea time", topic_tags=("tea",), embedding=[1, 0]),
            Moment(name="breakfast", summary="Tea, toast " + "jam " * 30, embedding=[1, 0.9]),
        )

        def found(limit: int, *summaries: str) -> list[set[str]]:
            spec = SearchSpec(limit, "resources", summaries=summaries)
            both = store.search.text("tea", spec), store.search.vector([1, 0], spec)
            for some in both:
                scores = [match.score for match in some]
                assert scores == sorted(scores, reverse=True)
            return [set(names(some)) for some in both]

        every = {one.name for one in texts}
        assert found(9) == [every, every]
        assert found(9, "entities") == [every | {"cup"}] * 2
        assert found(9, "entities", "moments") == [every | {"cup", "breakfast"}] * 2
        for some in found(3, "entities", "moments"):
            assert len(some & every) == 3
            assert some - every == {"cup"}

    def test_few_summaries_are_found_of_many(self, store: Store) -> None:
        put(store, Resource(name="text", content="some tea"))
        put(store, *(Entity(name=f"cup {n}", summary="tea") for n in range(300)))
        spec = SearchSpec(2, "resources", summaries=["entities"])
        found = names(store.search.text("tea", spec))
        assert "text" in found
        assert len(found) == 1 + MOST_SUMMARIES

    # -- lookup ------------------------------------------------------------------------------------

    def test_lookup_sees_every_schema(self, store: Store) -> None:
        register(store, NOTES)
        put(store, *(schema.make("Alpha One", "x") for schema in EVERY))
        found = lookup(store, "alpha-one")
        assert {record.schema for record in found} == {schema.name for schema in EVERY}

    def test_lookup_finds_by_alias_and_keeps_the_order_of_keys(
        self, store: Store, named: RecordSchema
    ) -> None:
        put(store, named.make("Sarah Chen", aliases=("sc@example.com",)), named.make("Bob"))
        found = store.records.lookup(["bob", "sc@example.com", "nobody"])
        assert list(found) == ["bob", "sc@example.com", "nobody"]
        assert [names(records) for records in found.values()] == [["Bob"], ["Sarah Chen"], []]

    def test_a_lookup_with_a_limit_gives_as_many_of_each_key_the_same_ones_each_time(
        self, store: Store
    ) -> None:
        put(store, *(Resource(name="note", content=f"{n}") for n in range(9)))
        put(store, Entity(name="Ann", aliases=("Annie",)), edge_between("Annie", "b"))
        expired = put(store, *(Resource(name="note", content=f"gone {n}") for n in range(9)))
        store.set_expiry(expired.ids, T0)

        def found(limit: int, edges: int) -> dict[str, list[Record]]:
            keys = ["note", "annie", "nobody"]
            return store.records.lookup(keys, edges=edges, limit=limit)

        for edges in (0, 5):
            few, every = found(4, edges), found(9, edges)
            assert [len(records) for records in few.values()] == [4, 1, 0]
            assert few == found(4, edges)
            assert every == store.records.lookup(list(few), edges=edges)
            assert len(every["note"]) == 9
            assert [record for record in every["note"] if record in few["note"]] == few["note"]
            assert len(few["annie"][0].graph_paths) == (1 if edges else 0)

    def test_a_looked_up_record_shows_its_outgoing_edges(
        self, store: Store, named: RecordSchema
    ) -> None:
        put(
            store,
            named.make("Sarah", aliases=("SC",)),
            relation("SC", "owns", "Alpha", properties={"since": 2020}),
        )
        (edge,) = lookup(store, "sarah")[0].graph_paths
        assert edge.src == "sc"
        assert edge.rel_type == "owns"
        assert edge.dst == "alpha"
        assert edge.properties == {"since": 2020}

    @pytest.mark.parametrize(
        "label",
        ["a 'quoted\" name", "line\nbreak", "50% off_", "C:\\x", "🙂", "東京", "x" * 10_000],
    )
    def test_any_label_can_be_looked_up(
        self, store: Store, schema: RecordSchema, label: str
    ) -> None:
        put(store, schema.make(label), relation(label, "is", "odd"))
        key = labels.key(label)
        assert len(store.records.lookup([key])[key]) == 1
        assert len(edges_of(store, key)) == 1

    def test_completion_goes_by_prefix_in_key_order(
        self, store: Store, named: RecordSchema
    ) -> None:
        put(
            store,
            named.make("Sarah Chen", aliases=("Sara",)),
            named.make("Sandra"),
            named.make("Bob"),
        )
        assert store.records.complete("sa", 10) == ["Sandra", "Sara", "Sarah Chen"]
        assert store.records.complete("sa", 1) == ["Sandra"]

    def test_first_words_are_those_that_a_name_or_alias_begins_with(
        self, store: Store, named: RecordSchema
    ) -> None:
        put(
            store,
            named.make("Sarah Chen", aliases=("The Chief",)),
            named.make("Acme"),
            named.make("e-mail server"),
        )
        # longer than an index entry may be in some databases
        put(store, named.make("Zed " + "long " * 400))
        put(store, named.make("l" + "o" * 2_000 + "ng"))
        words = [
            "sarah",
            "chen",
            "the",
            "chief",
            "acme",
            "acm",
            "e-mail",
            "e",
            "zed",
            "zebra",
            "l" + "o" * 2_000 + "ng",
        ]
        assert store.records.first_words(words) == {
            "sarah",
            "the",
            "acme",
            "e-mail",
            "e",
            "zed",
            words[-1],
        }
        assert store.records.first_words([]) == set()

    def test_first_names_leap_over_those_that_are_alike_up_to_a_mark(self, store: Store) -> None:
        long = "a" * 300
        names = ["a/1", "a/2", "a0", "b", "b/9", "b/é", "c/1", f"{long}/1", f"{long}/2", f"{long}b"]
        put(store, *(Resource(name=name, content=name, category="note") for name in names))
        put(store, Resource(name="a/0", content="x", category="other"))
        gone = Resource(name="b/1", content="x", category="note", expires_at=T0)
        put(store, gone)
        put(store, Resource(name="c/2", content="x", category="note"))

        def listed(first: str, end: str, limit: int = 9) -> list[str]:
            found = store.records.first_names("note", first=first, end=end, mark="/", limit=limit)
            for name, id in found:
                record = stored(store, id, Resource)
                assert record.name == name
            return [name for name, _ in found]

        for _ in ("without an index", "with one"):
            assert listed("a", "d") == ["a/1", "a0", f"{long}/1", f"{long}b", "b", "b/9", "c/1"]
            assert listed("a/2", "c", 2) == ["a/2", "a0"]
            assert listed("x", "z") == []
            store.sql.create_index("resources", "name")

    # -- fuzzy -------------------------------------------------------------------------------------

    def test_fuzzy_forgives_typos_and_ranks_the_equal_name_first(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(
            store,
            schema.make("Sarah Chen"),
            schema.make("Sarah Chan"),
            schema.make("Q4 Retrospective"),
        )
        found = store.search.names("sarah chen", NameSpec(threshold=0.5, limit=5))
        assert names(found)[0] == "Sarah Chen"
        assert found[0].score == pytest.approx(1.0)
        assert by_name(store, "retrospectve") == ["Q4 Retrospective"]

    def test_fuzzy_finds_the_seeds_afternoons(self, store: Store, schema: RecordSchema) -> None:
        put(
            store,
            schema.make("Friday Afternoon"),
            schema.make("Monday Afternoon"),
            schema.make("Kickoff"),
        )
        found = store.search.names("find afternoon", NameSpec(threshold=0.5, limit=5))
        assert sorted(names(found)) == ["Friday Afternoon", "Monday Afternoon"]

    def test_fuzzy_filters_by_type_and_threshold(self, store: Store) -> None:
        put(store, Entity(name="Jordan", type="person"), Entity(name="Jordan River", type="place"))
        assert by_name(store, "jordan", type="place", threshold=0.3) == ["Jordan River"]
        assert by_name(store, "jrdn", threshold=0.99) == []

    def test_fuzzy_gives_a_record_once_with_its_best_name(
        self, store: Store, named: RecordSchema
    ) -> None:
        put(store, named.make("Sarah Chen", aliases=("Sara Chen", "Sarah Chenn")))
        (found,) = store.search.names("sara chen", NameSpec(threshold=0.5, limit=5))
        assert found.score == pytest.approx(1.0)

    # -- text --------------------------------------------------------------------------------------

    def test_text_search_ranks_by_words_stems_and_ignores_stop_words(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(
            store,
            schema.make("a", "The pricing of products was discussed."),
            schema.make("b", "Discussing prices and pricing, pricing again."),
            schema.make("c", "Cats sleep all day."),
        )
        assert by_text(store, "the pricing discussions") == ["b", "a"]
        assert by_text(store, "the") == []

    def test_text_search_keeps_the_schema(self, store: Store, schema: RecordSchema) -> None:
        put(store, *(other.make(f"of {other.name}", "tea") for other in EVERY[:3]))
        put(store, schema.make("wanted", "tea"), schema.make("not", "coffee"))
        found = by_text(store, "tea", schema=schema.name, where=Eq("name", "wanted"))
        assert found == ["wanted"]
        assert "wanted" in by_text(store, "tea", schema=schema.name)
        assert set(by_text(store, "tea")) >= {"of resources", "of entities", "of moments"}

    def test_text_search_keeps_schema_and_filter(self, store: Store) -> None:
        put(
            store,
            Resource(name="a", content="tea", category="note"),
            Resource(name="b", content="tea", category="mail"),
            Entity(name="Tea Party", summary="tea"),
        )
        assert by_text(store, "tea", schema="resources", where=Eq("category", "mail")) == ["b"]
        assert by_text(store, "tea", schema="entities") == ["Tea Party"]

    def test_a_changed_text_is_found_by_its_new_words_only(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(store, schema.make("r", "apples", id="r"))
        put(store, schema.make("r", "pears", id="r"))
        assert by_text(store, "apples") == []
        assert by_text(store, "pears") == ["r"]

    # -- vectors -----------------------------------------------------------------------------------

    def test_vector_search_ranks_by_cosine_and_honours_the_minimum(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(
            store,
            schema.make("x", "x", embedding=[1, 0, 0]),
            schema.make("xy", "xy", embedding=[1, 1, 0]),
            schema.make("z", "z", embedding=[0, 0, 5]),
        )
        found = store.search.vector([2, 0, 0], SearchSpec(schema=schema.name, limit=3))
        assert names(found) == ["x", "xy", "z"]
        assert [match.score for match in found] == pytest.approx([1.0, 0.7071, 0.0], abs=1e-3)
        assert by_vector(store, [2, 0, 0], schema=schema.name, limit=3, min_score=0.5) == [
            "x",
            "xy",
        ]

    def test_a_vector_search_that_was_begun_ends_with_what_is_there_then(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(
            store,
            schema.make("x", "x", id="x", embedding=[1, 0, 0]),
            schema.make("xy", "xy", id="xy", embedding=[1, 1, 0]),
        )
        spec = SearchSpec(schema=schema.name, limit=3, min_score=0.5)
        finish = store.search.begin_vector([2, 0, 0], spec)
        assert finish() == store.search.vector([2, 0, 0], spec)
        finish = store.search.begin_vector([2, 0, 0], spec)
        store.delete(["x"])
        assert names(finish()) == ["xy"]

    def test_a_record_scores_as_its_best_window_and_comes_once(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(store, schema.make("r", "two windows", id="r"), model="fake")
        # unit vectors in two directions; the query is equal to the second
        windows = (window(0, 1, [1, 0, 0]), window(1, 2, [0, 1, 0]))
        store.vectors.put(VectorBatch({"r": windows}, model="fake", dims=3))
        (found,) = store.search.vector([0, 1, 0], SearchSpec(schema=schema.name, limit=5))
        assert found.score == pytest.approx(1.0, abs=1e-3)
        # the window that scored best, as offsets into the text
        assert found.matched == "1:2"

    @pytest.mark.parametrize("limit", [5, 13, 19, 20, 40])
    def test_windows_of_some_records_keep_out_no_others(
        self, store: Store, schema: RecordSchema, limit: int
    ) -> None:
        ids = [f"r{number}" for number in range(20)]
        put(store, *(schema.make(id, f"text {id}", id=id) for id in ids), model="fake")
        # the nearest have most of the windows
        vectors = {}
        for position, id in enumerate(ids):
            angle = position / 20
            components = [np.cos(angle), np.sin(angle)]
            count = 9 if position < 4 else 1
            vectors[id] = tuple(window(at, at + 1, components) for at in range(count))
        store.vectors.put(VectorBatch(vectors, model="fake", dims=2))
        assert by_vector(store, [1.0, 0.0], schema=schema.name, limit=limit) == ids[:limit]

    def test_a_filter_costs_no_recall(self, store: Store) -> None:
        rng = np.random.default_rng(7)
        centres = rng.normal(size=(5, 16))
        noise = rng.normal(size=(3_000, 16))
        rows = centres[rng.integers(5, size=3_000)] + 0.3 * noise
        put(
            store,
            *(
                Resource(name=f"n{i}", content=f"{i}", ordinal=i, embedding=row)
                for i, row in enumerate(rows)
            ),
        )
        store.admin.optimize()
        # a row itself, so that there is a nearest one for certain
        query = rows[17]
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        order = np.argsort(-(unit @ query))
        for share in (2, 100):
            nearest = [f"n{i}" for i in order if i % share == 0][:10]
            where = In("ordinal", list(range(0, 3_000, share)))
            spec = SearchSpec(schema="resources", where=where, limit=10)
            found = names(store.search.vector(query.tolist(), spec))
            # an approximate index may miss one of ten
            assert len(set(found) & set(nearest)) >= 9

    @pytest.mark.parametrize(
        "vector", [[1.0], [1.0, 2.0, 3.0], [float("nan"), 1.0], [0.0, 0.0], [float("inf"), 0.0]]
    )
    def test_a_vector_that_does_not_fit_is_refused_and_nothing_is_written(
        self, store: Store, schema: RecordSchema, vector: list[float]
    ) -> None:
        put(store, schema.make("ok", "ok", embedding=[1.0, 0.0]))
        with pytest.raises(VectorError):
            put(store, schema.make("bystander"), schema.make("bad", "bad", embedding=vector))
        assert lookup(store, "bystander") == []
        with pytest.raises(VectorError):
            store.search.vector(vector, SearchSpec(schema=schema.name, limit=1))

    def test_models_are_not_mixed(self, store: Store, schema: RecordSchema) -> None:
        put(store, schema.make("a", "a", embedding=[1.0, 0.0]), model="one")
        with pytest.raises(EmbedderMismatchError, match="one") as caught:
            put(store, schema.make("b", "b", embedding=[1.0, 0.0]), model="two")
        assert "reembed" in caught.value.remedy
        assert store.vectors.model() == ("one", 2)

    def test_texts_queue_for_embedding_and_leave_the_queue_with_their_vectors(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(store, schema.make("r", "hello", id="r"), Entity(name="nothing to embed"), model="fake")
        (waiting,) = store.vectors.pending(10)
        assert waiting.id == "r"
        assert "hello" in waiting.text
        vector = window(0, 5, [1, 0], b"0123456789abcdef")
        store.vectors.put(VectorBatch({"r": (vector,), "gone": (vector,)}, model="fake", dims=2))
        assert store.vectors.pending(10) == []
        assert list(store.vectors.cached([b"0123456789abcdef"], model="fake")) == [
            b"0123456789abcdef"
        ]
        assert store.vectors.cached([b"0123456789abcdef"], model="other") == {}

    def test_the_windows_of_several_records_are_read_at_once_as_one_by_one(
        self, store: Store, schema: RecordSchema
    ) -> None:
        windows = (window(0, 3, [1, 0], b"0" * 16), window(3, 5, [0, 1]))
        put(
            store,
            *(schema.make(id, f"text {id}", id=id) for id in ("a", "b", "none")),
            model="fake",
        )
        store.vectors.put(VectorBatch({"a": windows, "b": windows[1:]}, model="fake", dims=2))
        assert store.vectors.of(["b", "a", "none", "gone"]) == {
            "a": list(windows),
            "b": list(windows[1:]),
        }
        assert store.vectors.get("a") == list(windows)

    def test_a_text_that_keeps_failing_is_parked_with_its_reason(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(store, schema.make("r", "hello", id="r"), model="fake")
        # three failures park a text
        for _ in range(3):
            store.vectors.park("r", "no answer")
        assert store.vectors.pending(10) == []
        assert store.admin.stats().parked == 1
        assert store.vectors.unpark() == 1
        assert len(store.vectors.pending(10)) == 1

    def test_moving_to_another_model_keeps_the_old_vectors_until_it_is_adopted(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(store, schema.make("r", "hello", id="r", embedding=[1.0, 0.0]), model="old")
        put(store, schema.make("s", "again", id="s"))
        first, second = store.vectors.unembedded("new", 10)
        assert [item.id for item in (first, second)] == ["r", "s"]
        assert "hello" in first.text
        assert store.vectors.unembedded("new", 1) == [first]
        assert store.vectors.unembedded("new", 10, after=first.version) == [second]
        assert store.vectors.unembedded("new", 10, after=second.version) == []
        store.delete(["s"])
        new = window(0, 5, [0, 0, 1])
        store.vectors.put(VectorBatch({"r": (new,)}, model="new", dims=3, current=False))
        assert store.vectors.unembedded("new", 10) == []
        assert by_vector(store, [1.0, 0.0], schema=schema.name, limit=1, min_score=0.9) == ["r"]
        put(store, schema.make("t", "another", id="t"))
        assert store.admin.stats().moves == (MoveStats("vectors", "old", "new", 1, 2),)
        store.delete(["t"])
        store.vectors.adopt("new")
        assert store.admin.stats().moves == ()
        assert store.vectors.model() == ("new", 3)
        assert by_vector(store, [0, 0, 1], schema=schema.name, limit=1, min_score=0.9) == ["r"]
