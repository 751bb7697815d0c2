"""The store contract as tests: how long the rows of a SELECT may be."""

from __future__ import annotations

import pytest

from ...errors import InvalidInputError
from ...model import Resource
from ...store.contract import Store
from .opening import Opened, put, selected

_LONG = "word " * 700_000  # three and a half million characters


class Selects(Opened):
    """Rows that are long, and many of them."""

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
