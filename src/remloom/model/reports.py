"""Reports: what reading, forgetting and copying did, and what a home holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import asdict

from .edges import EdgeKey

MOST_MENTIONS = 1_000  # reported of what was forgotten
_SHOWN_EDGES = 5  # in words


class Receipt(Struct, frozen=True, kw_only=True):
    """Counts of what `forget` removed, and whether anything was found left."""

    records: int = 0
    vectors: int = 0
    keys: int = 0
    edges: int = 0
    derived: int = 0  # records derived from the forgotten ones, forgotten with them
    ids: tuple[str, ...] = ()
    # nothing remains: in records, in what was made of them, in indexes, entries and log
    verified: bool = False
    remaining: tuple[str, ...] = ()  # words that were still found, and where
    # what a file may still hold although nothing leads to it, and when it goes
    pending: tuple[str, ...] = ()
    # ids of records that stay and say a name of what was forgotten, up to `MOST_MENTIONS`: they are
    # somebody's words, are found and recalled as before, and go when these ids are forgotten too
    named_in: tuple[str, ...] = ()
    # edges, as (src, rel_type, dst), at a name of what was forgotten that others have too: they
    # stay, as an edge is at a name and does not say whose; up to `MOST_MENTIONS`
    shared_edges: tuple[EdgeKey, ...] = ()
    at: datetime | None = None

    @property
    def namings(self) -> str:
        """Say how many records that stay say a name of what was forgotten; empty if none does.

        >>> Receipt(named_in=("a", "b")).namings
        '2 records that stay say its name, and are found and recalled as before'
        """
        count = len(self.named_in)
        if count == 1:
            return "1 record that stays says its name, and is found and recalled as before"
        at_least = "at least " if count == MOST_MENTIONS else ""
        stay = "records that stay say its name, and are found and recalled as before"
        return f"{at_least}{count:,} {stay}" if count else ""

    @property
    def sharing(self) -> str:
        """Say which edges stay at a name that others have too; empty if none does.

        >>> Receipt(shared_edges=(("ann", "knows", "bo"),)).sharing
        '1 edge stays at its name, which something else has too: ann knows bo'
        """
        count = len(self.shared_edges)
        shown = "; ".join(" ".join(edge) for edge in self.shared_edges[:_SHOWN_EDGES])
        more = f"; and {count - _SHOWN_EDGES:,} more" if count > _SHOWN_EDGES else ""
        stay = "1 edge stays" if count == 1 else f"{count:,} edges stay"
        return f"{stay} at its name, which something else has too: {shown}{more}" if count else ""

    def plus(self, other: Receipt) -> Receipt:
        """Add what was removed after this."""
        gone = set(other.ids)
        named_in = dict.fromkeys((*self.named_in, *other.named_in))
        shared_edges = dict.fromkeys((*self.shared_edges, *other.shared_edges))
        return Receipt(
            records=self.records + other.records,
            vectors=self.vectors + other.vectors,
            keys=self.keys + other.keys,
            edges=self.edges + other.edges,
            derived=self.derived + other.derived,
            ids=self.ids + other.ids,
            verified=self.verified and other.verified,
            remaining=self.remaining + other.remaining,
            # each says what is pending of all
            pending=other.pending,
            named_in=tuple(id for id in named_in if id not in gone)[:MOST_MENTIONS],
            shared_edges=tuple(shared_edges)[:MOST_MENTIONS],
            at=other.at,
        )


class ReadItem(Struct, frozen=True, kw_only=True):
    """The outcome of reading one document, with its reason."""

    uri: str
    status: Literal["read", "unchanged", "skipped", "failed"]
    reason: str = ""
    chunks: int = 0
    entities: int = 0


class WrittenIds(list[str]):
    """The ids of what was written, in its order, and what the write made stale: records that rest
    on what says something else now, and did not before."""

    stale: int = 0
    stale_ids: tuple[str, ...] = ()  # of the first hundred

    @classmethod
    def of(cls, ids: Iterable[str], stale: int, stale_ids: tuple[str, ...]) -> WrittenIds:
        made = cls(ids)
        made.stale, made.stale_ids = stale, stale_ids
        return made


class WriteReport(Struct, frozen=True, kw_only=True):
    """`WrittenIds` as JSON: the ids of what was written, in its order, and what that made stale."""

    ids: list[str]
    stale: int = 0
    stale_ids: tuple[str, ...] = ()  # of the first hundred

    @classmethod
    def of(cls, ids: WrittenIds) -> WriteReport:
        return cls(ids=ids, stale=ids.stale, stale_ids=ids.stale_ids)

    @property
    def written(self) -> WrittenIds:
        """The ids, as `Memory.write` returns them."""
        return WrittenIds.of(self.ids, self.stale, self.stale_ids)


class ReadReport(Struct, frozen=True, kw_only=True):
    """The outcome of a call of `read`, document by document."""

    items: list[ReadItem] = []
    resources: int = 0  # written
    entities: int = 0
    moments: int = 0
    edges: int = 0
    seconds: float = 0.0
    pending: int = 0  # texts still waiting for their embedding
    # why they wait; what was read is in the store, and is found by words and names
    embedding_error: str = ""
    # why images have no caption of the model: it failed, or does not see; what was read is kept
    caption_error: str = ""
    ids: tuple[str, ...] = ()  # of the resources, in reading order
    # insights and the like that may no longer hold, as what they were made of was read again; the
    # ids of the first hundred
    stale: int = 0
    stale_ids: tuple[str, ...] = ()
    masked: int = 0  # secrets that were masked

    @classmethod
    def of_parts(cls, reports: Sequence[ReadReport]) -> ReadReport:
        """Make one report of those of parts, at least one, that were read after each other."""
        last = reports[-1]
        return cls(
            items=[item for report in reports for item in report.items],
            resources=sum(report.resources for report in reports),
            entities=sum(report.entities for report in reports),
            moments=sum(report.moments for report in reports),
            edges=sum(report.edges for report in reports),
            seconds=sum(report.seconds for report in reports),
            # each says what is pending of all
            pending=last.pending,
            embedding_error=last.embedding_error,
            caption_error=next((one.caption_error for one in reports if one.caption_error), ""),
            ids=tuple(id for report in reports for id in report.ids),
            stale=sum(report.stale for report in reports),
            stale_ids=tuple(id for report in reports for id in report.stale_ids)[:100],
            masked=sum(report.masked for report in reports),
        )

    @property
    def read(self) -> list[ReadItem]:
        return [item for item in self.items if item.status == "read"]

    @property
    def skipped(self) -> list[ReadItem]:
        return [item for item in self.items if item.status in ("skipped", "failed")]


class Copied(Struct, frozen=True, kw_only=True):
    """The verified contents of a tenant's copy, and how much of them this call wrote."""

    records: int
    edges: int
    vectors: int
    entries: int  # key-value entries
    written: int  # records and edges
    resumed: bool = False  # an earlier copy had been broken off
    checksum: str  # of all contents, the same at both places


class Exported(Struct, frozen=True, kw_only=True):
    """How much an export has."""

    records: int
    edges: int

    def as_dict(self) -> dict[str, int]:
        """Give the same as a dictionary, as `remloom export --json` prints it."""
        return asdict(self)


class Imported(Exported, frozen=True, kw_only=True):
    """How much an import had, and what became of its records."""

    created: int
    updated: int
    unchanged: int


class Migrated(Struct, frozen=True, kw_only=True):
    """The versions of a database's schema around a migration; equal if there was nothing to do."""

    before: int  # 0: there was none
    after: int


class Registered(Struct, frozen=True, kw_only=True):
    """The outcome of registering a schema."""

    schema_name: str
    version: int
    changes: tuple[str, ...] = ()  # of the version before; none: nothing was written
    # what is allowed, and may not be meant: edges to schemas that are not there
    notes: tuple[str, ...] = ()


class RowsMigrated(Struct, frozen=True, kw_only=True):
    """How many rows of earlier versions were written again."""

    schema_name: str
    version: int
    rows: int
    # why the others were not, by their ids: they are as they were
    failed: dict[str, str] = {}


class TenantInfo(Struct, frozen=True, kw_only=True):
    """A tenant of a home, described without opening it."""

    name: str
    encrypted: bool
    bytes: int  # on disk
    damaged: bool = False  # its tenant.json cannot be read, so it cannot be opened
