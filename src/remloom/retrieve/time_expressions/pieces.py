"""Single words of time: months and their days, weekdays, seasons, holidays, parts of the day."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import ClassVar

from . import words
from .calendar import Floating, Grain, Span, step, stretch
from .numerals import Numerals
from .tokens import Point

_CLOCK_WORDS = ("noon", "midday", "midnight", "lunchtime", "dawn", "dusk")


class Pieces(Numerals):
    """Reads the pieces of time phrases."""

    def floating(self, at: int) -> Iterator[Point]:
        """What comes round again: months, weekdays, seasons, holidays, parts and days of months."""
        word = self.word(at)
        capital = self.capital(at) or not self._cased
        if word in words.MONTHS and (len(word) > 3 or word == "may" or capital):
            yield from self._month(at, capital)
        yield from self._weekday(at, capital)
        yield from self._season(at, capital)
        yield from self._holiday(at)
        if word in words.DAYPARTS and not (self._cased and capital and at):
            kind = "clock" if word in _CLOCK_WORDS else "never"
            yield Point(self.daypart(word), at + 1, kind)
        day, _ = self._ordinal_word(at)
        if day:
            point = self.monthday(at)
            if point:
                yield point

    def _weekday(self, at: int, capital: bool) -> Iterator[Point]:
        number = words.WEEKDAYS.get(self.word(at))
        if number is None and capital:
            number = words.SHORT_WEEKDAYS.get(self.word(at))
        if number is not None and not self.names_follow(at):
            kind = "" if self.owns(at) else "weekday"
            yield Point(_weekday(number), self._behind_abbreviation(at), kind)

    def _season(self, at: int, capital: bool) -> Iterator[Point]:
        word = self.word(at)
        if word not in words.SEASONS or (capital and self.names_follow(at)):
            return
        # "the fall of Rome", but "the fall of last year"
        of_a_word = self.word(at + 1) == "of" and self.kind(at + 2) == "word"
        if word in ("fall", "spring") and of_a_word and not self._is_relative(at + 2):
            return
        yield Point(_season(words.SEASONS[word]), at + 1, "season")

    def _is_relative(self, at: int) -> bool:
        at = self.skip(at, "the")
        word = self.word(at)
        return word in words.RELATIVE or word == "that" or self.kind(at) == "number"

    def _holiday(self, at: int) -> Iterator[Point]:
        for size in (3, 2, 1):
            name = tuple(self.word(at + number) for number in range(size))
            if name in words.HOLIDAYS and not self.names_follow(at + size - 1):
                yield Point(words.HOLIDAYS[name], at + size, "holiday")
                break

    def _month(self, at: int, capital: bool) -> Iterator[Point]:
        word = self.word(at)
        month = words.MONTHS[word]
        is_verb = word in words.VERBS and not capital
        end = self._behind_abbreviation(at)
        day_at = self.skip(end, "the")
        day = self.day_number(day_at)
        day_before = self.day_number(at - 2 if self.word(at - 1) == "of" else at - 1)
        # "February 30", "31 February", "the 31st of June"
        if not _exists(month, day) or not _exists(month, day_before):
            return
        if day and self.unit(day_at + 1) is None and not self.owns(at):
            last, days_end = self._last_day(day_at + 1, day)
            node = words.floating_day(month, day, last - day + 1)
            yield Point(node, days_end, "date" if is_verb else "")
        kind = "lower" if is_verb else "month"
        if word in words.NAMESAKES:
            if self.names_follow(at):
                kind = "never" if self.owns(at) or self.owns(at + 1) else "namesake"
            elif self.owns(at):
                kind = "never"
        yield Point(_month(month), end, kind)

    def monthday(self, at: int) -> Point | None:
        """ "5 May", "the 5th of May", "3 to 5 May", and "the 5th"."""
        day, after = self.day_number(at), at + 1
        if not day:
            day, after = self._ordinal_word(at)
        if not day:
            return None
        last, days_end = self._last_day(after, day)
        month_at = self.skip(days_end, "of")
        month = words.MONTHS.get(self.word(month_at))
        if month:
            if not _exists(month, last):
                return None
            lower = self._cased and not self.capital(month_at)
            is_verb = self.word(month_at) in words.VERBS and lower
            kind = "date" if is_verb and self.kind(at) == "number" else ""
            node = words.floating_day(month, day, last - day + 1)
            return Point(node, self._behind_abbreviation(month_at), kind)
        if self.kind(at) != "ordinal" or not self._ends_day(after, month_at):
            return None
        return Point(_monthday(day), after, "monthday")

    def _ends_day(self, after: int, behind_of: int) -> bool:
        """Whether a day of a month ends there: "on the 5th", not "on the 5th floor"."""
        word = self.word(after)
        if self.kind(after) != "word":
            return True
        if word == "of":
            return self.word(behind_of) in words.RELATIVE
        return word in words.STOP

    def _ordinal_word(self, at: int) -> tuple[int, int]:
        """A day in words ("twenty-first"; 0: it is not one), and the token behind it."""
        if self.kind(at) != "word":
            return 0, at
        tens = {"twenty": 20, "thirty": 30}.get(self.word(at), 0)
        ones_at = self.skip(at + 1, "-") if tens else at
        ones = words.ORDINALS.get(self.word(ones_at), 0)
        if not ones or (tens and ones >= 10) or tens + ones > 31:
            return 0, at
        return tens + ones, ones_at + 1

    def _last_day(self, at: int, first: int) -> tuple[int, int]:
        """The day that ends a stretch ("3 to 5", "3-5"), else the first; the token behind it."""
        if self.word(at) not in ("to", "until", "till", "through", "and", "-", "–"):
            return first, at
        day_at = self.skip(at + 1, "the")
        day = self.day_number(day_at)
        # "3 to 5 weeks", "3 to 5 pm"
        counts = self.unit(day_at + 1) is not None
        is_hour = self.kind(day_at) == "number" and self.kind(day_at + 1) == "clock"
        if day <= first or counts or is_hour:
            return first, at
        return day, day_at + 1

    def _behind_abbreviation(self, at: int) -> int:
        """The token behind a word, and behind the full stop of an abbreviation."""
        word = self.word(at)
        is_short = len(word) <= 4 and word not in ("may", "june", "july")
        has_stop = self.word(at + 1) == "." and self.joined(at + 1)
        # a full stop at the end is that of the sentence
        if is_short and has_stop and at + 2 < len(self._tokens):
            return at + 2
        return at + 1

    def daypart(self, name: str) -> Floating:
        begin, end = words.DAYPARTS[name]

        def make(day: datetime) -> Span:
            return Span(day + timedelta(hours=begin), day + timedelta(hours=end), Grain.PART)

        return Floating(Grain.PART, Grain.DAY, make)

    def _day_or_year(self, at: int) -> Point | None:
        return self.monthday(at) or self.year(at)

    # by kind of token
    READERS: ClassVar[dict[str, Callable[[Pieces, int], Point | None]]] = {
        "iso": Numerals.iso,
        "numeric": Numerals.numeric,
        "clock": Numerals.clock,
        "quarter": Numerals.quarter,
        "decade": Numerals.decade,
        "short": Numerals.year,
        "ordinal": monthday,
        "number": _day_or_year,
    }


def _exists(month: int, day: int) -> bool:
    """Whether a month ever has this day."""
    if month == 2:
        return day <= 29
    return day <= (30 if month in (4, 6, 9, 11) else 31)


def _month(month: int) -> Floating:
    return Floating(
        Grain.MONTH, Grain.YEAR, lambda year: stretch(year.replace(month=month), Grain.MONTH)
    )


def _season(month: int) -> Floating:
    return Floating(
        Grain.SEASON, Grain.YEAR, lambda year: stretch(year.replace(month=month), Grain.SEASON)
    )


def _weekday(number: int) -> Floating:
    return Floating(
        Grain.DAY, Grain.WEEK, lambda monday: stretch(step(monday, Grain.DAY, number), Grain.DAY)
    )


def _monthday(day: int) -> Floating:
    def make(month: datetime) -> Span | None:
        start = step(month, Grain.DAY, day - 1)
        return stretch(start, Grain.DAY) if start.month == month.month else None

    return Floating(Grain.DAY, Grain.MONTH, make)
