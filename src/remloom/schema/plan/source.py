"""Sources: the databases that were registered, each with its plan and how it looked then.

What is kept of a source has neither credentials nor values of its rows: forgetting a row leaves
nothing of it there.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...errors import InvalidInputError, UnknownNameError
from ...kv import Entry, EntryReads
from ..databases.contract import Table
from .baseline import TableFigures
from .plan import Plan
from .planned import UNREADABLE

SOURCES = "sources"  # namespace of the entries
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")


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
    """Return the name of a source, if it can be one.

    Raises:
        InvalidInputError: it cannot.
    """
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
    places = unquote(urlsplit(address).path).rstrip("/").split("/")
    # Snowflake's URL ends with a schema, and most have the same one
    is_default = len(places) > 1 and places[-1].lower() == "public"
    last = places[-2] if is_default and address.startswith("snowflake:") else places[-1]
    words = re.sub(r"[^a-z0-9_-]+", "_", last.lower().partition(".")[0]).strip("_-")
    return words[:63] if words[:1].isalpha() else f"source_{words}"[:63].rstrip("_")


def list_sources(entries: EntryReads) -> list[Source]:
    """List the sources, by name."""
    return [_source(entry) for entry in entries.list(SOURCES)]


def find_source(entries: EntryReads, name: str) -> Source:
    """Find a source by its name.

    Raises:
        UnknownNameError: there is none of this name.
    """
    entry = entries.get(SOURCES, name) if name else None
    if entry is None:
        known = [source.name for source in list_sources(entries)]
        raise UnknownNameError("source", name, known)
    return _source(entry)


def source_entry(source: Source) -> Entry:
    """Give the entry that keeps a source."""
    registered = source.registered_at or datetime.now(UTC)
    kept = replace(source, registered_at=registered, plan=_without_values(source.plan))
    return Entry(SOURCES, source.name, msgspec.json.encode(kept))


def _without_values(plan: Plan) -> Plan:
    """A plan without what shows values of rows: what was asked, and what databases said of columns
    that they could not read."""
    left_out = tuple(
        replace(each, reason=UNREADABLE) if each.reason.startswith(UNREADABLE) else each
        for each in plan.left_out
    )
    return replace(plan, questions=(), left_out=left_out)


def _source(entry: Entry) -> Source:
    return msgspec.json.decode(entry.value, type=Source)
