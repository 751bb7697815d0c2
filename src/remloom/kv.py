"""Key-value entries: what is stored durably besides the records.

Usage, runs and their receipts, failed items, checkpoints, cached replies, jobs and their leases
live in the tenant's own store, so that they are as sealed and encrypted as the records, and go with
the tenant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Protocol, TypeAlias

from msgspec import Struct

from .errors import InvalidInputError

_LABEL = "label:"
_REMADE = "remade:"
_LOST, _SOURCE, _RESTS = "lost:", "source:", "rests:"


class Entry(Struct, frozen=True):
    """A value under a key of a namespace. Keys sort as text. Raises InvalidInputError: the
    namespace or the key is empty, or has a NUL in it."""

    namespace: str
    key: str
    value: bytes  # JSON
    # ids of records that the value is about, and refs of labels and edges: deleting one of them
    # deletes the entry
    refs: tuple[str, ...] = ()
    # as stored, counting from 1 at every write; the store ignores it in what it is given
    version: int = 0

    def __post_init__(self) -> None:
        for part in (self.namespace, self.key, *self.refs):
            if not part or "\0" in part:
                raise InvalidInputError(
                    f"an entry cannot have the key {self.namespace!r} {self.key!r}",
                    remedy="give it a namespace and a key, and refs, without NUL characters",
                )


class KeyRange(Struct, frozen=True, gc=False):
    """Which keys of a namespace to list, and in which order."""

    prefix: str = ""
    after: str = ""  # go on behind this key, in that order
    limit: int | None = None
    newest_first: bool = False  # the highest keys first


def label_ref(key: str) -> str:
    """The ref of an entry that speaks of a label; it stands for the label wherever ids do."""
    return f"{_LABEL}{key}"


def edge_ref(key: tuple[str, str, str]) -> str:
    """The ref of an entry that quotes an edge: it goes when the edge is made again, or goes."""
    data = "\n".join(key).encode("utf-8", "surrogatepass")
    return f"edge:{sha256(data).hexdigest()[:32]}"


def remade_ref(id: str) -> str:
    """The ref of an entry that quotes a record: it goes when the record is made again, too."""
    return f"{_REMADE}{id}"


def lost_ref(id: str) -> str:
    """The ref of an entry that speaks of a record which is no longer there."""
    return f"{_LOST}{id}"


def source_ref(uri: str) -> str:
    """The ref of an entry that speaks of what was read from there once."""
    return f"{_SOURCE}{sha256(uri.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def rests_ref(name: str) -> str:
    """The ref of an entry which says that something rests on this id or label: it stays when that
    goes."""
    return f"{_RESTS}{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def quoting_refs(names: Iterable[str]) -> tuple[str, ...]:
    """The refs of an entry that quotes what these ids and refs stand for: it goes when that goes,
    and when it is made again without something that is forgotten."""
    known = tuple(names)
    return (*known, *map(remade_ref, known))


def is_other_ref(name: str) -> bool:
    """Whether a ref is that of a label, or of a record as it was, and not the id of a record."""
    return name.startswith((_LABEL, _REMADE, _LOST, _SOURCE, _RESTS))


ALL_KEYS = KeyRange()
Entries: TypeAlias = list[Entry]


class EntryReads(Protocol):
    """Reads of entries."""

    def get(self, namespace: str, key: str) -> Entry | None:
        """Return the entry, or None. One index probe."""

    def list(self, namespace: str, within: KeyRange = ALL_KEYS) -> Entries:
        """List the entries of a namespace, by key. One range of an index."""

    def about(self, namespace: str, refs: Iterable[str]) -> Entries:
        """List the entries of a namespace that have one of these among their refs, by key. An index
        probe for each ref."""

    def count(self, namespace: str, prefix: str = "") -> int:
        """Count the entries of a namespace whose keys begin so. One range of an index."""


class KeyValue(EntryReads, Protocol):
    """A store of entries.

    Writes are atomic and durable, and seen at once by every reader in every process.
    """

    def put(
        self,
        entries: Sequence[Entry],
        *,
        deleted: Sequence[tuple[str, str]] = (),
        expected_version: int | None = None,
        existing: Sequence[str] = (),
        expected_entries: Mapping[tuple[str, str], int] = {},
    ) -> None:
        """Delete entries by (namespace, key), then write these, in one transaction.

        With `expected_version`, there is exactly one entry, and everything is done only if its
        stored version is that one (0: it is not stored yet); else nothing is. So with `existing`:
        only if all records with these ids are stored; and with `expected_entries`: only if others
        have these versions.

        Raises: GoneError (of records that are not stored, its `ids`), ChangedError (of another
            version of other entries), ConflictError (of another version of its own),
            InvalidInputError (`expected_version` without exactly one entry), and what
            `Store.write` raises of a full, busy or read-only store.
        """
