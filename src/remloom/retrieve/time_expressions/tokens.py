"""A question as the tokens that time phrases are made of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import date

from msgspec import Struct

__all__ = ["Token", "dates", "full_year", "tokens"]

_TOKEN = re.compile(
    r"""(?P<iso>\d{4}-\d\d?
            (?:-\d\d?(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?)?
            (?![\w-]|[./:]\d))
    |(?P<numeric>\d{1,4}(?P<sep>[/.])\d{1,2}(?P=sep)\d{1,4}(?![\w/-]|\.\d))
    |(?P<clock>\d\d?(?::\d\d)?[ ]?(?:[ap]m(?!\w)|[ap]\.m\.?(?!\w))|\d\d?:\d\d(?![:\d]))
    |(?P<quarter>[qh][1-4](?=\b|[_-]))
    |(?P<decade>\d{4}['’]?s\b|['’]?\d0s\b)
    |(?P<short>['’]\d\d(?!\w))
    |(?P<ordinal>\d{1,2}(?:st|nd|rd|th)\b)
    |(?P<number>\d+)
    |(?P<word>[^\W\d_]+)(?P<owns>['’]s?(?!\w))?
    |(?P<mark>\S)""",
    re.VERBOSE | re.IGNORECASE,
)


class Token(Struct, frozen=True, gc=False):
    """A word, number or mark of a question."""

    kind: str  # iso | numeric | clock | quarter | decade | short | ordinal | number | word | mark
    text: str  # lower case; of a word without its "'s"
    start: int  # characters of the question
    end: int
    capital: bool = False
    owns: bool = False  # "Monday's"


def tokens(text: str) -> list[Token]:
    """Cut a text into its tokens, in order."""
    cut = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        written = match["word"] or match[0]
        token = Token(
            kind="word" if kind == "owns" else kind,
            text=written.lower(),
            start=match.start(),
            end=match.end(),
            capital=written[0].isupper(),
            owns=bool(match["owns"]),
        )
        cut.append(token)
    return cut


def dates(text: str) -> Sequence[date]:
    """The days that three numbers may mean.

    They are two where the order of day and month cannot be known, day first.

    >>> dates("13/3/2021"), dates("2021/3/5")
    ([datetime.date(2021, 3, 13)], [datetime.date(2021, 3, 5)])
    >>> [str(day) for day in dates("5/3/2021")], dates("5.3.2021")
    (['2021-03-05', '2021-05-03'], [datetime.date(2021, 3, 5)])
    """
    parts = re.split(r"[/.]", text)
    first, second, third = map(int, parts)
    slashes = "/" in text
    orders: list[tuple[int, int, int]]  # year, month, day
    if len(parts[0]) == 4:
        orders = [(first, second, third)]
    elif len(parts[2]) == 4 or (len(parts[2]) == 2 and slashes):
        year = third if len(parts[2]) == 4 else full_year(third)
        orders = [(year, second, first)]
        # With points the day comes first, with slashes it depends on the country.
        if slashes:
            orders.append((year, first, second))
    else:
        return []
    days: list[date] = []
    for year, month, day in orders:
        with suppress(ValueError):
            days.append(date(year, month, day))
    return list(dict.fromkeys(days))


def full_year(short: int) -> int:
    """The year that two digits mean: 1951 to 2050."""
    return 1900 + short if short > 50 else 2000 + short
