"""The beliefs of a store: evidence placed under them, and each belief's fold, kept beside it.

A kept fold has all its evidence among its refs, so it goes with the first piece that goes. Of what
is still there it can only lack pieces, never have too many: hence a kept fold is right exactly if
it counts as many pieces as are placed there, and all are right exactly if the sums agree. For this
to hold, evidence never changes, and never moves to another belief; and where it is taken from under
one, and its record stays, the kept folds that rest on it go in the same transaction.

What ends a list as a whole ("no pets any more") ends each item: it is placed once, under the
item without a value, and folded into all others of its scope. Its own fold is kept only together
with theirs, so its count answers for them. A narrower scope is an exception, and stays.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property, partial
from hashlib import blake2b
from typing import TypeAlias
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...kv import Entries, Entry, KeyRange
from ...model import Record, Resource
from ...store.batch import Batch
from ...store.contract import Reads, Store
from ..evidence.claim import Value
from ..evidence.evidence import (
    EVIDENCE,
    KIND,
    Evidence,
    belief_key,
    from_record,
    key_of_subject,
    key_prefix,
    stored_evidence,
    stored_resources,
    value_key,
)
from ..slots.registry import SlotRegistry, registry_of
from ..slots.slot import EXTRAS, OWN_WORDS, Slot
from .belief import FOLDING, Belief, Fold, Piece, fold, piece_of, retracted_at, view
from .profile import Profile
from .reliability import Constants
from .stale import doubts_of, why_stale

# namespaces of the entries
BELIEF = "profile.belief"  # a fold that is kept
MARK = "profile.mark"  # what the user decided about a belief, besides what holds

# of a belief's key, behind the person, that are of its slot (see `key_prefix`)
_SLOT_DIGITS = 8
_STEP = timedelta(microseconds=1)  # the shortest time there is
_EARLIEST = datetime.min.replace(tzinfo=UTC)

_PIECE = msgspec.json.Decoder(Piece)
# the evidence that is placed under a belief, by its key
LookUp: TypeAlias = Callable[[str], list[Piece]]
# nothing fades enough in this time to be seen
_FRESH = timedelta(seconds=30)


class BeliefMark(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the user decided about a belief; it stays when its evidence goes."""

    pinned: bool = False  # always given
    hidden: bool = False  # never given
    # evidence of before this time is not taken up: the belief was deleted then
    deleted_at: datetime | None = None


class _Kept(Struct, frozen=True, array_like=True):
    fold: Fold | None
    pieces: int
    version: str  # of the constants and slots that it was made with
    newest: datetime  # of all times in the evidence


_KEPT = msgspec.json.Decoder(_Kept)


class _Read(Struct, frozen=True):
    """Beliefs that were read, and all that they follow from but for the time."""

    folds: Entries
    marks: Entries
    evidence: int  # pieces
    version: str  # of the constants and slots
    slots: SlotRegistry
    at: datetime
    beliefs: tuple[Belief, ...] = ()

    def is_as(self, earlier: _Read) -> bool:
        """Whether this follows from the same as what was read not long ago."""
        is_fresh = timedelta() <= self.at - earlier.at < _FRESH
        return is_fresh and replace(self, at=earlier.at, beliefs=earlier.beliefs) == earlier


# of each person, what was read last: most readings find that nothing has changed
_last_read: WeakKeyDictionary[Store, dict[str, _Read]] = WeakKeyDictionary()


class BeliefStore:
    """What is believed in one store, of the slots that can be known there."""

    def __init__(self, store: Store, slots: SlotRegistry, constants: Constants) -> None:
        self._store = store
        self.slots = slots
        self._constants = constants

    # -- beliefs -----------------------------------------------------------------------------------

    def all(self, subject: str, *, as_of: datetime | None = None) -> list[Belief]:
        """The beliefs about a person, those that have ended too, by slot and scope: now, or as
        of a time, computed again from all evidence."""
        if as_of is not None:
            return self._with_stale(subject, self._believed_at(subject, as_of), as_of)
        read = self._read(subject)
        before = _last_read.setdefault(self._store, {}).get(subject)
        if before is not None and read.is_as(before):
            return self._with_stale(subject, before.beliefs)
        beliefs = self._viewed(subject, self._folds(subject, read), _marks_of(read.marks), read.at)
        _last_read[self._store][subject] = replace(read, beliefs=tuple(beliefs))
        return self._with_stale(subject, beliefs)

    def _with_stale(
        self, subject: str, beliefs: Iterable[Belief], as_of: datetime | None = None
    ) -> list[Belief]:
        """The beliefs, those that may not hold any more with the reason. It costs by the evidence
        on these alone."""
        with self._store.snapshot():
            doubts = doubts_of(self._store, subject, as_of)
            if not doubts:
                return list(beliefs)
            evidence = [doubt.evidence for doubt in doubts.values()]
            doubted = {self.key_of(one) for one in evidence if one.slot}
            return [
                replace(belief, stale=stale)
                if (belief.id in doubted or not belief.holds)
                and (stale := why_stale(belief, doubts, partial(self.pieces_on, belief.id), as_of))
                else belief
                for belief in beliefs
            ]

    def profile(self, subject: str, as_of: datetime | None = None) -> Profile:
        """The profile of a person, without what waits and what was not heard."""
        beliefs = tuple(self.all(subject, as_of=as_of))
        return Profile(subject=subject, as_of=as_of or datetime.now(UTC), beliefs=beliefs)

    def _viewed(
        self,
        subject: str,
        folds: Mapping[str, Fold],
        marks: Mapping[str, BeliefMark],
        now: datetime,
    ) -> list[Belief]:
        beliefs = []
        for key, folded in folds.items():
            belief = view(
                folded,
                self.slots.get_or_extra(folded.slot),
                self._constants,
                id=key,
                subject=subject,
                now=now,
            )
            if belief is not None:
                mark = marks.get(key)
                if mark is not None:
                    belief = replace(belief, pinned=mark.pinned, hidden=mark.hidden)
                beliefs.append(belief)
        return sorted(beliefs, key=lambda belief: (belief.slot, belief.scope, str(belief.value)))

    def subjects(self) -> list[str]:
        """The people of whom something is known, by name."""
        names = []
        after = ""
        # one probe a person: the next key behind all of theirs
        while entries := self._store.kv.list(EVIDENCE, KeyRange(after=after, limit=1)):
            person, _, _ = entries[0].key.partition("/")
            after = f"{person}0"  # "0" sorts right behind "/"
            names += [one.subject for one in stored_evidence(self._store, entries[0].refs)]
        return sorted(names)

    def marks(self, subject: str) -> dict[str, BeliefMark]:
        """What the user decided about beliefs, by the key of the belief."""
        prefix = f"{key_of_subject(subject)}/"
        return _marks_of(self._store.kv.list(MARK, KeyRange(prefix=prefix)))

    def evidence(self, belief: str, *, wider: bool = False) -> list[Evidence]:
        """The evidence on a belief, by time; `wider` with that on the whole list whose item it
        is."""
        with self._store.snapshot():
            pieces = self._pieces(self._store, belief)
            if wider:
                pieces += self._covering(belief, pieces, partial(self._pieces, self._store))
        pieces = sorted(pieces, key=lambda piece: (piece.at, piece.order, piece.id))
        return stored_evidence(self._store, (piece.id for piece in pieces))

    def pieces_on(self, belief: str) -> list[Piece]:
        """What the fold needs of the evidence on a belief, in no order."""
        return self._pieces(self._store, belief)

    def pieces(self) -> dict[str, list[Piece]]:
        """All evidence on anybody, by belief. One pass over it."""
        return self._all_pieces(self._store, "")

    def keys_in(self, slot: str) -> list[str]:
        """The keys of anybody's beliefs in a slot that have evidence. One pass over all of it."""
        return [key for key, pieces in self.pieces().items() if pieces[0].slot == slot]

    def _origin(self, evidence: Evidence) -> str:
        """The id of the evidence that some was made of, directly or not; its own if of none."""
        while made_of := stored_evidence(self._store, (evidence.claim,)):
            (evidence,) = made_of
        return evidence.id

    def forgettable(self, belief: str, value: Value | None = None) -> list[str]:
        """The ids of records that a belief, or one value of it, goes with: its evidence, or the
        claims this was made of.

        A claim that says something else too ("peanuts, shellfish and milk") stays: of it, only
        the evidence on this belief goes.
        """
        with self._store.snapshot():
            evidence = [
                one
                for one in self.evidence(belief)
                if value is None or value_key(one.value) == value_key(value)
            ]
            own = {one.id for one in evidence}
            needed = set()
            if any(one.claim for one in evidence):
                needed = {
                    self._origin(one) for one in self._other_beliefs(belief) if one.id not in own
                }
            origins = [(one.id, self._origin(one)) for one in evidence]
        return list(dict.fromkeys(id if claim in needed else claim for id, claim in origins))

    def _other_beliefs(self, belief: str) -> Iterator[Evidence]:
        """The evidence in the slot of a belief: all that is made of one claim is in one slot."""
        person, _, rest = belief.partition("/")
        for pieces in self._all_pieces(self._store, f"{person}/{rest[:_SLOT_DIGITS]}").values():
            yield from stored_evidence(self._store, (piece.id for piece in pieces))

    # -- evidence ----------------------------------------------------------------------------------

    def key_of(self, evidence: Evidence) -> str:
        """The key of the belief that evidence bears on."""
        return _key_of(self.slots, evidence)

    def key_of_value(self, evidence: Evidence) -> str:
        """The key of what the user decided about this value alone; of a list it is the belief's."""
        person = key_of_subject(evidence.subject)
        slot = self.slots.get_or_extra(evidence.slot)
        return belief_key(person, slot.id, evidence.scope, evidence.value)

    def former_keys(self, evidence: Evidence) -> list[str]:
        """The keys of the beliefs that this one was while its slot was an extra."""
        slot = self.slots.get_or_extra(evidence.slot)
        person = key_of_subject(evidence.subject)
        extras = [alias for alias in slot.aliases if alias.startswith(EXTRAS)]
        return [belief_key(person, extra, evidence.scope) for extra in extras]

    def now_in(self, subject: str, slot: Slot, scope: str, value: Value) -> datetime:
        """The time of an edit that is made now: after all that is there, wherever the clock is
        set."""
        item = value if slot.kind == "list" else None
        key = belief_key(key_of_subject(subject), slot.id, scope, item)
        newest = self._newest(key)
        now = datetime.now(UTC)
        return now if newest is None else max(now, newest + _STEP)

    def _newest(self, key: str) -> datetime | None:
        with self._store.snapshot():
            entry = self._store.kv.get(BELIEF, key)
            kept = None if entry is None else _decoded(entry)
            # a fold that is whole knows
            if kept is not None and kept.pieces == self._store.kv.count(EVIDENCE, f"{key}/"):
                return kept.newest
            return _newest_of(self._pieces(self._store, key))

    def place(self, evidence: Evidence) -> Entry:
        """The entry that places evidence under its belief; it is written, and goes, with it."""
        belief, content = self.key_of(evidence), msgspec.json.encode(piece_of(evidence))
        return Entry(EVIDENCE, f"{belief}/{evidence.id}", content, (evidence.id,))

    def refresh(self, beliefs: Collection[str]) -> None:
        """Fold beliefs whose evidence has changed, and keep them; others are folded when read."""
        if not beliefs or not self._store.capabilities.writable:
            return

        def work(reads: Reads) -> Batch:
            pieces = {key: self._pieces(reads, key) for key in beliefs}
            covered = [self._covered(key, some) for key, some in pieces.items()]
            for prefix in filter(None, covered):
                pieces |= self._all_pieces(reads, prefix)
            some = {key: own for key, own in pieces.items() if own}
            # one without evidence is kept no longer
            gone = tuple((BELIEF, key) for key in pieces if key not in some)
            entries, _ = self._keep(some, cache(partial(self._pieces, reads)))
            return Batch(entries=entries, deleted_entries=gone)

        self._store.update(work)

    # -- folds -------------------------------------------------------------------------------------

    @cached_property
    def _version(self) -> str:
        """Of what folds are made with besides evidence. What was made with another is made again:
        slots change by hand, by a rollback, and with a release.
        """
        slots = [
            (
                *(slot.id, slot.kind, slot.cardinality, slot.half_life, slot.stability),
                # what an extra is called makes it one of these
                *((slot.label, slot.aliases) if slot.is_safety else ()),
            )
            for slot in self.slots
        ]
        made_with = msgspec.json.encode((FOLDING, self._constants, slots))
        return blake2b(made_with, digest_size=8).hexdigest()

    def _read(self, subject: str) -> _Read:
        within = KeyRange(prefix=f"{key_of_subject(subject)}/")
        at = datetime.now(UTC)
        with self._store.snapshot():
            return _Read(
                folds=self._store.kv.list(BELIEF, within),
                marks=self._store.kv.list(MARK, within),
                evidence=self._store.kv.count(EVIDENCE, within.prefix),
                version=self._version,
                slots=self.slots,
                at=at,
            )

    def _folds(self, subject: str, read: _Read) -> dict[str, Fold]:
        kept = self._decoded(read.folds)
        if sum(one.pieces for one in kept.values()) != read.evidence:
            kept = self._mend(f"{key_of_subject(subject)}/")
        return {key: one.fold for key, one in kept.items() if one.fold is not None}

    def _believed_at(self, subject: str, as_of: datetime) -> list[Belief]:
        everything = self._all_pieces(self._store, f"{key_of_subject(subject)}/")
        look_up = _of(everything)
        folds = {}
        for key, pieces in everything.items():
            folded = self._fold(key, pieces, look_up, as_of)
            if folded is not None:
                folds[key] = folded
        beliefs = self._viewed(subject, folds, self.marks(subject), as_of)
        return [
            replace(belief, retracted_at=self._retracted_at(belief, everything, as_of))
            for belief in beliefs
        ]

    def _retracted_at(
        self, belief: Belief, everything: Mapping[str, list[Piece]], as_of: datetime
    ) -> datetime | None:
        pieces = everything[belief.id]
        slot = self.slots.get_or_extra(belief.slot)
        covering = self._covering(belief.id, pieces, _of(everything))
        return retracted_at(slot, pieces, self._constants, covering=covering, as_of=as_of)

    def _decoded(self, entries: Iterable[Entry]) -> dict[str, _Kept]:
        """The folds that are kept, without those of other constants or slots."""
        kept = ((entry.key, _decoded(entry)) for entry in entries)
        return {key: one for key, one in kept if one is not None and one.version == self._version}

    def _mend(self, prefix: str) -> dict[str, _Kept]:
        """Fold what is not kept, or lacks evidence; keep it, if the store can be written."""
        mended: dict[str, _Kept] = {}

        def work(reads: Reads) -> Batch:
            kept = self._decoded(reads.kv.list(BELIEF, KeyRange(prefix=prefix)))
            everything = self._all_pieces(reads, prefix)
            missing = {
                key: pieces
                for key, pieces in everything.items()
                if key not in kept or kept[key].pieces != len(pieces)
            }
            wide = tuple(filter(None, (self._covered(*one) for one in missing.items())))
            missing |= {key: some for key, some in everything.items() if key.startswith(wide)}
            entries, made = self._keep(missing, _of(everything))
            mended.clear()
            mended.update(kept | made)
            return Batch(entries=entries)

        if self._store.capabilities.writable:
            self._store.update(work)
        else:
            with self._store.snapshot():
                work(self._store)
        return mended

    def _keep(
        self, pieces: Mapping[str, list[Piece]], look_up: LookUp
    ) -> tuple[tuple[Entry, ...], dict[str, _Kept]]:
        entries = []
        kept = {}
        for key, own in pieces.items():
            newest = _newest_of(own) or _EARLIEST
            kept[key] = _Kept(self._fold(key, own, look_up), len(own), self._version, newest)
            wider = self._covering(key, own, look_up)
            refs = dict.fromkeys(piece.id for piece in (*own, *wider))
            entries.append(Entry(BELIEF, key, msgspec.json.encode(kept[key]), tuple(refs)))
        return tuple(entries), kept

    def _fold(
        self, key: str, own: list[Piece], look_up: LookUp, as_of: datetime | None = None
    ) -> Fold | None:
        return fold(
            self.slots.get_or_extra(own[0].slot),
            own,
            self._constants,
            covering=self._covering(key, own, look_up),
            as_of=as_of,
        )

    def _covering(self, key: str, own: list[Piece], look_up: LookUp) -> list[Piece]:
        """The evidence on a list as a whole, if this is an item of one."""
        slot = self._list_of(own)
        if slot is None or own[0].value == "":
            return []
        person, _, _ = key.partition("/")
        whole = belief_key(person, slot.id, own[0].scope, "")
        return [piece for piece in look_up(whole) if piece.ends]

    def _covered(self, key: str, own: list[Piece]) -> str:
        """What the keys begin with of all items that this ends; empty: it ends no list."""
        slot = self._list_of(own)
        if slot is None or own[0].value != "":
            return ""
        person, _, _ = key.partition("/")
        return key_prefix(person, slot.id)

    def _list_of(self, own: list[Piece]) -> Slot | None:
        slot = self.slots.get_or_extra(own[0].slot) if own else None
        return slot if slot is not None and slot.kind == "list" else None

    def _pieces(self, reads: Reads, belief: str) -> list[Piece]:
        return _pieces_on(reads, belief)

    def _all_pieces(self, reads: Reads, prefix: str) -> dict[str, list[Piece]]:
        pieces: defaultdict[str, list[Piece]] = defaultdict(list)
        for entry in reads.kv.list(EVIDENCE, KeyRange(prefix=prefix)):
            belief, _, _ = entry.key.rpartition("/")
            pieces[belief].append(_PIECE.decode(entry.value))
        return pieces


def ends_of_nothing(
    reads: Reads, removed: Mapping[str, Record], *, by_hand: bool = True
) -> list[Resource]:
    """The records of what ended a value, and quotes it in words that are not its own, where all
    that said it goes with these records.

    Args:
        by_hand: edits, too; else only what ended a sentence.
    """
    forgotten = [
        from_record(one)
        for one in removed.values()
        if isinstance(one, Resource) and one.kind == KIND
    ]
    if not forgotten:
        return []
    slots = registry_of(reads)
    ids = []
    for key in {_key_of(slots, one) for one in forgotten if one.slot}:
        pieces = [one for one in _pieces_on(reads, key) if one.id not in removed]
        said = {value_key(one.value) for one in pieces if not one.ends}
        quotes = (one for one in pieces if one.ends and _quotes(one, by_hand=by_hand))
        ids += [one.id for one in quotes if one.value != "" and value_key(one.value) not in said]
    return stored_resources(reads, ids)


def _quotes(piece: Piece, *, by_hand: bool) -> bool:
    if piece.authority == "edit":
        return by_hand
    return piece.slot.startswith(OWN_WORDS)


def _key_of(slots: SlotRegistry, evidence: Evidence) -> str:
    slot = slots.get_or_extra(evidence.slot)
    item = evidence.value if slot.kind == "list" else None
    return belief_key(key_of_subject(evidence.subject), slot.id, evidence.scope, item)


def _pieces_on(reads: Reads, belief: str) -> list[Piece]:
    entries = reads.kv.list(EVIDENCE, KeyRange(prefix=f"{belief}/"))
    return [_PIECE.decode(entry.value) for entry in entries]


def _decoded(entry: Entry) -> _Kept | None:
    """A fold as it was kept; None if it was kept in another form."""
    try:
        return _KEPT.decode(entry.value)
    except msgspec.ValidationError:
        return None


def _newest_of(pieces: Iterable[Piece]) -> datetime | None:
    return max((max(piece.at, piece.known_at) for piece in pieces), default=None)


def _of(pieces: Mapping[str, list[Piece]]) -> LookUp:
    return lambda key: pieces.get(key, [])


def _marks_of(entries: Iterable[Entry]) -> dict[str, BeliefMark]:
    return {entry.key: msgspec.json.decode(entry.value, type=BeliefMark) for entry in entries}
