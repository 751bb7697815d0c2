"""The store contract as tests: values come back as they were, in rows that are not too long."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ...errors import InvalidInputError
from ...model import Edge, Entity, Moment, Resource
from ...store.batch import Batch
from ...store.contract import Store
from ...store.rules.merge import same_json
from ...store.specs import EdgeSpec
from .opening import Opened, lookup, put, selected

# Where the spellings of numbers differ: beyond the whole numbers that a float holds, at the limits
# of 64 bits and of a float, and where the exponent of its text begins.
_NUMBERS = (
    0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63), 0.1, 1.0, 1e15, 1e16, 1e22, 1e30, -1e30,
    123456789012345678.0, 1.7976931348623157e308, 5e-324, 2.2250738585072014e-308, 1e-7,
    3.141592653589793,
)  # fmt: skip
_WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).map(lambda value: value + 0.0)
    | _WORDS
    | st.sampled_from(['x":1e5,', "[1e16]", ":2e+9", *_NUMBERS]),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(_WORDS, inside, max_size=4),
    max_leaves=8,
)
_LONG = "word " * 700_000  # three and a half million characters


class Values(Opened):
    """What is in properties and metadata comes back as it was: the same value of the same type."""

    def test_a_number_comes_back_as_the_number_it_was(self, store: Store) -> None:
        _round(
            store,
            {f"n{place}": number for place, number in enumerate(_NUMBERS)}
            | {"list": list(_NUMBERS)},
        )

    @settings(
        max_examples=25, deadline=None, derandomize=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(value=st.dictionaries(_WORDS, _VALUES, max_size=4))
    def test_any_value_comes_back_as_it_was(self, store: Store, value: dict[str, Any]) -> None:
        _round(store, value)

    def test_a_row_has_a_longest_length_whatever_it_is_made_of(self, store: Store) -> None:
        put(store, *(Resource(name=name, content=_LONG) for name in "abc"))

        for row in ("content", "content, content", "length(concat(content, content, content))"):
            assert len(selected(store, f"SELECT {row} FROM resources").rows) == 3
        for row in ("concat(content, content, content)", "content, content, content"):
            with pytest.raises(InvalidInputError, match="a row is longer than 8 million bytes"):
                selected(store, f"SELECT {row} FROM resources")
        with pytest.raises(InvalidInputError, match="a row is longer than 8 million bytes"):
            selected(store, "SELECT group_concat(content) FROM resources")

    def test_the_length_of_a_row_is_in_bytes_and_that_of_json_counts(self, store: Store) -> None:
        numbers = {"n": [1] * 900_000}
        put(store, Resource(name="a", content="é" * 4_500_000))
        put(store, Resource(name="b", content="x" * 7_900_000, metadata=numbers))

        assert selected(store, "SELECT content FROM resources WHERE name = 'b'").rows
        assert selected(store, "SELECT metadata FROM resources WHERE name = 'b'").rows
        for row in ("content FROM resources WHERE name = 'a'", "content, metadata FROM resources"):
            with pytest.raises(InvalidInputError, match="a row is longer than 8 million bytes"):
                selected(store, f"SELECT {row}")

    def test_all_rows_have_a_longest_length(self, store: Store) -> None:
        put(store, *(Resource(name=f"n{number}", content=_LONG) for number in range(5)))

        assert len(selected(store, "SELECT content, content FROM resources LIMIT 4").rows) == 4
        with pytest.raises(InvalidInputError, match="the rows are longer than 32 million bytes"):
            selected(store, "SELECT content, content FROM resources")

    def test_what_is_joined_at_the_same_time_is_bounded_together(self, store: Store) -> None:
        put(store, *(Resource(name=f"n{number}", content=_LONG) for number in range(6)))

        ((length,),) = selected(store, "SELECT length(group_concat(content)) FROM resources").rows
        assert length == 6 * len(_LONG) + 5
        with pytest.raises(InvalidInputError, match="more than 32 million bytes of text"):
            selected(
                store,
                "SELECT length(group_concat(content)), length(group_concat(content, ' '))"
                " FROM resources",
            )


def _round(store: Store, value: dict[str, Any]) -> None:
    store.write(_cleared())
    items = (
        Entity(id="e", name="e", properties=value),
        Resource(id="r", name="r", content="1e16", metadata=value),
        Moment(id="m", name="m", metadata=value),
        Edge(src="e", rel_type="has", dst="r", properties=value),
    )
    assert put(store, *items).created == 3
    found = [store.records.get(None, id) for id in "erm"]
    assert isinstance(found[0], Entity)
    assert same_json(found[0].properties, value)
    assert all(same_json(record.metadata, value) for record in found[1:])  # type: ignore[union-attr]
    (edge,) = store.graph.edges(EdgeSpec(["e"], direction="out"))
    assert same_json(edge.properties, value)
    (shown,) = lookup(store, "e")
    assert same_json(shown.graph_paths[0].properties, value)
    assert put(store, *items).unchanged == 3


def _cleared() -> Batch:
    return Batch(deleted=("e", "r", "m"))
