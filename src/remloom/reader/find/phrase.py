"""Phrases: words as they were written, to be looked for in lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from unicodedata import normalize

from ...text.analysis import IS_CJK, terms

EXACT = 2  # the exactness of a line that has the words in a row
_LINES = 3  # over which a phrase may go
_BATCH = 5_000  # lines read at a time


class Phrase:
    """Words as they were written, but for case, width and blanks.

    >>> phrase = Phrase("Effective Date")
    >>> phrase.exactness("the effective date."), phrase.exactness("Date: effective now")
    (2, 1)
    >>> phrase.last_line(["before the effective", "date of the lease"], 1)
    2
    """

    def __init__(self, text: str) -> None:
        folded = _fold(text)
        self.terms = terms(text)
        self._words = [_pattern(word) for word in folded.split()]
        self._row = _pattern(folded)
        self._anywhere = _pattern_in_lines(folded)

    def exactness(self, line: str) -> int:
        """`EXACT` if a line has the words in a row, 1 if it has all of them, else 0."""
        line = _fold(line)
        if self._row.search(line):
            return EXACT
        return int(all(word.search(line) for word in self._words))

    def last_line(self, lines: Sequence[str], first: int) -> int:
        """The line in which it ends, if it begins in this one, both from 1; else 0."""
        text = ""
        begins_before = 0
        for line in range(first, min(first + _LINES, len(lines) + 1)):
            text = f"{text} {_fold(lines[line - 1])}".strip()
            begins_before = begins_before or len(text)
            match = self._row.search(text)
            if match:
                return line if match.start() < begins_before else 0
        return 0

    def first_lines(self, lines: Sequence[str]) -> Iterator[int]:
        """Yield the lines in which it may begin, each once, from 1; quick with many lines."""
        last = 0
        for start in range(0, len(lines), _BATCH):
            text = "\n".join(lines[start : start + _BATCH + _LINES - 1]).casefold()
            line = start
            counted = 0
            for match in self._anywhere.finditer(text):
                line += text.count("\n", counted, match.start())
                counted = match.start()
                if last <= line < start + _BATCH:
                    last = line + 1
                    yield last


def _fold(text: str) -> str:
    if not text.isascii():
        text = normalize("NFKC", text)
    return " ".join(text.casefold().split())


def _pattern(text: str) -> re.Pattern[str]:
    """What matches a folded text where no word goes on beside it."""
    before = r"(?<!\w)" if _is_spaced(text[:1]) else ""
    after = r"(?!\w)" if _is_spaced(text[-1:]) else ""
    return re.compile(before + re.escape(text) + after)


def _pattern_in_lines(text: str) -> re.Pattern[str]:
    """As `_pattern`, with any blanks and line ends between words."""
    first, *others = map(re.escape, text.split())
    # a search is quick where a pattern begins with a letter: what must not stand before the first
    # word is looked at behind it
    before = rf"(?<!\w{first})" if _is_spaced(text[:1]) else ""
    after = r"(?!\w)" if _is_spaced(text[-1:]) else ""
    return re.compile(r"\s+".join([first + before, *others]) + after)


def _is_spaced(char: str) -> bool:
    """Whether blanks part words of this character."""
    return char.isalnum() and not IS_CJK.match(char)
