"""A learned correction of the score, for turns of chats: how the parts of the search agree, what
else was found in a turn's session and beside it, what it is like, and what is asked.

The parts are added up with weights that were set by hand, which cannot say that a long message is
better evidence than a short one of the same score, or that a turn counts for more where its session
does. Boosted trees correct them by what they learned from chats that were written for it
(`python -m training.order`), by `MOST` at most; `explain` shows what a turn gained or lost by its
new place as the part "learned". Each feature that measures how well a turn fits can only raise it.
They are relative to the other candidates, so that they mean the same with any embedder.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import Struct

from ..embed.bundled.transformer import products
from ..model.records import ASSISTANT
from ..store.contract import Store
from .candidates import Candidates, CandidateTurn, asks, in_one_session
from .question import ORDER, REQUEST, SUMMARY, TOLD, RecallQuestion
from .scores import rows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

PART = "learned"
MOST = 0.8  # of a correction
WEIGHTS = "learned_order.npz"
_LEAST = 10  # turns, below which there is no order to correct
_LOOKED_AT = 100  # turns, from the best
LEAVES = 8  # of a tree, at most: one bit each
_SHARES = (
    *("text", "vector", "late", "entity", "graph", "speaker", "asks", "answers", "role", "time"),
    *("guidance", "overview"),
)
_RANKED = ("text", "vector", "late")
_UNRANKED = 200.0  # the rank in a list of what is not in it
_NEIGHBOURS = (-2, -1, 1, 2)  # turns before and after
_LARGEST = 4.0  # standard deviations that are told apart
_SCORE = attrgetter("candidate.score")


class Features(NamedTuple):
    """What the trees see of the best turns of a question."""

    turns: Sequence[CandidateTurn]
    columns: dict[str, Floats]  # by name, a value for each turn

    @property
    def table(self) -> Floats:
        """Shape (turns, features), the features in the order of their names."""
        return np.stack([self.columns[name] for name in sorted(self.columns)], axis=1)


class Trees(Struct, frozen=True, eq=False):
    """Boosted trees, as many tests of one feature as there are leaves but one.

    A tree is evaluated by its tests alone: each that fails takes the leaves on its left out, and
    the first leaf that is left gives the value (Lucchese et al. 2015, QuickScorer).
    """

    names: tuple[str, ...]  # of the features
    features: NDArray[np.int16]  # that each test looks at: shape (trees, LEAVES - 1)
    thresholds: Floats  # up to which a test holds; of one that is not used infinite
    masks: NDArray[np.uint8]  # the leaves that are left where it fails
    values: Floats  # of the leaves: shape (trees, LEAVES)

    def sums(self, table: Floats) -> Floats:
        """Add up the values of all trees for each row of a table of features."""
        held = table[:, self.features] <= self.thresholds
        left = np.bitwise_and.reduce(np.where(held, np.uint8(255), self.masks), axis=2)
        leaves = _first_bits()[left]
        found: Floats = self.values[np.arange(len(self.values)), leaves].sum(axis=1)
        return found


@cache
def _first_bits() -> NDArray[np.intp]:
    """The lowest bit that is set in each byte."""
    return np.array([(byte & -byte).bit_length() - 1 for byte in range(256)], np.intp)


@cache
def trees() -> Trees:
    """Load the trees that were learned."""
    with files(__package__).joinpath(WEIGHTS).open("rb") as file, np.load(file) as arrays:
        return Trees(
            tuple(arrays["names"].tolist()),
            *(arrays[name] for name in ("features", "thresholds", "masks", "values")),
        )


def correct_order(store: Store, candidates: Candidates, question: RecallQuestion) -> None:
    """Put the best turns into another order, by scores that are corrected by what was learned.

    The first of the new order gets the first score, and so on: so all turns together stay where
    they were among documents, summaries and the turns that are not looked at.
    """
    features = features_of(store, candidates, question)
    if features is None:
        return
    scores = np.array([turn.candidate.score for turn in features.turns], np.float32)
    order = np.argsort(-(scores + corrections(trees(), features.table)), kind="stable")
    dealt = [turn.candidate.score for turn in features.turns]
    for place, row in enumerate(order.tolist()):
        if place != row:
            note = f"place {place + 1} among turns by what was learned, {row + 1} without"
            candidate = features.turns[row].candidate
            candidate.add_share(PART, dealt[place] - dealt[row], note=note)


def corrections(trees: Trees, table: Floats) -> Floats:
    """What the trees add to the score of each turn, within `MOST`."""
    added = np.clip(trees.sums(table), -MOST, MOST)
    of_request, of_guidance = map(trees.names.index, (f"kind {REQUEST}", "share of guidance"))
    if table[0, of_request]:
        # what is to be heeded hardly resembles a request
        added = np.where(table[:, of_guidance] > 0, np.maximum(added, added.max() / 2), added)
    return added


def features_of(store: Store, candidates: Candidates, question: RecallQuestion) -> Features | None:
    """What the trees see of the best turns; None where there are few."""
    turns = sorted(candidates.turns, key=_SCORE, reverse=True)[:_LOOKED_AT]
    if len(turns) < _LEAST:
        return None
    scores = np.array([turn.candidate.score for turn in turns], np.float32)
    columns = {
        "gap to first": scores[0] - scores,
        "gap to tenth": scores - scores[_LEAST - 1],
        "place": np.log1p(np.arange(len(turns), dtype=np.float32)),
        **_of_parts(turns),
        **_of_signals(candidates, turns),
        **_of_sessions(turns, scores),
        **_of_speakers(turns, scores),
        **_of_neighbours(turns, scores),
        **_of_form(turns),
        **_of_likeness(store, turns, scores, question),
        **_of_question(question, len(turns)),
    }
    return Features(turns, columns)


def _of_parts(turns: Sequence[CandidateTurn]) -> dict[str, Floats]:
    """The share of each part, and the ranks in the lists."""
    shares = {part: np.zeros(len(turns), np.float32) for part in _SHARES}
    ranks = {part: np.full(len(turns), _UNRANKED, np.float32) for part in _RANKED}
    for row, turn in enumerate(turns):
        for part, share, rank, _, _ in turn.candidate.shares:
            if part in shares:
                shares[part][row] += share
            if part in ranks:
                ranks[part][row] = rank
    of_ranks = {f"rank by {part}": np.log1p(some) for part, some in ranks.items()}
    return {f"share of {part}": some for part, some in shares.items()} | of_ranks


def _of_signals(candidates: Candidates, turns: Sequence[CandidateTurn]) -> dict[str, Floats]:
    """What the lists say, relative to the others; who is not in a list is below all that are."""
    columns = {}
    for part in _RANKED:
        found = candidates.scores(part)
        scores = [found.get(turn.record.id, np.nan) for turn in turns]
        columns[f"score by {part}"] = _relative(np.array(scores, np.float32))
    return columns


def _of_sessions(turns: Sequence[CandidateTurn], scores: Floats) -> dict[str, Floats]:
    """What else was found in the session of each turn; the turns come best first."""
    sessions = _sessions(turns)
    gains = (scores - scores.min()).tolist()
    of_session: dict[int, list[float]] = {}
    before = []  # better turns of the session
    for session, gain in zip(sessions, gains, strict=True):
        found = of_session.setdefault(session, [])
        before.append(len(found))
        found.append(gain)
    best = {session: sum(found[:3]) for session, found in of_session.items()}
    totals = {session: sum(found) for session, found in of_session.items()}
    places = {session: place for place, session in enumerate(sorted(best, key=best.__getitem__))}
    most, largest = max(best.values()) or 1.0, max(totals.values()) or 1.0
    others = [
        (of_session[one][0 if count else 1 :] or [0.0])[0]
        for one, count in zip(sessions, before, strict=True)
    ]
    columns = {
        "session's best": [best[one] / most for one in sessions],
        "session's total": [totals[one] / largest for one in sessions],
        "session's place": [len(places) - places[one] for one in sessions],
        "session's turns": [len(of_session[one]) for one in sessions],
        "better in session": before,
        "best other in session": others,
        "sessions": [len(of_session)] * len(turns),
        "largest share": [largest / (sum(gains) or 1.0)] * len(turns),
    }
    return {name: np.array(values, np.float32) for name, values in columns.items()}


def _sessions(turns: Sequence[CandidateTurn]) -> list[int]:
    """The number of each turn's session: by chat and time, as far as turns were found."""
    rows = sorted(range(len(turns)), key=lambda row: _place(turns[row]))
    numbers = [0] * len(turns)
    number, last = 0, None
    for row in rows:
        record = turns[row].record
        if last is not None and not in_one_session(last, record):
            number += 1
        numbers[row], last = number, record
    return numbers


def _place(turn: CandidateTurn) -> tuple[str, int]:
    return turn.record.uri, turn.record.ordinal


def _of_speakers(turns: Sequence[CandidateTurn], scores: Floats) -> dict[str, Floats]:
    """What else of each speaker was found; nothing where two talk with each other, of whom each
    says half."""
    gains = scores - scores.min()
    of_speaker: dict[str, list[float]] = {}
    for turn, gain in zip(turns, gains.tolist(), strict=True):
        of_speaker.setdefault(turn.speaker or turn.role, []).append(gain)
    if len(of_speaker) <= 2:
        of_speaker = {name: [0.0] for name in of_speaker}
    best = {name: sum(found[:3]) for name, found in of_speaker.items()}
    totals = {name: sum(found) for name, found in of_speaker.items()}
    most, total = max(best.values()) or 1.0, sum(totals.values()) or 1.0
    speakers = [turn.speaker or turn.role for turn in turns]
    columns = {
        "speaker's best": [best[one] / most for one in speakers],
        "speaker's total": [totals[one] / total for one in speakers],
    }
    return {name: np.array(values, np.float32) for name, values in columns.items()}


def _of_neighbours(turns: Sequence[CandidateTurn], scores: Floats) -> dict[str, Floats]:
    """How well the turns before and after were found."""
    gains = dict(zip(map(_place, turns), (scores - scores.min()).tolist(), strict=True))
    columns = {}
    for distance in _NEIGHBOURS:
        beside = [(turn.record.uri, turn.record.ordinal + distance) for turn in turns]
        found = [gains.get(place, 0.0) for place in beside]
        columns[f"turn {distance:+}"] = np.array(found, np.float32)
    return columns


def _of_form(turns: Sequence[CandidateTurn]) -> dict[str, Floats]:
    lengths = np.log1p([len(turn.record.content) for turn in turns]).astype(np.float32)
    return {
        "length": lengths,
        "length to others": lengths - np.median(lengths),
        "asks": np.array([asks(turn.record) for turn in turns], np.float32),
        "by assistant": np.array([turn.role == ASSISTANT for turn in turns], np.float32),
    }


def _of_likeness(
    store: Store, turns: Sequence[CandidateTurn], scores: Floats, question: RecallQuestion
) -> dict[str, Floats]:
    """How much each turn is like the question, the best turns, and those that are better."""
    vector = question.vector
    if vector is None:
        zeros = np.zeros(len(turns), np.float32)
        names = ("question", "first three", "first ten", "found", "a better one", "others")
        return {f"like {name}": zeros for name in names}
    windows = store.vectors.of([turn.record.id for turn in turns])
    rows = np.zeros((len(turns), len(vector)), np.float32)
    known = [row for row, turn in enumerate(turns) if windows.get(turn.record.id)]
    if known:
        # the first window is the whole turn
        firsts = [windows[turns[row].record.id][0] for row in known]
        rows[known] = rows_of(firsts, len(vector))
    likeness = products(rows, rows)
    np.fill_diagonal(likeness, 0.0)
    shares = np.exp((scores - scores[0]) / 0.3)
    better = np.tril(likeness, -1)
    others = np.partition(likeness, -5, axis=1)[:, -5:]
    columns = {
        "question": rows @ np.asarray(vector, np.float32),
        "first three": _mean_of_first(likeness, 3),
        "first ten": _mean_of_first(likeness, 10),
        "found": likeness @ (shares / shares.sum()),
        "a better one": better.max(axis=1),
        "others": others.mean(axis=1),
    }
    return {f"like {name}": _relative(values) for name, values in columns.items()}


def _mean_of_first(likeness: Floats, count: int) -> Floats:
    """The mean likeness to the first, each itself left out."""
    divisors = np.full(len(likeness), count, np.float32)
    divisors[:count] -= 1
    means: Floats = likeness[:, :count].sum(axis=1) / divisors
    return means


def _of_question(question: RecallQuestion, count: int) -> dict[str, Floats]:
    values = {
        "question's length": np.log1p(len(question.text)),
        "requested": question.request_probability,
        "names": len(question.names),
        "speakers": sum(named.speaks for named in question.names),
        "window": question.window is not None,
        **{f"kind {kind}": question.kind == kind for kind in (ORDER, SUMMARY, TOLD, REQUEST)},
    }
    return {name: np.full(count, value, np.float32) for name, value in values.items()}


def _relative(values: Floats) -> Floats:
    """Standard deviations from the mean; what is missing is below all."""
    known = np.isfinite(values)
    if np.count_nonzero(known) < 2:
        return np.zeros(len(values), np.float32)
    some = values[known]
    relative = (values - some.mean()) / max(float(some.std()), 1e-6)
    relative = np.clip(relative, -_LARGEST, _LARGEST)
    return np.where(known, relative, -_LARGEST - 1).astype(np.float32)
