"""The store contract as tests: edges, what one becomes that is written again, and walks."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import reduce
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ...errors import ChangedError, GoneError, UnknownNameError
from ...kv import Entry
from ...model import Edge, Entity
from ...store.batch import Preconditions
from ...store.contract import Store
from ...store.rules import validation
from ...store.rules.item_validation import check_edge
from ...store.rules.merge import merge_edge, same_json
from ...store.specs import EdgeOrder, WalkSpec
from .opening import (
    DAY,
    T0,
    Opened,
    RecordSchema,
    batch_of,
    edge_between,
    edge_keys,
    edges_of,
    lookup,
    names,
    put,
    relation,
    the_entity,
)

_DAYS = st.integers(0, 6).map(lambda days: T0 + timedelta(days=days))
_VALUES = st.one_of(st.none(), st.booleans(), st.integers(0, 2), st.sampled_from(["a", ["b"]]))


class Edges(Opened):
    # -- edges -------------------------------------------------------------------------------------

    def test_an_edge_written_again_merges(self, store: Store) -> None:
        put(
            store,
            relation(
                "A", "knows", "B", weight=0.4, properties={"x": 1, "y": 1}, created_at=T0 + DAY
            ),
        )
        put(store, relation("a", "knows", "b", weight=0.9, properties={"y": 2}, created_at=T0))
        put(store, relation("a", "knows", "b", weight=0.1, properties={"z": None}))
        (edge,) = edges_of(store, "a")
        assert edge.weight == 0.9
        assert edge.properties == {"x": 1, "y": 2, "z": None}
        assert edge.created_at == T0

    def test_an_edge_to_an_unknown_label_makes_a_thin_entity(self, store: Store) -> None:
        put(
            store,
            relation(
                "Alpha",
                "owned_by",
                "sarah-chen",
                properties={"dst_name": "Sarah Chen", "dst_entity_type": "person/employee"},
            ),
        )
        sarah = the_entity(store, "sarah-chen")
        assert (sarah.name, sarah.type, sarah.thin) == ("Sarah Chen", "person/employee", True)

    def test_a_real_record_takes_the_place_of_a_thin_entity(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(store, edge_between("A", "Sarah"), edge_between("A", "Doc"))
        thin = lookup(store, "sarah")[0].id
        put(store, Entity(name="Sarah", type="person"), schema.make("Doc", "text"))
        (sarah,), (doc,) = store.records.lookup(["sarah", "doc"]).values()
        assert isinstance(sarah, Entity)
        assert (sarah.id, sarah.type, sarah.thin) == (thin, "person", False)
        assert doc.schema == schema.name
        assert len(edges_of(store, "a")) == 2

    def test_an_edge_can_be_taken_away_and_takes_the_thin_entity_it_alone_made(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(
            store,
            schema.make("a"),
            *(relation("a", rel, dst) for rel, dst in (("r", "x"), ("r", "y"), ("s", "y"))),
        )
        gone = [("a", "r", "x"), ("a", "r", "y"), ("a", "r", "nowhere"), ("a", "never", "y")]
        again = [relation("a", "t", "z")]
        store.write(validation.build(again, tenant="conformance", model="", deleted_edges=gone))
        assert set(edge_keys(store.graph.all_edges())) == {("a", "s", "y"), ("a", "t", "z")}
        assert lookup(store, "x") == []
        assert names(lookup(store, "y")) == ["y"]
        assert names(lookup(store, "a")) == ["a"]

    def test_edges_are_seen_as_stored_whatever_their_validity(
        self, store: Store, named: RecordSchema
    ) -> None:
        put(
            store,
            named.make("a", aliases=("alpha",)),
            relation("a", "was", "b", valid_from=T0 - DAY, valid_to=T0, properties={"n": 1}),
            relation("a", "will", "c", valid_from=T0 + 100_000 * DAY),
            relation("d", "is", "a", weight=0.5),
            relation("alpha", "is", "b"),
        )
        assert [edge.rel_type for edge in edges_of(store, "a")] == ["is"]

        def stored(direction: Any) -> set[tuple[str, str, str]]:
            return set(edge_keys(store.graph.stored_edges(["a"], direction=direction)))

        assert stored("out") == {("a", "was", "b"), ("a", "will", "c")}
        assert stored("in") == {("d", "is", "a")}
        assert stored("both") == stored("in") | stored("out")
        (was,) = (edge for edge in store.graph.all_edges() if edge.rel_type == "was")
        assert was in store.graph.stored_edges(["a", "nowhere"], direction="out")
        assert was.properties == {"n": 1}
        assert store.graph.stored_edges([], direction="both") == []

    def test_a_batch_is_written_only_if_what_it_expects_is_so(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(store, schema.make("r", "text", id="r"), relation("r", "is", "x", weight=0.25))
        store.kv.put([Entry("run", "1", b"{}")])
        record = store.records.get(schema.name, "r")
        assert record is not None
        (edge,) = store.graph.all_edges()
        triple = ("r", "is", "x")
        right = Preconditions(
            existing=("r",),
            records={"r": record.revision, "gone": None},
            edges={triple: edge, ("r", "is", "y"): None},
            entries={("run", "1"): 1, ("run", "2"): 0},
        )
        new = batch_of(store, schema.make("new"))
        for wrong, error in (
            (Preconditions(existing=("r", "gone")), GoneError),
            (Preconditions(records={"r": record.revision - 1}), ChangedError),
            (Preconditions(records={"gone": 0}), ChangedError),
            (Preconditions(records={"r": None}), ChangedError),
            (Preconditions(edges={triple: None}), ChangedError),
            (Preconditions(edges={triple: replace(edge, weight=0.5)}), ChangedError),
            (Preconditions(edges={("r", "is", "y"): edge}), ChangedError),
            (Preconditions(entries={("run", "1"): 0}), ChangedError),
            (Preconditions(entries={("run", "2"): 1}), ChangedError),
        ):
            with pytest.raises(error):
                store.write(replace(new, expected=wrong, deleted=("r",)))
        assert lookup(store, "new") == []
        assert store.records.get(schema.name, "r") == record
        store.write(replace(new, expected=right, deleted_edges=(triple,)))
        assert names(lookup(store, "new")) == ["new"]
        assert list(store.graph.all_edges()) == []

    def test_edges_go_both_ways_newest_first_within_the_limit(self, store: Store) -> None:
        put(store, *(edge_between("hub", f"n{i}", created_at=T0 + i * DAY) for i in range(5)))
        out = edges_of(store, "hub", limit=2)
        assert [edge.dst for edge in out] == ["n4", "n3"]
        assert [edge.src for edge in edges_of(store, "n1", "in")] == ["hub"]
        assert len(edges_of(store, "n1", "both")) == 1

    def test_counts_by_type_and_direction_are_complete(self, store: Store) -> None:
        put(store, *(relation("a", "x", f"n{i}") for i in range(3)), relation("n0", "y", "a"))
        counts = store.graph.count_by_type(["a"], direction="both")
        assert [(count.rel_type, count.direction, count.count) for count in counts] == [
            ("x", "out", 3),
            ("y", "in", 1),
        ]
        assert store.graph.count(["a"], direction="both") == 4

    def test_an_alias_that_comes_later_brings_its_edges(self, store: Store) -> None:
        put(store, *(edge_between(src, dst) for src, dst in (("a", "b"), ("c", "d"), ("e", "c"))))

        def walked() -> list[str]:
            walk = store.graph.walk(
                WalkSpec(
                    ["a"], direction="out", depth=2, breadth=9, order=EdgeOrder("created_at", "asc")
                )
            )
            return [step.key for step in walk.steps]

        assert (walked(), len(lookup(store, "b")[0].graph_paths)) == (["b"], 0)
        store.delete([lookup(store, "c")[0].id], derived=False)
        put(store, Entity(name="b", aliases=("c",)), edge_between("c", "d"))
        assert (walked(), len(lookup(store, "b")[0].graph_paths)) == (["b", "d"], 1)

    def test_edges_are_counted_group_by_group_each_once(
        self, store: Store, named: RecordSchema
    ) -> None:
        put(
            store,
            named.make("b", aliases=("bee",)),
            *(edge_between("a", dst) for dst in ("b", "bee", "c")),
            edge_between("bee", "c"),
            edge_between("b", "b"),
            edge_between("c", "a", valid_from=T0 - DAY, valid_to=T0 + DAY),
            edge_between("d", "c"),
        )
        groups = [["a"], [], ["b"], ["c", "nowhere"]]
        assert store.graph.count_by_group(groups, direction="out") == [3, 3, 5, 5]
        assert store.graph.count_by_group(groups, direction="in") == [0, 0, 3, 6]
        assert store.graph.count_by_group(groups, direction="both") == [3, 3, 5, 6]
        assert store.graph.count_by_group([["a"], ["c"]], direction="both", as_of=T0) == [1, 1]
        assert store.graph.count_by_group([], direction="both") == []

    def test_an_edge_holds_from_valid_from_until_valid_to(self, store: Store) -> None:
        put(store, relation("a", "at", "old", valid_from=T0, valid_to=T0 + DAY, created_at=T0))
        put(store, relation("a", "at", "new", valid_from=T0 + DAY, created_at=T0 + DAY))

        def at(moment: datetime | None) -> list[str]:
            return [edge.dst for edge in edges_of(store, "a", as_of=moment)]

        assert (at(None), at(T0), at(T0 + DAY), at(T0 - DAY)) == (["new"], ["old"], ["new"], [])

    # -- walking -----------------------------------------------------------------------------------

    def walk(self, store: Store, start: str, depth: int, **options: Any) -> Any:
        arguments = {
            "rel_types": None,
            "direction": "out",
            "breadth": 9,
            "order": EdgeOrder(),
            **options,
        }
        return store.graph.walk(WalkSpec([start], depth=depth, **arguments))

    def test_a_walk_reaches_each_key_once_even_in_cycles(self, store: Store) -> None:
        put(store, *(edge_between(a, b) for a, b in ("ab", "bc", "ca", "ac")))
        # deeper than the cycle is long
        walk = self.walk(store, "a", 5)
        assert sorted((step.key, step.depth) for step in walk.steps) == [("b", 1), ("c", 1)]

    def test_a_walk_tells_the_path_and_the_depth(self, store: Store) -> None:
        put(store, *(edge_between(a, b) for a, b in ("ab", "bc", "cd")))
        walk = self.walk(store, "a", 2)
        assert {step.key: step.path for step in walk.steps} == {
            "b": ("a", "b"),
            "c": ("a", "b", "c"),
        }
        assert walk.depth == 2

    def test_a_walk_filters_types_and_follows_the_direction(self, store: Store) -> None:
        put(store, relation("boss", "manages", "a"), relation("a", "knows", "b"))
        assert [step.key for step in self.walk(store, "a", 1, direction="in").steps] == ["boss"]
        assert self.walk(store, "a", 1, rel_types=["manages"]).steps == ()
        assert {step.key for step in self.walk(store, "a", 1, direction="both").steps} == {
            "boss",
            "b",
        }
        with pytest.raises(UnknownNameError, match="mangaes"):
            self.walk(store, "a", 1, rel_types=["mangaes"])

    def test_a_walk_follows_the_newest_edges_and_counts_the_rest(self, store: Store) -> None:
        put(store, *(edge_between("hub", f"n{i:02}", created_at=T0 + i * DAY) for i in range(20)))
        walk = self.walk(store, "hub", 1, breadth=9)
        assert [step.key for step in walk.steps] == [f"n{i:02}" for i in range(19, 10, -1)]
        assert walk.unfollowed == 11
        everything = self.walk(store, "hub", 1, breadth=None, limit=5)
        assert (len(everything.steps), everything.reached, everything.unfollowed) == (5, 20, 0)

    @pytest.mark.parametrize(
        ("field", "order", "first"),
        [
            ("weight", "desc", "b"),
            ("weight", "asc", "a"),
            ("dst", "asc", "a"),
            ("dst", "desc", "c"),
        ],
    )
    def test_a_walk_follows_edges_in_the_order_asked_for(
        self, store: Store, field: str, order: Any, first: str
    ) -> None:
        put(
            store,
            *(edge_between("s", d, weight=w) for d, w in (("a", 0.1), ("b", 0.9), ("c", 0.5))),
        )
        walk = self.walk(store, "s", 1, breadth=1, order=EdgeOrder(field, order))
        assert [step.key for step in walk.steps] == [first]

    def test_the_labels_of_one_record_are_one_node(self, store: Store, named: RecordSchema) -> None:
        put(store, named.make("Sarah Chen", aliases=("SC",)), edge_between("SC", "x"))
        put(store, edge_between("Sarah Chen", "y"), edge_between("z", "SC"))
        assert {step.key for step in self.walk(store, "sarah-chen", 1).steps} == {"x", "y"}
        assert {step.key for step in self.walk(store, "z", 2).steps} == {"sc", "x", "y"}

    def test_an_edge_that_is_written_again_is_what_the_rule_says(self, store: Store) -> None:
        numbers = count()  # each example has an edge of its own

        @settings(max_examples=60, deadline=None, database=None)
        @given(writings=st.lists(_writings(), min_size=2, max_size=4), at_once=st.booleans())
        def holds(writings: list[Edge], at_once: bool) -> None:
            src = f"a {next(numbers)}"
            edges = [replace(edge, src=src) for edge in writings]
            if at_once:
                put(store, *edges)
            else:
                for edge in edges:
                    put(store, edge)
            expected = reduce(merge_edge, map(check_edge, edges))
            (stored,) = store.graph.stored_edges([expected.src], direction="out")
            assert replace(stored, properties={}) == replace(expected, properties={})
            assert same_json(stored.properties, expected.properties)

        holds()


@st.composite
def _writings(draw: st.DrawFn) -> Edge:
    """One writing of an edge; its ends are filled in by the test."""
    since, until = draw(st.none() | _DAYS), draw(st.none() | _DAYS)
    if since and until and until < since:
        since, until = until, since
    return Edge(
        rel_type="r",
        dst="b",
        weight=draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])),
        properties=draw(st.dictionaries(st.sampled_from("xyz"), _VALUES, max_size=3)),
        created_at=draw(_DAYS),
        valid_from=since,
        valid_to=until,
    )
