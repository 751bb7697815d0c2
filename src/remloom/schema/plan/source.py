"""Sources: the databases that were registered, each with its plan and how it looked then.

A source keeps neither credentials nor values of rows, so nothing of a forgotten row is left there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import islice
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...errors import InvalidInputError, SourceError, UnknownNameError
from ...kv import Entry, EntryReads
from ..databases.contract import ColumnProfile, Database, Table, TableProfile, items_of
from .plan import Plan
from .planned import UNREADABLE, PlannedEdge

SOURCES = "sources"  # namespace of the entries
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_SAMPLE = 2_000  # rows of a table that are looked at
_TRIED = 500  # values of a foreign key that are looked for
_SKETCHED = 32  # digests kept of a column


class ColumnFigures(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a sample says of a column."""

    column: str
    filled: float = 0.0  # part of the rows that have a value
    distinct: int = 0  # different values
    is_unique: bool = False  # no value came twice
    # the lowest digests of its values: the part that two columns share is how alike they are
    sketch: tuple[int, ...] = ()


class TableFigures(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a sample says of a table."""

    table: str
    rows: int | None = None
    is_whole: bool = False  # every row was seen
    columns: tuple[ColumnFigures, ...] = ()
    # foreign key ("orders.customer_id") -> sampled values of it that its target does not have
    orphans: dict[str, int] = {}

    def column(self, name: str) -> ColumnFigures | None:
        return next((column for column in self.columns if column.column == name), None)


class Source(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A database that is followed."""

    name: str
    plan: Plan
    salt: str  # hex: keys the digests in the figures
    tables: tuple[Table, ...] = ()  # all of the database, as they were when it was registered
    figures: tuple[TableFigures, ...] = ()  # of their rows at that time
    registered_at: datetime | None = None
    synced_at: datetime | None = None  # when a sync was last done to its end


def check_source_name(name: str) -> str:
    """Return the name of a source, if it can be one."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        # a URL may have a password in it
        shown = "as an address is" if "://" in str(name) else f"{str(name)[:80]!r}"
        raise InvalidInputError(
            f"a source cannot be called {shown}",
            remedy="begin with a letter, then small letters, digits, _ and -, 63 at most",
        )
    return name


def name_of_address(address: str) -> str:
    """Make a name of where a database is: its own, or that of its file.

    >>> name_of_address("postgresql://db.example/Sales CRM"), name_of_address("sqlite:////a/b.db")
    ('sales_crm', 'b')
    >>> name_of_address("snowflake://account/CRM/PUBLIC")
    'crm'
    """
    parts = unquote(urlsplit(address).path).rstrip("/").split("/")
    # Snowflake's URL ends with a schema, and most have the same one
    is_default = len(parts) > 1 and parts[-1].lower() == "public"
    last = parts[-2] if is_default and address.startswith("snowflake:") else parts[-1]
    words = re.sub(r"[^a-z0-9_-]+", "_", last.lower().partition(".")[0]).strip("_-")
    return words[:63] if words[:1].isalpha() else f"source_{words}"[:63].rstrip("_")


def list_sources(entries: EntryReads) -> list[Source]:
    return [msgspec.json.decode(entry.value, type=Source) for entry in entries.list(SOURCES)]


def find_source(entries: EntryReads, name: str) -> Source:
    """Find a source by its name, or raise UnknownNameError."""
    entry = entries.get(SOURCES, name) if name else None
    if entry is None:
        known = [source.name for source in list_sources(entries)]
        raise UnknownNameError("source", name, known)
    return msgspec.json.decode(entry.value, type=Source)


def source_entry(source: Source) -> Entry:
    registered = source.registered_at or datetime.now(UTC)
    kept = replace(source, registered_at=registered, plan=_without_values(source.plan))
    return Entry(SOURCES, source.name, msgspec.json.encode(kept))


def _without_values(plan: Plan) -> Plan:
    """A plan without what may show values of rows: its questions, and messages of databases."""
    left_out = tuple(
        replace(each, reason=UNREADABLE) if each.reason.startswith(UNREADABLE) else each
        for each in plan.left_out
    )
    return replace(plan, questions=(), left_out=left_out)


# -- how a database looks at one moment, to be compared with how it looks later --------------------


def likeness(one: ColumnFigures, other: ColumnFigures) -> float:
    """Say which part of their values two columns share, 0..1, if all values were seen."""
    if not one.sketch or not other.sketch:
        # two empty columns are alike in that alone
        return 0.5 if one.sketch == other.sketch else 0.0
    lowest = sorted({*one.sketch, *other.sketch})[:_SKETCHED]
    common = set(one.sketch) & set(other.sketch)
    return sum(digest in common for digest in lowest) / len(lowest)


def _column(profile: ColumnProfile, sampled: int, salt: bytes) -> ColumnFigures:
    filled = sampled - profile.nulls
    return ColumnFigures(
        column=profile.column,
        filled=filled / sampled if sampled else 0.0,
        distinct=profile.distinct,
        is_unique=bool(filled) and profile.distinct == filled,
        sketch=tuple(sorted({_digest(value, salt) for value in profile.values})[:_SKETCHED]),
    )


def _digest(value: Any, salt: bytes) -> int:
    text = msgspec.json.encode(value, enc_hook=str, order="deterministic")
    return int.from_bytes(blake2b(text, digest_size=6, key=salt).digest())


def take_baseline(
    database: Database, plan: Plan, salt: bytes
) -> tuple[tuple[Table, ...], tuple[TableFigures, ...]]:
    """Describe all tables of a database, and give the figures of those that a plan takes.

    Args:
        salt: keys the digests of values, so that nobody can try values on them.
    """
    tables = tuple(database.tables())
    by_name = {table.name: table for table in tables}
    figures = []
    for planned in plan.tables:
        if planned.table not in by_name:
            continue
        try:
            profile = database.profile(by_name[planned.table], _SAMPLE)
            orphans = _orphans(database, plan.edges, by_name, profile)
        except SourceError:
            # what cannot be read is named by a sync, and costs no other
            continue
        figures.append(
            TableFigures(
                table=profile.table,
                rows=profile.rows,
                is_whole=profile.whole,
                columns=tuple(_column(column, profile.sampled, salt) for column in profile.columns),
                orphans=orphans,
            )
        )
    return tables, tuple(figures)


def _orphans(
    database: Database,
    edges: Sequence[PlannedEdge],
    tables: dict[str, Table],
    profile: TableProfile,
) -> dict[str, int]:
    """Count the sampled values of each foreign key that its target does not have."""
    values = {column.column: column.values for column in profile.columns}
    found: dict[str, int] = {}
    for edge in edges:
        # of several columns together no values are sampled
        if edge.table != profile.table or len(edge.columns) != 1:
            continue
        target = tables.get(edge.target)
        there = {column.name for column in target.columns} if target else set()
        if target is None or not there.issuperset(edge.target_columns):
            continue
        different = dict.fromkeys(items_of(values.get(edge.columns[0], ())))
        keys = [(value,) for value in islice(different, _TRIED)]
        contained = database.count_contained(edge.target, edge.target_columns, keys)
        if contained is not None:
            found[f"{edge.table}.{edge.columns[0]}"] = len(keys) - contained
    return found
