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
from .calendar import EARLIEST, LATEST, Floating, Grain, Node, Span, step
from .phrases import Phrases
from .pieces import Found
from .slices import around
from .tokens import Token, tokens

__all__ = ["Window", "find_window"]

_TIES = frozenset(
    (
        "in",
        "on",
        "at",
        "during",
        "within",
        "throughout",
        "over",
        "for",
        "of",
        "from",
        "around",
        "about",
        "circa",
        "since",
    )
)
_AROUND = frozenset(("around", "circa", "near"))
_TO = frozenset(("to", "until", "till", "through", "thru", "-", "–", "and"))
_AND = frozenset(("and", "or", "vs", "versus", "&", ","))
_HINT = re.compile(r"[a-z]+|\d")
# words before a point in time
_LEADS = _TIES | _AROUND | {name[0] for name in words.OPEN} | {"between", "about"}
_AHEAD = re.compile(
    r"^(?:Will|Shall)\b|\b(?:will|shall|going to)\b|[’']ll\b|\b(?:is|are) (?:\w+ )?(?:planned|scheduled|due)\b"
)
_BARE = """
    happen occur discuss talk go new thing anything something everything event summary summarise summarize timeline list
    tell say said show remember
"""  # words that ask for nothing in particular
_MOST_TOKENS = 400  # of a question in which times are looked for


class Window(Struct, frozen=True):
    """The stretch of time that a question names, or the few: "in May 2021 and May 2022"."""

    # UTC; from, until (not in it); none within another, in order
    spans: tuple[tuple[datetime, datetime], ...]
    expression: str  # as the question has it
    rest: str  # the question without it
    alone: bool  # nothing else is asked
    zone: tzinfo = UTC  # of whoever asks

    @property
    def start(self) -> datetime:
        return self.spans[0][0]

    @property
    def end(self) -> datetime:
        """Not in it."""
        return self.spans[-1][1]

    @property
    def span(self) -> tuple[datetime, datetime]:
        """From the first until the last, with whatever lies between."""
        return self.start, self.end

    def __contains__(self, at: datetime) -> bool:
        return any(start <= at < end for start, end in self.spans)

    def __str__(self) -> str:
        shown = []
        for start, end in self.spans:
            first, last = (
                start.astimezone(self.zone),
                (end - timedelta(seconds=1)).astimezone(self.zone),
            )
            if end - start < timedelta(hours=20):
                shown.append(f"{first:%Y-%m-%d %H:%M} to {last:%H:%M}")
            else:
                shown.append(f"{first.date().isoformat()} to {last.date().isoformat()}")
        return f"{', '.join(shown)} ({self.expression})"

    def predicate(self, where: Predicate | None) -> Predicate:
        """The filter that only lets through what began in the window, and what `where` does."""
        inside: list[Predicate] = [
            And((Gte("starts_at", start), Lt("starts_at", end))) for start, end in self.spans
        ]
        wanted = inside[0] if len(inside) == 1 else Or(tuple(inside))
        return And((wanted, where)) if where is not None else wanted


def find_window(question: str, now: datetime | None) -> Window | None:
    """The time that a question names; None when it names none that is understood. Days are those of
    the zone of `now`.

    >>> window = find_window("What did we decide last week?", datetime(2024, 5, 15, 12, tzinfo=UTC))
    >>> window.start.date(), window.end.date(), window.rest, window.alone
    (datetime.date(2024, 5, 6), datetime.date(2024, 5, 13), 'What did we decide?', False)

    Raises:
        InvalidInputError: it ends before it starts.
    """
    hints = _HINT.findall(question.lower())
    if words.HINTS.isdisjoint(hints) and not any(hint.isdigit() for hint in hints):
        return None
    now = now or datetime.now(UTC)
    zone = now.tzinfo or UTC
    found = _Finder(question, now.replace(tzinfo=None), zone).find()
    if found is None:
        return None
    spans, start, end, begin = found
    expression = question[begin:end]
    for span in spans:
        if span.end <= span.start:
            raise InvalidInputError(
                f"the time of {expression!r} ends {span.end.date()}, before it starts {span.start.date()}",
                remedy="name the earlier time first",
            )
    rest = " ".join(f"{question[:start].rstrip()} {question[end:].lstrip()}".split())
    rest = re.sub(r" ([?!.,;])", r"\1", rest).strip(" ,")
    return Window(_utc(spans, zone), expression, rest, not term_set(rest) - _bare(), zone)


@cache
def _bare() -> set[str]:
    return term_set(_BARE)


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


class _Finder:
    """Looks for the first phrase in a question."""

    def __init__(self, question: str, now: datetime, zone: tzinfo) -> None:
        self._question = question
        self._tokens: list[Token] = tokens(question)[:_MOST_TOKENS]
        self._now = now
        self._ahead = bool(_AHEAD.search(question))
        cased = not (question.isupper() or question.islower())
        self._phrases = Phrases(
            self._tokens, now, lambda at: at.astimezone(zone).replace(tzinfo=None), cased
        )

    def find(self) -> tuple[list[Span], int, int, int] | None:
        """The stretches, where the phrase starts with the words that tie it, where it ends, and
        where it begins."""
        for at in range(len(self._tokens)):
            token = self._tokens[at]
            begins = (
                token.text in words.BEGINNINGS or token.text in _LEADS
                if token.kind == "word"
                else token.kind != "mark"
            )
            if not begins or self._glued(at, at - 1):
                continue
            found = self._phrase(at)
            if found is not None and not self._glued(found[1], found[1] - 1):
                spans, end, begin = found
                return (
                    spans,
                    self._tokens[at].start,
                    self._tokens[end - 1].end,
                    self._tokens[begin].start,
                )
        return None

    def _glued(self, at: int, before: int) -> bool:
        """Whether a token hangs on the one before, so that both are one word: "pre-2020",
        "v2021.3", "$2020"."""
        if not 0 < at < len(self._tokens) or self._tokens[before].end != self._tokens[at].start:
            return False
        left, right = self._tokens[before], self._tokens[at]
        if right.kind != "mark":
            return left.kind != "mark" or left.text in "-–_@#$€£/.&+=*~^<%"
        if right.text in "?!,;:)]}\"”'’…":
            return False
        behind = self._tokens[at + 1] if at + 1 < len(self._tokens) else None
        attached = behind is not None and behind.start == right.end
        return right.text in "%$€£@/_+=*^" or (right.text in ".-–" and attached)

    def _phrase(self, at: int) -> tuple[list[Span], int, int] | None:
        """The stretches of the phrase at a token, the token behind it, and the one that its
        expression begins with."""
        phrases, word = self._phrases, self._phrases.word(at)
        if word == "between" or (word == "from" and self._range(at + 1, word)):
            found = self._range(at + 1, word)
            return ([found[0]], found[1], at) if found else None
        if ranged := self._range(at, ""):
            return [ranged[0]], ranged[1], at
        for size in (2, 1):
            sense = words.OPEN.get(tuple(phrases.word(at + n) for n in range(size)))
            if sense and (
                opened := self._open(at + size, sense, self._phrases.word(at + size - 1))
            ):
                return [opened[0]], opened[1], at
        if word in _AROUND or (word == "about" and phrases.kind(at + 1) == "number"):
            return self._around(at, word)
        tie = word if word in _TIES else ""
        if word == "the" and (point := phrases.point(at)) and phrases.licensed(point, "the", at):
            return self._several(point, at, "the")
        if tie in ("in", "within") and self._ahead and (after := self._after(at + 1)):
            return [after[0]], after[1], at + 1
        place = at + bool(tie)
        if tie == "of" and phrases.word(at - 1) in (
            "most",
            "some",
            "all",
            "any",
            "one",
            "none",
            "half",
        ):
            tie = ""
        if tie in ("around", "near"):
            return None
        for begin in dict.fromkeys((place, phrases.skip(place, "the"))):
            point = phrases.point(begin)
            if point is None:
                continue
            if phrases.licensed(point, tie, begin):
                onward = tie == "from" and phrases.word(point.end) in ("on", "onward", "onwards")
                if onward:
                    return [self._since(point)], point.end + 1, at
                return self._several(point, begin, tie)
        return None

    def _several(self, point: Found, begin: int, tie: str) -> tuple[list[Span], int, int]:
        """A point and those that are coordinated with it: "in May and June 2021"."""
        points = [point]
        while self._phrases.word(points[-1].end) in _AND:
            at = points[-1].end + 1
            comma = self._phrases.word(at - 1) == ","
            at = self._phrases.skip(at, "and") if comma else at
            again = self._phrases.word(at) in _TIES
            at = self._phrases.skip(at + again, "the")
            more = self._phrases.point(at)
            if more is None or not self._phrases.licensed(
                more, self._phrases.word(at - 1) if again else tie, at
            ):
                break
            if comma and more.node.grain != point.node.grain:
                break
            points.append(more)
        anchor = next((p.node for p in reversed(points) if isinstance(p.node, Span)), None)
        spans = []
        for one in points:
            node = one.node
            yearless = isinstance(node, Floating) and anchor is not None and len(points) > 1
            spans.append(node.latest(anchor.start) if yearless and anchor else self._resolved(node))
            if one.also:
                spans.append(one.also)
        return spans, points[-1].end, begin

    def _resolved(self, node: Node) -> Span:
        """What a point means now: of what comes round the last one, or the next if the question
        looks ahead."""
        return node.first(self._phrases.today) if self._ahead else node.latest(self._now)

    def _range(self, at: int, tie: str) -> tuple[Span, int] | None:
        """ "between March and May", "from 3 to 5 May", "2020-2022"."""
        phrases = self._phrases
        at = phrases.skip(at, "the")
        first = phrases.point(at)
        bare = phrases.day_number(at)
        if bare and tie:
            whole = phrases.point(at)
            if whole and phrases.word(at + 1) in _TO and whole.end > at + 2:
                return self._resolved(whole.node), whole.end  # "from 3 to 5 May" is one piece
        if bare and tie and phrases.kind(at + 2) == "clock":  # "between 2 and 4 pm"
            first = phrases.clock(at, phrases.word(at) + phrases.word(at + 2).strip("0123456789: "))
        if first is None or phrases.word(first.end) not in _TO:
            return None
        link = phrases.word(first.end)
        if link == "and" and tie != "between":
            return None
        if not phrases.licensed(first, tie or "to", at):
            return None
        place = phrases.skip(first.end + 1, "the")
        second = phrases.point(place)
        if second is None and phrases.word(place) in ("now", "present") and tie:
            start = first.node.latest(self._now).start
            return Span(start, max(self._now, start) + timedelta(seconds=1), Grain.DAY), place + 1
        if second is None or not phrases.licensed(second, link, place):
            return None
        a, b = self._both(first.node, second.node)
        end = b.start if b.grain == Grain.HOUR else b.end
        return Span(a.start, end, a.grain), second.end

    def _both(self, first: Node, second: Node) -> tuple[Span, Span]:
        """The ends of a range; what comes round is the one nearest to the other end."""
        if isinstance(first, Floating):
            if isinstance(second, Span):
                return first.latest(second.start), second
            # "between noon and 2 pm on Monday"
            if isinstance(second, Floating) and second.cycle > first.cycle:
                end = self._resolved(second)
                return first.latest(end.start), end
            begin = self._resolved(first)
        else:
            begin = first
        return begin, second.first(begin.start)

    def _open(self, at: int, sense: str, tie: str) -> tuple[Span, int] | None:
        phrases = self._phrases
        for begin in dict.fromkeys((at, phrases.skip(at, "the"))):
            point = phrases.point(begin)
            if point is not None and phrases.licensed(point, tie, begin):
                break
        else:
            return None
        span = self._resolved(point.node)
        if sense == "since":
            return self._since(point), point.end
        if sense == "after":
            end = LATEST if self._ahead else max(self._now, span.end) + timedelta(seconds=1)
            return Span(span.end, end, span.grain), point.end
        return Span(EARLIEST, span.end if sense == "by" else span.start, span.grain), point.end

    def _since(self, point: Found) -> Span:
        span = point.node.latest(self._now)
        return Span(span.start, max(self._now, span.start) + timedelta(seconds=1), span.grain)

    def _around(self, at: int, tie: str) -> tuple[list[Span], int, int] | None:
        place = self._phrases.skip(at + 1, "the")
        point = self._phrases.point(place)
        if point is None or not self._phrases.licensed(point, "around", place):
            return None
        return [around(self._resolved(point.node))], point.end, at

    def _after(self, at: int) -> tuple[Span, int] | None:
        """ "in two weeks", of what is to come."""
        counted = self._phrases.number(at)
        if counted is None:
            return None
        (_, count), place = counted
        grain = self._phrases.unit(place)
        if grain is None or grain < Grain.DAY:
            return None
        start = step(self._phrases.today, grain, count)
        return Span(start, step(start, grain, 1), grain), place + 1
