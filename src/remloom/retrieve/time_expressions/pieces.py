"""The single words and numbers of time: years, dates, clocks, months, weekdays, seasons, holidays,
counts of units."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import ClassVar, NamedTuple

from . import words
from .calendar import Floating, Grain, Node, Span, floor, step, unit
from .tokens import Token, dates

__all__ = ["Found", "Pieces"]


class Found(NamedTuple):
    """A point in time that was read."""

    node: Node
    end: int  # the first token that is not of it
    kind: str = ""  # of `TIES`, what must stand before it; "": nothing
    also: Span | None = None  # what it may as well mean: day and month of 5/3/2021


class Pieces:
    """Reads the pieces of time phrases in the tokens of one question.

    Args:
        now: of whoever asks, local and naive.
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
        self._tokens = tokens
        self.now = now
        self.today = floor(now, Grain.DAY)
        self._local = local
        self._cased = cased  # capitals tell something in this question
        self._points: dict[int, Found | None] = {}
        self._depth = 0

    # -- tokens ------------------------------------------------------------------------------------

    def word(self, at: int) -> str:
        return self._tokens[at].text if 0 <= at < len(self._tokens) else ""

    def kind(self, at: int) -> str:
        return self._tokens[at].kind if 0 <= at < len(self._tokens) else ""

    def capital(self, at: int) -> bool:
        return 0 <= at < len(self._tokens) and self._tokens[at].capital

    def skip(self, at: int, *given: str) -> int:
        """The place behind these words, each of which may be missing."""
        for text in given:
            at += self.word(at) == text
        return at

    def joined(self, at: int) -> bool:
        """Whether nothing stands between the token before and this one."""
        return 0 < at < len(self._tokens) and self._tokens[at - 1].end == self._tokens[at].start

    # -- what comes round --------------------------------------------------------------------------

    def floating(self, at: int) -> Iterator[Found]:
        """Months, weekdays, seasons, holidays, parts of the day; the days of months."""
        word, capital = self.word(at), self.capital(at) or not self._cased
        if word in words.MONTHS and (len(word) > 3 or word == "may" or capital):
            yield from self._month(at, capital)
        number = words.WEEKDAYS.get(word)
        if number is None and capital:
            number = words.SHORT_WEEKDAYS.get(word)
        if number is not None and not self.names_follow(at):
            yield Found(
                _weekday(number), self._dotted(at), "" if self._tokens[at].owns else "weekday"
            )
        if word in words.SEASONS and not (capital and self.names_follow(at)):
            falls = (
                word in ("fall", "spring")
                and self.word(at + 1) == "of"
                and self.kind(at + 2) == "word"
            )
            if not falls or self._relative_year(at + 2):
                yield Found(_season(words.SEASONS[word]), at + 1, "season")
        for size in (3, 2, 1):
            name = tuple(self.word(at + n) for n in range(size))
            if name in words.HOLIDAYS and not self.names_follow(at + size - 1):
                yield Found(words.HOLIDAYS[name], at + size, "holiday")
                break
        if word in words.DAYPARTS and not (self._cased and capital and at):
            noon = word in ("noon", "midday", "midnight", "lunchtime", "dawn", "dusk")
            yield Found(self.daypart(word), at + 1, "clock" if noon else "never")
        if self._ordinal_word(at)[0] and (found := self.monthday(at)):
            yield found

    def _relative_year(self, at: int) -> bool:
        at = self.skip(at, "the")
        return (
            self.word(at) in words.RELATIVE or self.kind(at) == "number" or self.word(at) == "that"
        )

    def names_follow(self, at: int) -> bool:
        """Whether a capitalised word that is no time follows: "May Chen", "Monday Night Football",
        "Spring Boot"."""
        after = at + 1
        if not self._cased or self.kind(after) != "word" or not self.capital(after):
            return False
        text = self.word(after)
        return text not in words.MONTHS and text not in words.WEEKDAYS and text != "i"

    def _month(self, at: int, capital: bool) -> Iterator[Found]:
        month, word = words.MONTHS[self.word(at)], self.word(at)
        verb = word in words.VERBS and not capital
        end = self._dotted(at)
        day_at = self.skip(end, "the")
        day = self.day_number(day_at)
        if not _exists(month, day) or not _exists(
            month, self.day_number(at - 1 - (self.word(at - 1) == "of"))
        ):
            # "February 30", "31 February", "the 31st of June"
            return
        if day and self.unit(day_at + 1) is None and not self._tokens[at].owns:
            last = self._day_after(day_at + 1, day)
            days = last[0] - day + 1 if last else 1
            yield Found(
                words.floating_day(month, day, days),
                last[1] if last else day_at + 1,
                "date" if verb else "",
            )
        kind = "lower" if verb else "month"
        if word in words.NAMESAKES and self.names_follow(at):
            kind = "never" if self._tokens[at].owns or self._tokens[at + 1].owns else "namesake"
        elif self._tokens[at].owns and word in words.NAMESAKES:
            kind = "never"
        yield Found(_month(month), end, kind)

    def monthday(self, at: int) -> Found | None:
        """ "5 May", "the 5th of May", "3 to 5 May", and "the 5th"."""
        day, after = self.day_number(at), at + 1
        if not day:
            day, after = self._ordinal_word(at)
        if not day:
            return None
        last = self._day_after(after, day)
        end = self.skip(last[1] if last else after, "of")
        month = words.MONTHS.get(self.word(end))
        if month and not _exists(month, last[0] if last else day):
            return None
        if month:
            verb = self.word(end) in words.VERBS and self._cased and not self.capital(end)
            days = last[0] - day + 1 if last else 1
            kind = "date" if verb and self.kind(at) == "number" else ""
            return Found(words.floating_day(month, day, days), self._dotted(end), kind)
        follows = self.word(after)  # "on the 5th", not "on the 5th floor"
        ends = self.kind(after) != "word" or (
            follows in words.STOP and (follows != "of" or self.word(end) in words.RELATIVE)
        )
        return (
            Found(_monthday(day), after, "monthday")
            if self.kind(at) == "ordinal" and ends
            else None
        )

    def _ordinal_word(self, at: int) -> tuple[int, int]:
        """A day of a month in words ("twenty-first"; 0 for what is none), and the place behind it."""
        if self.kind(at) != "word":
            return 0, at
        tens = {"twenty": 20, "thirty": 30}.get(self.word(at), 0)
        place = self.skip(at + 1, "-") if tens else at
        day = words.ORDINALS.get(self.word(place), 0)
        return (
            (tens + day, place + 1)
            if day and (not tens or day < 10) and tens + day <= 31
            else (0, at)
        )

    def day_number(self, at: int) -> int:
        """A day of a month; 0 for what is none."""
        if self.kind(at) not in ("number", "ordinal") or len(self.word(at)) > 4:
            return 0
        day = int(self.word(at).rstrip("stndrh"))
        return day if 1 <= day <= 31 else 0

    def _day_after(self, at: int, first: int) -> tuple[int, int] | None:
        """The day that ends a stretch ("3 to 5", "3-5"), and the place behind it."""
        if self.word(at) in ("to", "until", "till", "through", "and", "-", "–"):
            at = self.skip(at + 1, "the")
            day = self.day_number(at)
            if (
                day > first
                and self.unit(at + 1) is None
                and not (self.kind(at) == "number" and self._clock_after(at))
            ):
                return day, at + 1
        return None

    def _clock_after(self, at: int) -> bool:
        return self.kind(at + 1) == "clock"

    def _dotted(self, at: int) -> int:
        """The place behind an abbreviation and its full stop."""
        short = len(self.word(at)) <= 4 and self.word(at) not in ("may", "june", "july")
        return (
            at + 2
            if short
            and self.word(at + 1) == "."
            and self.joined(at + 1)
            and at + 2 < len(self._tokens)
            else at + 1
        )

    def daypart(self, name: str) -> Floating:
        begin, end = words.DAYPARTS[name]

        def make(day: datetime) -> Span:
            return Span(day + timedelta(hours=begin), day + timedelta(hours=end), Grain.PART)

        return Floating(Grain.PART, Grain.DAY, make)

    # -- written in numbers ------------------------------------------------------------------------

    def unit(self, at: int) -> Grain | None:
        if self.kind(at) != "word":
            return None
        word = self.word(at)
        return words.UNITS.get(word) or words.UNITS.get(
            {"centuries": "century"}.get(word, word.removesuffix("s"))
        )

    def number(self, at: int) -> tuple[tuple[int, int], int] | None:
        """A count as the least and the most it means, and the place behind it: "a few" is 2 to 5."""
        if self.kind(at) == "number" and len(self.word(at)) <= 3:
            count = int(self.word(at))
            return ((count, count), at + 1) if count else None
        if self.kind(at) != "word":
            return None
        place = self.skip(at, "a")
        if self.word(place) in words.VAGUE:
            return words.VAGUE[self.word(place)], self.skip(place + 1, "of")
        count = words.NUMBERS.get(self.word(at), 0)
        if not count:
            return None
        if 20 <= count < 100 and count % 10 == 0:
            ones = self.skip(at + 1, "-")
            more = words.NUMBERS.get(self.word(ones), 0)
            if 0 < more < 10 and self.word(ones) not in ("a", "an"):
                return (count + more, count + more), ones + 1
        return (count, count), at + 1

    def _numeral(self, at: int) -> Found | None:
        return self.monthday(at) or self.year(at)

    def year(self, at: int) -> Found | None:
        text = self.word(at)
        if self.kind(at) == "short":
            year = int(text[1:])
            return Found(_year(1900 + year if year > 50 else 2000 + year), at + 1, "year")
        if self.kind(at) != "number" or len(text) != 4 or not 1500 <= int(text) <= 2099:
            return None
        if self.word(at + 1) in words.COUNTED or self.word(at + 1) in ("%", "€", "$", "£", "+"):
            return None
        if self.word(at - 1) in ("$", "€", "£", "#") and self.joined(at):
            return None
        if (
            self.word(at + 1) in ("-", "–")
            and self.kind(at + 2) == "number"
            and self.joined(at + 1)
            and self.joined(at + 2)
        ):
            last = self.word(at + 2)
            if len(last) == 2 and int(last) == (int(text) + 1) % 100:  # "2021-22"
                start = datetime(int(text), 1, 1)
                return Found(Span(start, step(start, Grain.YEAR, 2), Grain.YEAR), at + 3, "year")
        return Found(_year(int(text)), at + 1, "year")

    def _iso(self, at: int) -> Found | None:
        text = self.word(at).upper()
        day = text.partition("T")[0].partition(" ")[0]
        parts = [int(part) for part in day.split("-")]
        try:
            start = datetime(parts[0], parts[1], parts[2] if len(parts) > 2 else 1)
            if len(text) > len(day):
                moment = datetime.fromisoformat(
                    "-".join(f"{p:02}" for p in parts) + text[len(day) :]
                )
                start = self._local(moment) if moment.tzinfo else moment
                return Found(unit(start, Grain.MINUTE), at + 1)
        except ValueError:
            return None
        return Found(unit(start, Grain.DAY if len(parts) > 2 else Grain.MONTH), at + 1)

    def _numeric(self, at: int) -> Found | None:
        found = [
            unit(datetime(day.year, day.month, day.day), Grain.DAY) for day in dates(self.word(at))
        ]
        return Found(found[0], at + 1, "", found[1] if len(found) > 1 else None) if found else None

    def _clock(self, at: int) -> Found | None:
        return self.clock(at, self.word(at))

    def clock(self, at: int, text: str) -> Found | None:
        """The hour that a text such as "5 pm" or "17:30" tells, standing at a token."""
        hours, _, minutes = text.rstrip("apm. ").partition(":")
        hour = int(hours)
        if "m" in text:
            if not 1 <= hour <= 12:
                return None
            hour = hour % 12 + (12 if "p" in text else 0)
        if hour > 23 or int(minutes or 0) > 59:
            return None
        begin = timedelta(hours=hour, minutes=int(minutes or 0))

        def make(day: datetime) -> Span:
            return Span(day + begin, day + begin + timedelta(hours=1), Grain.HOUR)

        return Found(Floating(Grain.HOUR, Grain.DAY, make), at + 1, "clock")

    def quarter(self, at: int) -> Found | None:
        name, number = self.word(at)[0], int(self.word(at)[1])
        if name == "h":
            return Found(_year_part(number, 2), at + 1, "never") if number <= 2 else None
        end = at + 1
        if self.word(end) in ("/", "-") and self.joined(end) and self.year(end + 1):
            end += 1
        return Found(_year_part(number, 4), end, "quarter")

    def decade(self, at: int) -> Found | None:
        text = self.word(at)
        if self.kind(at) == "decade":
            digits = text.strip("'’s")
            first = int(digits)
            if len(digits) == 4:
                if not 1500 <= first <= 2099 or first % 10:
                    return None
            else:
                first += 1900 if first > 20 else 2000
            kind = "" if len(digits) == 4 else "never"
        elif text in words.DECADES:
            first, kind = 1900 + words.DECADES[text], "never"
        else:
            return None
        start = datetime(first, 1, 1)
        return Found(Span(start, step(start, Grain.DECADE, 1), Grain.DECADE), at + 1, kind)

    READERS: ClassVar[dict[str, Callable[[Pieces, int], Found | None]]] = {
        "iso": _iso, "numeric": _numeric, "clock": _clock, "quarter": quarter, "decade": decade, "short": year,
        "ordinal": monthday, "number": _numeral,
    }  # fmt: skip


def _exists(month: int, day: int) -> bool:
    return day <= (29 if month == 2 else 30 if month in (4, 6, 9, 11) else 31)


def _year(year: int) -> Span:
    start = datetime(year, 1, 1)
    return Span(start, step(start, Grain.YEAR, 1), Grain.YEAR)


def _month(month: int) -> Floating:
    return Floating(
        Grain.MONTH, Grain.YEAR, lambda year: unit(year.replace(month=month), Grain.MONTH)
    )


def _season(month: int) -> Floating:
    def make(year: datetime) -> Span:
        start = year.replace(month=month)
        return Span(start, step(start, Grain.MONTH, 3), Grain.SEASON)

    return Floating(Grain.SEASON, Grain.YEAR, make)


def _year_part(number: int, parts: int) -> Floating:
    grain = Grain.QUARTER if parts == 4 else Grain.HALF
    return Floating(grain, Grain.YEAR, lambda year: unit(step(year, grain, number - 1), grain))


def _weekday(number: int) -> Floating:
    return Floating(
        Grain.DAY, Grain.WEEK, lambda monday: unit(monday + timedelta(days=number), Grain.DAY)
    )


def _monthday(day: int) -> Floating:
    def make(month: datetime) -> Span | None:
        start = month + timedelta(days=day - 1)
        return unit(start, Grain.DAY) if start.month == month.month else None

    return Floating(Grain.DAY, Grain.MONTH, make)
