"""The pieces of time phrases: dates, years, clocks, months, weekdays, seasons, holidays, …"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import ClassVar

from . import words
from .calendar import Floating, Grain, Span, floor, step, stretch, unit
from .tokens import Point, Token, TokenReader, dates, full_year

_CLOCK_WORDS = ("noon", "midday", "midnight", "lunchtime", "dawn", "dusk")
_CURRENCIES = ("%", "€", "$", "£", "+")


class Pieces(TokenReader):
    """Reads the pieces of time phrases.

    Args:
        now: the time of the question, local and naive.
        local: makes an aware time such a one.
        cased: whether capitals tell something in this question.
    """

    def __init__(
        self,
        tokens: Sequence[Token],
        now: datetime,
        local: Callable[[datetime], datetime],
        cased: bool,
    ) -> None:
        super().__init__(tokens, cased)
        self.now = now
        self.today = floor(now, Grain.DAY)
        self._local = local

    def unit(self, at: int) -> Grain | None:
        """The unit that a word names: "weeks"."""
        if self.kind(at) != "word":
            return None
        word = self.word(at)
        if word == "centuries":
            return Grain.CENTURY
        return words.UNITS.get(word) or words.UNITS.get(word.removesuffix("s"))

    def number(self, at: int) -> tuple[tuple[int, int], int] | None:
        """A count as the least and the most it means, and the token behind: "a few" is 2 to 5."""
        if self.kind(at) == "number" and len(self.word(at)) <= 3:
            count = int(self.word(at))
            return ((count, count), at + 1) if count else None
        if self.kind(at) != "word":
            return None
        vague = self.skip(at, "a")
        if self.word(vague) in words.VAGUE:
            return words.VAGUE[self.word(vague)], self.skip(vague + 1, "of")
        count = words.NUMBERS.get(self.word(at), 0)
        if not count:
            return None
        if 20 <= count < 100 and count % 10 == 0:
            ones = self.skip(at + 1, "-")
            more = words.NUMBERS.get(self.word(ones), 0)
            if 0 < more < 10 and self.word(ones) not in ("a", "an"):
                return (count + more, count + more), ones + 1
        return (count, count), at + 1

    def day_number(self, at: int) -> int:
        """A day of a month; 0: it is not one."""
        if self.kind(at) not in ("number", "ordinal") or len(self.word(at)) > 4:
            return 0
        day = int(self.word(at).rstrip("stndrh"))
        return day if 1 <= day <= 31 else 0

    def year(self, at: int) -> Point | None:
        """ "2021", "2021-22", "'21"; not "2021 copies", not "$2021"."""
        text = self.word(at)
        if self.kind(at) == "short":
            return Point(_year(full_year(int(text[1:]))), at + 1, "year")
        if self.kind(at) != "number" or len(text) != 4 or not 1500 <= int(text) <= 2099:
            return None
        if self.word(at + 1) in words.COUNTED or self.word(at + 1) in _CURRENCIES:
            return None
        if self.word(at - 1) in ("$", "€", "£", "#") and self.joined(at):
            return None
        first = int(text)
        if self._second_year(at + 1) == (first + 1) % 100:
            return Point(stretch(datetime(first, 1, 1), Grain.YEAR, 2), at + 3, "year")
        return Point(_year(first), at + 1, "year")

    def _second_year(self, at: int) -> int | None:
        """The "-22" of "2021-22"."""
        if self.word(at) not in ("-", "–") or self.kind(at + 1) != "number":
            return None
        if not (self.joined(at) and self.joined(at + 1)):
            return None
        text = self.word(at + 1)
        return int(text) if len(text) == 2 else None

    def iso(self, at: int) -> Point | None:
        """ "2021-05", "2021-05-03", "2021-05-03 17:30"."""
        text = self.word(at).upper()
        day = text.partition("T")[0].partition(" ")[0]
        clock = text[len(day) :]
        parts = [int(part) for part in day.split("-")]
        try:
            start = datetime(parts[0], parts[1], parts[2] if len(parts) > 2 else 1)
            if clock:
                padded = "-".join(f"{part:02}" for part in parts)
                moment = datetime.fromisoformat(padded + clock)
                start = self._local(moment) if moment.tzinfo else moment
                return Point(unit(start, Grain.MINUTE), at + 1)
        except ValueError:
            return None
        return Point(unit(start, Grain.DAY if len(parts) > 2 else Grain.MONTH), at + 1)

    def numeric(self, at: int) -> Point | None:
        """ "5/3/2021", which may be two days; "5.3.2021"."""
        days = dates(self.word(at))
        if not days:
            return None
        also = unit(days[1], Grain.DAY) if len(days) > 1 else None
        return Point(unit(days[0], Grain.DAY), at + 1, also=also)

    def clock(self, at: int, text: str = "") -> Point | None:
        """The hour that a token tells, or a text in place of it: "5 pm", "17:30"."""
        text = text or self.word(at)
        hours, _, minutes = text.rstrip("apm. ").partition(":")
        hour, minute = int(hours), int(minutes or 0)
        if "m" in text:
            if not 1 <= hour <= 12:
                return None
            hour = hour % 12 + (12 if "p" in text else 0)
        if hour > 23 or minute > 59:
            return None
        begin = timedelta(hours=hour, minutes=minute)

        def make(day: datetime) -> Span:
            return Span(day + begin, day + begin + timedelta(hours=1), Grain.HOUR)

        return Point(Floating(Grain.HOUR, Grain.DAY, make), at + 1, "clock")

    def quarter(self, at: int) -> Point | None:
        """ "Q3", "H1"."""
        name, number = self.word(at)[0], int(self.word(at)[1])
        if name == "h":
            return Point(_year_part(number, Grain.HALF), at + 1, "never") if number <= 2 else None
        end = at + 1
        # "Q3/2021"
        if self.word(end) in ("/", "-") and self.joined(end) and self.year(end + 1):
            end += 1
        return Point(_year_part(number, Grain.QUARTER), end, "quarter")

    def decade(self, at: int) -> Point | None:
        """ "1990s", "'90s", "nineties"; those without a century are times only with more."""
        text = self.word(at)
        if self.kind(at) == "decade":
            digits = text.strip("'’s")
            first = int(digits)
            if len(digits) == 4:
                if not 1500 <= first <= 2099 or first % 10:
                    return None
                kind = ""
            else:
                first += 1900 if first > 20 else 2000
                kind = "never"
        elif text in words.DECADES:
            first = 1900 + words.DECADES[text]
            kind = "never"
        else:
            return None
        return Point(stretch(datetime(first, 1, 1), Grain.DECADE), at + 1, kind)

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
            yield Point(weekday(number), self._behind_abbreviation(at), kind)

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
        "iso": iso,
        "numeric": numeric,
        "clock": clock,
        "quarter": quarter,
        "decade": decade,
        "short": year,
        "ordinal": monthday,
        "number": _day_or_year,
    }


def _year(year: int) -> Span:
    return unit(datetime(year, 1, 1), Grain.YEAR)


def _year_part(number: int, grain: Grain) -> Floating:
    return Floating(grain, Grain.YEAR, lambda year: unit(step(year, grain, number - 1), grain))


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


def weekday(number: int) -> Floating:
    """The Monday (0), Tuesday, … of a week."""
    return Floating(
        Grain.DAY, Grain.WEEK, lambda monday: stretch(step(monday, Grain.DAY, number), Grain.DAY)
    )


def _monthday(day: int) -> Floating:
    def make(month: datetime) -> Span | None:
        start = step(month, Grain.DAY, day - 1)
        return stretch(start, Grain.DAY) if start.month == month.month else None

    return Floating(Grain.DAY, Grain.MONTH, make)
