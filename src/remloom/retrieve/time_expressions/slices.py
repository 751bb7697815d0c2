"""Parts of a stretch of time, and stretches before and after it."""

from __future__ import annotations

from datetime import timedelta

from .calendar import Grain, Span, step, unit, weekend

__all__ = ["around", "edge_of", "part_of", "shifted", "slice_of"]

_THIRDS = {  # the unit that a stretch is cut by, where its middle begins, and where its last part
    Grain.WEEK: (Grain.DAY, 2, 4), Grain.MONTH: (Grain.DAY, 10, 20), Grain.SEASON: (Grain.MONTH, 1, 2),
    Grain.QUARTER: (Grain.MONTH, 1, 2), Grain.HALF: (Grain.MONTH, 2, 4), Grain.YEAR: (Grain.MONTH, 4, 8),
    Grain.DECADE: (Grain.YEAR, 4, 7), Grain.CENTURY: (Grain.YEAR, 33, 67),
}  # fmt: skip
_ENDS = {  # how much of it is its beginning, and its end
    Grain.WEEK: (Grain.DAY, 2), Grain.MONTH: (Grain.DAY, 7), Grain.SEASON: (Grain.MONTH, 1),
    Grain.QUARTER: (Grain.MONTH, 1), Grain.HALF: (Grain.MONTH, 1), Grain.YEAR: (Grain.MONTH, 2),
    Grain.DECADE: (Grain.YEAR, 2), Grain.CENTURY: (Grain.YEAR, 10),
}  # fmt: skip
_AROUND = {
    Grain.MINUTE: timedelta(minutes=30), Grain.HOUR: timedelta(hours=1), Grain.PART: timedelta(hours=1),
    Grain.DAY: timedelta(days=3), Grain.WEEKEND: timedelta(days=3), Grain.WEEK: timedelta(days=3),
    Grain.MONTH: timedelta(days=10), Grain.SEASON: timedelta(days=30), Grain.QUARTER: timedelta(days=30),
    Grain.HALF: timedelta(days=30), Grain.YEAR: timedelta(days=183), Grain.DECADE: timedelta(days=730),
    Grain.CENTURY: timedelta(days=3650),
}  # fmt: skip


def edge_of(span: Span, which: str) -> Span | None:
    """Its early, middle or late third, or its beginning or end; None of what is too short to have
    them."""
    if span.grain not in _THIRDS:
        return None
    if which in ("early", "mid", "middle", "late"):
        grain, first, second = _THIRDS[span.grain]
        cuts = (
            span.start,
            step(span.start, grain, first),
            step(span.start, grain, second),
            span.end,
        )
        place = ("early", "mid", "late").index(which[:3] if which == "middle" else which)
        return Span(cuts[place], cuts[place + 1], Grain.WEEK)
    grain, count = _ENDS[span.grain]
    if which in ("beginning", "start", "turn"):
        return Span(span.start, step(span.start, grain, count), Grain.WEEK)
    return Span(step(span.end, grain, -count), span.end, Grain.WEEK)


def part_of(span: Span, which: int, parts: int) -> Span | None:
    """A half of a month or of what is longer, or a quarter of a year; -1 is the last."""
    which = parts if which < 0 else which
    if which > parts:
        return None
    if span.grain == Grain.MONTH and parts == 2:
        middle = span.start + timedelta(days=15)
        return (
            Span(span.start, middle, Grain.WEEK)
            if which == 1
            else Span(middle, span.end, Grain.WEEK)
        )
    months = {Grain.YEAR: 12, Grain.DECADE: 120, Grain.CENTURY: 1200}.get(span.grain)
    if months is None or (parts == 4 and span.grain != Grain.YEAR):
        return None
    start = step(span.start, Grain.MONTH, months // parts * (which - 1))
    return Span(
        start,
        step(start, Grain.MONTH, months // parts),
        Grain.QUARTER if parts == 4 else Grain.HALF,
    )


def slice_of(
    span: Span, which: int, count: int, grain: Grain | None, weekday: int | None
) -> Span | None:
    """The n-th week, day, Monday, … of a stretch, its first or last few; a month's weeks begin on
    its first day."""
    if weekday is not None:
        if which > 0:
            start = span.start + timedelta(
                days=(weekday - span.start.weekday()) % 7 + 7 * (which - 1)
            )
        else:
            last = span.end - timedelta(days=1)
            start = last - timedelta(days=(last.weekday() - weekday) % 7)
        found = unit(start, Grain.DAY)
    elif grain == Grain.WEEKEND:
        at = weekend(span.start if which > 0 else span.end - timedelta(days=1))
        if which > 0:
            at = at if at.start >= span.start else weekend(span.start + timedelta(days=7))
            start = at.start + timedelta(weeks=which - 1)
        else:
            start = at.start if at.end <= span.end else at.start - timedelta(weeks=1)
        found = Span(start, start + timedelta(days=2), Grain.WEEKEND)
    elif grain is None or grain >= span.grain:
        return None
    elif which > 0:
        found = Span(
            step(span.start, grain, which - 1), step(span.start, grain, which - 1 + count), grain
        )
    else:
        found = Span(step(span.end, grain, -count), span.end, grain)
    return found if span.start <= found.start < span.end else None


def shifted(span: Span, grain: Grain, count: int) -> Span:
    """The unit that lies so many of them before (or after) a stretch."""
    if grain == Grain.WEEKEND:
        other = weekend(span.start - timedelta(days=1)) if count < 0 else weekend(span.end)
        if count < 0 and other.end > span.start:
            other = weekend(other.start - timedelta(days=7))
        return other
    if count < 0:
        return Span(step(span.start, grain, count), step(span.start, grain, count + 1), grain)
    return Span(step(span.end, grain, count - 1), step(span.end, grain, count), grain)


def around(span: Span) -> Span:
    """A stretch with some more before and behind it."""
    more = _AROUND[span.grain]
    return Span(span.start - more, span.end + more, span.grain)
