"""Parts of a stretch of time, and stretches before and after it."""

from __future__ import annotations

from datetime import timedelta

from .calendar import Grain, Span, step, stretch, unit, weekend

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
_MONTHS = {Grain.YEAR: 12, Grain.DECADE: 120, Grain.CENTURY: 1200}


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
    if span.grain not in _MONTHS or (parts == 4 and span.grain != Grain.YEAR):
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
