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
