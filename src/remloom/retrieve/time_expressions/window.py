"""The time that a question names, as the stretches of it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache

from msgspec import Struct

from ...errors import InvalidInputError
from ...predicates import And, Gte, Lt, Or, Predicate
from ...text.analysis import term_set
from . import words
from .calendar import EARLIEST, LATEST, Span
from .finder import Finder

_HINT = re.compile(r"[a-z]+|\d")
# words that ask for nothing in particular
_ASKS_NOTHING = """
    happen occur discuss talk go new thing anything something everything event summary summarise
    summarize timeline list tell say said show remember
"""


class Window(Struct, frozen=True):
    """The stretch of time that a question names, or the few: "in May 2021 and May 2022"."""

    # UTC; from, until (not in it); none within another, in order
    spans: tuple[tuple[datetime, datetime], ...]
    expression: str  # as the question has it
    rest: str  # the question without it
    alone: bool  # nothing else is asked
    zone: tzinfo = UTC  # of the question

    @property
    def start(self) -> datetime:
        return self.spans[0][0]

    @property
    def end(self) -> datetime:
        """The end, which is not in it."""
        return self.spans[-1][1]

    @property
    def span(self) -> tuple[datetime, datetime]:
        """From the first until the last, with all that lies between."""
        return self.start, self.end

    def __contains__(self, at: datetime) -> bool:
        return any(start <= at < end for start, end in self.spans)

    def __str__(self) -> str:
        shown = []
        for start, end in self.spans:
            first = start.astimezone(self.zone)
            last = (end - timedelta(seconds=1)).astimezone(self.zone)
            if end - start < timedelta(hours=20):
                shown.append(f"{first:%Y-%m-%d %H:%M} to {last:%H:%M}")
            elif first.date() == last.date():
                shown.append(first.date().isoformat())
            else:
                shown.append(f"{first.date().isoformat()} to {last.date().isoformat()}")
        return f"{', '.join(shown)} ({self.expression})"

    def predicate(self, where: Predicate | None) -> Predicate:
        """Make the filter that lets through what began in the window, if `where` does so too."""
        inside: list[Predicate] = [
            And((Gte("starts_at", start), Lt("starts_at", end))) for start, end in self.spans
        ]
        started = inside[0] if len(inside) == 1 else Or(tuple(inside))
        return And((started, where)) if where is not None else started


def find_window(question: str, now: datetime | None) -> Window | None:
    """Find the time that a question names; None when it names none that is understood.

    Days are those of the zone of `now`.

    >>> window = find_window("What did we decide last week?", datetime(2024, 5, 15, 12, tzinfo=UTC))
    >>> window.start.date(), window.end.date(), window.rest, window.alone
    (datetime.date(2024, 5, 6), datetime.date(2024, 5, 13), 'What did we decide?', False)

    Raises:
        InvalidInputError: it ends before it starts.
    """
    # Most questions name no time, and are spared the tokens.
    hints = _HINT.findall(question.lower())
    if words.HINTS.isdisjoint(hints) and not any(hint.isdigit() for hint in hints):
        return None
    now = now or datetime.now(UTC)
    zone = now.tzinfo or UTC
    phrase = Finder(question, now.replace(tzinfo=None), zone).find()
    if phrase is None:
        return None
    expression = question[phrase.begin : phrase.end]
    for span in phrase.spans:
        if span.end <= span.start:
            raise InvalidInputError(
                f"the time of {expression!r} ends {span.end.date()}, before it starts "
                f"{span.start.date()}",
                remedy="name the earlier time first",
            )
    before, after = question[: phrase.start], question[phrase.end :]
    rest = " ".join(f"{before.rstrip()} {after.lstrip()}".split())
    rest = re.sub(r" ([?!.,;])", r"\1", rest).strip(" ,")
    alone = not term_set(rest) - _empty_terms()
    return Window(_utc(phrase.spans, zone), expression, rest, alone, zone)


@cache
def _empty_terms() -> set[str]:
    return term_set(_ASKS_NOTHING)


def _utc(spans: list[Span], zone: tzinfo) -> tuple[tuple[datetime, datetime], ...]:
    """Stretches of local time in UTC, those that touch as one."""

    def moment(at: datetime) -> datetime:
        return min(max(at, EARLIEST), LATEST).replace(tzinfo=zone).astimezone(UTC)

    merged: list[tuple[datetime, datetime]] = []
    for start, end in sorted((moment(span.start), moment(span.end)) for span in spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return tuple(merged)
