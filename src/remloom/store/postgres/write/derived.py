"""What derived records that are read show of what they were derived from."""

from __future__ import annotations

from collections.abc import Iterable

from ....model import Record
from ...derivations import attach_parents, derived, unique_ids
from ..server.database import Database
from ..statements import SQL


def show_parents(server: Database, tenant: str, records: Iterable[Record]) -> None:
    """Set `parents` of the derived ones of these records."""
    if found := derived(records):
        values = {"tenant": tenant, "ids": unique_ids(found)}
        attach_parents(found, server.fetch(tenant, SQL.parents_of_all, values))
