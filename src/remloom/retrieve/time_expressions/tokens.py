"""A question as the tokens that time phrases are made of, read by their numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from . import words
from .calendar import Node, Span

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


def dates(text: str) -> Sequence[datetime]:
    """The days that three numbers may mean.

    They are two where the order of day and month cannot be known, day first.

    >>> [[str(day.date()) for day in dates(text)] for text in ("5/3/2021", "5.3.2021", "13/3/2021")]
    [['2021-03-05', '2021-05-03'], ['2021-03-05'], ['2021-03-13']]
    """
    slashes = "/" in text
    first, second, third = re.split(r"[/.]", text)
    if len(first) == 4:
        orders = [(first, second, third)]
    elif len(third) == 4 or (len(third) == 2 and slashes):
        # with points the day comes first, with slashes it depends on the country
        orders = [(third, second, first), (third, first, second)][: 1 + slashes]
    else:
        return []
    days: list[datetime] = []
    for year, month, day in orders:
        with suppress(ValueError):
            whole = int(year) if len(year) == 4 else full_year(int(year))
            days.append(datetime(whole, int(month), int(day)))
    return list(dict.fromkeys(days))


def full_year(short: int) -> int:
    """The year that two digits mean: 1951 to 2050."""
    return 1900 + short if short > 50 else 2000 + short


class Point(NamedTuple):
    """A point in time that was read."""

    node: Node
    end: int  # the first token that is not of it
    kind: str = ""  # of `words.TIES`, what must stand before it; "": nothing
    also: Span | None = None  # what it may as well mean: day and month of 5/3/2021


class TokenReader:
    """Looks at tokens, of which any number may be asked for: there is nothing beyond them.

    Args:
        cased: whether capitals tell something in this question.
    """

    def __init__(self, tokens: Sequence[Token], cased: bool) -> None:
        self._tokens = tokens
        self._cased = cased

    def word(self, at: int) -> str:
        return self._tokens[at].text if 0 <= at < len(self._tokens) else ""

    def kind(self, at: int) -> str:
        return self._tokens[at].kind if 0 <= at < len(self._tokens) else ""

    def capital(self, at: int) -> bool:
        return 0 <= at < len(self._tokens) and self._tokens[at].capital

    def owns(self, at: int) -> bool:
        """Whether it is a possessive: "Monday's"."""
        return 0 <= at < len(self._tokens) and self._tokens[at].owns

    def skip(self, at: int, *words: str) -> int:
        """The token behind these words, each of which may be missing."""
        for text in words:
            if self.word(at) == text:
                at += 1
        return at

    def joined(self, at: int) -> bool:
        """Whether nothing stands between the token before and this one."""
        return 0 < at < len(self._tokens) and self._tokens[at - 1].end == self._tokens[at].start

    def names_follow(self, at: int) -> bool:
        """Whether a capitalised word follows that is not a time: "May Chen", "Spring Boot"."""
        after = at + 1
        if not self._cased or self.kind(after) != "word" or not self.capital(after):
            return False
        text = self.word(after)
        return text not in words.MONTHS and text not in words.WEEKDAYS and text != "i"
