"""What one write of a store makes true: validated records, their vectors, edges and entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from ..errors import ChangedError, ConflictError, GoneError, InvalidInputError
from ..kv import Entry
from ..model import Edge, EdgeKey, Moment, Record, Resource
from ..model.supersession import ReplaceReason


class Vector(Struct, frozen=True, gc=False):
    """One embedded window of a record: a range of characters of its text, and its unit vector."""

    # character offsets into what is embedded of the record (see `encoding.embedded_text`)
    start: int
    end: int
    data: bytes  # float32, unit length
    # first 16 bytes of the sha256 of the embedded text; `Vectors.cached` finds the vector by it
    digest: bytes = b""


class VectorBatch(Struct, frozen=True):
    """The vectors that one model made of records, by id of the record."""

    vectors: Mapping[str, tuple[Vector, ...]]
    model: str
    dims: int
    # false: they are of a model that is to follow the current one, and serve after `adopt`
    current: bool = True
    # of the texts they were made of, see `Pending`; a text that has another by now is passed over
    versions: Mapping[str, int] = {}


class TokenVectorBatch(Struct, frozen=True):
    """The token vectors that one model made of records, by id of the record."""

    # int8, token by token: a multiple of `dims` bytes; empty: of a text without tokens
    vectors: Mapping[str, bytes]
    model: str
    dims: int  # numbers for each token
    # of the texts they were made of, see `Pending`; a text that has another by now is passed over
    versions: Mapping[str, int] = {}


class Replacing(Struct, frozen=True):
    """What a text that is written takes the place of, or amends, as somebody said."""

    id: str  # of the older one, or the beginning of it that no other has
    amends: bool = False  # the older one is found, too
    reason: ReplaceReason = "changed"
    since: datetime | None = None  # the older one held until then; None: until now


class BatchRecord(Struct, frozen=True, gc=False):
    """A validated record on its way in."""

    # id, name, hash and times filled in; `graph_paths`, `parents`, `premises`, `embedding` emptied
    record: Record
    keys: tuple[str, ...]  # the key of its name first, then those of its aliases; none twice
    # what text search indexes (see `encoding.searchable_text`); empty: nothing, nor is anything
    # embedded
    text: str
    vectors: tuple[Vector, ...] = ()
    # ids of the records that it was derived from; None: those that are stored of it stay
    parents: tuple[str, ...] | None = None
    # of parents, or of what a moment refers to: what they said as they were quoted (see
    # `premises.says`); of others it is not known
    premises: Mapping[str, int] = {}
    stamp: bool = False  # what a parent that is not among these says as this is written is taken
    embed: bool = False  # its text is to be embedded later: queue it
    fresh: bool = False  # its id was made just now: no record can have it
    # it was given no id: an entity is found by name, and what is stored of it is kept (see
    # `merge.merge_entity`); a row is found by its handle, whose id may be that of another tenant
    merge: bool = False
    # the batch is to be completed by what becomes of the older text (see `engine.superseding`)
    replacing: Replacing | None = None

    def __post_init__(self) -> None:
        # a record that was read shows its parents, which are kept beside it
        if isinstance(self.record, Resource) and (self.record.parents or self.record.premises):
            force_setattr(self, "record", replace(self.record, parents=(), premises={}))
        elif isinstance(self.record, Moment) and self.record.premises:
            force_setattr(self, "record", replace(self.record, premises={}))


class Preconditions(Struct, frozen=True):
    """What must be so for a batch to be written. The transaction that writes checks it, so nobody
    can come in between."""

    existing: tuple[str, ...] = ()  # ids of records that must be stored
    # id -> `revision` that the stored record must have; None: not stored
    records: dict[str, int | None] = {}
    # (src, rel_type, dst) -> the edge as it must be stored; None: not stored
    edges: dict[EdgeKey, Edge | None] = {}
    # (namespace, key) -> version that the entry must have; 0: not stored
    entries: dict[tuple[str, str], int] = {}

    @property
    def ids(self) -> list[str]:
        """Of the records that it is about."""
        return list(dict.fromkeys((*self.existing, *self.records)))

    def check_records(self, revisions: Mapping[str, int]) -> None:
        """Refuse if records are missing, or have another revision, by id, than expected. Raises
        GoneError or ChangedError."""
        if missing := tuple(id for id in self.existing if id not in revisions):
            raise GoneError(
                "what this was to rest on was forgotten meanwhile",
                remedy="start it again: it goes on without",
                ids=missing,
            )
        for id, revision in self.records.items():
            if revisions.get(id) != revision:
                raise changed(f"the record {id}")


def changed(what: str) -> ChangedError:
    return ChangedError(f"{what} was changed meanwhile", remedy="try again")


def only_entry(entries: Sequence[Entry]) -> Entry:
    """Return the one entry whose version is expected. Raises InvalidInputError: none or several."""
    if len(entries) != 1:
        raise InvalidInputError(
            f"an expected version is about one entry, not {len(entries)}",
            remedy="put them one by one",
        )
    return entries[0]


def version_conflict(entry: Entry, version: int, expected: int) -> ConflictError:
    return ConflictError(
        f"entry {entry.namespace} {entry.key!r} has version {version}, not {expected}: another "
        "wrote it first",
        remedy="read it again, and decide anew",
        kind=entry.namespace,
        id=entry.key,
        found=version,
        expected=expected,
    )


class Batch(Struct, frozen=True):
    """What one `write` makes true, wholly or not at all."""

    records: tuple[BatchRecord, ...] = ()
    # src and dst are keys; created_at is set, of each later than of the one before
    edges: tuple[Edge, ...] = ()
    # position of an edge that a record was written with -> position of that in `records`; none of a
    # row, to whose handle its edges belong
    own_edges: dict[int, int] = {}
    # key at an edge's end -> name and type of the thin entity, if it needs one
    names: dict[str, tuple[str, str]] = {}
    deleted: tuple[str, ...] = ()  # ids to delete first, as `delete(derived=True)` does
    # ids to delete first, but not what derives from them: that gets an entry for each of these,
    # which says that it is gone (see `premise_entries`)
    withdrawn: tuple[str, ...] = ()
    dims: int = 0  # of the vectors in it; 0 when there are none
    model: str = ""  # the embedder that made them
    # edges to delete first: (src, rel_type, dst), the ends as keys
    deleted_edges: tuple[EdgeKey, ...] = ()
    # for each record given, its position in `records`; empty: they are the same
    positions: tuple[int, ...] = ()
    deleted_entries: tuple[tuple[str, str], ...] = ()  # (namespace, key) of entries to delete
    entries: tuple[Entry, ...] = ()  # to write, after `deleted` and `deleted_entries`
    expected: Preconditions | None = None  # else nothing is written
    # when it is written, by the clock: what is updated gets a later time than it had; None: records
    # are put back, with the times that they had
    at: datetime | None = None
    # a copy: no edge follows a record whose name is another, and no history is kept of what it was
    exact: bool = False
    # by reading a source: of what it made of that before, nothing is kept (see `changes.is_kept`)
    read: bool = False
