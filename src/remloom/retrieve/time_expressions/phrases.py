"""The grammar of time phrases: what stands at a place in a question, read as far as it goes.

    phrase    = [tie] point { ("and"|"or"|"vs") point } | open point | around point | range
    range     = "between" point "and" point | ["from"] point ("to"|"until"|"through"|"-") point
    open      = "since" | "after" | "before" | "until" | "till" | "by" | "through" | "up to" | "prior to" | "as of"
    point     = piece { [","] ["of"|"in"|"on"|"at"|"during"] ["the"] piece }     one inside the other: "noon on Monday"
    piece     = date | near | ago | relative | year | month | weekday | season | holiday | quarter | decade | century
              | day part | clock | slice | shift
    relative  = ["the"|"this"] ("last"|"past"|"this"|"next"|"coming") (unit | number unit | month |
    weekday | …)
    slice     = ["the"] ("early"|"mid"|"late") point | ("beginning"|"middle"|"end") "of" point
              | ("first".. | "last") [number] (unit | weekday | "half") "of" point | unit "of" point
    shift     = number unit ("before"|"after") point | number unit ("ago" | "from now")

It is read by hand and not by a generated parser, since it must be found inside running text, most
of which is no phrase, and since what is a time rests on what stands around it: "in May", but not
"What may Sarah want?". What names no time by itself (a month, a year, a weekday, a season) is one
only behind a word that ties it to something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from . import words
from .calendar import Floating, Grain, Span, floor, inside, mapped, step, unit, weekend
from .pieces import Found, Pieces
from .slices import edge_of, part_of, shifted, slice_of

__all__ = ["Phrases"]

_NO_TIME = frozenset(
    ("the", "a", "an", "called", "named", "every", "each", "any", "like", "love", "hate", "black")
)  # before a weekday that is no time
_NEAR = {"yesterday": -1, "today": 0, "tomorrow": 1}
_DEEPEST = 8  # pieces in one another: "the end of the first week of …"
_ROLLING = frozenset((Grain.HOUR, Grain.DAY, Grain.WEEK, Grain.MONTH, Grain.YEAR, Grain.DECADE))


class Phrases(Pieces):
    """Reads whole points in time."""

    def licensed(self, found: Found, tie: str, at: int) -> bool:
        """Whether what was read at `at` is a time behind this word."""
        if not found.kind:
            return True
        if tie not in words.TIES[found.kind]:
            return False
        if found.kind == "weekday" and not tie:
            return self._ends_with(found.end, at)
        # "the March meeting", not "the March on Washington"
        if tie == "the":
            after = self.word(found.end)
            return (
                self._cased
                and self.kind(found.end) == "word"
                and after not in words.STOP
                and not self.capital(found.end)
            )
        return True

    def _ends_with(self, end: int, at: int) -> bool:
        """Whether a bare weekday ends the question: "What did we decide Monday?", not "Who is
        Friday?"."""
        before = self.word(at - 1)
        plain = (
            self.kind(at - 1) == "word" and not self.capital(at - 1) and before not in words.STOP
        )
        return (
            at > 2
            and plain
            and before not in _NO_TIME
            and all(self.kind(n) == "mark" for n in range(end, len(self._tokens)))
        )

    # -- points ------------------------------------------------------------------------------------

    def point(self, at: int) -> Found | None:
        """The longest point in time that begins at a token, with what it lies in or what lies in
        it."""
        if at not in self._points:
            self._points[at] = None  # no phrase is part of itself
            self._points[at] = self._composed(at)
        return self._points[at]

    def _composed(self, at: int) -> Found | None:
        if self._depth >= _DEEPEST:
            return None
        self._depth += 1
        found = self._longest(at)
        while found is not None:
            more = self._continued(found)
            if more is None:
                break
            found = more
        self._depth -= 1
        return found

    def _longest(self, at: int) -> Found | None:
        if at >= len(self._tokens):
            return None
        token = self._tokens[at]
        if token.kind == "mark" or (token.kind == "word" and token.text not in words.BEGINNINGS):
            return None
        return max(self._pieces(at), key=lambda piece: piece.end, default=None)

    def _continued(self, found: Found) -> Found | None:
        if self._tokens[found.end - 1].owns:
            return None
        place = self.skip(found.end, ",")
        comma = place > found.end
        linked = self.word(place) in ("of", "in", "on", "at", "during", "for")
        place = self.skip(place + linked, "the") if linked else place
        if place >= len(self._tokens):
            return None
        other = self._longest(place)
        if other is None:
            if linked and (whole := self._whole_unit(place)):
                other = whole
            else:
                return None
        a, b = found.node, other.node
        if (
            a.grain == b.grain == Grain.DAY
            and "weekday" in (found.kind, other.kind)
            and found.kind != other.kind
        ):
            kept = a if other.kind == "weekday" else b  # "Monday, 5 May"
            return Found(
                kept,
                other.end,
                "" if "weekday" in (found.kind, other.kind) and not linked else "date",
            )
        if (
            isinstance(a, Floating)
            and b.grain == a.cycle
            and (not comma or linked or other.kind == "year")
        ):
            node = inside(a, b)
        elif isinstance(b, Floating) and a.grain == b.cycle and not comma:
            yearly = b.cycle == Grain.YEAR and other.kind not in ("quarter", "never")
            if not linked and (yearly or b.cycle == Grain.WEEK):
                # "in 2021 May Chen said", "last week Monday.com"
                return None
            node = inside(b, a)
        else:
            return None
        return Found(node, other.end) if node else None

    def _whole_unit(self, at: int) -> Found | None:
        grain = self.unit(at)
        if grain is None or grain <= Grain.DAY or self.word(at).endswith("s"):
            return None
        return Found(Floating(grain, grain, lambda start: unit(start, grain)), at + 1)

    def _pieces(self, at: int) -> Iterator[Found]:
        token = self._tokens[at]
        if token.kind == "word":
            the = token.text == "the"
            yield from self._slices(self.skip(at, "the"))
            if the or token.text in words.RELATIVE:
                yield from self._relative(at)
            yield from self._shifts(at)
            if the:
                yield from self._the(at + 1)
            elif token.text in _NEAR:
                yield Found(unit(step(self.now, Grain.DAY, _NEAR[token.text]), Grain.DAY), at + 1)
            elif token.text == "tonight":
                yield Found(self.daypart("night").current(self.now), at + 1)
            elif token.text == "year" and (year := self.year(at + 1)):
                yield year._replace(kind="")
            else:
                yield from self.floating(at)
            return
        if token.kind == "number":
            yield from self._shifts(at)
        reader = self.READERS.get(token.kind)
        if reader and (found := reader(self, at)):
            yield found

    def _the(self, at: int) -> Iterator[Found]:
        """What may follow "the"."""
        if found := self.monthday(at):
            yield found
        if found := self.decade(at):
            yield found._replace(kind="")
        if self.word(at) == "weekend":
            yield Found(Floating(Grain.WEEKEND, Grain.WEEK, weekend), at + 1, "weekend")
        if self.word(at) == "year" and (year := self.year(at + 1)):
            yield year._replace(kind="")
        yield from (
            found for found in self.floating(at) if found.kind not in ("weekday", "quarter")
        )

    # -- relative to now ---------------------------------------------------------------------------

    def _relative(self, at: int) -> Iterator[Found]:
        the = self.word(at) == "the"
        at += the
        which = self.word(at)
        if which == "this" and self.word(at + 1) in ("last", "past", "coming", "next"):
            at, which = at + 1, self.word(at + 1)
        if which not in words.RELATIVE:
            return
        place, back = at + 1, which in ("last", "past", "previous")
        if which != "this" and (counted := self.number(place)):
            (_, high), place = counted
            grain = self.unit(place)
            if grain is not None and grain != Grain.WEEKEND:
                high *= 2 if self.word(place).startswith("fortnight") else 1
                yield Found(self._rolling(-high if back else high, grain), place + 1)
            return
        if which != "this" and (length := self._length(place)):
            count, grain, end = length
            yield Found(self._rolling(-count if back else count, grain), end)
            return
        grain = self.unit(place)
        plural = self.word(place).endswith("s")
        # "in the past weeks"
        if grain is not None and plural and which != "this" and grain in _ROLLING:
            if the or which != "last":
                yield Found(self._rolling(-5 if back else 5, grain), place + 1)
        elif grain is not None and not plural:
            if (span := self._one(which, grain, the, place)) is not None:
                yield Found(span, place + 1)
        elif self.word(place) in words.DAYPARTS and which in ("this", "last"):
            part = self.daypart(self.word(place))
            day = self.today if which == "this" else self.today - timedelta(days=1)
            yield Found(part.current(day), place + 1)
        else:
            yield from self._which(which, back, place)

    def _length(self, at: int) -> tuple[int, Grain, int] | None:
        """A length of time that no calendar counts by, and where it ends: a fortnight, half a year."""
        if self.word(at) == "fortnight":
            return 2, Grain.WEEK, at + 1
        year = at + 1 + (self.word(at + 1) == "-")
        if self.word(at) == "half" and self.word(year) == "year":
            return 6, Grain.MONTH, year + 1
        return None

    def _one(self, which: str, grain: Grain, the: bool, place: int) -> Span | None:
        """ "last week" is the calendar's, "the last week" and "the past week" the seven days until
        now."""
        if grain == Grain.MINUTE or self.word(place + 1) == "before":
            return None
        rolling = which in ("past", "last") and (the or which == "past") and grain in _ROLLING
        if grain == Grain.HOUR or (grain == Grain.DAY and which == "past"):
            return self._rolling(-1, grain) if which in ("past", "last") else None
        if grain == Grain.DAY:
            return None
        if rolling:
            return self._rolling(-1, grain)
        count = {"this": 0, "next": 1, "coming": 1, "upcoming": 1}.get(which, -1)
        return unit(step(floor(self.now, grain), grain, count), grain)

    def _which(self, which: str, back: bool, place: int) -> Iterator[Found]:
        for found in (*self.floating(place), *self._quarters(place)):
            node = found.node
            if (
                not isinstance(node, Floating)
                or found.kind == "never"
                or (found.kind == "lower" and which != "last")
            ):
                continue
            if which == "this":
                yield Found(node.current(self.now), found.end)
            elif back:
                yield Found(node.passed(self.today), found.end)
            else:
                yield Found(node.first(self.today + timedelta(days=1)), found.end)

    def _quarters(self, at: int) -> Iterator[Found]:
        if self.kind(at) == "quarter" and (found := self.quarter(at)):
            yield found

    def _rolling(self, count: int, grain: Grain) -> Span:
        """The stretch of so many units until now, or from now on."""
        if grain <= Grain.HOUR:
            ends = sorted((self.now, step(self.now, grain, count)))
            return Span(ends[0], ends[1] + timedelta(seconds=1), grain)
        tomorrow = self.today + timedelta(days=1)
        if count < 0:
            return Span(step(self.today, grain, count), tomorrow, grain)
        return Span(self.today, step(tomorrow, grain, count), grain)

    def _shifts(self, at: int) -> Iterator[Found]:
        """ "two weeks ago", "three days before Christmas", "the day after tomorrow", "the summer
        before last"."""
        at = self.skip(at, "the")
        if self.word(at) == "half" and self.word(at + 1) == "a" and self.word(at + 2) == "year":
            (low, high), place = (6, 6), at + 2
            grain: Grain | None = Grain.MONTH
        else:
            (low, high), place = self.number(at) or ((1, 1), at)
            grain = self.unit(place)
        numbered = place > at
        if grain is None:
            yield from self._before_last(at)
            return
        if self.word(place).startswith("fortnight"):
            low, high = 2 * low, 2 * high
        way, end = self.word(place + 1), place + 2
        if numbered and way in ("ago", "back") and grain != Grain.WEEKEND:
            first = unit(step(self.now, grain, -high), grain)
            yield Found(Span(first.start, unit(step(self.now, grain, -low), grain).end, grain), end)
        elif numbered and way == "from" and self.word(end) in ("now", "today"):
            yield Found(unit(step(self.now, grain, high), grain), end + 1)
        elif way == "before" and self.word(end) == "last" and not numbered:
            yield Found(unit(step(floor(self.now, grain), grain, -2), grain), end + 1)
        elif way == "after" and self.word(end) == "next" and not numbered:
            yield Found(unit(step(floor(self.now, grain), grain, 2), grain), end + 1)
        elif way in ("before", "after"):
            point = self.point(end)
            if point and self.licensed(point, way, end):
                count = -high if way == "before" else high
                if node := mapped(point.node, lambda span: shifted(span, grain, count)):
                    yield Found(node, point.end)

    def _before_last(self, at: int) -> Iterator[Found]:
        for found in self.floating(at):
            if (
                isinstance(found.node, Floating)
                and self.word(found.end) == "before"
                and self.word(found.end + 1) == "last"
            ):
                if found.node.grain == Grain.PART:  # "the night before last"
                    yield Found(found.node.current(self.today - timedelta(days=2)), found.end + 2)
                    return
                last = found.node.passed(self.today)
                yield Found(found.node.passed(last.start), found.end + 2)

    # -- parts of others ---------------------------------------------------------------------------

    def _slices(self, at: int) -> Iterator[Found]:
        """Parts of a longer stretch: "early March", "the end of last year", "the first week of
        June"."""
        word = self.word(at)
        if word in ("early", "mid", "late"):
            place = self.skip(at + 1, "-", "in", "the")
            if self.kind(place) == "decade" and (found := self.decade(place)):
                yield from self._sliced(found._replace(kind=""), lambda span: edge_of(span, word))
            else:
                yield from self._sliced(self.point(place), lambda span: edge_of(span, word))
        elif word in words.EDGES and self.word(at + 1) == "of":
            place = self.skip(at + 2, "the")
            point = self.point(at + 2) or self.point(place)
            yield from self._sliced(
                point or self._whole_unit(place), lambda span: edge_of(span, word)
            )
        which = words.ORDINALS.get(word) or (-1 if word == "last" else self._ordinal(at))
        if which:
            yield from self._numbered(at + 1, which)
        grain = self.unit(at)
        if grain is not None and grain >= Grain.WEEKEND and self.word(at + 1) == "of":
            yield from self._sliced(self.point(at + 2), lambda span: unit(span.start, grain))
        elif (
            grain is not None
            and grain >= Grain.WEEK
            and self.word(at + 1) in ("starting", "beginning", "from")
        ):
            at = self.skip(at + 2, "on")
            yield from self._sliced(
                self.point(at), lambda span: Span(span.start, step(span.start, grain, 1), grain)
            )

    def _ordinal(self, at: int) -> int:
        return int(self.word(at).rstrip("stndrh")) if self.kind(at) == "ordinal" else 0

    def _numbered(self, place: int, which: int) -> Iterator[Found]:
        """ "first week of June", "last three months of 2021", "second half of May", "third Monday
        of May"."""
        count = 1
        if abs(which) == 1 and (counted := self.number(place)):
            (_, count), place = counted
        grain, weekday = self.unit(place), words.WEEKDAYS.get(self.word(place))
        half = self.word(place) == "half"
        if grain == Grain.CENTURY and which > 0 and self.word(place + 1) not in ("bc", "of"):
            if 10 <= which <= 21:
                start = datetime((which - 1) * 100, 1, 1)
                yield Found(
                    Span(start, step(start, Grain.CENTURY, 1), Grain.CENTURY), place + 1, "decade"
                )
            return
        if grain is None and weekday is None and not half:
            return
        linked = self.word(place + 1) in ("of", "in")
        at = self.skip(place + 1 + linked, "the")
        if not linked and grain != Grain.QUARTER:
            return
        point = self.point(at)
        if point is None and linked:
            point = self._whole_unit(at)
        if half:
            yield from self._sliced(point, lambda span: part_of(span, which, 2))
        elif grain == Grain.QUARTER:
            yield from self._sliced(point, lambda span: part_of(span, which, 4))
        else:
            yield from self._sliced(
                point, lambda span: slice_of(span, which, count, grain, weekday)
            )

    def _sliced(
        self, point: Found | None, change: Callable[[Span], Span | None]
    ) -> Iterator[Found]:
        if point is None or point.kind in ("lower", "namesake", "clock", "never"):
            return
        if node := mapped(point.node, change):
            yield Found(node, point.end)
