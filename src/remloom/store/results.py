"""What a store returns: matches, walks, counts, and what a write or a delete did."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from ..model import Record, Resource
from ..model.premises import Fault
from .encoding import micros, moment_of, now
from .rules.premise_entries import LostPremise, OtherPremise, SlotPremise
from .specs import MOST_SUMMARIES, SearchSpec


class Written(Struct, frozen=True):
    """What a `write` did. `ids` are in the order of the batch's records, as stored."""

    ids: tuple[str, ...]
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    edges: int = 0
    thin: int = 0  # thin entities made for labels that no record had
    stale: int = 0  # records that may no longer hold, and did before: see `premises.telling`
    stale_ids: tuple[str, ...] = ()  # of the first hundred of them

    def plus(self, other: Written) -> Written:
        """Add up two, without `ids`."""
        return Written(
            (),
            created=self.created + other.created,
            updated=self.updated + other.updated,
            unchanged=self.unchanged + other.unchanged,
            edges=self.edges + other.edges,
            thin=self.thin + other.thin,
        )


class Deletion(Struct, frozen=True):
    """What a `delete` removed."""

    ids: tuple[str, ...] = ()
    vectors: int = 0
    keys: int = 0
    edges: int = 0
    derived: int = 0
    # what is still found of it in any table or index; empty is right
    remaining: tuple[str, ...] = ()
    # what still lies in a file that could not be emptied yet, and when it will be
    pending: tuple[str, ...] = ()
    # where a copy may lie that no part of the store can read, and when that goes
    traces: tuple[str, ...] = ()


class Match(Struct, frozen=True, gc=False):
    """A record that a search found."""

    record: Record
    score: float
    matched: str = ""  # the key that matched (names), or "start:end" of the best window (vectors)


def with_summaries(matches: Iterable[Match], spec: SearchSpec) -> list[Match]:
    """What a search is to find of matches, best first: see `SearchSpec`."""
    found: list[Match] = []
    left, beside = spec.limit, MOST_SUMMARIES if spec.summaries else 0
    for match in matches:
        if not spec.summaries or match.record.schema == spec.schema:
            left -= 1
        elif beside and not isinstance(match.record, Resource) and match.record.summary:
            beside -= 1
        else:
            continue
        found.append(match)
        if not left:
            break
    return found


class Premise(Struct, frozen=True, gc=False):
    """What a record rests on. Times are microseconds since 1970 UTC."""

    child: str  # id of the record
    id: str
    quoted: int | None  # digest of what it said when the record was made of it; None: not known
    says: int | None  # digest of what it says now; None: not known, or no one has that slot
    updated: int
    expires: int | None
    other: OtherPremise | None = None  # what it is, where it is no stored record

    @property
    def fault(self) -> Fault | None:
        """Why the record may not hold any more; None: nothing is known against it."""
        is_slot = isinstance(self.other, SlotPremise)
        if isinstance(self.other, LostPremise) or (is_slot and self.says is None):
            return "gone"
        if self.quoted is not None and self.quoted != self.says:
            return "changed"
        return "expired" if self.expires is not None and self.expires <= now() else None

    @property
    def at(self) -> datetime | None:
        """When it said something else, expired or went; None where it has no fault, or that is
        not known."""
        times = {"changed": self.updated, "expired": self.expires}
        if isinstance(self.other, LostPremise):
            times["gone"] = micros(self.other.at)
        return moment_of(times.get(self.fault or ""))


class RestedOn(Struct, frozen=True, gc=False):
    """A stored record that something rests on; without an id: something rests on what is none."""

    id: str
    says: int | None  # digest; None: not known
    expires: int | None  # microseconds since 1970 UTC


def premise_of(child: str, other: OtherPremise) -> Premise:
    """What a record rests on that is no stored record; of a slot it is not known what it says."""
    id = other.id if isinstance(other, LostPremise) else other.name
    return Premise(child, id, other.said, other.said, 0, None, other)


class WalkStep(Struct, frozen=True, gc=False):
    """A key reached by a walk, by the first edge that reached it."""

    key: str  # the first key of the record(s) reached
    depth: int
    path: tuple[str, ...]  # keys from the start to this one


class Walk(Struct, frozen=True):
    """What a breadth-first walk over edges reached.

    `steps` are in the order of the edges that reached them (ties: as reached, level by level and
    node by node), the first `limit`; no key twice, no start key.
    """

    steps: tuple[WalkStep, ...] = ()
    reached: int = 0  # keys reached, those beyond the limit too
    unfollowed: int = 0  # edges passed over because a node had more than `breadth`
    depth: int = 0  # deepest level reached


class Pending(Struct, frozen=True):
    """A text waiting to be embedded."""

    id: str
    text: str
    attempts: int = 0
    error: str = ""  # of the last attempt
    version: int = 0  # of the text: another one has another


class Capabilities(Struct, frozen=True):
    """What a provider can promise beyond the contract."""

    name: str
    encrypted: bool = False
    # false: it is where nothing may be written, and every write raises ReadOnlyStoreError
    writable: bool = True
    # `delete` with `erase` leaves no byte in the files; else it is gone from every table and index
    erases: bool = True
