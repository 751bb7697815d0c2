"""The time that a question names, found as its first time phrase, and as stretches of time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from typing import NamedTuple

from msgspec import Struct

from ...errors import InvalidInputError
from ...predicates import And, Gte, Lt, Or, Predicate
from ...text.analysis import term_set
from . import words
from .calendar import EARLIEST, LATEST, Floating, Grain, Node, Span, around, step, stretch
from .phrases import Phrases
from .tokens import Point, Token, tokens

# words that tie a point in time to the question
_TIES = {"in", "on", "at", "during", "within", "throughout", "over", "for", "of", "from"}
_TIES |= {"around", "about", "circa", "since"}
_AROUND = frozenset(("around", "circa", "near"))
_TO = frozenset(("to", "until", "till", "through", "thru", "-", "–", "and"))
_ANY = frozenset(("a", "an", "any", "each", "every"))
_AND = frozenset(("and", "or", "vs", "versus", "&", ","))
# that may begin a phrase: those of points in time, and those before one
_FIRST_WORDS = words.BEGINNINGS | {name[0] for name in words.OPEN}
_FIRST_WORDS |= _TIES | _AROUND | {"between", "about"}
# "most of 2021" is tied by what stands before
_SHARES = ("most", "some", "all", "any", "one", "none", "half")
# a question about the future
_AHEAD = re.compile(
    r"^(?:Will|Shall)\b|\b(?:will|shall)\b|[’']ll\b"
    r"|\b(?:is|are|am|\w+[’']re|what[’']s) (?:\w+ ){0,3}(?:going to|planned|scheduled|due|coming)\b"
)
_MOST_TOKENS = 400  # of a question in which times are looked for
_SECOND = timedelta(seconds=1)
_DAY = timedelta(days=1)
_HINT = re.compile(r"[a-z]+|\d")
# words that ask for nothing in particular
_ASKS_NOTHING = """
    happen occur discuss talk go new thing anything something everything event summary summarise
    summarize timeline list tell say said show remember
"""


class TimePhrase(NamedTuple):
    """A time phrase of a question."""

    spans: list[Span]
    start: int  # characters: where it starts with the words that tie it to the question
    begin: int  # where its expression begins
    end: int


class _Match(NamedTuple):
    """A time phrase as tokens."""

    spans: list[Span]
    end: int  # the token behind it
    begin: int  # the token that its expression begins with


class PhraseFinder:
    """Looks for the first time phrase in a question.

    Args:
        now: the time of the question, local and naive.
        zone: of that time.
    """

    def __init__(self, question: str, now: datetime, zone: tzinfo) -> None:
        self._tokens: list[Token] = tokens(question)[:_MOST_TOKENS]
        self._now = now
        self._ahead = bool(_AHEAD.search(question))
        cased = not (question.isupper() or question.islower())

        def local(at: datetime) -> datetime:
            return at.astimezone(zone).replace(tzinfo=None)

        self._phrases = Phrases(self._tokens, now, local, cased)

    def find(self) -> TimePhrase | None:
        """Find the first phrase, if there is one."""
        for at, token in enumerate(self._tokens):
            is_other = token.kind == "word" and token.text not in _FIRST_WORDS
            if is_other or token.kind == "mark" or self._glued(at):
                continue
            match = self._match(at)
            if match is not None and not self._glued(match.end):
                begin = self._tokens[match.begin].start
                end = self._tokens[match.end - 1].end
                return TimePhrase(match.spans, token.start, begin, end)
        return None

    def _glued(self, at: int) -> bool:
        """Whether a token is one word with the one before: "pre-2020", "v2021.3", "$2020"."""
        if not 0 < at < len(self._tokens) or self._tokens[at - 1].end != self._tokens[at].start:
            return False
        left, right = self._tokens[at - 1], self._tokens[at]
        if right.kind != "mark":
            return left.kind != "mark" or left.text in "-–_@#$€£/.&+=*~^<%"
        if right.text in "?!,;:)]}\"”'’…":
            return False
        behind = self._tokens[at + 1] if at + 1 < len(self._tokens) else None
        attached = behind is not None and behind.start == right.end
        return right.text in "%$€£@/_+=*^" or (right.text in ".-–" and attached)

    def _match(self, at: int) -> _Match | None:
        phrases = self._phrases
        word = phrases.word(at)
        if word in ("between", "from"):
            match = self._range(at + 1, word, begin=at)
            if match or word == "between":
                return match
        match = self._range(at, "", begin=at) or self._open_phrase(at)
        if match:
            return match
        if word in _AROUND or (word == "about" and phrases.kind(at + 1) == "number"):
            return self._around(at)
        if word == "the":
            point = phrases.point(at)
            if point and phrases.licensed(point, "the", at):
                return self._several(point, at, "the")
        if word in ("in", "within") and self._ahead:
            match = self._after(at + 1)
            if match:
                return match
        return self._tied(at, word if word in _TIES else "")

    def _tied(self, at: int, tie: str) -> _Match | None:
        """A point, or several, behind a word that ties it to the question."""
        phrases = self._phrases
        begin = at + 1 if tie else at
        if tie == "of" and phrases.word(at - 1) in _SHARES:
            tie = ""
        for number, point in self._points(begin):
            # "on a Tuesday night" may be any
            is_weekly = isinstance(point.node, Floating) and point.node.cycle == Grain.WEEK
            if is_weekly and phrases.word(number - 1) in _ANY:
                continue
            if phrases.licensed(point, tie, number):
                onward = phrases.word(point.end) in ("on", "onward", "onwards")
                if tie == "from" and onward:
                    return _Match([self._since(point)], point.end + 1, at)
                return self._several(point, number, tie)
        return None

    def _points(self, at: int) -> Iterator[tuple[int, Point]]:
        """The points that begin at a token, and behind "the" if it is that; where they begin."""
        for begin in dict.fromkeys((at, self._phrases.skip(at, "the"))):
            point = self._phrases.point(begin)
            if point is not None:
                yield begin, point

    def _several(self, point: Point, begin: int, tie: str) -> _Match:
        """A point and those that are coordinated with it: "in May and June 2021"."""
        points = [point]
        while True:
            following = self._coordinated(points[-1], tie, point.node.grain)
            if following is None:
                break
            points.append(following)
        fixed = [point.node for point in points if isinstance(point.node, Span)]
        spans = []
        for one in points:
            # "in May and June 2021": both of that year
            if isinstance(one.node, Floating) and fixed:
                spans.append(one.node.latest(fixed[-1].start))
            else:
                spans.append(self._resolved(one.node))
            if one.also:
                spans.append(one.also)
        return _Match(spans, points[-1].end, begin)

    def _coordinated(self, before: Point, tie: str, grain: Grain) -> Point | None:
        phrases = self._phrases
        joint = phrases.word(before.end)
        if joint not in _AND:
            return None
        at = before.end + 1
        if joint == ",":
            at = phrases.skip(at, "and")
        # The tie may be said again: "in May and in June".
        if phrases.word(at) in _TIES:
            at = phrases.skip(at + 1, "the")
            tie = phrases.word(at - 1)
        else:
            at = phrases.skip(at, "the")
        point = phrases.point(at)
        if point is None or not phrases.licensed(point, tie, at):
            return None
        # "in May, 2021 was over"
        return None if joint == "," and point.node.grain != grain else point

    def _resolved(self, node: Node) -> Span:
        """The stretch that a point means now.

        Of what comes round it is the last, or the next if the question looks ahead.
        """
        return node.first(self._phrases.today) if self._ahead else node.latest(self._now)

    def _range(self, at: int, tie: str, *, begin: int) -> _Match | None:
        """ "between March and May", "from 3 to 5 May", "2020-2022"."""
        phrases = self._phrases
        at = phrases.skip(at, "the")
        first = phrases.point(at)
        if tie and phrases.day_number(at):
            # "from 3 to 5 May" is one piece
            if phrases.word(at + 1) in _TO and first and first.end > at + 2:
                return _Match([self._resolved(first.node)], first.end, begin)
            # "between 2 and 4 pm"
            if phrases.kind(at + 2) == "clock":
                half = phrases.word(at + 2).strip("0123456789: ")
                first = phrases.clock(at, phrases.word(at) + half)
        if first is None or phrases.word(first.end) not in _TO:
            return None
        link = phrases.word(first.end)
        if link == "and" and tie != "between":
            return None
        if not phrases.licensed(first, tie or "to", at):
            return None
        return self._range_to(first, link, tie, begin)

    def _range_to(self, first: Point, link: str, tie: str, begin: int) -> _Match | None:
        phrases = self._phrases
        at = phrases.skip(first.end + 1, "the")
        second = phrases.point(at)
        if second is None and phrases.word(at) in ("now", "present") and tie:
            start = first.node.latest(self._now).start
            end = max(self._now, start) + _SECOND
            return _Match([Span(start, end, Grain.DAY)], at + 1, begin)
        if second is None or not phrases.licensed(second, link, at):
            return None
        left, right = self._ends(first.node, second.node)
        # Hours end where the second begins: "from 2 to 4 pm".
        end = right.start if right.grain == Grain.HOUR else right.end
        return _Match([Span(left.start, end, left.grain)], second.end, begin)

    def _ends(self, first: Node, second: Node) -> tuple[Span, Span]:
        """The ends of a range; what comes round is the one nearest to the other end."""
        if isinstance(first, Span):
            return first, second.first(first.start)
        if isinstance(second, Span):
            return first.latest(second.start), second
        # "between noon and 2 pm on Monday"
        if second.cycle > first.cycle:
            right = self._resolved(second)
            return first.latest(right.start), right
        left = self._resolved(first)
        return left, second.first(left.start)

    def _open_phrase(self, at: int) -> _Match | None:
        """ "since May", "up to Monday": a point that is one end."""
        phrases = self._phrases
        for size in (2, 1):
            lead = tuple(phrases.word(at + number) for number in range(size))
            for number, point in self._points(at + size) if lead in words.OPEN else ():
                if phrases.licensed(point, lead[-1], number):
                    return self._open(point, words.OPEN[lead], at)
        return None

    def _open(self, point: Point, meaning: str, begin: int) -> _Match:
        span = self._resolved(point.node)
        if meaning == "since":
            span = self._since(point)
        elif meaning == "soon after":
            span = stretch(span.end, Grain.WEEK)
        elif meaning == "just before":
            span = Span(step(span.start, Grain.WEEK, -1), span.start, Grain.WEEK)
        elif meaning == "after":
            end = LATEST if self._ahead else max(self._now, span.end) + _SECOND
            span = Span(span.end, end, span.grain)
        elif meaning != "in":
            span = Span(EARLIEST, span.end if meaning == "by" else span.start, span.grain)
        return _Match([span], point.end, begin)

    def _since(self, point: Point) -> Span:
        span = point.node.latest(self._now)
        return Span(span.start, max(self._now, span.start) + _SECOND, span.grain)

    def _around(self, at: int) -> _Match | None:
        begin = self._phrases.skip(at + 1, "the")
        point = self._phrases.point(begin)
        if point is None or not self._phrases.licensed(point, "around", begin):
            return None
        return _Match([around(self._resolved(point.node))], point.end, at)

    def _after(self, at: int) -> _Match | None:
        """ "in two weeks", of what is to come."""
        counted = self._phrases.number(at)
        if counted is None:
            return None
        (_, count), unit_at = counted
        grain = self._phrases.unit(unit_at)
        if grain is None or grain < Grain.DAY:
            return None
        start = step(self._phrases.today, grain, count)
        return _Match([Span(start, step(start, grain, 1), grain)], unit_at + 1, at)


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
        return self.spans[-1][1]

    @property
    def span(self) -> tuple[datetime, datetime]:
        """From the first until the last, with all that lies between."""
        return self.start, self.end

    def __contains__(self, at: datetime) -> bool:
        return any(start <= at < end for start, end in self.spans)

    def days_from(self, at: datetime) -> float:
        """How many days lie between a time and the nearest stretch, at least 1."""
        return max(1.0, min(max(start - at, at - end) for start, end in self.spans) / _DAY)

    def __str__(self) -> str:
        shown = []
        for start, end in self.spans:
            first = start.astimezone(self.zone)
            last = (end - _SECOND).astimezone(self.zone)
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
    phrase = PhraseFinder(question, now.replace(tzinfo=None), zone).find()
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
