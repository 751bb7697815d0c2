"""Rows that somebody forgot: which rows of a database are never to come back by a sync.

What is kept of each is its schema and a digest of its handle, keyed by a salt of the tenant: it
says nothing of the row to whoever does not have its key already.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from hashlib import blake2b

import msgspec

from ..kv import Entry, EntryReads, KeyRange
from ..model import Record, Row
from .handles import plain_handle

__all__ = ["FORGOTTEN_ROWS", "ForgottenRows", "forgotten_entries"]

FORGOTTEN_ROWS = "forgotten_rows"  # namespace of the entries: "<schema>/<digest of the handle>"
# the key of the entry with the salt; it gets another version with every forgetting
_SALT = "@"


def forgotten_entries(entries: EntryReads, records: Iterable[Record]) -> tuple[Entry, ...]:
    """Make the entries that keep those of these records away which a sync wrote."""
    rows = [record for record in records if isinstance(record, Row) and record.uri]
    if not rows:
        return ()
    stored = entries.get(FORGOTTEN_ROWS, _SALT)
    value = msgspec.json.encode(secrets.token_hex(32)) if stored is None else stored.value
    salt = _salt_of(value)
    notes = [
        Entry(FORGOTTEN_ROWS, f"{row.schema}/{_digest(row.handle, salt)}", b"{}") for row in rows
    ]
    return (Entry(FORGOTTEN_ROWS, _SALT, value), *notes)


class ForgottenRows:
    """The rows that were forgotten, as they were when this was made or reloaded."""

    def __init__(self, entries: EntryReads) -> None:
        self._entries = entries
        self.reload()

    def reload(self) -> None:
        """Read them again."""
        stored = self._entries.get(FORGOTTEN_ROWS, _SALT)
        self._salt = b"" if stored is None else _salt_of(stored.value)
        # (namespace, key) -> the version that it has as long as nothing more is forgotten
        self.expected = {(FORGOTTEN_ROWS, _SALT): 0 if stored is None else stored.version}
        self._keys: dict[str, set[str]] = {}

    def of(self, schema: str) -> set[str]:
        """Give the digests of the forgotten rows of a schema; see `digest`."""
        if schema not in self._keys:
            prefix = f"{schema}/"
            entries = self._entries.list(FORGOTTEN_ROWS, KeyRange(prefix=prefix))
            self._keys[schema] = {entry.key.removeprefix(prefix) for entry in entries}
        return self._keys[schema]

    def has(self, schema: str, handle: str) -> bool:
        """Say whether the row with this handle was forgotten."""
        digests = self.of(schema)
        return bool(digests) and _digest(handle, self._salt) in digests


def _digest(handle: str, salt: bytes) -> str:
    return blake2b(plain_handle(handle).encode(), digest_size=16, key=salt).hexdigest()


def _salt_of(value: bytes) -> bytes:
    return bytes.fromhex(msgspec.json.decode(value, type=str))
