"""Coverage: a question over time is answered out of several days of talk."""

from __future__ import annotations

import re
from collections import Counter
from heapq import nlargest
from operator import attrgetter

from ..model import Resource
from .candidates import Candidate, Candidates
from .question import Question

__all__ = ["lower_repeated"]

# what has been, what is true of several, how often: mostly said in more than one place
_OVER_TIME = re.compile(
    r"\b(?:has|have|both|in common|each other)\b|\bhow (?:many|often)\b", re.IGNORECASE
)
_LOOKED_AT = 60  # candidates, from the best
_SCORE = attrgetter("score")


def lower_repeated(candidates: Candidates, question: Question, weight: float) -> None:
    """Lower turns by `weight` for each better one of the same chat and day, if the question asks
    over time."""
    if not _OVER_TIME.search(question.text):
        return
    chosen: Counter[tuple[str, str]] = Counter()
    best_ones = nlargest(_LOOKED_AT, candidates, key=_SCORE)
    left = [(one, _day_of(one)) for one in best_ones]
    while left:
        place = max(
            range(len(left)), key=lambda at: left[at][0].score + weight * chosen[left[at][1]]
        )
        best, day = left.pop(place)
        if chosen[day]:
            best.add_share("coverage", weight * chosen[day], note=f"not the first of {day[1]}")
        # what is of no day repeats nothing
        chosen[day] += bool(day[1])


def _day_of(candidate: Candidate) -> tuple[str, str]:
    """The chat and day of a turn; empty texts where it is of none."""
    record = candidate.record
    if not isinstance(record, Resource) or not record.speaker or record.starts_at is None:
        return "", ""
    return record.uri, record.starts_at.date().isoformat()
