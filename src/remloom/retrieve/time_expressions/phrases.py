"""The grammar of time phrases: what stands at a token of a question, read as far as it goes.

    phrase    = [tie] point { ("and"|"or"|"vs") point } | open point | around point | range
    range     = "between" point "and" point | ["from"] point ("to"|"until"|"through"|"-") point
    open      = "since" | "after" | "before" | "until" | "till" | "by" | "through" | "up to"
              | "prior to" | "as of"
    point     = piece { [","] ["of"|"in"|"on"|"at"|"during"] ["the"] piece }
                one inside the other: "noon on Monday"
    piece     = date | near | ago | relative | year | month | weekday | season | holiday | quarter
              | decade | century | day part | clock | slice | shift
    relative  = ["the"|"this"] ("last"|"past"|"this"|"next"|"coming")
                (unit | number unit | month | weekday | …)
    slice     = ["the"] ("early"|"mid"|"late") point | ("beginning"|"middle"|"end") "of" point
              | ("first".. | "last") [number] (unit | weekday | "half") "of" point
              | unit "of" point
    shift     = number unit ("before"|"after") point | number unit ("ago" | "from now")

It is read by hand and not by a generated parser, since it must be found inside running text, most
of which is not a phrase, and since what is a time rests on what stands around it: "in May", but not
"What may Sarah want?". What names no time by itself (a month, a year, a weekday, a season) is one
only behind a word that ties it to something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import cached_property
from typing import NamedTuple

from . import words
from .calendar import (
    Floating,
    Grain,
    Node,
    Span,
    edge_of,
    floor,
    inside,
    mapped,
    part_of,
    shifted,
    slice_of,
    step,
    stretch,
    unit,
    weekend,
)
from .pieces import Pieces, weekday
from .tokens import Point

# before a weekday that is not a time
_NO_TIME = frozenset(
    ("the", "a", "an", "called", "named", "every", "each", "any", "like", "love", "hate", "black")
)
_NEAR_DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}
_BACK = ("last", "past", "previous", "recent")
_DEEPEST = 8  # pieces in one another: "the end of the first week of …"
# units of which "the last" is the stretch until now
_ROLLING = frozenset((Grain.HOUR, Grain.DAY, Grain.WEEK, Grain.MONTH, Grain.YEAR, Grain.DECADE))
_SOME = 5  # units of "the past weeks"


class _Length(NamedTuple):
    """A count of units, as the least and the most it means."""

    low: int
    high: int
    grain: Grain | None
    end: int  # the first token that is not of it
    numbered: bool = True


class Phrases(Pieces):
    """Reads whole points in time."""

    _depth = 0

    @cached_property
    def _points(self) -> dict[int, Point | None]:
        return {}

    def licensed(self, point: Point, tie: str, at: int) -> bool:
        """Whether the point read at a token is a time behind this word."""
        if not point.kind:
            return True
        if tie not in words.TIES[point.kind]:
            return False
        if point.kind == "weekday" and not tie:
            return self._ends_question(point.end, at)
        # "the March meeting", not "the March on Washington"
        if tie == "the":
            after = self.word(point.end)
            is_word = self.kind(point.end) == "word" and not self.capital(point.end)
            return self._cased and is_word and after not in words.STOP
        return True

    def _ends_question(self, end: int, at: int) -> bool:
        """Whether a bare weekday ends it: "What did we decide Monday?", not "Who is Friday?"."""
        before = self.word(at - 1)
        is_word = self.kind(at - 1) == "word" and not self.capital(at - 1)
        if at <= 2 or not is_word or before in words.STOP or before in _NO_TIME:
            return False
        return all(self.kind(number) == "mark" for number in range(end, len(self._tokens)))

    # -- points ------------------------------------------------------------------------------------

    def point(self, at: int) -> Point | None:
        """The longest point in time that begins at a token, with all that lies in one another."""
        if at not in self._points:
            self._points[at] = None  # no phrase is part of itself
            self._points[at] = self._composed(at)
        return self._points[at]

    def _composed(self, at: int) -> Point | None:
        if self._depth >= _DEEPEST:
            return None
        self._depth += 1
        point = self._longest(at)
        while point is not None:
            longer = self._continued(point)
            if longer is None:
                break
            point = longer
        self._depth -= 1
        return point

    def _longest(self, at: int) -> Point | None:
        if at >= len(self._tokens):
            return None
        token = self._tokens[at]
        if token.kind == "mark" or (token.kind == "word" and token.text not in words.BEGINNINGS):
            return None
        return max(self._pieces(at), key=lambda piece: piece.end, default=None)

    def _continued(self, point: Point) -> Point | None:
        """A point together with the piece that follows it, if one lies in the other."""
        if self.owns(point.end - 1):
            return None
        at = self.skip(point.end, ",")
        comma = at > point.end
        linked = self.word(at) in ("of", "in", "on", "at", "during", "for")
        if linked:
            at = self.skip(at + 1, "the")
        if at >= len(self._tokens):
            return None
        other = self._longest(at)
        if other is None and linked:
            other = self._whole_unit(at)
        if other is None:
            return None
        if _is_weekday_of_date(point, other):
            # "Monday, 5 May"
            node: Node | None = point.node if other.kind == "weekday" else other.node
            return Point(node, other.end, "date" if linked else "")  # type: ignore[arg-type]
        node = _nested(point, other, comma=comma, linked=linked)
        return Point(node, other.end) if node else None

    def _whole_unit(self, at: int) -> Point | None:
        """ "month" behind "the first week of the"."""
        grain = self.unit(at)
        if grain is None or grain <= Grain.DAY or self.word(at).endswith("s"):
            return None
        return Point(Floating(grain, grain, lambda start: unit(start, grain)), at + 1)

    def _pieces(self, at: int) -> Iterator[Point]:
        token = self._tokens[at]
        if token.kind == "word":
            yield from self._worded(at)
            return
        if token.kind == "number":
            yield from self._shifts(at)
        reader = self.READERS.get(token.kind)
        point = reader(self, at) if reader else None
        if point:
            yield point

    def _worded(self, at: int) -> Iterator[Point]:
        word = self.word(at)
        yield from self._slices(self.skip(at, "the"))
        if word == "the" or word in words.RELATIVE:
            yield from self._relative(at)
        yield from self._shifts(at)
        if word == "the":
            yield from self._the(at + 1)
        elif word in _NEAR_DAYS:
            day = step(self.now, Grain.DAY, _NEAR_DAYS[word])
            yield Point(unit(day, Grain.DAY), at + 1)
        elif word == "tonight":
            yield Point(self.daypart("night").current(self.now), at + 1)
        elif word == "year":
            yield from _sure(self.year(at + 1))
        else:
            yield from self.floating(at)

    def _the(self, at: int) -> Iterator[Point]:
        day = self.monthday(at)
        if day:
            yield day
        yield from _sure(self.decade(at))
        if self.word(at) == "weekend":
            yield Point(Floating(Grain.WEEKEND, Grain.WEEK, weekend), at + 1, "weekend")
        if self.word(at) == "year":
            yield from _sure(self.year(at + 1))
        for point in self.floating(at):
            if point.kind not in ("weekday", "quarter"):
                yield point

    # -- relative to now ---------------------------------------------------------------------------

    def _relative(self, at: int) -> Iterator[Point]:
        """ "last week", "the past three months", "next Monday", "this morning"."""
        the = self.word(at) == "the"
        at = self.skip(at, "the")
        which = self.word(at)
        # "this past week"
        if which == "this" and self.word(at + 1) in ("last", "past", "coming", "next"):
            at += 1
            which = self.word(at)
        if which not in words.RELATIVE:
            return
        at += 1
        back = which in _BACK
        length = self._length(at)
        if which != "this" and (length.numbered or self.word(at) == "fortnight"):
            if length.grain is not None and length.grain != Grain.WEEKEND:
                count = -length.high if back else length.high
                yield Point(self._rolling(count, length.grain), length.end)
            return
        word = self.word(at)
        grain = self.unit(at)
        if grain is not None and word.endswith("s") and which != "this" and grain in _ROLLING:
            # "in the past weeks"
            if the or which != "last":
                yield Point(self._rolling(-_SOME if back else _SOME, grain), at + 1)
        elif grain is not None and not word.endswith("s"):
            span = self._one_unit(which, grain, the, at)
            if span is not None:
                yield Point(span, at + 1)
        elif word in words.DAYPARTS and which in ("this", "last"):
            day = self.today if which == "this" else self.today - timedelta(days=1)
            yield Point(self.daypart(word).current(day), at + 1)
        else:
            yield from self._relative_floating(which, at)

    def _one_unit(self, which: str, grain: Grain, the: bool, at: int) -> Span | None:
        """ "last week" is the calendar's, "the last week" the seven days until now."""
        # "the week before last" is another phrase
        if grain == Grain.MINUTE or self.word(at + 1) == "before":
            return None
        if grain == Grain.HOUR or (grain == Grain.DAY and which == "past"):
            return self._rolling(-1, grain) if which in ("past", "last") else None
        if grain == Grain.DAY:
            return None
        until_now = which == "past" or (which == "last" and the)
        if until_now and grain in _ROLLING:
            return self._rolling(-1, grain)
        count = {"this": 0, "next": 1, "coming": 1, "upcoming": 1}.get(which, -1)
        return unit(step(floor(self.now, grain), grain, count), grain)

    def _relative_floating(self, which: str, at: int) -> Iterator[Point]:
        """ "last Monday", "next summer", "this Q3"."""
        points = list(self.floating(at))
        quarter = self.quarter(at) if self.kind(at) == "quarter" else None
        if quarter:
            points.append(quarter)
        for point in points:
            node = point.node
            if not isinstance(node, Floating) or point.kind == "never":
                continue
            # "this may", "next march": mostly verbs
            if point.kind == "lower" and which != "last":
                continue
            if which == "this":
                # the winter that began last year may last
                last = node.latest(self.now)
                span = last if self.now < last.end else node.current(self.now)
            elif which in _BACK:
                span = node.passed(self.today)
            else:
                span = node.first(self.today + timedelta(days=1))
            yield Point(span, point.end)

    def _rolling(self, count: int, grain: Grain) -> Span:
        """The stretch of so many units until now, or from now on."""
        if grain <= Grain.HOUR:
            first, last = sorted((self.now, step(self.now, grain, count)))
            return Span(first, last + timedelta(seconds=1), grain)
        tomorrow = self.today + timedelta(days=1)
        if count < 0:
            return Span(step(self.today, grain, count), tomorrow, grain)
        return Span(self.today, step(tomorrow, grain, count), grain)

    def _shifts(self, at: int) -> Iterator[Point]:
        """ "two weeks ago", "three days before Christmas", "the summer before last"."""
        at = self.skip(at, "the")
        length = self._length(at)
        grain = length.grain
        if grain is None:
            yield from self._weekdays(length)
            yield from self._before_last(at)
            return
        way = self.word(length.end)
        end = length.end + 1
        if length.numbered:
            span = self._from_now(length, grain, way, end)
            if span is not None:
                yield Point(span, end if way in ("ago", "back") else end + 1)
                return
        else:
            # "the week before last", "the week after next"
            count = {("before", "last"): -2, ("after", "next"): 2}.get((way, self.word(end)))
            if count:
                yield Point(unit(step(floor(self.now, grain), grain, count), grain), end + 1)
                return
        if way in ("before", "after"):
            point = self.point(end)
            if point and self.licensed(point, way, end):
                count = -length.high if way == "before" else length.high
                node = mapped(point.node, lambda span: shifted(span, grain, count))
                if node:
                    yield Point(node, point.end)

    def _length(self, at: int) -> _Length:
        """The length at a token, as "three weeks", "half a year"; one unit if no number stands
        there."""
        year_at = self.skip(at + 1, "a", "-")
        if self.word(at) == "half" and self.word(year_at) == "year":
            return _Length(6, 6, Grain.MONTH, year_at + 1)
        (low, high), unit_at = self.number(at) or ((1, 1), at)
        factor = 2 if self.word(unit_at).startswith("fortnight") else 1
        return _Length(
            factor * low, factor * high, self.unit(unit_at), unit_at + 1, numbered=unit_at > at
        )

    def _from_now(self, length: _Length, grain: Grain, way: str, end: int) -> Span | None:
        """ "two weeks ago", "three days from now"."""
        if way in ("ago", "back"):
            first = unit(step(self.now, grain, -length.high), grain)
            last = unit(step(self.now, grain, -length.low), grain)
            return Span(first.start, last.end, grain)
        if way == "from" and self.word(end) in ("now", "today"):
            return unit(step(self.now, grain, length.high), grain)
        return None

    def _weekdays(self, length: _Length) -> Iterator[Point]:
        """ "two Saturdays ago", "the Tuesday after Easter"."""
        number = words.WEEKDAYS.get(self.word(length.end - 1).removesuffix("s"))
        if number is None:
            return
        day, way, end = weekday(number), self.word(length.end), length.end + 1
        if length.numbered and way in ("ago", "back"):
            last = day.passed(self.today)
            yield Point(unit(step(last.start, Grain.WEEK, 1 - length.high), Grain.DAY), end)
        elif not length.numbered and way in ("before", "after"):
            point = self.point(end)
            # "on Monday before noon" is no other day
            if point and point.node.grain >= Grain.DAY and self.licensed(point, way, end):
                nearest = (
                    (lambda span: day.first(span.end))
                    if way == "after"
                    else (lambda span: day.passed(span.start))
                )
                yield from self._changed(point, nearest)

    def _before_last(self, at: int) -> Iterator[Point]:
        """ "the summer before last"."""
        for point in self.floating(at):
            node, end = point.node, point.end
            behind = (self.word(end), self.word(end + 1))
            if not isinstance(node, Floating) or behind != ("before", "last"):
                continue
            # "the night before last"
            if node.grain == Grain.PART:
                yield Point(node.current(self.today - timedelta(days=2)), end + 2)
                return
            last = node.passed(self.today)
            yield Point(node.passed(last.start), end + 2)

    # -- parts of others ---------------------------------------------------------------------------

    def _slices(self, at: int) -> Iterator[Point]:
        """ "early March", "the end of last year", "the first week of June", "the week of 5 May"."""
        word = self.word(at)
        if word in ("early", "mid", "late"):
            of = self.skip(at + 1, "-", "in", "the")
            decade = self.decade(of) if self.kind(of) == "decade" else None
            whole = next(_sure(decade), None) or self.point(of)
            yield from self._changed(whole, lambda span: edge_of(span, word))
        elif word in words.EDGES and self.word(at + 1) == "of":
            of = self.skip(at + 2, "the")
            whole = self.point(at + 2) or self.point(of) or self._whole_unit(of)
            yield from self._changed(whole, lambda span: edge_of(span, word))
        which = -1 if word == "last" else words.ORDINALS.get(word) or self._ordinal(at)
        if which:
            yield from self._numbered(at + 1, which)
        grain = self.unit(at)
        if grain is None:
            return
        behind = self.word(at + 1)
        if grain >= Grain.WEEKEND and behind == "of":
            yield from self._changed(self.point(at + 2), lambda span: unit(span.start, grain))
        elif grain >= Grain.WEEK and behind in ("starting", "beginning", "from"):
            first = self.point(self.skip(at + 2, "on"))
            yield from self._changed(first, lambda span: stretch(span.start, grain))

    def _ordinal(self, at: int) -> int:
        return int(self.word(at).rstrip("stndrh")) if self.kind(at) == "ordinal" else 0

    def _numbered(self, at: int, which: int) -> Iterator[Point]:
        """ "first week of June", "last three months of 2021", "second half of May"."""
        count = 1
        counted = self.number(at) if abs(which) == 1 else None
        if counted:
            (_, count), at = counted
        grain = self.unit(at)
        day = words.WEEKDAYS.get(self.word(at))
        is_half = self.word(at) == "half"
        if grain == Grain.CENTURY and which > 0 and self.word(at + 1) not in ("bc", "of"):
            # "the 19th century"
            if 10 <= which <= 21:
                century = stretch(datetime((which - 1) * 100, 1, 1), Grain.CENTURY)
                yield Point(century, at + 1, "decade")
            return
        if grain is None and day is None and not is_half:
            return
        linked = self.word(at + 1) in ("of", "in")
        # "the second quarter 2021", but not "the second week 2021"
        if not linked and grain != Grain.QUARTER:
            return
        of = self.skip(at + 2 if linked else at + 1, "the")
        whole = self.point(of)
        if whole is None and linked:
            whole = self._whole_unit(of)

        def part(span: Span) -> Span | None:
            if is_half or grain == Grain.QUARTER:
                return part_of(span, which, 2 if is_half else 4)
            return slice_of(span, which, count, grain, day)

        yield from self._changed(whole, part)

    @staticmethod
    def _changed(point: Point | None, change: Callable[[Span], Span | None]) -> Iterator[Point]:
        """A point whose stretches are changed; nothing of what has no such parts."""
        if point is None or point.kind in ("lower", "namesake", "clock", "never"):
            return
        node = mapped(point.node, change)
        if node:
            yield Point(node, point.end)


def _sure(point: Point | None) -> Iterator[Point]:
    """A point, if there is one, that needs no word before it."""
    if point:
        yield point._replace(kind="")


def _is_weekday_of_date(point: Point, other: Point) -> bool:
    """Whether one is a weekday and the other a day: "Monday, 5 May"."""
    if not point.node.grain == other.node.grain == Grain.DAY:
        return False
    return (point.kind == "weekday") != (other.kind == "weekday")


def _nested(point: Point, other: Point, *, comma: bool, linked: bool) -> Node | None:
    """The finer of two neighbours inside the coarser; None if they do not belong together."""
    node, outer = point.node, other.node
    joined = not comma or linked or other.kind == "year"
    if isinstance(node, Floating) and outer.grain == node.cycle and joined:
        return inside(node, outer)
    if isinstance(outer, Floating) and node.grain == outer.cycle and not comma:
        is_yearly = outer.cycle == Grain.YEAR and other.kind not in ("quarter", "never")
        # "in 2021 May Chen said", "last week Monday.com"
        if not linked and (is_yearly or outer.cycle == Grain.WEEK):
            return None
        return inside(outer, node)
    return None
