"""What is kept of what was forgotten: digests, for runs under way and for syncs.

A run that reads, works for a while and then writes has an entry here meanwhile. Each forgetting
writes that entry again, in its own transaction, and beside it a digest of every record and label
that goes, and of every record that is made again without them. Who then writes expects the version
of the entry that he has seen: so nothing of what was forgotten is written back, by whatever name.

The digests are keyed by a salt of the entry, and go with it when the work is over. A forgetting
writes no more than its own, and a write reads no more than those that are new to it.

Of rows that somebody forgot, a digest of the handle is kept, keyed by a salt of the tenant, so that
no sync brings them back. Each has its salt with it, as those of an import were made with another.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import TypeAlias

import msgspec
from msgspec import Struct

from ...errors import ChangedError
from ...kv import Entries, Entry, EntryReads, KeyRange, KeyValue
from ...model import Record, Row
from ..rules.row_rules import plain_handle

WATCH = "run.watch"  # namespace of the entries; the key is the id of the run
# that of their digests: <id of the run>/<number, with leading zeros>
FORGOTTEN = "run.forgotten"
# the key of an entry that each forgetting writes, for any run
LAST_FORGETTING = ("run.last", "forgetting")
_TOGETHER = 10_000  # digests in one entry

FORGOTTEN_ROWS = "forgotten_rows"  # namespace of the entries: "<schema>/<digest of the handle>"
# the key of the entry with the salt; it gets another version with every forgetting
_SALT = "@"
Digests: TypeAlias = dict[bytes, set[str]]  # by salt


class _Watched(Struct, frozen=True):
    salt: str
    parts: int = 0  # how many entries of digests there are


class ForgettingWatch:
    """What was forgotten since a run began: ids of records, and labels as `kv.label_ref` gives
    them."""

    def __init__(self, entries: EntryReads, id: str) -> None:
        self._entries = entries
        self._id = id
        self._parts = 0
        self._digests: set[str] = set()
        self._salt = self._reload().salt

    def forgotten(self, names: Iterable[str]) -> tuple[str, ...] | None:
        """Those of these names that were forgotten, as of now; None if this run is not the one
        that is watched for any more."""
        watched = self._reload()
        if watched.salt != self._salt:
            return None
        # in order, so that a part which comes in between is missed by nobody: the version that is
        # expected is older than it
        after = _part_key(self._id, self._parts)
        while watched.parts > self._parts:
            within = KeyRange(prefix=f"{self._id}/", after=after, limit=watched.parts - self._parts)
            page = self._entries.list(FORGOTTEN, within)
            if not page:
                break
            for entry in page:
                self._digests.update(msgspec.json.decode(entry.value, type=tuple[str, ...]))
            self._parts += len(page)
            after = page[-1].key
        if not self._digests:
            return ()
        return tuple(name for name in names if _digest(name, watched.salt) in self._digests)

    @property
    def expected(self) -> dict[tuple[str, str], int]:
        """The version that the entry has as long as no more is forgotten."""
        return {(WATCH, self._id): self._version}

    def put(self, kv: KeyValue, entries: Sequence[Entry], *, ends: bool = False) -> bool:
        """Write entries of the run, and with `ends` end the watch, in one transaction; False if
        this run is not the one that is watched for any more."""
        while self._reload().salt == self._salt:
            deleted = watch_keys(kv, self._id) if ends else ()
            try:
                kv.put(entries, deleted=deleted, expected_entries=self.expected)
            except ChangedError:
                # something was forgotten at this very moment
                continue
            return True
        return False

    def _reload(self) -> _Watched:
        entry = self._entries.get(WATCH, self._id)
        self._version = entry.version if entry else 0
        return msgspec.json.decode(entry.value, type=_Watched) if entry else _Watched("")


def watch_keys(entries: EntryReads, id: str) -> list[tuple[str, str]]:
    """The keys of all entries of a watch."""
    forgotten = entries.list(FORGOTTEN, KeyRange(prefix=f"{id}/"))
    return [(WATCH, id), *((entry.namespace, entry.key) for entry in forgotten)]


def watch_entry(id: str) -> Entry:
    """The entry that begins a watch."""
    return _entry(id, _Watched(secrets.token_hex(16)))


def watch_entries(entries: EntryReads, names: Iterable[str]) -> Entries:
    """The entries that a forgetting writes: all watches learn that these names are gone."""
    watching = entries.list(WATCH)
    known = list(names) if watching else []
    notices = [one for entry in watching for one in _notices(entry, known)]
    return [*notices, Entry(*LAST_FORGETTING, b"{}")]


def _notices(entry: Entry, names: Sequence[str]) -> Iterator[Entry]:
    watched = msgspec.json.decode(entry.value, type=_Watched)
    digests = [_digest(name, watched.salt) for name in names]
    parts = watched.parts
    for start in range(0, len(digests), _TOGETHER):
        parts += 1
        part = msgspec.json.encode(digests[start : start + _TOGETHER])
        yield Entry(FORGOTTEN, _part_key(entry.key, parts), part)
    yield _entry(entry.key, _Watched(watched.salt, parts))


def _part_key(id: str, number: int) -> str:
    return f"{id}/{number:012}"


def _entry(id: str, watched: _Watched) -> Entry:
    return Entry(WATCH, id, msgspec.json.encode(watched))


def _digest(name: str, salt: str) -> str:
    data = name.encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=12, key=salt.encode()).hexdigest()


# -- rows ------------------------------------------------------------------------------------------


def forgotten_entries(entries: EntryReads, records: Iterable[Record]) -> tuple[Entry, ...]:
    """Make the entries that keep away those of these records which a sync wrote."""
    rows = [record for record in records if isinstance(record, Row) and record.uri]
    if not rows:
        return ()
    stored = entries.get(FORGOTTEN_ROWS, _SALT)
    value = msgspec.json.encode(secrets.token_hex(32)) if stored is None else stored.value
    salt = _salt_of(value)
    keys = [f"{row.schema}/{_row_digest(row.handle, salt)}" for row in rows]
    return tuple(Entry(FORGOTTEN_ROWS, key, value) for key in (_SALT, *keys))


class ForgottenRows:
    """The rows that were forgotten, as they were when this was made or reloaded."""

    def __init__(self, entries: EntryReads) -> None:
        self._entries = entries
        self.reload()

    def reload(self) -> None:
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
        known = self.of(schema).items()
        return any(_row_digest(handle, salt) in digests for salt, digests in known)


def _row_digest(handle: str, salt: bytes) -> str:
    return blake2b(plain_handle(handle).encode(), digest_size=16, key=salt).hexdigest()


def _salt_of(value: bytes) -> bytes:
    # of an import it may be anything; a key has at most 64 bytes
    return value[:64]
