"""What a query may read."""

from __future__ import annotations

from msgspec import Struct


class Readable(Struct, frozen=True):
    """The tables that a query may read, and how much is in them."""

    table: str  # that has the lines
    columns: dict[str, tuple[str, ...]]  # by table, in their order
    longest: int = 0  # characters of the longest text
    characters: int = 0  # of all texts

    @property
    def lines(self) -> tuple[str, ...]:
        return self.columns[self.table]
