"""Stretches of local time: those that stand still, and those that come round again.

Times here are naive and local to whoever asks: a day has 24 hours by the clock on the wall,
whatever its zone does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from msgspec import Struct

__all__ = [
    "EARLIEST",
    "LATEST",
    "Floating",
    "Grain",
    "Node",
    "Span",
    "easter",
    "floor",
    "inside",
    "mapped",
    "step",
    "unit",
    "weekend",
]

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
    make: Callable[[datetime], Span | None]  # the one of the round that starts here, if it has one

    def latest(self, base: datetime) -> Span:
        """The last one that began by `base`."""
        return next((span for span in self._round(base, 1, -1) if span.start <= base), _NEVER)

    def first(self, base: datetime) -> Span:
        """The first one that begins at `base` or later."""
        return next((span for span in self._round(base, -1, 1) if span.start >= base), _NEVER)

    def passed(self, base: datetime) -> Span:
        """The last one that was over at `base`."""
        return next((span for span in self._round(base, 1, -1) if span.end <= base), _NEVER)

    def current(self, base: datetime) -> Span:
        """The one of the round that `base` is in."""
        return self.make(floor(base, self.cycle)) or _NEVER

    def _round(self, base: datetime, begin: int, way: int) -> Iterator[Span]:
        here = floor(base, self.cycle)
        for count in range(_TRIED):
            if span := self.make(step(here, self.cycle, begin + way * count)):
                yield span


Node: TypeAlias = Span | Floating
_NEVER = Span(LATEST, LATEST, Grain.DAY)


def floor(at: datetime, grain: Grain) -> datetime:
    """The start of the minute, hour, day, week (Monday), month, quarter, half, year, decade or
    century of a time."""
    if grain == Grain.MINUTE:
        return at.replace(second=0, microsecond=0)
    if grain == Grain.HOUR:
        return at.replace(minute=0, second=0, microsecond=0)
    day = at.replace(hour=0, minute=0, second=0, microsecond=0)
    if grain <= Grain.DAY:
        return day
    if grain <= Grain.WEEK:
        return max(day, EARLIEST + timedelta(days=7)) - timedelta(days=day.weekday())
    months = {Grain.MONTH: 1, Grain.SEASON: 3, Grain.QUARTER: 3, Grain.HALF: 6}.get(grain)
    if months:
        return day.replace(month=(day.month - 1) // months * months + 1, day=1)
    years = {Grain.YEAR: 1, Grain.DECADE: 10, Grain.CENTURY: 100}[grain]
    return day.replace(year=max(1, day.year // years * years), month=1, day=1)


def step(at: datetime, grain: Grain, count: int) -> datetime:
    """A time some units later, or earlier, inside the month it comes to, and between `EARLIEST` and
    `LATEST`."""
    lengths = {
        Grain.MINUTE: timedelta(minutes=1), Grain.HOUR: timedelta(hours=1), Grain.PART: timedelta(days=1),
        Grain.DAY: timedelta(days=1), Grain.WEEKEND: timedelta(weeks=1), Grain.WEEK: timedelta(weeks=1),
    }  # fmt: skip
    months = {
        Grain.MONTH: 1, Grain.SEASON: 3, Grain.QUARTER: 3, Grain.HALF: 6, Grain.YEAR: 12, Grain.DECADE: 120,
        Grain.CENTURY: 1200,
    }  # fmt: skip
    if grain in lengths:
        try:
            return min(max(at + count * lengths[grain], EARLIEST), LATEST)
        except OverflowError:
            return EARLIEST if count < 0 else LATEST
    total = at.year * 12 + at.month - 1 + count * months[grain]
    if total < 24:
        return EARLIEST
    if total >= 9999 * 12:
        return LATEST
    first = at.replace(year=total // 12, month=total % 12 + 1, day=1)
    return first + timedelta(days=min(at.day, _days(first)) - 1)


def unit(at: datetime, grain: Grain) -> Span:
    """The day, week, month, … that a time is in."""
    if grain == Grain.WEEKEND:
        return weekend(at)
    start = floor(at, grain)
    return Span(start, step(start, grain, 1), grain)


def weekend(at: datetime) -> Span:
    """Saturday and Sunday of the week that a time is in."""
    monday = floor(at, Grain.WEEK)
    return Span(monday + timedelta(days=5), monday + timedelta(days=7), Grain.WEEKEND)


def inside(fine: Floating, coarse: Node) -> Node | None:
    """The one of `fine` that lies in `coarse`: "May" in "last year", "morning" of "Monday". None if
    there is none."""
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
    """A node whose stretches are made of another's: "early March", "two days before Christmas"."""
    if isinstance(node, Span):
        return change(node)

    def make(cycle: datetime) -> Span | None:
        span = node.make(cycle)
        return change(span) if span else None

    made = node.first(datetime(2024, 1, 1))
    changed = change(made)
    return Floating(changed.grain, node.cycle, make) if changed else None


def easter(year: int) -> datetime:
    """Easter Sunday, by the Gregorian computus in Meeus' form."""
    century, rest = divmod(year, 100)
    golden = year % 19
    epact = (
        19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15
    ) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (rest // 4) - epact - rest % 4) % 7
    late = (golden + 11 * epact + 22 * weekday) // 451
    month, day = divmod(epact + weekday - 7 * late + 114, 31)
    return datetime(year, month, day + 1)


def _days(first: datetime) -> int:
    """How many days the month has that begins then."""
    return ((first + timedelta(days=32)).replace(day=1) - first).days
