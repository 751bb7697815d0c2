"""What has expired in one tenant's file: it is left out of what is read, until it is erased."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec.structs import force_setattr

from ...batch import Batch
from ...encoding import micros
from ...rules.expiry import now
from ..rows import decode, encode
from ..statements import SQL

if TYPE_CHECKING:
    import apsw


def not_expired(cursor: apsw.Cursor) -> str:
    """Return the condition that a row `r` has not expired; empty where none has.

    It is the same text until the next record expires.
    """
    last = cursor.execute(SQL.last_expired, (now(),)).get
    return "" if last is None else f"(r.expires IS NULL OR r.expires > {last})"


def expired_among(cursor: apsw.Cursor, batch: Batch) -> list[str]:
    """List the ids of the expired records that have an id or a key of what a batch writes."""
    at = now()
    if cursor.execute(SQL.last_expired, (at,)).get is None:
        return []
    keys = {key for item in batch.records for key in item.keys}
    keys.update(key for edge in batch.edges for key in (edge.src, edge.dst))
    ids = [item.record.id for item in batch.records]
    values = (json.dumps(ids), at, json.dumps(list(keys)), at)
    return [id for (id,) in cursor.execute(SQL.expired_among, values)]


def set_expiry(cursor: apsw.Cursor, ids: Iterable[str], at: datetime | None) -> int:
    """Let records expire at a time. See `contract.Store.set_expiry`."""
    known_ids = json.dumps(list(dict.fromkeys(ids)))
    rows = cursor.execute(SQL.expiring, (known_ids, now())).fetchall()
    changes = []
    for record_no, schema, body in rows:
        # long content stands beside the body, and stays as it is
        record = decode(schema, body, None)
        if record.expires_at != at:
            force_setattr(record, "expires_at", at)
            changes.append((micros(at), encode(record)[0], record_no))
    cursor.executemany(SQL.set_expiry, changes)
    return len(rows)
