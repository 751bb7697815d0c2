"""Times written in numbers: years, dates, clocks, quarters, decades, and counts of units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from . import words
from .calendar import Floating, Grain, Span, floor, step, stretch, unit
from .tokens import Point, Token, TokenReader, dates, full_year

_CURRENCIES = ("%", "€", "$", "£", "+")


class Numerals(TokenReader):
    """Reads times written in numbers.

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


def _year(year: int) -> Span:
    return unit(datetime(year, 1, 1), Grain.YEAR)


def _year_part(number: int, grain: Grain) -> Floating:
    return Floating(grain, Grain.YEAR, lambda year: unit(step(year, grain, number - 1), grain))
