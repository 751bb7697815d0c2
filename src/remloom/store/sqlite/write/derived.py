"""What derived records that are read show of what they were derived from."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ....model import Record
from ...derivations import attach_parents, derived, unique_ids
from ..statements import SQL

if TYPE_CHECKING:
    import apsw


def show_parents(cursor: apsw.Cursor, records: Iterable[Record]) -> None:
    """Set `parents` of the derived ones of these records."""
    if found := derived(records):
        ids = json.dumps(unique_ids(found))
        attach_parents(found, cursor.execute(SQL.parents_of_all, (ids,)))
