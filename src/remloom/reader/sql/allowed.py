"""What a query may say: kinds of nodes with their arguments, types, functions. See allowed.json.

What is not in the table does not exist: a node, an argument or a function of a newer parser is
refused until it stands there.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

# the least and the most arguments of a function, by its name
_Arities = dict[str, tuple[int, int]]


class Allowed(Struct, frozen=True):
    """The table."""

    nodes: dict[str, frozenset[str]]  # the arguments of each kind of node
    types: frozenset[str]  # that may be cast to
    functions: _Arities  # of one row
    aggregates: _Arities
    windows: _Arities  # that need an OVER
    texts: frozenset[str]  # the functions that may give a text as long as what they are given

    def arity(self, function: str) -> tuple[int, int] | None:
        """How many arguments a function takes; None if it does not exist."""
        tables = (self.functions, self.aggregates, self.windows)
        return next((table[function] for table in tables if function in table), None)

    @property
    def names(self) -> list[str]:
        """The names of all functions."""
        return [*self.functions, *self.aggregates, *self.windows]


@cache
def read_allowed() -> Allowed:
    file = Path(__file__).with_name("allowed.json")
    return msgspec.json.decode(file.read_bytes(), type=Allowed)


class Readable(Struct, frozen=True):
    """The tables that a query may read, and how much is in them."""

    table: str  # that has the lines
    columns: dict[str, tuple[str, ...]]  # by table, in their order
    longest: int = 0  # characters of the longest text
    characters: int = 0  # of all texts

    @property
    def lines(self) -> tuple[str, ...]:
        return self.columns[self.table]
