"""The audit log of a tenant: who asked what of it over a server, and which records it concerned.

It is kept in the tenant's own store, as sealed and encrypted as the records, and goes with it. It
has no content: no question, no text, no label. Entries are added and, when they are old enough,
deleted as a whole; none is changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import msgspec
from msgspec import Struct
from uuid_utils import uuid7

from ..kv import Entry, KeyRange, KeyValue

_NAMESPACE = "audit"
_AT_ONCE = 20  # entries of the store that are read or deleted together


class AuditEntry(Struct, frozen=True, kw_only=True):
    """One call.

    Attributes:
        key_id: of the API key, or who an access token was given to.
        records: ids of records that it named, wrote, returned or forgot; the first of many.
        outcome: "done", or the name of the error.
        ms: how long it took.
    """

    at: datetime
    key_id: str
    operation: str
    records: tuple[str, ...] = ()
    outcome: str = "done"
    ms: float = 0.0


class AuditLog:
    """The calls of one tenant, or those that concern a whole home."""

    def __init__(self, kv: KeyValue) -> None:
        self._kv = kv

    def add(self, entries: Sequence[AuditEntry]) -> None:
        """Add calls, in the order they ended; on disk when it returns."""
        if entries:
            self._kv.put([Entry(_NAMESPACE, str(uuid7()), msgspec.json.encode(entries))])

    def calls(self, limit: int, *, before: datetime | None = None) -> list[AuditEntry]:
        """List calls, newest first."""
        found: list[AuditEntry] = []
        for entry in self._newest_first():
            calls = msgspec.json.decode(entry.value, type=list[AuditEntry])
            found += [call for call in reversed(calls) if before is None or call.at < before]
            if len(found) >= limit:
                break
        return found[:limit]

    def prune(self, days: int) -> None:
        """Delete what is older than so many days; of 0, nothing."""
        end = datetime.now(UTC) - timedelta(days=days)
        while days and (old := self._older(end)):
            self._kv.put([], deleted=[(_NAMESPACE, key) for key in old])

    def _older(self, end: datetime) -> list[str]:
        """Find the oldest entries of the store whose calls all ended before a time."""
        old = []
        for entry in self._kv.list(_NAMESPACE, KeyRange(limit=_AT_ONCE)):
            calls = msgspec.json.decode(entry.value, type=list[AuditEntry])
            if max(call.at for call in calls) >= end:
                break
            old.append(entry.key)
        return old

    def _newest_first(self) -> Iterator[Entry]:
        after = ""
        while page := self._kv.list(
            _NAMESPACE, KeyRange(after=after, limit=_AT_ONCE, newest_first=True)
        ):
            yield from page
            after = page[-1].key
