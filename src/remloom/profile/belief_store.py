"""The beliefs of a store: evidence placed under them, and each belief's fold, kept beside it.

A kept fold has all its evidence among its refs, so it goes with the first piece that goes. Of what
is still there it can only lack pieces, never have too many: hence a kept fold is right exactly if
it counts as many pieces as are placed there, and all are right exactly if the sums agree. For this
to hold, evidence never changes, and never moves to another belief; and where it is taken from under
one, and its record stays, the kept fold goes in the same transaction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from hashlib import blake2b

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..kv import Entry, KeyRange
from ..model import Resource
from ..store.batch import Batch
from ..store.contract import Reads, Store
from .belief import Belief, Fold, Piece, fold, piece_of, view
from .evidence import EVIDENCE, Evidence, belief_key, from_record, key_of_subject, placed
from .reliability import Constants
from .slots import Registry, Slot

__all__ = ["BELIEF", "MARK", "BeliefStore", "Mark"]

# namespaces of the entries
BELIEF = "profile.belief"  # a fold that is kept
MARK = "profile.mark"  # what the user decided about a belief, besides what holds

_PIECE = msgspec.json.Decoder(Piece)


class Mark(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the user decided about a belief; it stays when its evidence goes."""

    pinned: bool = False  # always given
    hidden: bool = False  # never given
    # evidence of before this time is not taken up: the belief was deleted then
    deleted_at: datetime | None = None


class _Kept(Struct, frozen=True, array_like=True):
    """A fold as it is kept."""

    fold: Fold | None
    pieces: int
    version: str  # of the constants that it was made with


_KEPT = msgspec.json.Decoder(_Kept)


class BeliefStore:
    """What is believed in one store.

    Args:
        slots: what can be known.
        constants: how far what is trusted, and how fast it fades.
    """

    def __init__(self, store: Store, slots: Registry, constants: Constants) -> None:
        self._store = store
        self._slots = slots
        self._constants = constants
        # folds that were made with other constants are made anew
        self._version = blake2b(msgspec.json.encode(constants), digest_size=8).hexdigest()

    # -- beliefs -----------------------------------------------------------------------------------

    def all(self, subject: str, *, as_of: datetime | None = None) -> list[Belief]:
        """The beliefs about a person, those that have ended too, by slot and scope.

        Args:
            as_of: what was believed then; computed anew, from all evidence. Default now.
        """
        folds = self._folds(subject) if as_of is None else self._folds_at(subject, as_of)
        marks = self.marks(subject)
        now = as_of or datetime.now(UTC)
        beliefs = []
        for key, folded in folds.items():
            belief = view(
                folded,
                self._slots.get_or_extra(folded.slot),
                self._constants,
                id=key,
                subject=subject,
                now=now,
            )
            if belief is not None:
                mark = marks.get(key, Mark())
                beliefs.append(replace(belief, pinned=mark.pinned, hidden=mark.hidden))
        return sorted(beliefs, key=lambda belief: (belief.slot, belief.scope, str(belief.value)))

    def subjects(self) -> list[str]:
        """The people of whom something is known, by name."""
        names = []
        after = ""
        # one probe a person: the next key behind all of theirs
        while entries := self._store.kv.list(EVIDENCE, KeyRange(after=after, limit=1)):
            person, _, _ = entries[0].key.partition("/")
            after = f"{person}0"  # "0" sorts right behind "/"
            record = self._store.records.get("resources", entries[0].refs[0])
            if isinstance(record, Resource):
                names.append(from_record(record).subject)
        return sorted(names)

    def marks(self, subject: str) -> dict[str, Mark]:
        """What the user decided about beliefs, by the key of the belief."""
        entries = self._store.kv.list(MARK, KeyRange(prefix=f"{key_of_subject(subject)}/"))
        return {entry.key: msgspec.json.decode(entry.value, type=Mark) for entry in entries}

    def evidence(self, belief: str) -> list[Evidence]:
        """The evidence on a belief, by time."""
        pieces = sorted(self._pieces(self._store, belief), key=lambda piece: (piece.at, piece.id))
        records = (self._store.records.get("resources", piece.id) for piece in pieces)
        return [from_record(record) for record in records if isinstance(record, Resource)]

    def pieces(self) -> dict[str, list[Piece]]:
        """All evidence on anybody, by belief. One pass over it."""
        return self._all_pieces(self._store, "")

    def keys_in(self, slot: str) -> list[str]:
        """The keys of anybody's beliefs in a slot that have evidence. One pass over all of it."""
        return [key for key, pieces in self.pieces().items() if pieces[0].slot == slot]

    def origin(self, evidence: Evidence) -> str:
        """The id of the evidence that some was made of, directly or not; its own if of none."""
        id, claim = evidence.id, evidence.claim
        while claim:
            record = self._store.records.get("resources", claim)
            if not isinstance(record, Resource):
                break
            made_of = from_record(record)
            id, claim = made_of.id, made_of.claim
        return id

    # -- evidence ----------------------------------------------------------------------------------

    def key_of(self, evidence: Evidence) -> str:
        """The key of the belief that evidence bears on."""
        slot = self._slots.get_or_extra(evidence.slot)
        item = evidence.value if slot.kind == "list" else None
        return belief_key(evidence.subject, slot.id, evidence.scope, item)

    def place(self, evidence: Evidence) -> Entry:
        """The entry that places a piece of evidence; it is written with its record."""
        return placed(evidence, self.key_of(evidence), msgspec.json.encode(piece_of(evidence)))

    def refresh(self, beliefs: Collection[str]) -> None:
        """Fold these beliefs anew, and keep them. What is not refreshed is folded when it is read.

        Args:
            beliefs: keys of beliefs whose evidence has changed.
        """
        if not beliefs or not self._store.capabilities.writable:
            return

        def work(reads: Reads) -> Batch:
            pieces = {key: self._pieces(reads, key) for key in beliefs}
            return self._batch(pieces)

        self._store.update(work)

    # -- folds -------------------------------------------------------------------------------------

    def _folds(self, subject: str) -> dict[str, Fold]:
        """The fold of each belief about a person, now."""
        prefix = f"{key_of_subject(subject)}/"
        with self._store.snapshot():
            kept = self._kept(self._store, prefix)
            count = self._store.kv.count(EVIDENCE, prefix)
        if sum(one.pieces for one in kept.values()) != count:
            kept = self._mend(prefix)
        return {key: one.fold for key, one in kept.items() if one.fold is not None}

    def _folds_at(self, subject: str, as_of: datetime) -> dict[str, Fold]:
        """The fold of each belief about a person as of a time."""
        folds = {}
        for key, pieces in self._all_pieces(self._store, f"{key_of_subject(subject)}/").items():
            folded = self._fold(pieces, as_of)
            if folded is not None:
                folds[key] = folded
        return folds

    def _kept(self, reads: Reads, prefix: str) -> dict[str, _Kept]:
        """The folds that are kept, those aside that were made with other constants."""
        entries = reads.kv.list(BELIEF, KeyRange(prefix=prefix))
        kept = {entry.key: _KEPT.decode(entry.value) for entry in entries}
        return {key: one for key, one in kept.items() if one.version == self._version}

    def _mend(self, prefix: str) -> dict[str, _Kept]:
        """Fold what is not kept, or lacks evidence; keep it, if the store can be written."""
        mended: dict[str, _Kept] = {}

        def work(reads: Reads) -> Batch:
            kept = self._kept(reads, prefix)
            missing = {
                key: pieces
                for key, pieces in self._all_pieces(reads, prefix).items()
                if key not in kept or kept[key].pieces != len(pieces)
            }
            made = {key: self._keep(pieces) for key, pieces in missing.items()}
            mended.clear()
            mended.update(kept | made)
            return Batch(entries=self._entries(missing, made))

        if self._store.capabilities.writable:
            self._store.update(work)
        else:
            with self._store.snapshot():
                work(self._store)
        return mended

    def _batch(self, pieces: Mapping[str, list[Piece]]) -> Batch:
        """What keeps the folds of these beliefs; one without evidence is kept no longer."""
        made = {key: self._keep(some) for key, some in pieces.items() if some}
        gone = tuple((BELIEF, key) for key, some in pieces.items() if not some)
        return Batch(entries=self._entries(pieces, made), deleted_entries=gone)

    def _entries(
        self, pieces: Mapping[str, list[Piece]], kept: Mapping[str, _Kept]
    ) -> tuple[Entry, ...]:
        entries = []
        for key, one in kept.items():
            refs = tuple(piece.id for piece in pieces[key])
            entries.append(Entry(BELIEF, key, msgspec.json.encode(one), refs))
        return tuple(entries)

    def _keep(self, pieces: list[Piece]) -> _Kept:
        return _Kept(self._fold(pieces), len(pieces), self._version)

    def _fold(self, pieces: Iterable[Piece], as_of: datetime | None = None) -> Fold | None:
        some = list(pieces)
        return fold(self._slot(some[0].slot), some, self._constants, as_of=as_of)

    def _slot(self, id: str) -> Slot:
        return self._slots.get_or_extra(id)

    def _pieces(self, reads: Reads, belief: str) -> list[Piece]:
        entries = reads.kv.list(EVIDENCE, KeyRange(prefix=f"{belief}/"))
        return [_PIECE.decode(entry.value) for entry in entries]

    def _all_pieces(self, reads: Reads, prefix: str) -> dict[str, list[Piece]]:
        """All evidence on a person, by belief."""
        pieces: defaultdict[str, list[Piece]] = defaultdict(list)
        for entry in reads.kv.list(EVIDENCE, KeyRange(prefix=prefix)):
            belief, _, _ = entry.key.rpartition("/")
            pieces[belief].append(_PIECE.decode(entry.value))
        return pieces
