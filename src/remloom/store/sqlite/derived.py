"""What derived records that are read show of what they were derived from."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...model import Record
from ..derivations import attach_parents, derived_ids
from .statements import SQL

if TYPE_CHECKING:
    import apsw

__all__ = ["show_parents"]


def show_parents(cursor: apsw.Cursor, records: Iterable[Record]) -> None:
    """Set `parents` of the derived ones of these records."""
    records = list(records)
    if ids := derived_ids(records):
        attach_parents(records, cursor.execute(SQL.parents_of_all, (json.dumps(ids),)))
