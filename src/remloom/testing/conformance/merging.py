"""The store contract as tests: edges that are written again are what `merge_edge` says."""

from __future__ import annotations

from datetime import timedelta
from functools import reduce
from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ...model import Edge
from ...store.contract import Store
from ...store.rules.edge_validation import check_edge
from ...store.rules.merge import merge_edge, same_json
from .opening import T0, Opened, put

_DAYS = st.integers(0, 6).map(lambda days: T0 + timedelta(days=days))
_VALUES = st.one_of(st.none(), st.booleans(), st.integers(0, 2), st.sampled_from(["a", ["b"]]))


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


class Merging(Opened):
    """Edges that are written again."""

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
