"""Figures: the numbers and dates in a text, however they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cache

from msgspec import Struct

from .wording import wording

__all__ = ["Date", "Figures", "Number", "Time", "read_figures", "without_dates"]

_TOKEN = re.compile(
    r"(?P<number>\d+(?:[.,]\d+)*)|(?P<sign>[$€£¥%§])|(?P<word>[^\W\d_]+)|(?P<mark>\S)"
)
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_MAGNITUDES = {"k": 1_000, "m": 1_000_000, "mn": 1_000_000, "bn": 1_000_000_000}
_TIME = re.compile(
    r"(?<![\d.,:])(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?(?![\d:])(?:\s?(?P<half>[ap])\.?m\b\.?)?",
    re.IGNORECASE,
)
_ORDINALS = frozenset(("st", "nd", "rd", "th"))
# lower-case words that are months only with a capital
_NOT_MONTHS = frozenset(("may", "march", "mar", "mars", "dec", "sep", "jan"))


class Date(Struct, frozen=True):
    """A date as far as it is written: 0 is a part that is not."""

    year: int
    month: int
    day: int
    text: str = ""

    def includes(self, other: Date) -> bool:
        """Whether this date is the other, or says less of it."""
        pairs = ((self.year, other.year), (self.month, other.month), (self.day, other.day))
        return all(not own or own == theirs for own, theirs in pairs)


class Number(Struct, frozen=True):
    """A number with its unit."""

    values: frozenset[str]  # that it may mean: "1.000" is one, or a thousand
    unit: str  # as in `wording.toml`; empty: none
    factor: int  # 12 of a year, as the unit is a month
    scaled: frozenset[str]  # in that unit
    text: str
    before: str = ""  # the word before it


class Time(Struct, frozen=True):
    """A time of day."""

    minutes: int  # since midnight
    text: str

    @property
    def hours(self) -> frozenset[str]:
        """The hour, as it is on a clock of 24 and of 12."""
        hour = self.minutes // 60
        return frozenset((str(hour), str((hour - 1) % 12 + 1)))


class Figures(Struct, frozen=True):
    """The numbers, dates and times of day of a text."""

    numbers: tuple[Number, ...]
    dates: tuple[Date, ...]
    times: tuple[Time, ...] = ()


class _Token(Struct, frozen=True, gc=False):
    kind: str
    text: str  # in lower case
    start: int
    end: int


def read_figures(text: str) -> Figures:
    """Read the numbers and dates of a text.

    >>> figures = read_figures("Due May 3,2006: $1.5 million, within thirty (30) days")
    >>> [(sorted(number.values), number.unit) for number in figures.numbers]
    [(['1500000'], 'dollar'), (['30'], 'day')]
    >>> [(date.year, date.month, date.day) for date in figures.dates]
    [(2006, 5, 3)]
    """
    dates: list[Date] = []
    times: list[Time] = []
    rest = _cut_times(_cut_dates(text, dates), times)
    return Figures(tuple(_numbers(rest)), tuple(dates), tuple(times))


def without_dates(text: str) -> str:
    """A text with blanks in place of its dates."""
    return _cut_dates(text, [])


def _cut_dates(text: str, dates: list[Date]) -> str:
    def note(match: re.Match[str]) -> str:
        found = list(_dates(match))
        dates.extend(found)
        return " " * len(match[0]) if found else match[0]

    for pattern in _date_patterns():
        text = pattern.sub(note, text)
    return text


def _cut_times(text: str, times: list[Time]) -> str:
    def note(match: re.Match[str]) -> str:
        hour, minute, half = int(match["hour"]), int(match["minute"] or 0), match["half"]
        if hour > (12 if half else 24) or minute > 59 or not (match["minute"] or half):
            return match[0]
        if half:
            hour = hour % 12 + 12 * (half in "pP")
        times.append(Time(hour * 60 + minute, match[0].strip()))
        return " " * len(match[0])

    return _TIME.sub(note, text)


@cache
def _date_patterns() -> Sequence[re.Pattern[str]]:
    names = "|".join(sorted(wording().months, key=len, reverse=True))
    month = rf"\b(?P<month>{names})\b\.?"
    day = r"\b(?P<day>\d{1,2})(?!\d)(?:st|nd|rd|th|\.|º)?"
    year = r"(?P<year>[12]\d{3})(?!\d)"
    patterns = (
        rf"\b{year}-(?P<number>\d\d?)-(?P<day>\d\d?)\b",
        r"\b(?P<one>\d{1,2})(?P<sep>[/.])(?P<two>\d{1,2})(?P=sep)(?P<short>\d{4}|\d\d)\b",
        rf"{month}\s+{day}(?:\s*,?\s*{year})?",
        rf"{day}\s+(?:day\s+)?(?:of\s+|de\s+|di\s+)?{month}(?:,?\s+(?:of\s+|de\s+|del\s+)?{year})?",
        rf"{month},?\s+(?:of\s+|de\s+)?{year}",
    )
    return [re.compile(pattern, re.IGNORECASE) for pattern in patterns]


def _dates(match: re.Match[str]) -> Iterator[Date]:
    """The dates that a match may mean; two where the order of day and month is unknown."""
    parts = match.groupdict()
    if parts.get("one"):
        one, two, year = int(parts["one"]), int(parts["two"]), int(parts["short"])
        if year < 100:
            year += 2000 if year < 50 else 1900
        orders = {(two, one), (one, two)}
        yield from (Date(year, m, d, match[0]) for m, d in orders if 1 <= m <= 12 and d <= 31)
        return
    name = parts.get("month") or ""
    if name in _NOT_MONTHS:
        return
    month = int(parts.get("number") or 0) or wording().months[name.casefold()]
    year, day = int(parts.get("year") or 0), int(parts.get("day") or 0)
    if 1 <= month <= 12 and day <= 31:
        yield Date(year, month, day, match[0])


# -- numbers ---------------------------------------------------------------------------------------


def _numbers(text: str) -> Iterator[Number]:
    tokens = [
        _Token(match.lastgroup or "", match[0].casefold(), match.start(), match.end())
        for match in _TOKEN.finditer(text)
    ]
    at = 0
    last: Number | None = None
    while at < len(tokens):
        end, values = _read_number(tokens, at)
        if not values:
            # "thirty (30)" is one number
            last = last if tokens[at].text == "(" else None
            at += 1
            continue
        unit, factor, unit_end = _unit(tokens, at, end)
        is_repeated = last is not None and (last.values, last.unit) == (values, unit)
        if not is_repeated and (tokens[at].text != "one" or unit or end > at + 1):
            plain = filter(_is_plain, values)
            scaled = frozenset(_plain(Decimal(value) * factor) for value in plain)
            written = text[tokens[at].start : tokens[unit_end - 1].end]
            before = tokens[at - 1].text if at else ""
            last = Number(values, unit, factor, scaled or values, written, before)
            yield last
        at = end


def _read_number(tokens: Sequence[_Token], at: int) -> tuple[int, frozenset[str]]:
    """The values of the number that begins at a token, and where it ends; none if none does."""
    token = tokens[at]
    if token.kind == "number":
        values = _digits(token.text)
        end = at + 1
        while end < len(tokens) and tokens[end].kind == "word":
            word = tokens[end].text
            is_glued = tokens[end].start == tokens[end - 1].end
            magnitude = _MAGNITUDES.get(word, 0) if is_glued else wording().numbers.get(word, 0)
            if magnitude < 100:
                break
            values = frozenset(
                _plain(Decimal(value) * magnitude) for value in values if _is_plain(value)
            )
            end += 1
        return end, values
    return _read_words(tokens, at)


def _read_words(tokens: Sequence[_Token], at: int) -> tuple[int, frozenset[str]]:
    """Read a number in words: "one hundred and five", "twenty-five"."""
    numbers = wording().numbers
    total = current = 0
    end = at
    while end < len(tokens):
        word = tokens[end].text
        following = tokens[end + 1].text if end + 1 < len(tokens) else ""
        value = 1 if word == "one" else numbers.get(word, -1)
        if value < 0:
            is_within = end > at and word in ("and", "-") and following in numbers
            # "two and three" are two numbers, "two hundred and three" is one
            if not is_within or (word == "and" and current % 100):
                break
        elif value >= 1000:
            total += (current or 1) * value
            current = 0
        elif value == 100:
            current = (current or 1) * 100
        elif current % 10 or (current % 100 and value >= 10):
            break
        else:
            current += value
        end += 1
    if end == at:
        return at, frozenset()
    return end, frozenset((str(total + current),))


def _digits(text: str) -> frozenset[str]:
    """What a number in digits may mean."""
    if text.count(".") > 1 and not _THOUSANDS.fullmatch(text):
        return frozenset((text,))
    if _THOUSANDS.fullmatch(text):
        english, other = text.replace(",", ""), text.replace(".", "").replace(",", ".")
        both = [one for one in (english, other) if one.count(".") < 2]
        # "1,000" is a thousand; "1.000" may be one
        if "," in text:
            is_english = "." not in text or text.index(",") < text.index(".")
            both = [english if is_english else other]
        return frozenset(map(_plain, map(Decimal, both)))
    if "," in text:
        parts = [part for part in text.split(",") if part]
        whole = text.replace(".", "").replace(",", ".")
        return frozenset((*parts, *([_plain(Decimal(whole))] if whole.count(".") < 2 else ())))
    return frozenset((_plain(Decimal(text)),))


def _unit(tokens: Sequence[_Token], at: int, end: int) -> tuple[str, int, int]:
    """The unit of the number between these tokens, what one of it is of its base, and its end."""
    units = wording().units
    if at and tokens[at - 1].kind == "sign" and tokens[at - 1].text in units:
        return units[tokens[at - 1].text].of, 1, end
    for number, token in enumerate(tokens[end : end + 6], end):
        if unit := units.get(token.text):
            return unit.of, unit.factor, number + 1
        is_between = token.text in "()-" or token.text in wording().between
        if not is_between and token.kind != "number" and token.text not in _ORDINALS:
            break
    return "", 1, end


def _plain(value: Decimal) -> str:
    return f"{value.normalize():f}"


def _is_plain(value: str) -> bool:
    return value.count(".") < 2
