"""Rows that somebody forgot: which rows of a database are never to come back by a sync.

What is kept of each is its schema and a digest of its handle, keyed by a salt of the tenant: it
says nothing of the row to a reader that does not have its key. Each has the salt of its own with
it, as those of an import were made with another.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from hashlib import blake2b
from typing import TypeAlias

import msgspec

from ...kv import Entry, EntryReads, KeyRange
from ...model import Record, Row
from ..rules.row_names import plain_handle

FORGOTTEN_ROWS = "forgotten_rows"  # namespace of the entries: "<schema>/<digest of the handle>"
# the key of the entry with the salt; it gets another version with every forgetting
_SALT = "@"
Digests: TypeAlias = dict[bytes, set[str]]  # by salt


def forgotten_entries(entries: EntryReads, records: Iterable[Record]) -> tuple[Entry, ...]:
    """Make the entries that keep those of these records away which a sync wrote."""
    rows = [record for record in records if isinstance(record, Row) and record.uri]
    if not rows:
        return ()
    stored = entries.get(FORGOTTEN_ROWS, _SALT)
    value = msgspec.json.encode(secrets.token_hex(32)) if stored is None else stored.value
    salt = _salt_of(value)
    notes = [
        Entry(FORGOTTEN_ROWS, f"{row.schema}/{_digest(row.handle, salt)}", value) for row in rows
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
        # (namespace, key) -> the version that it has as long as nothing more is forgotten
        self.expected = {(FORGOTTEN_ROWS, _SALT): 0 if stored is None else stored.version}
        self._digests: dict[str, Digests] = {}

    def of(self, schema: str) -> Digests:
        """Give the digests of the forgotten rows of a schema, by their salts."""
        if schema not in self._digests:
            prefix = f"{schema}/"
            found: Digests = {}
            for entry in self._entries.list(FORGOTTEN_ROWS, KeyRange(prefix=prefix)):
                salted = found.setdefault(_salt_of(entry.value), set())
                salted.add(entry.key.removeprefix(prefix))
            self._digests[schema] = found
        return self._digests[schema]

    def has(self, schema: str, handle: str) -> bool:
        """Say whether the row with this handle was forgotten."""
        return any(_digest(handle, salt) in digests for salt, digests in self.of(schema).items())


def _digest(handle: str, salt: bytes) -> str:
    return blake2b(plain_handle(handle).encode(), digest_size=16, key=salt).hexdigest()


def _salt_of(value: bytes) -> bytes:
    # of an import it may be anything; a key has at most 64 bytes
    return value[:64]
