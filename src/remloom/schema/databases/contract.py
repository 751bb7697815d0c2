"""What a database has to offer, for callers that read one and for those who add one.

Everything is read-only, bounded in time, and streamed. A folder of CSV files and a collection of
documents are databases as well.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import Any, Protocol, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...model import Kind

_LEAST = 800  # rows of a table that is too large to be read whole
_SHARE = 125  # of such a table, one row in so many is read
_CELLS = 4_000_000  # values of one sample
_FEWEST = 100  # rows, however many columns there are
LONGEST = 2_000  # characters of a text that are looked at

# values of the columns of a key, in their order
Key: TypeAlias = tuple[Any, ...]


class Unreadable(Struct, frozen=True):
    """What stands for a value that the database or its driver cannot give."""

    reason: str


class Column(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A column as the database declares it."""

    name: str
    kind: Kind | None = None  # None: what cannot be a field (a blob)
    list: bool = False  # an array
    declared: str = ""  # its type in the words of the database
    nullable: bool = True
    values: tuple[str, ...] = ()  # of an enum type, or of a CHECK
    comment: str = ""
    # if nothing is declared: the types of a sample, "in 98% of 1,200 documents; string 95%, int 5%"
    sampled: str = ""


class ForeignKey(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A foreign key as the database declares it."""

    columns: tuple[str, ...]
    target: str  # table
    target_columns: tuple[str, ...]


class Table(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A table, view, file or collection. Names outside the default schema are "sales.orders"."""

    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()  # columns of further unique constraints and indexes
    foreign_keys: tuple[ForeignKey, ...] = ()
    indexed: tuple[tuple[str, ...], ...] = ()  # columns of every index, in its order
    rows: int | None = None  # estimated by the database; None: unknown
    is_view: bool = False
    comment: str = ""
    # why it cannot be read, if it has no columns; else why some of its rows may be missing
    withheld: str = ""


class ColumnProfile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a sample of rows has in one column."""

    column: str
    nulls: int = 0  # of the rows sampled
    distinct: int = 0  # different values among those sampled that are not null
    values: tuple[Any, ...] = ()  # different ones among them, in no order
    longest: int = 0  # characters, of text; 2,000 of what is longer


class TableProfile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a sample of its rows says of a table."""

    table: str
    rows: int | None = None  # in the table: counted where it is small, else estimated
    sampled: int = 0  # rows read
    whole: bool = False  # whether the sample is the whole table
    columns: tuple[ColumnProfile, ...] = ()
    unreadable: dict[str, str] = {}  # column that cannot be read, even as text -> why


class Database(Protocol):
    """A database, opened read-only. Every method may be called from one thread at a time.

    Errors: SourceError of everything that the database refuses, without credentials in it.
    """

    @property
    def kind(self) -> str:
        """What it is: "postgresql", "mysql", "sqlite", "duckdb", "mongodb", "snowflake"."""
        ...

    @property
    def address(self) -> str:
        """Where it is, as a URL without its password; the user may stand in it."""
        ...

    def tables(self, names: Sequence[str] | None = None) -> list[Table]:
        """Describe its tables, by name; only these if there are `names`.

        Raises: UnknownNameError (there is no such table).
        """
        ...

    def profile(self, table: Table, sample: int) -> TableProfile:
        """Look at up to so many rows, spread over the table."""
        ...

    def count_contained(
        self, table: str, columns: Sequence[str], values: Sequence[Key]
    ) -> int | None:
        """Count how many of these different values a table has in these columns; None: it would
        take a scan of what is too large for one."""
        ...

    def rows(
        self, table: Table, columns: Sequence[str], *, after: Key | None, limit: int
    ) -> list[tuple[Any, ...]]:
        """Read the rows whose key comes after this one, in the order of their keys.

        The key is the table's `primary_key`; a table without one is read by offset, and `after` is
        then a tuple of one number. Values are plain: str, int, float, Decimal, bool, date, datetime
        (UTC), None, lists and dicts of these; Unreadable is what cannot be read, which costs no
        other value.
        """
        ...

    def snapshot(self) -> Any:
        """Let reads inside this context see one state of the database, where it can."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


def by_table(rows: Iterable[tuple[Any, ...]]) -> dict[tuple[str, str], list[tuple[Any, ...]]]:
    """Group rows that begin with a schema and a table by these two."""
    found: dict[tuple[str, str], list[tuple[Any, ...]]] = defaultdict(list)
    for schema, table, *values in rows:
        found[schema, table].append(tuple(values))
    return found


def table_names(tables: Iterable[tuple[str | None, str]]) -> dict[tuple[str | None, str], str]:
    """Name tables by schema and table; the default schema is None, and not part of the name.

    >>> list(table_names([("sales", "orders"), (None, "birds")]).values())
    ['sales.orders', 'birds']
    """
    plain = {table: ".".join(filter(None, table)) for table in tables}
    shared = Counter(plain.values())
    return {
        # a name may hold a point itself: "a.b" of the default schema, and b of the schema a
        table: name if shared[name] == 1 else ".".join(f'"{part}"' for part in table if part)
        for table, name in plain.items()
    }


def without_columns(table: Table, names: Collection[str]) -> Table:
    """Copy a table without these columns."""
    if not names:
        return table
    gone = set(names)

    def is_left(columns: Collection[str]) -> bool:
        return gone.isdisjoint(columns)

    return replace(
        table,
        columns=tuple(column for column in table.columns if column.name not in gone),
        primary_key=table.primary_key if is_left(table.primary_key) else (),
        unique=tuple(filter(is_left, table.unique)),
        foreign_keys=tuple(one for one in table.foreign_keys if is_left(one.columns)),
        indexed=tuple(filter(is_left, table.indexed)),
    )


def without_unordered_key(table: Table) -> Table:
    """Make a key merely unique, so that the table is read by offset, if the database cannot compare
    values of its columns."""
    unordered = {one.name for one in table.columns if one.kind in (None, "json") or one.list}
    if unordered.isdisjoint(table.primary_key):
        return table
    return replace(table, primary_key=(), unique=(*table.unique, table.primary_key))


# -- profiles --------------------------------------------------------------------------------------


def rows_to_read(rows: int | None, columns: int, sample: int) -> int:
    """Say how many rows of a table to read for its profile.

    Up to `sample` rows are read whole; of a larger table one row in 125, but at least 800 and at
    most `sample`; of a table whose size nobody knows, 800. A table with very many columns has fewer
    read.

    >>> [rows_to_read(rows, 8, 20_000) for rows in (500, 100_000, None)]
    [20000, 800, 800]
    """
    if rows is None:
        count = _LEAST
    elif rows <= sample:
        count = sample
    else:
        count = max(_LEAST, rows // _SHARE)
    return max(1, min(count, sample, max(_FEWEST, _CELLS // max(1, columns))))


def items_of(values: Iterable[Any]) -> list[Any]:
    """List values one by one, those of lists too; without None, and without what has parts itself.

    >>> items_of([[1, 2], 3, [None, {"a": 1}]])
    [1, 2, 3]
    """
    items = chain.from_iterable(value if isinstance(value, list) else (value,) for value in values)
    return [item for item in items if item is not None and not isinstance(item, list | dict)]


def profile_rows(
    table: Table,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Any]],
    *,
    total: int | None,
    whole: bool,
) -> TableProfile:
    """Profile the sampled rows of a table; their values are plain, in the order of the columns."""
    by_column: Sequence[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * len(columns)
    return TableProfile(
        table=table.name,
        rows=len(rows) if whole else total,
        sampled=len(rows),
        whole=whole,
        columns=tuple(_profile_column(*one) for one in zip(columns, by_column, strict=True)),
    )


def _profile_column(column: Column, values: Sequence[Any]) -> ColumnProfile:
    filled = [value for value in values if value is not None]
    if column.list or column.kind == "json" or any(isinstance(v, list | dict) for v in filled):
        # values that cannot be hashed are compared by their JSON
        encoded = {msgspec.json.encode(value, enc_hook=str): value for value in filled}
        different = list(encoded.values())
    else:
        different = list(dict.fromkeys(filled))
    return ColumnProfile(
        column=column.name,
        nulls=len(values) - len(filled),
        distinct=len(different),
        values=tuple(different),
        longest=max((len(value) for value in different if isinstance(value, str)), default=0),
    )
