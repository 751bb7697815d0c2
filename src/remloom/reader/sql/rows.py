"""Rows that SQL over lines returned."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from msgspec import Struct

from ...errors import InvalidInputError


class Rows(Struct, frozen=True, kw_only=True):
    """The rows of a query over the lines of documents."""

    sql: str  # as it ran
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    fixes: tuple[str, ...] = ()  # what was changed in the query, in words
    truncated: bool = False  # there were more rows

    @property
    def row_count(self) -> int:
        return len(self.rows)

    @property
    def word_count(self) -> int:
        """The sum of the column `word_count`; 0 where there is none."""
        if "word_count" not in self.columns:
            return 0
        at = self.columns.index("word_count")
        return sum(row[at] for row in self.rows if isinstance(row[at], int))

    @property
    def is_empty(self) -> bool:
        return not self.rows

    def as_dicts(self) -> list[dict[str, Any]]:
        """Each row as a dictionary."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def dataframe(self) -> Any:
        """The rows as a DataFrame of pandas.

        Raises:
            InvalidInputError: pandas is not installed.
        """
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            raise InvalidInputError(
                "a DataFrame needs pandas", remedy="pip install pandas, or use `as_dicts()`"
            ) from error
        return pandas.DataFrame.from_records(self.rows, columns=self.columns)
