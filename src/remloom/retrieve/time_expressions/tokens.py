"""A question as the tokens that time phrases are made of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from msgspec import Struct

__all__ = ["Token", "dates", "tokens"]

_TOKEN = re.compile(
    r"""(?P<iso>\d{4}-\d\d?(?:-\d\d?(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?)?(?![\w-]|[./:]\d))
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
    """The tokens of a text, in order."""
    found = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind == "owns":
            kind = "word"
        word = match["word"]
        shown = word or match[0]
        found.append(
            Token(
                kind,
                shown.lower(),
                match.start(),
                match.end(),
                shown[0].isupper(),
                bool(match["owns"]),
            )
        )
    return found


def dates(text: str) -> Sequence[date]:
    """The days that three numbers may mean; two where the order of day and month cannot be known,
    day first.

    >>> dates("13/3/2021"), dates("2021/3/5")
    ([datetime.date(2021, 3, 13)], [datetime.date(2021, 3, 5)])
    >>> [str(day) for day in dates("5/3/2021")], dates("5.3.2021")
    (['2021-03-05', '2021-05-03'], [datetime.date(2021, 3, 5)])
    """
    first, second, third = (int(part) for part in re.split(r"[/.]", text))
    widths = [len(part) for part in re.split(r"[/.]", text)]
    orders: list[tuple[int, int, int]]
    if widths[0] == 4:
        orders = [(first, second, third)]
    elif widths[2] == 4 or (widths[2] == 2 and "/" in text):
        year = third if widths[2] == 4 else 1900 + third if third > 50 else 2000 + third
        orders = [(year, second, first)]
        if "/" in text:
            orders.append((year, first, second))
    else:
        return []
    found: list[date] = []
    for year, month, day in orders:
        try:
            found.append(date(year, month, day))
        except ValueError:
            continue
    return list(dict.fromkeys(found))
