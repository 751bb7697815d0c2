"""Watches: what is forgotten while work goes on that read it before.

A run that reads, works for a while and then writes has an entry here meanwhile. Each forgetting
writes that entry again, in its own transaction, and beside it a digest of every record and label
that goes, and of every record that is made again without them. Who then writes expects the version
of the entry that he has seen: so nothing of what was forgotten is written back, by whatever name.

The digests are keyed by a salt of the entry, and go with it when the work is over. A forgetting
writes no more than its own, and a write reads no more than those that are new to it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b

import msgspec
from msgspec import Struct

from ...errors import ChangedError
from ...kv import Entries, Entry, EntryReads, KeyRange, KeyValue

WATCH = "run.watch"  # namespace of the entries; the key is the id of the run
# that of their digests: <id of the run>/<number, with leading zeros>
FORGOTTEN = "run.forgotten"
# the key of an entry that each forgetting writes, for any run
LAST_FORGETTING = ("run.last", "forgetting")
_TOGETHER = 10_000  # digests in one entry


class _Watched(Struct, frozen=True):
    salt: str
    parts: int = 0  # how many entries of digests there are


class ForgettingWatch:
    """What was forgotten since a run began, for the run to ask before each write.

    Names are ids of records, and labels as `kv.label_ref` gives them.
    """

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
        """Write entries of the run, and with `ends` end the watch, in one transaction.

        Returns: whether it was so; not if this run is not the one that is watched for any more.
        """
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
    """The keys of all that a run is told by."""
    forgotten = entries.list(FORGOTTEN, KeyRange(prefix=f"{id}/"))
    return [(WATCH, id), *((entry.namespace, entry.key) for entry in forgotten)]


def watch_entry(id: str) -> Entry:
    """The entry by which a run begins to be told what is forgotten."""
    return _entry(id, _Watched(secrets.token_hex(16)))


def watch_entries(entries: EntryReads, names: Iterable[str]) -> Entries:
    """The entries of a forgetting: they tell all runs which go on that these names are gone."""
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
