"""When a question is about: time expressions found first, and only those parsed.

English. "last week", "in March 2021", "since 5 May", "between June and August 2022", "two weeks ago", "last summer".
Relative ones count from the question's own time; a month or day without a year is the latest past one.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from msgspec import Struct

from ..errors import InvalidInputError
from ..predicates import And, Gte, Lt, Predicate
from .pool import Pool
from .question import terms

__all__ = ["Window", "find_window"]

_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # first month, northern
_NUMBERS = {
    word: number
    for number, words in enumerate(("", "a an one", "two couple", "three few", "four", "five several", "six", "seven"))
    for word in words.split()
} | {"eight": 8, "nine": 9, "ten": 10}
_MONTH = rf"(?:{'|'.join(f'{m[:3]}(?:{m[3:]})?' if m[3:] else m for m in _MONTHS)}|sept)\.?"
_COUNT = rf"(?:\d{{1,3}}|(?:a )?(?:{'|'.join(_NUMBERS)})(?: of)?)"
_YEAR = r"(?:1[5-9]\d\d|20\d\d)"
_ONE = re.compile(
    rf"""(?P<iso>{_YEAR}-\d\d?-\d\d?)
    |(?P<day>(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?:\ of)?\ {_MONTH}(?:,?\ {_YEAR})?
        |{_MONTH}\ \d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\ {_YEAR})?)
    |(?P<near>today|yesterday|tomorrow)
    |(?P<ago>{_COUNT}\ (?P<ago_unit>day|week|month|year)s?\ ago)
    |(?:the\ )?(?:last|past|previous)\ (?P<span>{_COUNT}\ (?P<span_unit>day|week|month|year)s?)
    |(?:the\ |this\ )?(?P<which>last|past|previous|this|next)[ ]
        (?P<unit>week(?:end)?|month|year|{"|".join(_SEASONS)}|{"|".join(_DAYS)}|{_MONTH}(?=\W|$))
    |(?P<season>{"|".join(_SEASONS)})(?:\ of)?\ (?P<season_year>{_YEAR})
    |(?:(?P<part>early|mid|late)[ -])?(?P<month>{_MONTH})(?:,?\ (?:of\ )?(?P<month_year>{_YEAR}))?
    |(?P<year>{_YEAR})""",
    re.IGNORECASE | re.VERBOSE,
)
_TIED = re.compile(
    r"(?P<tie>in|on|at|during|since|after|before|until|till|by|from|between|around|over|within|of)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_TO = re.compile(r"\s*(?:to|and|until|till|-|–)\s*(?:the\s+)?$", re.IGNORECASE)
_OPEN = {"since": 1, "after": 1, "from": 1, "before": -1, "until": -1, "till": -1, "by": -1}
_BARE = """
    happen occur discuss talk go new thing anything something everything event summary summarise summarize timeline list
    tell say said show remember
"""  # words that ask for nothing in particular
_AFTERMATH = timedelta(days=7)  # in which it is still spoken of what happened


class Window(Struct, frozen=True):
    """A stretch of time that a question names."""

    start: datetime
    end: datetime  # not in it
    expression: str  # as the question has it
    rest: str  # the question without it
    alone: bool  # nothing else is asked

    @property
    def span(self) -> tuple[datetime, datetime]:
        return self.start, self.end

    def __str__(self) -> str:
        last = self.end - timedelta(seconds=1)
        return f"{self.start.date().isoformat()} to {last.date().isoformat()} ({self.expression})"

    def predicate(self, where: Predicate | None) -> Predicate:
        """The filter that only lets through what began in the window, and what `where` does."""
        inside = (Gte("starts_at", self.start), Lt("starts_at", self.end))
        return And((*inside, where) if where is not None else inside)

    def weigh(self, pool: Pool, weight: float) -> None:
        """Raise what is of the window, and half as much what was said in the week after it."""
        for candidate in pool.candidates.values():
            at = getattr(candidate.record, "starts_at", None)
            if at is None:
                continue
            if self.start <= at < self.end:
                pool.weigh(candidate, "time", weight, note=f"in the time of {self.expression!r}")
            elif self.end <= at < self.end + _AFTERMATH:
                pool.weigh(candidate, "time", weight / 2, note=f"soon after {self.expression!r}")


def find_window(question: str, now: datetime | None) -> Window | None:
    """The time that a question names; None when it names none that is understood.

    >>> window = find_window("What did we decide last week?", datetime(2024, 5, 15, 12, tzinfo=UTC))
    >>> window.start.date(), window.end.date(), window.rest, window.alone
    (datetime.date(2024, 5, 6), datetime.date(2024, 5, 13), 'What did we decide?', False)

    Raises:
        InvalidInputError: it ends before it starts.
    """
    now = now or datetime.now(UTC)
    found = [match for match in _ONE.finditer(question) if _stands_alone(question, match)]
    spans = [(match, span) for match in found if (span := _span(match, now, tied=bool(_tie(question, match))))]
    if not spans:
        return None
    first, (start, end) = spans[0]
    last = first
    tie = _tie(question, first)
    for (a, _), (b, later) in pairwise(spans):
        if a is first and tie in ("between", "from") and _TO.fullmatch(question[a.end() : b.start()]):
            last, end, tie = b, later[1], ""
    if tie in _OPEN:
        edge = end if tie == "after" else start
        start, end = (edge, max(now, edge) + timedelta(seconds=1)) if _OPEN[tie] > 0 else (_EARLIEST, start)
    expression = question[first.start() : last.end()]
    if end <= start:
        raise InvalidInputError(
            f"the time of {expression!r} ends {end.date()}, before it starts {start.date()}",
            remedy="name the earlier time first",
        )
    tied = _TIED.search(question[: first.start()])
    before, after = question[: tied.start() if tied else first.start()].rstrip(), question[last.end() :].lstrip()
    rest = " ".join(f"{before} {after}".split()).replace(" ?", "?").strip(" ,")
    return Window(start, end, expression, rest, not terms(rest) - terms(_BARE))


_EARLIEST = datetime(1, 1, 2, tzinfo=UTC)


def _tie(question: str, match: re.Match[str]) -> str:
    tied = _TIED.search(question[: match.start()])
    return tied["tie"].lower() if tied else ""


def _stands_alone(question: str, match: re.Match[str]) -> bool:
    around = question[match.start() - 1 : match.start()] + question[match.end() : match.end() + 1]
    return not any(char.isalnum() for char in around)


def _span(match: re.Match[str], now: datetime, *, tied: bool) -> tuple[datetime, datetime] | None:
    """From and until; None for what only looks like a time."""
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    got = match.groupdict()
    if got["iso"] or got["day"]:
        return _day(match[0], now)
    if got["near"]:
        return _days(today + timedelta({"yesterday": -1, "today": 0, "tomorrow": 1}[got["near"].lower()]))
    if got["ago"]:
        return _unit(_back(today, _count(got["ago"]), got["ago_unit"].lower()), got["ago_unit"].lower())
    if got["span"]:
        return _back(today, _count(got["span"]), got["span_unit"].lower()), today + timedelta(days=1)
    if got["which"]:
        return _which(got["which"].lower(), got["unit"].lower(), today)
    if got["season"]:
        return _season(got["season"].lower(), int(got["season_year"]), today)
    if got["month"]:
        if not got["month_year"] and not tied and not got["part"]:
            return None  # "may", "march": mostly no month
        month = _month_number(got["month"])
        year = int(got["month_year"]) if got["month_year"] else today.year - (month > today.month)
        start, end = _unit(today.replace(year=year, month=month, day=1), "month")
        match (got["part"] or "").lower():
            case "early":
                end = start + timedelta(days=10)
            case "mid":
                start, end = start + timedelta(days=10), start + timedelta(days=20)
            case "late":
                start += timedelta(days=20)
        return start, end
    return _unit(today.replace(year=int(got["year"])), "year") if tied else None


def _day(text: str, now: datetime) -> tuple[datetime, datetime] | None:
    import dateparser

    settings: Any = {"RELATIVE_BASE": now.replace(tzinfo=None), "PREFER_DATES_FROM": "past"}
    found = dateparser.parse(text.lower().removeprefix("the "), languages=["en"], settings=settings)
    return _days(found.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=now.tzinfo)) if found else None


def _days(start: datetime, count: int = 1) -> tuple[datetime, datetime]:
    return start, start + timedelta(days=count)


def _count(text: str) -> int:
    words = text.lower().replace(" of", "").split()[:-1]
    number = next((word for word in words if word not in ("a", "an")), words[0])
    return int(number) if number.isdigit() else _NUMBERS.get(number, 1)


def _back(today: datetime, count: int, unit: str) -> datetime:
    if unit in ("day", "week"):
        return today - timedelta(days=count * (7 if unit == "week" else 1))
    months = today.year * 12 + today.month - 1 - count * (12 if unit == "year" else 1)
    if months < 24:
        return _EARLIEST.replace(tzinfo=today.tzinfo)
    return today.replace(year=months // 12, month=months % 12 + 1, day=min(today.day, 28))


def _unit(at: datetime, unit: str) -> tuple[datetime, datetime]:
    """The day, week, month or year that a time is in."""
    match unit:
        case "day":
            return _days(at)
        case "week":
            return _days(at - timedelta(days=at.weekday()), 7)
        case "month":
            start = at.replace(day=1)
            return start, (start + timedelta(days=32)).replace(day=1)
    start = at.replace(month=1, day=1)
    return start, start.replace(year=start.year + 1)


def _which(which: str, unit: str, today: datetime) -> tuple[datetime, datetime]:
    step = {"this": 0, "next": 1}.get(which, -1)
    if unit in ("week", "weekend"):
        start, end = _unit(today + timedelta(weeks=step), "week")
        return (start + timedelta(days=5), end) if unit == "weekend" else (start, end)
    if unit == "month":
        return _unit(today.replace(day=1) + timedelta(days=32 * step if step > 0 else step), "month")
    if unit == "year":
        return _unit(today.replace(year=today.year + step, day=1), "year")
    if unit in _DAYS:
        ahead = (_DAYS.index(unit) - today.weekday()) % 7
        return _days(today + timedelta(days=ahead if step >= 0 else ahead - 7))
    if unit in _SEASONS:
        start, end = _season(unit, today.year + max(step, 0), today)
        return (start, end) if step >= 0 or end <= today else _season(unit, today.year - 1, today)
    month = _month_number(unit)
    passed = month <= today.month if step > 0 else month >= today.month
    year = today.year + step * passed
    return _unit(today.replace(year=year, month=month, day=1), "month")


def _season(name: str, year: int, today: datetime) -> tuple[datetime, datetime]:
    start = today.replace(year=year, month=_SEASONS[name], day=1)
    return start, (start + timedelta(days=93)).replace(day=1)


def _month_number(name: str) -> int:
    return next(number for number, month in enumerate(_MONTHS, 1) if month.startswith(name.lower()[:3]))
