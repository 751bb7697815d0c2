"""What a text is made of: headings, paragraphs, list items, code and tables, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

__all__ = ["Block", "blocks"]

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


def blocks(text: str, start: int = 0) -> Iterator[Block]:
    """The blocks of a text from an offset on, together all of it. Markdown, reStructuredText and
    plain text."""
    lines: list[tuple[int, str]] = []
    offset = start
    for line in text[start:].split("\n"):
        lines.append((offset, line))
        offset += len(line) + 1
    # of reStructuredText: a mark's level is the order of its first use
    underlines: list[str] = []
    at = 0
    while at < len(lines):
        opened = at
        kind: Kind = "prose"
        level, title = 0, ""
        line = lines[at][1]
        fence = _FENCE.match(line)
        atx = _ATX.fullmatch(line)
        if fence:
            kind = "solid"
            at = _fence_end(lines, at, fence[1])
        elif atx:
            kind, level, title = "heading", len(atx[1]), (atx[2] or "").strip()
            at += 1
        elif _TABLE.fullmatch(line):
            kind = "solid"
            while at < len(lines) and (_TABLE.fullmatch(lines[at][1])):
                at += 1
        elif _is_underlined(lines, at):
            mark = lines[at + 1][1][0]
            if mark not in underlines:
                underlines.append(mark)
            kind, level, title = "heading", underlines.index(mark) + 1, line.strip()
            at += 2
        else:
            kind = "item" if _ITEM.match(line) else "prose"
            at += 1
            while at < len(lines) and lines[at][1].strip() and not _begins_block(lines, at):
                at += 1
        while at < len(lines) and not lines[at][1].strip():
            at += 1
        end = lines[at][0] if at < len(lines) else len(text)
        if end > lines[opened][0]:
            yield Block(lines[opened][0], end, kind, level, title)


def _fence_end(lines: list[tuple[int, str]], at: int, mark: str) -> int:
    """The line after the fence that closes the one opened at `at`; an open fence runs to the end."""
    for number in range(at + 1, len(lines)):
        stripped = lines[number][1].strip()
        if stripped.startswith(mark) and not stripped.strip(mark[0]):
            return number + 1
    return len(lines)


def _is_underlined(lines: list[tuple[int, str]], at: int) -> bool:
    line = lines[at][1].rstrip()
    if not line.strip() or at + 1 >= len(lines) or not (at == 0 or _is_free(lines, at - 1)):
        return False
    under = lines[at + 1][1].rstrip()
    return (
        bool(_UNDERLINE.fullmatch(under))
        and len(under) >= len(line.strip())
        and not _UNDERLINE.fullmatch(line)
    )


def _is_free(lines: list[tuple[int, str]], at: int) -> bool:
    """Whether the line above a heading leaves room for it: blank, or the overline of a title."""
    above = lines[at][1].strip()
    return not above or bool(_UNDERLINE.fullmatch(above))


def _begins_block(lines: list[tuple[int, str]], at: int) -> bool:
    line = lines[at][1]
    return bool(
        _FENCE.match(line) or _ATX.fullmatch(line) or _TABLE.fullmatch(line) or _ITEM.match(line)
    )
