"""Stretches of local time: those that stand still, and those that come round again.

Times here are naive and local to the question: a day has 24 hours by the clock on the wall,
whatever its zone does.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from msgspec import Struct

EARLIEST = datetime(1, 1, 2)
LATEST = datetime(9999, 12, 30)
_TRIED = 12  # rounds: 29 February comes every eighth year at the latest


class Grain(IntEnum):
    """How long a stretch is, roughly: what is finer may lie in what is coarser."""

    MINUTE = 0
    HOUR = 1
    PART = 2  # of a day
    DAY = 3
    WEEKEND = 4
    WEEK = 5
    MONTH = 6
    SEASON = 7
    QUARTER = 8
    HALF = 9
    YEAR = 10
    DECADE = 11
    CENTURY = 12


_LENGTHS = {
    Grain.MINUTE: timedelta(minutes=1),
    Grain.HOUR: timedelta(hours=1),
    Grain.PART: timedelta(days=1),
    Grain.DAY: timedelta(days=1),
    Grain.WEEKEND: timedelta(weeks=1),
    Grain.WEEK: timedelta(weeks=1),
}
# of the units that are longer at one time than at another
_MONTHS = {
    Grain.MONTH: 1,
    Grain.SEASON: 3,
    Grain.QUARTER: 3,
    Grain.HALF: 6,
    Grain.YEAR: 12,
    Grain.DECADE: 120,
    Grain.CENTURY: 1200,
}
# the unit that a stretch is cut by, where its middle and its last part begin, and how much of it is
# its beginning, or its end
_CUTS = {
    Grain.WEEK: (Grain.DAY, 2, 4, 2),
    Grain.MONTH: (Grain.DAY, 10, 20, 7),
    Grain.SEASON: (Grain.MONTH, 1, 2, 1),
    Grain.QUARTER: (Grain.MONTH, 1, 2, 1),
    Grain.HALF: (Grain.MONTH, 2, 4, 1),
    Grain.YEAR: (Grain.MONTH, 4, 8, 2),
    Grain.DECADE: (Grain.YEAR, 4, 7, 2),
    Grain.CENTURY: (Grain.YEAR, 33, 67, 10),
}
# how much is added on both sides by "around"
_AROUND = {
    Grain.MINUTE: timedelta(minutes=30),
    Grain.HOUR: timedelta(hours=1),
    Grain.PART: timedelta(hours=1),
    Grain.DAY: timedelta(days=3),
    Grain.WEEKEND: timedelta(days=3),
    Grain.WEEK: timedelta(days=3),
    Grain.MONTH: timedelta(days=10),
    Grain.SEASON: timedelta(days=30),
    Grain.QUARTER: timedelta(days=30),
    Grain.HALF: timedelta(days=30),
    Grain.YEAR: timedelta(days=183),
    Grain.DECADE: timedelta(days=730),
    Grain.CENTURY: timedelta(days=3650),
}


class Span(NamedTuple):
    """From `start` until `end`, which is not in it."""

    start: datetime
    end: datetime
    grain: Grain

    def latest(self, _base: datetime) -> Span:
        return self

    def first(self, _base: datetime) -> Span:
        return self


class Floating(Struct, frozen=True):
    """What comes round again: "Monday", "in May", "at noon". `cycle` is the grain of its round."""

    grain: Grain
    cycle: Grain
    # makes the stretch of the round that starts at a time, if it has one
    make: Callable[[datetime], Span | None]

    def latest(self, base: datetime) -> Span:
        """The last one that began by `base`."""
        past = (span for span in self._rounds(base, 1, -1) if span.start <= base)
        return next(past, _NEVER)

    def first(self, base: datetime) -> Span:
        """The first one that begins at `base` or later."""
        coming = (span for span in self._rounds(base, -1, 1) if span.start >= base)
        return next(coming, _NEVER)

    def passed(self, base: datetime) -> Span:
        """The last one that was over at `base`."""
        over = (span for span in self._rounds(base, 1, -1) if span.end <= base)
        return next(over, _NEVER)

    def current(self, base: datetime) -> Span:
        """The one of the round that `base` is in."""
        return self.make(floor(base, self.cycle)) or _NEVER

    def _rounds(self, base: datetime, begin: int, direction: int) -> Iterator[Span]:
        """The stretches of the rounds near `base`, beginning some rounds away from it."""
        here = floor(base, self.cycle)
        for count in range(_TRIED):
            span = self.make(step(here, self.cycle, begin + direction * count))
            if span is not None:
                yield span


Node: TypeAlias = Span | Floating
_NEVER = Span(LATEST, LATEST, Grain.DAY)


def floor(at: datetime, grain: Grain) -> datetime:
    """The start of the minute, hour, day, week (Monday), month, … or century of a time."""
    if grain == Grain.MINUTE:
        return at.replace(second=0, microsecond=0)
    if grain == Grain.HOUR:
        return at.replace(minute=0, second=0, microsecond=0)
    day = at.replace(hour=0, minute=0, second=0, microsecond=0)
    if grain <= Grain.DAY:
        return day
    if grain <= Grain.WEEK:
        return max(day, EARLIEST + timedelta(days=7)) - timedelta(days=day.weekday())
    months = _MONTHS[grain]
    if months < 12:
        return day.replace(month=(day.month - 1) // months * months + 1, day=1)
    years = months // 12
    return day.replace(year=max(1, day.year // years * years), month=1, day=1)


def step(at: datetime, grain: Grain, count: int) -> datetime:
    """Go some units on, or back, and not beyond `EARLIEST` and `LATEST`."""
    if grain in _LENGTHS:
        try:
            moved = at + count * _LENGTHS[grain]
        except OverflowError:
            return EARLIEST if count < 0 else LATEST
        return min(max(moved, EARLIEST), LATEST)
    months = at.year * 12 + at.month - 1 + count * _MONTHS[grain]
    if months < 2 * 12:
        return EARLIEST
    if months >= 9999 * 12:
        return LATEST
    year, month = months // 12, months % 12 + 1
    # 31 January and a month: the last of February
    return at.replace(year=year, month=month, day=min(at.day, monthrange(year, month)[1]))


def stretch(start: datetime, grain: Grain, count: int = 1) -> Span:
    """So many days, weeks, months, … from a time on."""
    return Span(start, step(start, grain, count), grain)


def unit(at: datetime, grain: Grain) -> Span:
    """The day, week, month, … that a time is in."""
    return weekend(at) if grain == Grain.WEEKEND else stretch(floor(at, grain), grain)


def weekend(at: datetime) -> Span:
    """Saturday and Sunday of the week that a time is in."""
    monday = floor(at, Grain.WEEK)
    return Span(monday + timedelta(days=5), monday + timedelta(days=7), Grain.WEEKEND)


def inside(fine: Floating, coarse: Node) -> Node | None:
    """The one of `fine` that lies in `coarse`, if any: "May" in "last year"."""
    if isinstance(coarse, Floating):

        def make(cycle: datetime) -> Span | None:
            outer = coarse.make(cycle)
            return _within(fine, outer) if outer else None

        return Floating(fine.grain, coarse.cycle, make)
    return _within(fine, coarse)


def _within(fine: Floating, outer: Span) -> Span | None:
    span = fine.first(outer.start)
    return span if span.start < outer.end else None


def mapped(node: Node, change: Callable[[Span], Span | None]) -> Node | None:
    """Change the stretches of a node: to "early March", to "two days before Christmas"."""
    if isinstance(node, Span):
        return change(node)

    def make(cycle: datetime) -> Span | None:
        span = node.make(cycle)
        return change(span) if span else None

    # any of them tells how long they are; a leap year has all
    changed = change(node.first(datetime(2024, 1, 1)))
    return Floating(changed.grain, node.cycle, make) if changed else None


def easter(year: int) -> datetime:
    """Easter Sunday, by the Gregorian computus in Meeus' form."""
    century, rest = divmod(year, 100)
    golden = year % 19
    correction = (century - (century + 8) // 25 + 1) // 3
    epact = (19 * golden + century - century // 4 - correction + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (rest // 4) - epact - rest % 4) % 7
    late = (golden + 11 * epact + 22 * weekday) // 451
    month, day = divmod(epact + weekday - 7 * late + 114, 31)
    return datetime(year, month, day + 1)


def edge_of(span: Span, which: str) -> Span | None:
    """Cut out the early, middle or late third, the beginning or the end.

    None of what is too short to have them.
    """
    if span.grain not in _CUTS:
        return None
    grain, middle, late, size = _CUTS[span.grain]
    start, end = span.start, span.end
    if which in ("beginning", "start", "turn"):
        end = step(start, grain, size)
    elif which in ("end", "close"):
        start = step(end, grain, -size)
    elif which == "early":
        end = step(start, grain, middle)
    elif which == "late":
        start = step(start, grain, late)
    else:
        start, end = step(start, grain, middle), step(start, grain, late)
    # the grain of the result says: about so long, whatever the stretch
    return Span(start, end, Grain.WEEK)


def part_of(span: Span, which: int, parts: int) -> Span | None:
    """Cut out a half of a month or longer stretch, or a quarter of a year; -1 is the last."""
    number = parts if which < 0 else which
    if number > parts:
        return None
    if span.grain == Grain.MONTH and parts == 2:
        middle = span.start + timedelta(days=15)
        if number == 1:
            return Span(span.start, middle, Grain.WEEK)
        return Span(middle, span.end, Grain.WEEK)
    if span.grain < Grain.YEAR or (parts == 4 and span.grain != Grain.YEAR):
        return None
    months = _MONTHS[span.grain] // parts
    part = stretch(step(span.start, Grain.MONTH, months * (number - 1)), Grain.MONTH, months)
    return part._replace(grain=Grain.QUARTER if parts == 4 else Grain.HALF)


def slice_of(
    span: Span,
    which: int,
    count: int,
    grain: Grain | None,
    weekday: int | None,
) -> Span | None:
    """Cut out the n-th week, day, Monday, … of a stretch, or its first or last few.

    A month's weeks begin on its first day.
    """
    if weekday is not None:
        part = _weekday_of(span, which, weekday)
    elif grain == Grain.WEEKEND:
        part = _weekend_of(span, which)
    elif grain is None or grain >= span.grain:
        return None
    elif which > 0:
        part = stretch(step(span.start, grain, which - 1), grain, count)
    else:
        part = Span(step(span.end, grain, -count), span.end, grain)
    return part if span.start <= part.start < span.end else None


def _weekday_of(span: Span, which: int, weekday: int) -> Span:
    if which > 0:
        until_first = (weekday - span.start.weekday()) % 7
        return unit(span.start + timedelta(days=until_first + 7 * (which - 1)), Grain.DAY)
    last_day = span.end - timedelta(days=1)
    since_last = (last_day.weekday() - weekday) % 7
    return unit(last_day - timedelta(days=since_last), Grain.DAY)


def _weekend_of(span: Span, which: int) -> Span:
    """The n-th weekend that begins in a stretch, or the last that ends in it."""
    if which > 0:
        first = weekend(span.start)
        if first.start < span.start:
            first = weekend(span.start + timedelta(days=7))
        return weekend(first.start + timedelta(weeks=which - 1))
    last = weekend(span.end - timedelta(days=1))
    return last if last.end <= span.end else weekend(last.start - timedelta(weeks=1))


def shifted(span: Span, grain: Grain, count: int) -> Span:
    """The unit that lies `count` of them after a stretch, or before it."""
    if grain == Grain.WEEKEND:
        if count > 0:
            return weekend(span.end)
        before = weekend(span.start - timedelta(days=1))
        return before if before.end <= span.start else weekend(before.start - timedelta(days=7))
    start = step(span.start, grain, count) if count < 0 else step(span.end, grain, count - 1)
    return stretch(start, grain)


def around(span: Span) -> Span:
    """A stretch with some more before and behind it."""
    more = _AROUND[span.grain]
    return Span(span.start - more, span.end + more, span.grain)
