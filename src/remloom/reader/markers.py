"""Markers of lines: headings, list items, code, starts of sections. Source: seed 3.

What a line is follows from its own words, from the lines beside it, and from what recurs in the
document: the head of each page is no heading, nor is what a table of contents lists.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from enum import IntFlag
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from .code_lines import code_ranges, is_statement
from .headings import Heading, is_title, read_atx, read_heading

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Mark", "Marked", "mark_lines", "mark_table"]

_MOST_REPEATED = 2  # times that a heading stands in a document; what does more often is furniture
_CONTENTS = 4  # headings in a row, with no text between them, that may be a table of contents
_CAPITAL_LINES = 3  # lines in capitals one after another that may be headings
_LEAST_NUMBER = 2  # headings with a number, of one level, in a document that has such headings
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
_DIGITS = re.compile(r"\d+")
_MARKED_BY_SIGNS = ("atx", "underlined")


class Mark(IntFlag):
    """What a line is, as bits."""

    HEADER = 1
    LIST_ITEM = 2
    CODE = 4
    SECTION_START = 8


# by the first character of a line: what it may be
_NUMBER_SIGN, _FENCE, _RULE, _BULLETED, _DIGIT, _BRACKET, _CAPITAL, _SMALL = range(1, 9)
_FIRST = (
    dict.fromkeys("abcdefghijklmnopqrstuvwxyz", _SMALL)
    | dict.fromkeys("ABCDEFGHIJKLMNOPQRSTUVWXYZ§第제一二三四五六七八九十", _CAPITAL)
    | dict.fromkeys("0123456789", _DIGIT)
    | dict.fromkeys("=^\"'", _RULE)
    | dict.fromkeys("-+*•‣▪◦●·", _BULLETED)
    | {"#": _NUMBER_SIGN, "`": _FENCE, "~": _FENCE, "(": _BRACKET, "_": _CAPITAL}
    | dict.fromkeys("})]@$>", _SMALL)
)


class Marked:
    """The lines of a text with what each is.

    Attributes:
        marks: an array of `Mark` bits, an item a line.
        headings: of the lines that begin a section with a title, by position from 0, in order.
    """

    def __init__(
        self, marks: np.ndarray[Any, np.dtype[np.uint8]], headings: dict[int, Heading]
    ) -> None:
        self.marks = marks
        self.headings = headings


def mark_lines(texts: Sequence[str], *, printed: bool = False) -> Marked:
    """Mark the lines of a text.

    Args:
        printed: it was taken from pages, where a number sign before words is no mark of Markdown.
    """
    import numpy as np

    reader = _Reader(texts, printed=printed)
    reader.read()
    return Marked(np.frombuffer(reader.marks, dtype=np.uint8), reader.headings)


def mark_table(count: int, headers: Sequence[int]) -> Marked:
    """Mark the lines of a table: its header starts it, and nothing else is anything.

    Args:
        headers: the lines of the header, from 1.
    """
    import numpy as np

    marks = np.zeros(count, dtype=np.uint8)
    marks[np.array(headers, dtype=np.intp) - 1] = Mark.HEADER | Mark.SECTION_START
    return Marked(marks, {})


class _Reader:
    """Reads the lines of a text once, and what may be a heading a second time."""

    def __init__(self, texts: Sequence[str], *, printed: bool) -> None:
        self._printed = printed
        self._texts = texts
        self.marks = bytearray(len(texts))
        self.headings: dict[int, Heading] = {}
        self._fences: list[int] = []
        self._candidates: dict[int, Heading] = {}
        # a mark's level is the order of its first use
        self._underlines: list[str] = []
        self._read_as: dict[int, Callable[[int, str], None]] = {
            _SMALL: self._read_small,
            _CAPITAL: self._read_capital,
            _NUMBER_SIGN: self._read_number_sign,
            _FENCE: self._read_fence,
            _DIGIT: self._read_digit,
            _BRACKET: self._read_bracket,
            _BULLETED: self._read_bullet,
            _RULE: self._read_rule,
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
        self._decide()

    # -- lines ---------------------------------------------------------------------------------

    def _kind_of_other(self, text: str) -> int:
        """What a line may be whose first character has no row in the table."""
        first = text[:1]
        # of a script without cases only a short line may be a heading
        if first.isupper() or (first.isalpha() and not first.islower() and len(text) <= 40):
            return _CAPITAL
        # behind a byte order mark
        return _FIRST.get(first, 0)

    def _read_small(self, position: int, text: str) -> None:
        """Read a line that begins with a small letter, or a sign that only code begins with."""
        if is_statement(text):
            self.marks[position] = Mark.CODE
        elif text[1:2] in _BEHIND_SMALL and _LETTER.match(text):
            self.marks[position] = Mark.LIST_ITEM

    def _read_capital(self, position: int, text: str) -> None:
        heading = read_heading(text)
        if heading:
            self._candidates[position] = heading

    def _read_number_sign(self, position: int, text: str) -> None:
        may_be = len(text) < _LONGEST and not self._printed
        heading = read_atx(text) if may_be else None
        if heading:
            self._candidates[position] = heading
        elif is_statement(text):
            self.marks[position] = Mark.CODE
        else:
            self._read_rule(position, text)

    def _read_fence(self, position: int, text: str) -> None:
        if text.startswith(("```", "~~~")):
            self._fences.append(position)
        self._read_rule(position, text)

    def _read_digit(self, position: int, text: str) -> None:
        if _NUMBER.match(text):
            self.marks[position] = Mark.LIST_ITEM
        self._read_capital(position, text)

    def _read_bracket(self, position: int, text: str) -> None:
        if _LETTER.match(text):
            self.marks[position] = Mark.LIST_ITEM

    def _read_bullet(self, position: int, text: str) -> None:
        if text.startswith("**"):
            self._read_capital(position, text)
        if _BULLET.match(text) and text.strip("-*+ \t") and not _PAGE_NUMBER.match(text):
            self.marks[position] = Mark.LIST_ITEM
        else:
            self._read_rule(position, text)

    def _read_rule(self, position: int, text: str) -> None:
        if _UNDERLINE.match(text):
            self._read_underline(position, text)

    def _mark_fenced(self) -> None:
        for first, end in code_ranges(self._texts, self._fences):
            self.marks[first:end] = bytes([Mark.CODE]) * (end - first)
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
        if not self.marks[position] & Mark.CODE and len(text.split()) < _COLON_WORDS:
            self.marks[position] |= Mark.SECTION_START

    # -- headings ------------------------------------------------------------------------------

    def _decide(self) -> None:
        """Keep of what may be a heading what the lines beside it and the document allow."""
        candidates = self._candidates
        counts = Counter(
            _DIGITS.sub("#", heading.title) if heading.kind == "capitals" else heading.title
            for heading in candidates.values()
        )
        signs = sum(heading.kind in _MARKED_BY_SIGNS for heading in candidates.values())
        fitting = {
            position: heading
            for position, heading in candidates.items()
            if heading.kind in _MARKED_BY_SIGNS
            or self._fits(position, heading, has_signs=signs >= _CONTENTS)
        }
        fitting = dict(sorted(fitting.items()))
        _drop_lone_numbers(fitting)
        self._drop_furniture(fitting, counts)
        self._drop_contents(fitting)
        self._add_subtitles(fitting)
        self.headings = dict(sorted(fitting.items()))
        for position, heading in self.headings.items():
            if heading.runs_in:
                self.marks[position] = Mark.SECTION_START
            else:
                self.marks[position] = Mark.HEADER | Mark.SECTION_START

    def _fits(self, position: int, heading: Heading, *, has_signs: bool) -> bool:
        """Whether the lines beside a line let it be a heading of its kind."""
        before, after = self._is_blank(position - 1), self._is_blank(position + 1)
        if heading.runs_in:
            return before or bool(heading.number.count(".")) or heading.kind == "named"
        if heading.kind == "numbered" and "." not in heading.number:
            # else an item of a list
            is_item = not before or not after or self._begins_list(position, heading)
            return not is_item and not has_signs
        if heading.kind == "capitals":
            if self._capital_lines(position) > _CAPITAL_LINES:
                return False
            is_one_word = " " not in heading.title
            return before and after if is_one_word else before or after
        if heading.kind == "alone":
            return before
        return before or after or (position - 1) in self._candidates

    def _is_blank(self, position: int) -> bool:
        """Whether a line is blank; there are blank ones before the first and behind the last."""
        return not 0 <= position < len(self._texts) or not self._texts[position].strip()

    def _capital_lines(self, position: int) -> int:
        """How many lines in capitals stand together here."""
        first = last = position
        while first > 0 and self._texts[first - 1].isupper() and position - first < 9:
            first -= 1
        while last + 1 < len(self._texts) and self._texts[last + 1].isupper() and last < first + 9:
            last += 1
        return last - first + 1

    def _begins_list(self, position: int, heading: Heading) -> bool:
        """Whether the next line that is not blank has the next number."""
        following = next(self._filled_behind(position), "")
        return heading.number.isdigit() and following.startswith(f"{int(heading.number) + 1}.")

    def _filled_behind(self, position: int) -> Iterator[str]:
        for later in range(position + 1, min(position + 6, len(self._texts))):
            text = self._texts[later].strip()
            if text:
                yield text

    def _drop_furniture(self, fitting: dict[int, Heading], counts: Counter[str]) -> None:
        """Drop what stands at the head of each page: of named ones all but the first."""
        seen: set[str] = set()
        for position, heading in list(fitting.items()):
            if heading.kind in (*_MARKED_BY_SIGNS, "alone") or heading.runs_in:
                continue
            if heading.kind == "capitals":
                if counts[_DIGITS.sub("#", heading.title)] > _MOST_REPEATED:
                    del fitting[position]
            elif counts[heading.title] > _MOST_REPEATED:
                if heading.title in seen:
                    del fitting[position]
                seen.add(heading.title)

    def _drop_contents(self, fitting: dict[int, Heading]) -> None:
        """Drop the headings that a table of contents lists: most of them come again."""
        last: dict[str, int] = {}
        for position, heading in fitting.items():
            last[_folded(heading.title)] = position
        for run in self._runs(fitting):
            if len(run) < _CONTENTS:
                continue
            again = sum(last[_folded(fitting[position].title)] > run[-1] for position in run)
            if again * 2 >= len(run):
                for position in run:
                    del fitting[position]

    def _runs(self, fitting: dict[int, Heading]) -> list[list[int]]:
        """Headings with nothing but blank lines between them, run by run."""
        positions = [
            position
            for position, heading in fitting.items()
            if heading.kind not in _MARKED_BY_SIGNS and not heading.runs_in
        ]
        runs = [positions[:1]] if positions else []
        for before, position in pairwise(positions):
            near = position - before <= _CONTENTS
            if near and all(map(self._is_blank, range(before + 1, position))):
                runs[-1].append(position)
            else:
                runs.append([position])
        return runs

    def _add_subtitles(self, fitting: dict[int, Heading]) -> None:
        """Add to "CHAPTER XII" the title that stands below it."""
        for position, heading in list(fitting.items()):
            if heading.kind != "named" or not heading.title.endswith(heading.number):
                continue
            below = position + 1 if not self._is_blank(position + 1) else position + 2
            if below >= len(self._texts) or not self._is_blank(below + 1):
                continue
            title = self._texts[below].strip()
            known = fitting.get(below)
            if known is not None and known.kind not in ("capitals", "alone"):
                continue
            if title and title[-1] not in ".:" and is_title(title):
                fitting[below] = Heading("subtitle", heading.level, title)
                fitting[position] = replace(heading, title=f"{heading.title} {title}")


def _drop_lone_numbers(fitting: dict[int, Heading]) -> None:
    """Drop headings with one number, or one letter, whose neighbours in the row are not there."""
    numbers = {
        heading.number
        for heading in fitting.values()
        if heading.kind == "numbered" and "." not in heading.number
    }
    for position, heading in list(fitting.items()):
        number = heading.number
        if heading.kind != "numbered" or number not in numbers or heading.runs_in:
            continue
        title = heading.title.removeprefix(number).lstrip(". ")
        if title.isupper() and " " in title and number.isdigit():
            continue
        if len(numbers) < _LEAST_NUMBER or not numbers & set(_beside(number)):
            del fitting[position]


def _beside(number: str) -> tuple[str, ...]:
    """The numbers before and behind one."""
    if number.isdigit():
        return str(int(number) - 1), str(int(number) + 1)
    if number in _ROMANS:
        at = _ROMANS.index(number)
        return _ROMANS[max(0, at - 1)], _ROMANS[min(at + 1, len(_ROMANS) - 1)]
    return chr(ord(number[0]) - 1), chr(ord(number[0]) + 1)


_ROMANS = [
    *("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII", "XIII", "XIV"),
    *("XV", "XVI", "XVII", "XVIII", "XIX", "XX", "XXI", "XXII", "XXIII", "XXIV", "XXV"),
]


def _folded(title: str) -> str:
    return " ".join(title.casefold().split())
