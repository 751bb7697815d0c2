"""The store contract as tests: edges have one order, the same in every store."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from itertools import islice, product
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import pytest

from ...model import Direction, Edge, Entity, Order
from ...store.contract import Store
from ...store.results import Walk
from ...store.specs import NEWEST, EdgeOrder, EdgeSpec, WalkSpec
from .opening import DAY, T0, Opened, edge_between, edge_keys, edges_of, put, relation

_ALIASED = {"b": ("b2", "a-b2"), "w": ("y.z",)}  # name -> aliases
# In the order of their bytes no locale puts the first, nor UTF-16 the last two.
_LABELS = "a-b a.b a ab a-b2 b b2 w y.z é 中 \uf8ff \U0001f600".split()  # noqa: SIM905
_DIRECTIONS: tuple[Direction, ...] = ("out", "in", "both")
_WAYS: tuple[Order, ...] = ("asc", "desc")
_TIMES = (None, T0 + 2 * DAY)
_FIELDS = ("created_at", "weight", "rel_type", "valid_from", "valid_to", "dst")


class Orders(Opened):
    def leaving(
        self, store: Store, key: str, limit: int | None = None, order: EdgeOrder = NEWEST
    ) -> list[str]:
        edges = edges_of(store, key, limit=limit, order=order)
        return [edge.dst for edge in edges]

    def reached(self, store: Store, start: str, **options: Any) -> list[str]:
        return [step.key for step in self.walked(store, start, **options).steps]

    def walked(self, store: Store, start: str, **options: Any) -> Walk:
        arguments = {
            "direction": "out",
            "depth": 1,
            "breadth": None,
            "order": EdgeOrder(),
            **options,
        }
        return store.graph.walk(WalkSpec([start], **arguments))

    # -- when an edge was made ---------------------------------------------------------------------

    def test_edges_of_one_batch_keep_the_order_in_which_they_were_given(self, store: Store) -> None:
        own = Entity(name="own", graph_paths=tuple(Edge(rel_type="r", dst=dst) for dst in "yaz"))
        put(store, *(edge_between("s", dst) for dst in "cab"), own)
        assert self.leaving(store, "s") == ["b", "a", "c"]
        assert self.leaving(store, "own", order=EdgeOrder("created_at", "asc")) == ["y", "a", "z"]

    def test_edges_are_made_between_the_beginning_and_the_end_of_their_write(
        self, store: Store
    ) -> None:
        before = datetime.now(UTC)
        put(store, *(edge_between("s", f"n{i}") for i in range(1_000)))
        after = datetime.now(UTC)
        times = [edge.created_at for edge in store.graph.all_edges() if edge.created_at]
        assert before <= min(times)
        assert max(times) <= after
        # the edges of one write have times of their own, so that their order is kept
        assert len(set(times)) == 1_000

    # -- equal edges -------------------------------------------------------------------------------

    def test_edges_of_one_time_come_by_the_key_at_their_far_end(self, store: Store) -> None:
        put(store, *(edge_between("s", f"n{i:02}", created_at=T0) for i in reversed(range(50))))
        first = [f"n{i:02}" for i in range(5)]
        assert self.leaving(store, "s", limit=5) == first
        assert self.leaving(store, "s", limit=5, order=EdgeOrder("created_at", "asc")) == first
        assert self.reached(store, "s", breadth=5) == first
        assert self.reached(store, "s", limit=5) == first
        assert self.walked(store, "s", breadth=5).unfollowed == 45
        (record,) = store.records.lookup(["s"], edges=5)["s"]
        assert [edge.dst for edge in record.graph_paths] == first
        keys = store.graph.edge_keys(EdgeSpec(["s"], direction="out", limit=5))
        assert keys == [("s", "r", dst) for dst in first]

    def test_keys_are_compared_byte_by_byte(self, store: Store) -> None:
        put(store, *(edge_between("s", dst, created_at=T0) for dst in _LABELS))
        keys = self.leaving(store, "s")
        assert keys == sorted(keys, key=str.encode)
        assert self.leaving(store, "s", order=EdgeOrder("dst", "asc")) == keys
        assert self.reached(store, "s", breadth=4) == keys[:4]

    def test_edges_of_equal_weight_come_newest_first_either_way(self, store: Store) -> None:
        put(store, *(edge_between("s", dst, weight=0.5 if dst == "b" else 1) for dst in "cabd"))
        expected_by_way = {"asc": ["b", "d", "a", "c"], "desc": ["d", "a", "c", "b"]}
        for way in _WAYS:
            expected = expected_by_way[way]
            order = EdgeOrder("weight", way)
            assert self.leaving(store, "s", order=order) == expected
            assert self.reached(store, "s", order=order) == expected
            assert self.reached(store, "s", order=order, breadth=2) == expected[:2]

    def test_edges_between_two_keys_come_by_type_and_leave_before_they_enter(
        self, store: Store
    ) -> None:
        ends = (
            ("a", "s", "b"),
            ("b", "r", "a"),
            ("a", "r", "b"),
            ("b", "q", "a"),
            ("a", "R", "b"),
            ("b", "s", "a"),
        )
        for src, rel, dst in ends:
            put(store, relation(src, rel, dst, created_at=T0))
        expected = [ends[position] for position in (4, 3, 2, 1, 0, 5)]
        assert store.graph.edge_keys(EdgeSpec(["a"], direction="both", limit=9)) == expected
        edges = edges_of(store, "a", "both", limit=4, order=EdgeOrder("weight"))
        assert edge_keys(edges) == expected[:4]

    def test_an_edge_from_a_key_to_itself_counts_once_against_the_limit(self, store: Store) -> None:
        put(store, *(edge_between("a", dst, created_at=T0) for dst in "cba"))
        edges = edges_of(store, "a", "both", limit=2)
        assert [edge.dst for edge in edges] == ["a", "b"]
        assert store.graph.edge_keys(EdgeSpec(["a"], direction="both", limit=2)) == [
            edge.key for edge in edges
        ]

    def test_both_directions_and_every_key_of_a_record_have_one_order(self, store: Store) -> None:
        put(
            store,
            Entity(name="Sarah Chen", aliases=("SC", "Boss")),
            edge_between("SC", "c", created_at=T0),
            edge_between("Sarah Chen", "b", created_at=T0),
            edge_between("d", "SC", created_at=T0),
            edge_between("a", "Sarah Chen", created_at=T0),
            edge_between("Boss", "z", created_at=T0 + DAY),
            edge_between("SC", "b", created_at=T0),
        )
        assert self.reached(store, "sc", direction="both") == ["z", "a", "b", "c", "d"]
        assert self.reached(store, "sarah-chen", direction="both", breadth=3) == ["z", "a", "b"]
        for key in ("sarah-chen", "boss"):
            (record,) = store.records.lookup([key], edges=3)[key]
            assert [edge.dst for edge in record.graph_paths] == ["z", "b", "b"]
            assert [edge.src for edge in record.graph_paths] == ["boss", "sarah-chen", "sc"]
        keys = store.graph.edge_keys(EdgeSpec(["sarah-chen"], direction="out", limit=9))
        assert keys == [
            ("sarah-chen", "r", "b"),
            ("boss", "r", "z"),
            ("sc", "r", "b"),
            ("sc", "r", "c"),
        ]

    def test_nodes_reached_by_equal_edges_stay_as_they_were_reached(self, store: Store) -> None:
        pairs = (("s", "b"), ("s", "a"), ("b", "d"), ("b", "y"), ("a", "z"), ("a", "c"), ("c", "e"))
        put(store, *(edge_between(src, dst, created_at=T0) for src, dst in pairs))
        assert self.reached(store, "s", depth=3) == ["a", "b", "c", "z", "d", "y", "e"]
        assert self.reached(store, "s", depth=3, limit=4) == ["a", "b", "c", "z"]

    # -- against a model of the order --------------------------------------------------------------

    @pytest.mark.parametrize("seed", range(3))
    def test_equal_edges_of_a_tangle_are_given_and_followed_in_one_order(
        self, store: Store, seed: int
    ) -> None:
        tangle = _Tangle(store, random.Random(seed))
        for direction, field, way, limit, as_of in product(
            _DIRECTIONS, _FIELDS, _WAYS, (None, 1, 4), _TIMES
        ):
            options: Any = {
                "direction": direction,
                "order": EdgeOrder(field, way),
                "limit": limit,
                "as_of": as_of,
            }
            edges = store.graph.edges(EdgeSpec(["b", "a"], **options))
            assert edges == tangle.edges(["b", "a"], **options)
            walk = store.graph.walk(WalkSpec(["a", "b2"], depth=3, breadth=limit, **options))
            paths = tangle.walk(["a", "b2"], depth=3, **options)
            assert [step.path for step in walk.steps] == paths[:limit]
            assert walk.reached == len(paths)

    @pytest.mark.parametrize("seed", range(3))
    def test_records_and_keys_of_a_tangle_come_with_the_same_edges(
        self, store: Store, seed: int
    ) -> None:
        tangle = _Tangle(store, random.Random(seed))
        newest: Any = {"order": EdgeOrder()}
        for as_of, limit in product(_TIMES, (1, 4, 100)):
            by_key = store.records.lookup(list(tangle.families), edges=limit, as_of=as_of)
            for key, (record,) in by_key.items():
                leaving = tangle.at(tangle.families[key], direction="out", as_of=as_of, **newest)
                assert record.graph_paths == tuple(item.edge for item in leaving[:limit])
            for direction in _DIRECTIONS:
                edges = tangle.edges(
                    ["b", "a"], direction=direction, limit=None, as_of=as_of, **newest
                )
                keys = store.graph.edge_keys(
                    EdgeSpec(["b", "a"], direction=direction, limit=limit, as_of=as_of)
                )
                assert keys == edge_keys(edges[:limit])


class _Tangle:
    """Edges of few times, weights and types between few labels, and a model of their order."""

    def __init__(self, store: Store, rng: random.Random) -> None:
        put(store, *(Entity(name=name, aliases=aliases) for name, aliases in _ALIASED.items()))
        put(store, *(self._random_edge(rng) for _ in range(150)))
        self._edges = list(store.graph.all_edges())
        ends = (end for edge in self._edges for end in (edge.src, edge.dst))
        self.families = {key: {key} for key in ends}
        for name, aliases in _ALIASED.items():
            keys = {name, *aliases}
            self.families |= dict.fromkeys(keys, keys)

    def _random_edge(self, rng: random.Random) -> Edge:
        return relation(
            rng.choice(_LABELS),
            rng.choice("rRs"),
            rng.choice(_LABELS),
            weight=rng.choice((0.5, 1)),
            created_at=T0 + rng.randrange(4) * DAY,
            valid_from=rng.choice((None, T0, T0 + DAY)),
            valid_to=rng.choice((None, None, T0 + 3 * DAY, T0 + 100_000 * DAY)),
        )

    def edges(self, keys: list[str], *, limit: int | None, **options: Any) -> list[Edge]:
        # the other labels of each record, whose edges are its edges too
        families = (self.families[key] for key in keys)
        others = sorted(set[str]().union(*families).difference(keys))
        found: dict[Any, Edge] = {}
        for key in keys + others:
            at = {item.edge.key: item.edge for item in self.at({key}, **options)}
            for edge_key, edge in islice(at.items(), limit):
                found.setdefault(edge_key, edge)
        return list(found.values())

    def walk(
        self, starts: list[str], *, depth: int, limit: int | None, **options: Any
    ) -> list[tuple[str, ...]]:
        """The path to each key reached, `limit` edges followed from each node."""
        seen = {key for start in starts for key in self.families[start]}
        reached: list[tuple[Any, tuple[str, ...]]] = []
        level: list[tuple[str, ...]] = [(start,) for start in starts]
        for _ in range(depth):
            paths, level = level, []
            for path in paths:
                for item in self.at(self.families[path[-1]], **options)[:limit]:
                    if item.far not in seen:
                        seen |= self.families[item.far]
                        level.append((*path, item.far))
                        reached.append((item.by, level[-1]))
        reached.sort(key=itemgetter(0), reverse=options["order"].order == "desc")
        return [path for _, path in reached]

    def at(
        self, keys: set[str], *, direction: Direction, order: EdgeOrder, as_of: datetime | None
    ) -> list[_EdgeAt]:
        """The edges at the keys of one record, in order."""
        found = []
        for edge in self._edges:
            if not _in_force(edge, as_of):
                continue
            if direction != "in" and edge.src in keys:
                found.append(_edge_at(edge, edge.src, edge.dst, order))
            if direction != "out" and edge.dst in keys:
                found.append(_edge_at(edge, edge.dst, edge.src, order, enters=True))
        found.sort(key=attrgetter("tie"))
        # a stable sort, so the order of ties stays, in either direction
        found.sort(key=attrgetter("by"), reverse=order.order == "desc")
        return found


class _EdgeAt(NamedTuple):
    """An edge as it is seen from one of its ends."""

    by: tuple[bool, Any]  # what the order goes by; those without it come first
    tie: tuple[Any, ...]
    far: str  # the key at the other end
    edge: Edge


def _edge_at(edge: Edge, key: str, far: str, order: EdgeOrder, *, enters: bool = False) -> _EdgeAt:
    value = far if order.field == "dst" else getattr(edge, order.field)
    assert edge.created_at
    # the newest first, then by the far end, the type, leaving before entering
    tie = (T0 - edge.created_at, far, edge.rel_type, enters, key)
    return _EdgeAt((value is not None, value or T0), tie, far, edge)


def _in_force(edge: Edge, as_of: datetime | None) -> bool:
    now = as_of or datetime.now(UTC)
    since = edge.valid_from or (edge.created_at if as_of else None)
    return (since is None or since <= now) and (edge.valid_to is None or edge.valid_to > now)
