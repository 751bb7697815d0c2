"""Watches: what is forgotten while work goes on that read it before.

Whoever reads, thinks for a while and then writes has an entry here meanwhile. Each forgetting adds
to it, in its own transaction, a digest of every record and label that goes, and of every record
that is made again without them. Who then writes expects the version of the entry that he has seen:
so nothing of what was forgotten is written back, by whatever name.

A digest is keyed by a salt of the entry, and goes with the entry when the work is over.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b

import msgspec
from msgspec import Struct

from ..kv import Entry, EntryReads, KeyValue

__all__ = [
    "WATCH",
    "ForgettingWatch",
    "watch_entries",
    "watch_entry",
    "watch_key",
    "watched",
]

WATCH = "run.watch"  # namespace of the entries; the key is the id of the run
_MOST = 10_000  # digests of an entry; beyond these anything may have been forgotten


class _Watched(Struct, frozen=True):
    salt: str
    forgotten: tuple[str, ...] = ()
    anything: bool = False  # too much was forgotten to be told apart


class ForgettingWatch:
    """What was forgotten since a run began, for the run to ask before each write.

    Names are ids of records, and labels as `kv.label_ref` gives them.
    """

    def __init__(self, entries: EntryReads, id: str) -> None:
        self._entries = entries
        self._key = watch_key(id)
        self._salt = self._reload().salt

    def forgotten(self, names: Iterable[str]) -> tuple[str, ...] | None:
        """Those of these names that were forgotten, as of now; None if this run is not the one
        that is watched for any more."""
        watched = self._reload()
        if watched.salt != self._salt:
            return None
        if watched.anything:
            return tuple(names)
        if not watched.forgotten:
            return ()
        digests = set(watched.forgotten)
        return tuple(name for name in names if _digest(name, watched.salt) in digests)

    @property
    def expected(self) -> dict[tuple[str, str], int]:
        """The version that the entry has as long as no more is forgotten."""
        return {self._key: self._version}

    def _reload(self) -> _Watched:
        entry = self._entries.get(*self._key)
        self._version = entry.version if entry else 0
        return msgspec.json.decode(entry.value, type=_Watched) if entry else _Watched("")


@contextmanager
def watched(kv: KeyValue, id: str) -> Iterator[None]:
    """Be told what is forgotten while the work inside goes on, as `id`."""
    kv.put([watch_entry(id)])
    try:
        yield
    finally:
        kv.put([], deleted=[watch_key(id)])


def watch_key(id: str) -> tuple[str, str]:
    """The key of the entry of a run."""
    return WATCH, id


def watch_entry(id: str) -> Entry:
    """The entry by which a run begins to be told what is forgotten."""
    return _entry(id, _Watched(secrets.token_hex(16)))


def watch_entries(entries: EntryReads, names: Iterable[str]) -> tuple[Entry, ...]:
    """The entries of all runs that go on, after these names are forgotten, too."""
    watching = entries.list(WATCH)
    known = list(names) if watching else []
    return tuple(_after(entry, known) for entry in watching)


def _after(entry: Entry, names: list[str]) -> Entry:
    watched = msgspec.json.decode(entry.value, type=_Watched)
    if watched.anything or len(watched.forgotten) + len(names) > _MOST:
        return _entry(entry.key, _Watched(watched.salt, (), anything=True))
    digests = (_digest(name, watched.salt) for name in names)
    return _entry(entry.key, _Watched(watched.salt, (*watched.forgotten, *digests)))


def _entry(id: str, watched: _Watched) -> Entry:
    return Entry(*watch_key(id), msgspec.json.encode(watched))


def _digest(name: str, salt: str) -> str:
    data = name.encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=12, key=salt.encode()).hexdigest()
