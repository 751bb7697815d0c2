"""Discovery of a database by its address."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..databases.opening import open_database
from ..plan.plan import Plan
from ..plan.source import check_source_name, name_of_address
from .discovering import discover


def discover_at(
    url: str,
    name: str = "",
    tables: Sequence[str] | None = None,
    relationships: bool = True,
    sample: int = 20_000,
    progress: Callable[[int, int], None] | None = None,
) -> Plan:
    """Open a database, look at it, and propose what becomes of it; see `discover`.

    Args:
        name: what the source is to be called; default as the database is.

    Raises:
        UnknownNameError: there is no such table.
        SourceError: the database cannot be read.
        InvalidInputError: a source cannot be called so.
    """
    database = open_database(url)
    try:
        called = check_source_name(name or name_of_address(database.address))
        return discover(database, called, tables, relationships, sample, progress)
    finally:
        database.close()
