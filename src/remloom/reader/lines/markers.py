"""Markers of lines: headings, list items, code, starts of sections (seed 3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from enum import IntFlag
from string import ascii_lowercase, ascii_uppercase, digits
from typing import TYPE_CHECKING, Any, NamedTuple

from .heading_filter import HeadingFilter
from .headings import Heading, read_atx, read_heading

if TYPE_CHECKING:
    import numpy as np

_LONGEST = 1_000  # characters of a line that may be a heading
_COLON_WORDS = 8  # fewer of them before a colon begin a section, see seed 3

_BULLET = re.compile(r"[-+*•‣▪◦●·][ \t\u3000]+\S")
_NUMBER = re.compile(r"\(?\d{1,3}(?:\.|\)|\.\))[ \t\u3000]+\S")
_LETTER = re.compile(
    r"\((?:[a-zA-Z]|[ivxlc]{2,6}|\d{1,3})\)[ \t]*\S|(?:[a-z]|[ivxlc]{2,5})\)[ \t]+\S"
)
_UNDERLINE = re.compile(r"([=\-~^*\"'#+`])\1{2,}$")
# second characters of "a) …", "iv) …"
_BEHIND_SMALL = frozenset(")ivxlc")
# above the rule for a signature
_SIGNED = re.compile(r"(?:by\b:?\s*)?/s/", re.I)
_PAGE_NUMBER = re.compile(r"- ?\d{1,4} ?-$")
_FENCE = re.compile(r"(`{3,}|~{3,})([^`]*)$")
_LONGEST_FENCE = 400  # characters of a line that is looked at
_STATEMENT = re.compile(
    r"""
    (?:async[ ]+)?def[ ]+\w+[ ]*[(\[]
    | class[ ]+\w+[ ]*(?:\([^()]*\))?[ ]*[:{]$
    | (?:export[ ]+|default[ ]+|async[ ]+)*function\b[ *]*\w*[ ]*\(
    | import[ ]+[a-zA-Z_][\w.]*(?:[ ]+as[ ]+\w+)?;?$
    | import[ ]+(?:static[ ]+)?[\w.]+\.[\w*]+;?$
    | import[ ]+[\w{*].*[ ]from[ ]+["']
    | from[ ]+[\w.]+[ ]+import[ ]+[\w(*]
    | (?:const|let|var)[ ]+[\w{\[][^=]*=[ ]*\S
    | (?:public|private|protected|static)[ ].*[({;]
    | \#[ ]*(?:include[ ]*[<"]|define[ ]+\w|ifn?def[ ]+\w|endif\b|pragma[ ]+\w)
    | (?:return|throw|break|continue)\b[^.]*;$
    | (?:\}[ ]*)?(?:if|else[ ]if|for|while|switch|catch)[ ]*\(.*\)[ ]*\{$
    | (?:\}[ ]*)?(?:else|try|do|finally)[ ]*\{$
    | [\])}]+[;,]?$
    | [\w.\[\]"']+[ ]*(?:[-+*/|&]?=|:=)[ ]*\S.*;$
    | [a-z_][\w.]*\(.*\);$
    | print\(.*\)$
    | >>>[ ]
    | \$[ ][a-z][\w-]*(?:[ ]|$)
    | @\w[\w.]*(?:\(.*\))?$
    """,
    re.X,
)


class LineMark(IntFlag):
    """What a line is, as bits."""

    HEADER = 1
    LIST_ITEM = 2
    CODE = 4
    SECTION_START = 8


# by the first character of a line: what it may be
_FIRST = (
    dict.fromkeys(ascii_lowercase, "small")
    | dict.fromkeys(f"{ascii_uppercase}§第제一二三四五六七八九十", "capital")
    | dict.fromkeys(digits, "digit")
    | dict.fromkeys("=^\"'", "rule")
    | dict.fromkeys("-+*•‣▪◦●·", "bullet")
    | {"#": "number_sign", "`": "fence", "~": "fence", "(": "bracket", "_": "capital"}
    | dict.fromkeys("})]@$>", "small")
)


class Marked(NamedTuple):
    """The lines of a text with what each is."""

    marks: np.ndarray[Any, np.dtype[np.uint8]]  # `LineMark` bits, an item a line
    # of the lines that begin a section with a title, by position from 0, in order
    headings: dict[int, Heading]


def mark_lines(texts: Sequence[str], *, printed: bool = False) -> Marked:
    """Mark the lines of a text.

    Args:
        printed: it was taken from pages, where a number sign before words is not Markdown.
    """
    import numpy as np

    reader = _LineReader(texts, printed=printed)
    reader.read()
    return Marked(np.frombuffer(reader.marks, dtype=np.uint8), reader.headings)


def mark_table(count: int, headers: Sequence[int]) -> Marked:
    """Mark the lines of a table: nothing but its header, by lines from 1."""
    import numpy as np

    marks = np.zeros(count, dtype=np.uint8)
    marks[np.array(headers, dtype=np.intp) - 1] = LineMark.HEADER | LineMark.SECTION_START
    return Marked(marks, {})


class _LineReader:
    def __init__(self, texts: Sequence[str], *, printed: bool) -> None:
        self._printed = printed
        self._texts = texts
        self.marks = bytearray(len(texts))
        self.headings: dict[int, Heading] = {}
        self._fences: list[int] = []
        self._candidates: dict[int, Heading] = {}
        # a mark's level is the order of its first use
        self._underlines: list[str] = []
        kinds = set(_FIRST.values())
        self._read_as: dict[str, Callable[[int, str], None]] = {
            kind: getattr(self, f"_read_{kind}") for kind in kinds
        }

    def read(self) -> None:
        for position, line in enumerate(self._texts):
            text = line.strip()
            if not text:
                continue
            kind = _FIRST.get(text[0])
            if kind is None:
                text = text.lstrip("\ufeff \t")
                kind = self._kind_of_other(text)
            if kind:
                self._read_as[kind](position, text)
            if text[-1:] in (":", "：") and len(text) < 200:
                self._read_colon(position, text)
        self._mark_fenced()
        self.headings = HeadingFilter(self._texts, self._candidates).keep()
        for position, heading in self.headings.items():
            header = 0 if heading.runs_in else LineMark.HEADER
            self.marks[position] = LineMark.SECTION_START | header

    def _kind_of_other(self, text: str) -> str:
        """What a line may be whose first character has no row in the table."""
        first = text[:1]
        # of a script without cases only a short line may be a heading
        if first.isupper() or (first.isalpha() and not first.islower() and len(text) <= 40):
            return "capital"
        # behind a byte order mark
        return _FIRST.get(first, "")

    def _read_small(self, position: int, text: str) -> None:
        """Read a line that begins with a small letter, or a sign that only code begins with."""
        if _is_statement(text):
            self.marks[position] = LineMark.CODE
        elif text[1:2] in _BEHIND_SMALL and _LETTER.match(text):
            self.marks[position] = LineMark.LIST_ITEM

    def _read_capital(self, position: int, text: str) -> None:
        heading = read_heading(text)
        if heading:
            self._candidates[position] = heading

    def _read_number_sign(self, position: int, text: str) -> None:
        may_be = len(text) < _LONGEST and not self._printed
        heading = read_atx(text) if may_be else None
        if heading:
            self._candidates[position] = heading
        elif _is_statement(text):
            self.marks[position] = LineMark.CODE
        else:
            self._read_rule(position, text)

    def _read_fence(self, position: int, text: str) -> None:
        if text.startswith(("```", "~~~")):
            self._fences.append(position)
        self._read_rule(position, text)

    def _read_digit(self, position: int, text: str) -> None:
        if _NUMBER.match(text):
            self.marks[position] = LineMark.LIST_ITEM
        self._read_capital(position, text)

    def _read_bracket(self, position: int, text: str) -> None:
        if _LETTER.match(text):
            self.marks[position] = LineMark.LIST_ITEM

    def _read_bullet(self, position: int, text: str) -> None:
        if text.startswith("**"):
            self._read_capital(position, text)
        if _BULLET.match(text) and text.strip("-*+ \t") and not _PAGE_NUMBER.match(text):
            self.marks[position] = LineMark.LIST_ITEM
        else:
            self._read_rule(position, text)

    def _read_rule(self, position: int, text: str) -> None:
        if _UNDERLINE.match(text):
            self._read_underline(position, text)

    def _mark_fenced(self) -> None:
        for first, end in _code_ranges(self._texts, self._fences):
            self.marks[first:end] = bytes([LineMark.CODE]) * (end - first)
            for position in range(first, end):
                self._candidates.pop(position, None)

    def _read_underline(self, position: int, text: str) -> None:
        """Read the line above an underline as the heading that it is."""
        if not position:
            return
        title = self._texts[position - 1].strip().removeprefix("\ufeff")
        if not title or len(text) < len(title) or _UNDERLINE.match(title):
            return
        if _SIGNED.match(title):
            return
        above = self._texts[position - 2].strip() if position > 1 else ""
        if above and not _UNDERLINE.match(above):
            return
        if text[0] not in self._underlines:
            self._underlines.append(text[0])
        level = self._underlines.index(text[0]) + 1
        self._candidates[position - 1] = Heading("underlined", level, title)

    def _read_colon(self, position: int, text: str) -> None:
        """Mark a few words before a colon."""
        if not self.marks[position] & LineMark.CODE and len(text.split()) < _COLON_WORDS:
            self.marks[position] |= LineMark.SECTION_START


def _is_statement(text: str) -> bool:
    """Whether a line without blanks around it is code by itself.

    >>> [_is_statement(line) for line in ("import os", "import duties rose", "class service")]
    [True, False, False]
    """
    return len(text) <= _LONGEST_FENCE and _STATEMENT.match(text) is not None


def _code_ranges(texts: Sequence[str], fences: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the fenced blocks among lines: the positions of the first fence, and behind the last. A
    fence that is never closed encloses nothing."""
    marks = [_FENCE.match(texts[position].strip()) for position in fences]
    longest = _longest_closers(marks)
    at = 0
    while at < len(fences):
        opener = marks[at]
        if opener is None or longest[at].get(opener[1][0], 0) < len(opener[1]):
            at += 1
            continue
        closer = next(
            later for later in range(at + 1, len(fences)) if _closes(marks[later], opener[1])
        )
        yield fences[at], fences[closer] + 1
        at = closer + 1


def _closes(mark: re.Match[str] | None, opener: str) -> bool:
    return mark is not None and not mark[2].strip() and mark[1].startswith(opener)


def _longest_closers(marks: Sequence[re.Match[str] | None]) -> list[dict[str, int]]:
    """For each fence, how long the longest that could close it are, by their character."""
    longest: dict[str, int] = {}
    behind: list[dict[str, int]] = []
    for mark in reversed(marks):
        behind.append(longest)
        if mark is not None and not mark[2].strip():
            character, length = mark[1][0], len(mark[1])
            if longest.get(character, 0) < length:
                longest = {**longest, character: length}
    return behind[::-1]
