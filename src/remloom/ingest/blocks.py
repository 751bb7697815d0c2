"""The blocks of a text: headings, paragraphs, list items, code and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

Kind: TypeAlias = Literal["heading", "prose", "item", "solid"]

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?[ \t]*#*[ \t]*")
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\S")
_UNDERLINE = re.compile(r"([=\-~^*\"'#+`])\1{2,}[ \t]*")
_TABLE = re.compile(r"[ \t]*\|.*\|[ \t]*|[ \t]*\+[-=+]{3,}\+[ \t]*")


class Block(Struct, frozen=True):
    """A piece of a text that belongs together. Blocks follow each other without gap."""

    start: int  # offsets; blank lines behind a block belong to it
    end: int
    kind: Kind  # solid: code or a table, cut at line ends only
    level: int = 0  # of a heading: 1 is highest
    title: str = ""  # of a heading, without its marks


class _Lines:
    """The lines of a text from an offset on, read block by block."""

    def __init__(self, text: str, start: int) -> None:
        self._starts: list[int] = []
        self._lines = text[start:].split("\n")
        offset = start
        for line in self._lines:
            self._starts.append(offset)
            offset += len(line) + 1
        self._starts.append(len(text))
        # of reStructuredText: a mark's level is the order of its first use
        self._underlines: list[str] = []

    def blocks(self) -> Iterator[Block]:
        number = 0
        while number < len(self._lines):
            first = number
            kind, level, title, number = self._block_at(number)
            # blank lines behind a block belong to it
            while number < len(self._lines) and not self._lines[number].strip():
                number += 1
            start, end = self._starts[first], self._starts[number]
            if end > start:
                yield Block(start, end, kind, level, title)

    def _block_at(self, number: int) -> tuple[Kind, int, str, int]:
        """Kind, level and title of the block that begins here, and the line after it."""
        line = self._lines[number]
        fence = _FENCE.match(line)
        if fence:
            return "solid", 0, "", self._fence_end(number, fence[1])
        heading = _ATX.fullmatch(line)
        if heading:
            return "heading", len(heading[1]), (heading[2] or "").strip(), number + 1
        if _TABLE.fullmatch(line):
            return "solid", 0, "", self._table_end(number)
        if self._is_underlined(number):
            return "heading", self._underline_level(number), line.strip(), number + 2
        kind: Kind = "item" if _ITEM.match(line) else "prose"
        return kind, 0, "", self._paragraph_end(number)

    def _fence_end(self, number: int, mark: str) -> int:
        """The line after the fence that closes the one here; an open fence runs to the end."""
        for later in range(number + 1, len(self._lines)):
            stripped = self._lines[later].strip()
            if stripped.startswith(mark) and not stripped.strip(mark[0]):
                return later + 1
        return len(self._lines)

    def _table_end(self, number: int) -> int:
        while number < len(self._lines) and _TABLE.fullmatch(self._lines[number]):
            number += 1
        return number

    def _paragraph_end(self, number: int) -> int:
        number += 1
        while number < len(self._lines):
            line = self._lines[number]
            if not line.strip() or _begins_block(line):
                break
            number += 1
        return number

    def _underline_level(self, number: int) -> int:
        mark = self._lines[number + 1][0]
        if mark not in self._underlines:
            self._underlines.append(mark)
        return self._underlines.index(mark) + 1

    def _is_underlined(self, number: int) -> bool:
        line = self._lines[number].rstrip()
        if not line.strip() or number + 1 >= len(self._lines):
            return False
        # above a heading is a blank line, or the overline of a title
        above = self._lines[number - 1].strip() if number else ""
        if above and not _UNDERLINE.fullmatch(above):
            return False
        underline = self._lines[number + 1].rstrip()
        if not _UNDERLINE.fullmatch(underline) or len(underline) < len(line.strip()):
            return False
        return not _UNDERLINE.fullmatch(line)


def blocks(text: str, start: int = 0) -> Iterator[Block]:
    """The blocks of a text from an offset on, together all of it.

    Markdown, reStructuredText and plain text.
    """
    return _Lines(text, start).blocks()


def _begins_block(line: str) -> bool:
    if _FENCE.match(line) or _ITEM.match(line):
        return True
    return bool(_ATX.fullmatch(line) or _TABLE.fullmatch(line))
