"""What is measured of sessions, of their turns, and of one session beside an earlier one; and the
weights of each measure, which were learned (`python -m training.episodes`)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files
from math import log
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ...heads.differences import content_words
from ...model.records import ASSISTANT
from ..candidates import asks
from ..question import is_long
from .sessions import ChatSession

if TYPE_CHECKING:
    from .sessions import Floats

Columns: TypeAlias = "dict[str, Floats]"  # a value for each row, by the name of the measure

FILE = "weights.json"
# of the heads: which session decides, which turns of it, what amends it, whether there is one
ORDER, TURNS, AMENDS, DECIDES = "order", "turns", "amends", "decides"
_K1, _B = 1.2, 0.75  # of BM25
_BEST = 3
_SCALE = 4.0  # of differences of cosines


class Words:
    """How rare the words of some sessions are among them."""

    def __init__(self, sessions: Sequence[ChatSession]) -> None:
        self.counts = [session.counts() for session in sessions]
        self._number = len(sessions)
        self._having = Counter(term for counts in self.counts for term in counts)
        self._length = sum(map(Counter.total, self.counts)) / max(1, len(sessions))
        # by the number of sessions that have a term
        self._rarities = [
            log(1 + (self._number - having + 0.5) / (having + 0.5))
            for having in range(self._number + 1)
        ]

    def rarity(self, term: str) -> float:
        return self._rarities[self._having[term]]

    def sum(self, some: Collection[str]) -> float:
        rarities, having = self._rarities, self._having
        return sum([rarities[having[term]] for term in some])

    def bm25(self, wanted: Collection[str], counts: Counter[str]) -> float:
        """How well a session fits words, its turns that have each counted."""
        length = _K1 * (1 - _B + _B * counts.total() / self._length) if counts else 1.0
        return sum(
            self.rarity(term) * counts[term] * (_K1 + 1) / (counts[term] + length)
            for term in wanted
            if counts[term]
        )


def of_sessions(sessions: Sequence[ChatSession], words: Words, question: str) -> Columns:
    """How well each session fits, relative to the others: what the search found of it, how near it
    is in meaning, and its words. For a question that is long twice: what is long reports something,
    and fits a session rather than a turn."""
    best = np.array([_best(one.gains) for one in sessions], np.float32)
    wanted = content_words(question).keys()
    columns = {
        "best": _to_most(best[:, 0]),
        "three": _to_most(best.sum(axis=1)),
        "total": _to_most(np.array([one.gains.sum() for one in sessions])),
        "likeness": _to_first(np.array([_best(one.likeness).mean() for one in sessions])),
        "sentence": _to_first(np.array([one.sentences.max() for one in sessions])),
        "centre": _to_first(np.array(_centres(sessions))),
        "words": _to_most(np.array([words.bm25(wanted, one) for one in words.counts])),
    }
    return by_length(columns, question)


def of_first(session: ChatSession, counts: Counter[str], words: Words, question: str) -> Columns:
    """Whether the session that fits best decides at all: the same, not relative to others."""
    wanted = content_words(question).keys()
    shared = words.sum(wanted & counts.keys())
    columns = {
        "likeness": np.array([_best(session.likeness).mean()]),
        "sentence": np.array([session.sentences.max()]),
        "centre": np.array(_centres([session])),
        "words": np.array([shared / 20]),
        "share of words": np.array([shared / max(words.sum(wanted), 1e-6)]),
    }
    return by_length(columns, question)


def of_turns(session: ChatSession, top: float, earlier: Floats | None = None) -> Columns:
    """How well each turn of a session tells what was decided.

    Args:
        top: the most that the search says for any turn.
        earlier: the vectors of the turns that it amends, if it does.
    """
    rows = session.rows
    alike = np.tril(rows @ rows.T, -1)
    near = session.likeness if earlier is None else (rows @ earlier.T).max(axis=1)
    centre = rows @ session.centre
    return {
        "likeness": session.likeness - session.likeness.max(),
        "sentence": session.sentences - session.sentences.max(),
        "found": session.gains / max(top, 1e-6),
        "by assistant": np.array([one.role == ASSISTANT for one in session.turns], np.float32),
        "length": np.log1p([len(one.content) for one in session.turns]) - 4,
        "centre": centre - centre.max(),
        "place": np.linspace(0, 1, len(rows), dtype=np.float32),
        "asks": np.array([asks(one) for one in session.turns], np.float32),
        "repeats": alike.max(axis=1),
        "amended": near - near.max() if earlier is not None else np.zeros(len(rows), np.float32),
    }


def of_pair(
    later: ChatSession,
    counts: Counter[str],
    earlier: ChatSession,
    deciding: Sequence[int],
    words: Words,
) -> Columns:
    """Whether a session amends what some turns of an earlier one decided."""
    of_earlier = earlier.counts()
    decided = {term for number in deciding for term in earlier.terms[number]}
    shared = words.sum(counts.keys() & of_earlier.keys())
    both = (words.sum(counts.keys()) * words.sum(of_earlier.keys())) ** 0.5
    return {
        "likeness": np.array([(earlier.rows[list(deciding)] @ later.rows.T).max()]),
        "shared": np.array([shared / max(both, 1e-6)]),
        "decided": np.array([words.sum(decided & counts.keys()) / max(words.sum(decided), 1e-6)]),
    }


def by_length(columns: Columns, question: str) -> Columns:
    """The same measures, under other names for a long question."""
    suffix = ", long" if is_long(question) else ""
    return {f"{name}{suffix}": values for name, values in columns.items()}


def weigh(head: str, columns: Columns) -> Floats:
    """Add up measures by the weights of a head: log odds."""
    weights = learned()[head]
    sums: Floats = np.zeros(len(next(iter(columns.values()))))
    for name, values in columns.items():
        sums = sums + weights.get(name, 0.0) * values
    suffix = ", long" if next(iter(columns)).endswith(", long") else ""
    return sums + weights.get(f"bias{suffix}", 0.0)


def probabilities(log_odds: Floats) -> Floats:
    odds: Floats = 1 / (1 + np.exp(-log_odds))
    return odds


@cache
def learned() -> Mapping[str, Mapping[str, float]]:
    """The weights, by head and measure."""
    weights: dict[str, dict[str, float]] = json.loads(
        files(__package__).joinpath(FILE).read_text("utf-8")
    )
    return weights


def _best(values: Floats) -> Floats:
    """The three largest, largest first."""
    best = np.zeros(_BEST, np.float32)
    some = np.sort(values)[::-1][:_BEST]
    best[: len(some)] = some
    return best


def _centres(sessions: Sequence[ChatSession]) -> list[float]:
    """How near each session as a whole is to the question."""
    # the vectors of turns add up, and so do their cosines
    return [
        float(one.likeness.sum()) / max(float(np.linalg.norm(one.rows.sum(axis=0))), 1e-6)
        for one in sessions
    ]


def _to_most(values: Floats) -> Floats:
    shares: Floats = values / max(float(values.max()), 1e-6)
    return shares


def _to_first(values: Floats) -> Floats:
    behind: Floats = _SCALE * (values - values.max())
    return behind
