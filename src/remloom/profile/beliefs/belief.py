"""A belief: what follows from all the evidence on one slot, in one scope. Nothing is overwritten:
a belief as of any time is the fold over the evidence of until then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ...model.premises import Stale
from ..evidence.claim import Polarity, Signal, Value
from ..evidence.evidence import BY_HAND, Authority, Evidence, value_key
from ..slots.slot import Hub, Slot
from .filter import Level, Posterior, level, strength
from .reliability import Constants

FOLDING = 3  # of how a fold is made: what was kept of another is made again
# current: holds now; disputed: something of less weight speaks against it; stale: it was sure, and
# has faded with time alone; retired: it has ended, and nothing took its place
State: TypeAlias = Literal["current", "disputed", "stale", "retired"]

_RANKS: dict[Authority, int] = {
    "inferred": 0,
    "observed": 1,
    "confirmed": 2,
    "statement": 3,
    "edit": 4,
}
# said by the user: of two such, the later counts, whatever was said before, and however often
_VALUE_SIGNALS = _RANKS["confirmed"]
# sittings from which on what was only seen there is believed: a visit to a site tells nothing yet
_SITTINGS = {"browsing": 3}
_UNSURE = 0.5  # confidence below which a belief that was sure is stale
_HOLDS = "true"  # the value of an item of a list, which holds or does not


class Piece(Struct, frozen=True, kw_only=True, omit_defaults=True, array_like=True):
    """What the fold needs to know of one piece of evidence."""

    id: str
    slot: str
    scope: str
    value: Value
    polarity: Polarity
    signal: Signal
    authority: Authority
    source: str
    extractor: str
    at: datetime
    group: str
    citation: str = ""
    confident: bool = True
    hard: bool = False
    order: tuple[int, int] = (0, 0)
    made_at: datetime | None = None

    @property
    def known_at(self) -> datetime:
        """When it was said: what it says may be of another time."""
        return self.made_at or self.at

    @property
    def ends(self) -> bool:
        return self.polarity != "for"

    @property
    def sets_right(self) -> bool:
        """Whether it says by hand that what it ends never was so."""
        signal = "rejection" if self.ends else "correction"
        return self.authority == "edit" and self.signal == signal


class Held(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A value, and when it was believed."""

    value: Value
    since: datetime
    until: datetime | None = None  # None: it still is
    because: str = ""  # id of the evidence that ended it
    ended_by: str = ""  # citation of the same
    was_wrong: bool = False  # the user set right by hand that it never was so


class Fold(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A belief as of its last piece of evidence; what time does to it comes with `view`."""

    slot: str
    scope: str
    held: tuple[Held, ...]  # by time; none: nothing was ever said for a value
    posterior: Posterior
    strength: float
    authority: Authority
    independent: int  # pieces for the current value that are not of one sitting
    pieces: int  # all evidence on it
    checked_at: datetime  # of the last evidence for the current value
    citation: str = ""  # of the same
    disputed: bool = False
    hard: bool = False
    rivals: tuple[Held, ...] = ()  # see `Belief.rivals`

    @property
    def current(self) -> Held | None:
        last = self.held[-1] if self.held else None
        return last if last is not None and last.until is None else None


class Belief(Struct, frozen=True, kw_only=True):
    """What is believed of a person, in one slot and scope.

    Args:
        id: its key; it does not change while the slot, the scope and, in a list, the item are the
            same.
        value: what holds, or held last.
        confidence: the probability that it holds now, calibrated: 0 to 1.
        probability: the same without calibration.
        strength: how much evidence there is, counted in steps: .30, .45, .555, … at most .8.
        level: tentative, established or confident, by independent pieces: 1, 3, 5.
        state: see `State`.
        since, until: when it began to be believed, and when it ended.
        because, ended_by: the id of the evidence that ended it, and its citation.
        was_wrong: the user set right by hand that it never was so.
        retracted_at: as of a time, when it was said later that it never was so; else None.
        checked_at: when something last spoke for it.
        history: the values before, the oldest first.
        citation: of what last spoke for it.
        pieces: how many pieces of evidence there are, for and against.
        rivals: of what could hurt (`Slot.is_safety`) and has one value at a time, the others that
            were said and that nobody settled: any of them may hold.
        stale: why it may not hold any more, or, if it has ended, may hold still: the passage that
            it rests on was replaced or amended, or has expired, and nobody has said the same since.
            None: nothing is known against it. (The state "stale" is what time alone does.)
    """

    id: str
    subject: str
    slot: str
    hub: Hub
    label: str
    value: Value
    scope: str = ""
    confidence: float
    probability: float
    strength: float
    level: Level
    state: State
    authority: Authority
    since: datetime
    until: datetime | None = None
    because: str = ""
    ended_by: str = ""
    was_wrong: bool = False
    retracted_at: datetime | None = None
    checked_at: datetime
    history: tuple[Held, ...] = ()
    citation: str = ""
    pieces: int = 1
    hard: bool = False
    pinned: bool = False
    hidden: bool = False
    rivals: tuple[Held, ...] = ()
    stale: Stale | None = None

    @property
    def holds(self) -> bool:
        return self.until is None

    @property
    def is_hint(self) -> bool:
        """Whether nobody said it outright, and the user has not pinned it."""
        return self.authority in ("observed", "inferred") and not self.pinned


def piece_of(evidence: Evidence) -> Piece:
    """What the fold needs of evidence."""
    return Piece(**{name: getattr(evidence, name) for name in Piece.__struct_fields__})


def fold(
    slot: Slot,
    pieces: Iterable[Piece],
    constants: Constants,
    *,
    covering: Iterable[Piece] = (),
    as_of: datetime | None = None,
) -> Fold | None:
    """Fold the evidence on one belief; None if there was none by then.

    Args:
        covering: evidence that ends the whole list whose item this is; alone it makes no belief.
        as_of: only what had been said by then.
    """
    own = [piece for piece in pieces if as_of is None or piece.known_at <= as_of]
    if not own:
        return None
    wider = [piece for piece in covering if as_of is None or piece.known_at <= as_of]
    folding = _Folding(slot, constants)
    independent = _independent([*own, *wider], constants)
    for piece in independent:
        folding.take(piece)
    return folding.result(own[0].scope, len(own) + len(wider), independent[-1])


def retracted_at(
    slot: Slot,
    pieces: Sequence[Piece],
    constants: Constants,
    *,
    covering: Sequence[Piece] = (),
    as_of: datetime,
) -> datetime | None:
    """When it was said, after a time, that what was believed at that time never was so."""
    own = (*pieces, *covering)
    later = sorted(one.known_at for one in own if one.sets_right and one.known_at > as_of)
    if not later:
        return None
    then = fold(slot, pieces, constants, covering=covering, as_of=as_of)
    believed = then.current if then is not None else None
    for at in later:
        folded = fold(slot, pieces, constants, covering=covering, as_of=at)
        if believed is not None and folded is not None and _was_wrong(believed, folded):
            return at
    return None


def _was_wrong(believed: Held, folded: Fold) -> bool:
    key = value_key(believed.value)
    return any(one.was_wrong and value_key(one.value) == key for one in folded.held)


def view(
    folded: Fold,
    slot: Slot,
    constants: Constants,
    *,
    id: str,
    subject: str,
    now: datetime,
) -> Belief | None:
    """See a belief as it is at a time; None if no value was ever believed."""
    if not folded.held:
        return None
    last = folded.held[-1]
    probability = confidence = 0.0
    if last.until is None:
        # what the user set by hand does not fade
        faded_at = None if folded.hard else now
        probability = folded.posterior.probability(_filtered(slot, last.value), faded_at)
        confidence = constants.calibrate(probability)
    return Belief(
        id=id,
        subject=subject,
        slot=slot.id,
        hub=slot.hub,
        label=slot.label,
        value=last.value,
        scope=folded.scope,
        confidence=confidence,
        probability=probability,
        strength=folded.strength,
        level=level(folded.independent),
        state=_state(folded, slot, constants, last, confidence),
        authority=folded.authority,
        since=last.since,
        until=last.until,
        because=last.because,
        was_wrong=last.was_wrong,
        ended_by=last.ended_by,
        checked_at=folded.checked_at,
        history=folded.held[:-1],
        citation=folded.citation,
        pieces=folded.pieces,
        hard=folded.hard,
        rivals=folded.rivals,
    )


def _state(folded: Fold, slot: Slot, constants: Constants, last: Held, confidence: float) -> State:
    if last.until is not None:
        return "retired"
    if folded.disputed:
        return "disputed"
    if confidence >= _UNSURE:
        return "current"
    before = constants.calibrate(folded.posterior.probability(_filtered(slot, last.value)))
    return "stale" if before >= _UNSURE else "current"


def _filtered(slot: Slot, value: Value) -> str:
    """The value as the filter knows it: an item of a list holds, or does not."""
    return _HOLDS if slot.kind == "list" else value_key(value)


def _reliability(piece: Piece, constants: Constants) -> float:
    return constants.reliability(
        source=piece.source,
        signal=piece.signal,
        extractor=piece.extractor,
        confident=piece.confident,
    )


def _independent(pieces: Sequence[Piece], constants: Constants) -> list[Piece]:
    """The pieces by time; of those of one sitting that say the same, only the strongest.

    It stands where the first of them stood. Who says tea, coffee and tea again says tea twice: what
    the user says in between makes it another statement.
    """
    strongest: dict[tuple[str, str, str, int, bool], Piece] = {}
    turns = 0  # how often the user has said something else than before
    last: tuple[str, str] | None = None
    for piece in sorted(pieces, key=_moment):
        claim = (value_key(piece.value), piece.polarity)
        turn = -1
        if is_said(piece):
            turns += last is not None and claim != last
            last, turn = claim, turns
        # what was wrong is another matter than what has changed
        key = (piece.group, *claim, turn, piece.sets_right)
        first = strongest.get(key)
        if first is None:
            strongest[key] = piece
        elif _weight(piece, constants) >= _weight(first, constants):
            # a dictionary keeps the place of the first, too
            hard = piece.hard or first.hard
            strongest[key] = replace(piece, at=first.at, order=first.order, hard=hard)
    return list(strongest.values())


def _weight(piece: Piece, constants: Constants) -> tuple[int, float]:
    return _rank(piece), _reliability(piece, constants)


def _moment(piece: Piece) -> tuple[datetime, tuple[int, int], datetime, str]:
    return piece.at, piece.order, piece.known_at, piece.id


def _rank(piece: Piece) -> int:
    """How much weight it has; a hedge has as little as what nobody said."""
    return _RANKS[piece.authority] if piece.confident else _RANKS["inferred"]


def is_said(piece: Piece) -> bool:
    """Whether the user says it, without a hedge."""
    return _rank(piece) >= _VALUE_SIGNALS


class _Ended(Struct, frozen=True):
    rank: int
    stated_at: datetime


class _Folding:
    def __init__(self, slot: Slot, constants: Constants) -> None:
        self._slot = slot
        self._constants = constants
        self._posterior = self._prior()
        self._held: list[Held] = []
        self._votes: list[bool] = []  # for the current value, and against it
        self._authority: Authority = "inferred"
        self._ended: dict[str, _Ended] = {}  # by value
        self._groups: set[str] = set()  # sittings that spoke for the current value
        self._seen: dict[tuple[str, str], set[str]] = {}  # sittings, by source and value
        self._support: Piece | None = None  # the last piece for the current value
        self._disputed_by: int | None = None  # the rank of what speaks against it
        self._hard = False
        self._rivals: dict[str, Piece] = {}  # what said them, by value; see `Belief.rivals`
        self._edited: Piece | None = None  # the last edit for a value

    def take(self, piece: Piece) -> None:
        if self._was_known(piece):
            return
        if piece.authority == "edit" and not piece.ends:
            self._edited = piece
        if piece.authority == "edit":
            # what the user sets by hand says that all before is over, not that it was wrong
            self._posterior = self._prior()
        self._observe(piece)
        current = self._held[-1] if self._held and self._held[-1].until is None else None
        if piece.ends:
            self._contradict(piece, current)
        else:
            self._support_value(piece, current)

    def _was_known(self, piece: Piece) -> bool:
        """Whether the user, saying by hand since when another value holds, knew of this already."""
        edit = self._edited
        if edit is None or edit.made_at is None or piece.authority == "edit":
            return False
        says_the_same = not piece.ends and value_key(piece.value) == value_key(edit.value)
        return piece.known_at <= edit.known_at and not says_the_same

    def result(self, scope: str, pieces: int, last: Piece) -> Fold:
        support = self._support or last
        return Fold(
            slot=self._slot.id,
            scope=scope,
            held=tuple(self._held),
            posterior=self._posterior,
            strength=strength(self._votes),
            authority=self._authority,
            independent=len(self._groups),
            pieces=pieces,
            checked_at=support.at,
            citation=support.citation,
            disputed=self._disputed_by is not None or bool(self._rivals),
            hard=self._hard,
            rivals=tuple(Held(value=one.value, since=one.at) for one in self._rivals.values()),
        )

    def _prior(self) -> Posterior:
        return Posterior(
            alternatives=self._slot.cardinality,
            hazard=self._constants.hazard(self._slot),
        )

    def _observe(self, piece: Piece) -> None:
        value = piece.value
        if piece.ends and value == "":
            # whatever it was has ended
            if not self._held:
                return
            value = self._held[-1].value
        reliability = _reliability(piece, self._constants)
        self._posterior = self._posterior.observe(
            _filtered(self._slot, value), reliability, against=piece.ends, at=piece.at
        )

    def _support_value(self, piece: Piece, current: Held | None) -> None:
        if current is not None and value_key(current.value) == value_key(piece.value):
            self._reinforce(piece)
        elif not self._was_seen_enough(piece):
            return
        elif current is None:
            self._begin_again(piece)
        elif not self._may_end(piece):
            self._dispute(piece, current)
            if self._slot.is_safety:
                self._rivals.setdefault(value_key(piece.value), piece)
        elif is_said(piece) or self._wins(piece):
            self._replace(current, piece)
        else:
            # what was only observed takes the place once the balance of it does
            self._dispute(piece, current)

    def _was_seen_enough(self, piece: Piece) -> bool:
        groups = self._seen.setdefault((piece.source, value_key(piece.value)), set())
        groups.add(piece.group)
        return piece.authority != "observed" or len(groups) >= _SITTINGS.get(piece.source, 1)

    def _begin_again(self, piece: Piece) -> None:
        ended = self._ended.get(value_key(piece.value))
        if ended is None or piece.authority in BY_HAND or _rank(piece) >= ended.rank:
            self._begin(piece)
        elif is_said(piece) and piece.at > ended.stated_at:
            # The user ended it by hand and says it again: newer, yet of less weight.
            self._begin(piece)
            self._disputed_by = ended.rank

    def _replace(self, current: Held, piece: Piece) -> None:
        if is_said(piece) and piece.authority != "edit":
            # what takes its place also says that it is over
            self._posterior = self._posterior.observe(
                value_key(current.value), _reliability(piece, self._constants), against=True
            )
        before = self._support
        self._end(current, piece)
        self._begin(piece)
        together = before is not None and _moment(before)[:3] == _moment(piece)[:3]
        if together and is_said(piece):
            # nothing tells which of the two was said last
            self._disputed_by = _rank(piece)

    def _begin(self, piece: Piece) -> None:
        self._ended.pop(value_key(piece.value), None)
        self._held.append(Held(value=piece.value, since=piece.at))
        # what had to be seen several times begins with all of these
        seen = self._seen.get((piece.source, value_key(piece.value)), set())
        self._groups = {piece.group, *(seen if piece.source in _SITTINGS else ())}
        self._votes = [True] * len(self._groups)
        self._authority = piece.authority if piece.confident else "inferred"
        self._support = piece
        self._disputed_by = None
        self._hard = piece.hard
        self._rivals.clear()

    def _reinforce(self, piece: Piece) -> None:
        if piece.group not in self._groups:
            self._votes.append(True)
        self._groups.add(piece.group)
        self._support = piece
        self._hard = self._hard or piece.hard
        if _rank(piece) >= _RANKS[self._authority] and piece.confident:
            self._authority = piece.authority
        if piece.authority in BY_HAND:
            self._rivals.clear()
        # the newest word of the user settles a dispute; what is observed only one of its kind
        if self._disputed_by is not None and (is_said(piece) or _rank(piece) >= self._disputed_by):
            self._disputed_by = None

    def _contradict(self, piece: Piece, current: Held | None) -> None:
        speaks_of = current is not None and (
            piece.value == "" or value_key(piece.value) == value_key(current.value)
        )
        if current is None:
            self._set_right(piece)
        if current is None or not speaks_of:
            if self._is_settled_by(piece):
                self._rivals.pop(value_key(piece.value), None)
                self._note_end(piece.value, piece)
        elif self._may_end(piece) and (is_said(piece) or self._fell(current)):
            self._end(current, piece)
            self._disputed_by = None
            self._hard = False
            self._let_rivals_hold()
        else:
            self._dispute(piece, current)

    def _set_right(self, piece: Piece) -> None:
        """What has ended may never have been so."""
        last = self._held[-1] if self._held else None
        if piece.sets_right and last and value_key(last.value) == value_key(piece.value):
            self._held[-1] = replace(last, was_wrong=True)

    def _dispute(self, piece: Piece, current: Held) -> None:
        """What has too little weight to end what holds may make it unsure."""
        if _rank(piece) < _RANKS[self._authority] and not piece.confident:
            # a hedge takes nothing from what was said outright
            return
        self._votes.append(False)
        if is_said(piece) or self._fell(current):
            self._disputed_by = max(self._disputed_by or 0, _rank(piece))

    def _end(self, current: Held, piece: Piece) -> None:
        self._held[-1] = replace(
            current,
            until=piece.at,
            because=piece.id,
            ended_by=piece.citation,
            was_wrong=piece.sets_right,
        )
        self._note_end(current.value, piece)

    def _let_rivals_hold(self) -> None:
        """Begin the last of the values that nobody ended, where the one that held has ended."""
        rivals = dict(self._rivals)
        if rivals:
            self._begin(rivals.popitem()[1])
            self._rivals = rivals

    def _note_end(self, value: Value, piece: Piece) -> None:
        name, rank = value_key(value), _rank(piece)
        if piece.confident and (name not in self._ended or self._ended[name].rank <= rank):
            self._ended[name] = _Ended(rank, piece.known_at)

    def _may_end(self, piece: Piece) -> bool:
        if self._hard:
            return piece.authority == "edit"
        if self._slot.is_safety:
            return self._is_settled_by(piece)
        return _rank(piece) >= _RANKS[self._authority]

    def _is_settled_by(self, piece: Piece) -> bool:
        """Whether it may end anything in this slot: what could hurt is ended by hand alone, since
        words are misread ("not only allergic to nuts").
        """
        by_hand = piece.authority == "edit" or (piece.authority in BY_HAND and not piece.ends)
        return by_hand or not self._slot.is_safety

    def _wins(self, piece: Piece) -> bool:
        ranked = self._posterior.ranked()
        return bool(ranked) and ranked[0][0] == _filtered(self._slot, piece.value)

    def _fell(self, current: Held) -> bool:
        return self._posterior.probability(_filtered(self._slot, current.value)) < _UNSURE
