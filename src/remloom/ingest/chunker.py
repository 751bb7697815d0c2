"""Cutting a document into chunks of about 300 words that read on their own and can be cited."""

from __future__ import annotations

import csv
import io
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from ..text.sentences import UNSPACED, count_words, sentence_ends

# to be raised when chunks of a text become others, or what is noted of them: a document that was
# read before is then cut again, rather than taken for the same because its text is
CUT = 1
TARGET = 300  # words of a chunk
MOST = 360  # words up to which a chunk is filled rather than a paragraph cut
LEAST = 75  # words below which a rest joins the chunk before it
_SECTION = 150  # words from which a chunk ends where a new section begins


PARAGRAPH = "\n\n"  # between two chunks of which nothing is known

# a line without blanks is cut where no blank is in this many characters
_UNBROKEN = 900
_JOINED_BEFORE = re.compile(rf"[{UNSPACED}。！？｡…」』”’）】》]\Z")
_JOINED_AFTER = re.compile(f"[{UNSPACED}]")


class Chunk(Struct, frozen=True):
    """A piece of a document: `text[start:end]`, for tables with their header before it."""

    text: str
    start: int  # character offsets in the document
    end: int
    lines: tuple[int, int]  # first and last line in the document, from 1
    heading: str = ""  # "Steps > Rollback": the headings above it
    header: tuple[int, int] | None = None  # first and last line of the header that a table has


class _Piece(Struct, frozen=True):
    """What is packed into chunks and never cut: a heading, a paragraph, or a sentence of one."""

    start: int
    end: int
    words: int
    heading: bool
    path: tuple[str, ...]
    first: bool = True  # of its block: a chunk may begin here without cutting a paragraph


def chunk_text(text: str, *, start: int = 0, title: str = "") -> list[Chunk]:
    """Cut a text from an offset on: every character but blank ones between chunks is in one.

    A sentence is never broken, unless it alone is longer than `MOST` words. A heading stays with
    what follows it, code and tables stay whole where they fit, and a short rest joins its
    neighbour. The title of the document is left out of the chunks' headings.
    """
    breaks = [match.start() for match in re.finditer("\n", text)]
    chunks = []
    for group in _pack(_pieces(text, start)):
        first, end = _without_blanks(text, group[0].start, group[-1].end)
        if first >= end:
            continue
        lines = (bisect_right(breaks, first - 1) + 1, bisect_right(breaks, end - 1) + 1)
        heading = " > ".join(name for name in group[0].path if name != title)
        chunks.append(Chunk(text[first:end], first, end, lines, heading))
    return chunks


def _without_blanks(text: str, start: int, end: int) -> tuple[int, int]:
    content = text[start:end]
    end -= len(content) - len(content.rstrip())
    first = end - len(text[start:end].lstrip())
    return max(start, text.rfind("\n", 0, first) + 1), end


# -- tables --------------------------------------------------------------------------------------


class _Row(Struct, frozen=True):
    start: int  # offsets
    end: int
    lines: tuple[int, int]  # first and last, from 1


def chunk_table(text: str, *, delimiter: str) -> list[Chunk]:
    """Cut a CSV or TSV file into chunks of whole rows, which may have line ends inside quotes, each
    with the header line first. `start`, `end` and `lines` are those of the rows."""
    rows = list(_rows(text, delimiter))
    if not rows:
        return []
    header = text[rows[0].start : rows[0].end].strip()
    if len(rows) == 1:
        end = rows[0].start + len(header)
        return [Chunk(header, rows[0].start, end, rows[0].lines)]
    chunks: list[Chunk] = []
    group: list[_Row] = []
    words = 0
    for row in rows[1:]:
        size = _size(text[row.start : row.end].replace(delimiter, " "))
        if group and words + size > MOST:
            chunks.append(_table_chunk(text, header, rows[0], group))
            group, words = [], 0
        group.append(row)
        words += size
    chunks.append(_table_chunk(text, header, rows[0], group))
    return chunks


def _table_chunk(text: str, header: str, first_row: _Row, rows: Sequence[_Row]) -> Chunk:
    start = rows[0].start
    content = text[start : rows[-1].end].rstrip("\n")
    lines = (rows[0].lines[0], rows[-1].lines[1])
    end = start + len(content)
    return Chunk(f"{header}\n{content}", start, end, lines, header=first_row.lines)


def _rows(text: str, delimiter: str) -> Iterator[_Row]:
    lines = io.StringIO(text).readlines()
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    # a cell may be as long as the file
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    reader = csv.reader(lines, delimiter=delimiter)
    last = 0
    for row in reader:
        first, last = last, reader.line_num
        if any(cell.strip() for cell in row):
            yield _Row(offsets[first], offsets[last], (first + 1, last))


# -- pieces --------------------------------------------------------------------------------------


def _pieces(text: str, start: int) -> Iterator[_Piece]:
    """What a text is packed from, each with the headings above it."""
    path: list[tuple[int, str]] = []
    for block in blocks(text, start):
        is_heading = block.kind == "heading"
        if is_heading:
            while path and path[-1][0] >= block.level:
                path.pop()
            if block.title:
                path.append((block.level, block.title))
        names = tuple(name for _, name in path)
        words = _size(text[block.start : block.end])
        whole = _Piece(block.start, block.end, words, is_heading, names)
        if words <= MOST or is_heading:
            yield whole
        else:
            yield from _sentences(text, block, whole)


def _sentences(text: str, block: Block, whole: _Piece) -> Iterator[_Piece]:
    """A block that is too long for a chunk, in sentences or lines; those cut if need be."""
    content = text[block.start : block.end]
    ends = sentence_ends(content)
    if block.kind == "solid":
        ends = [*(line.end() for line in re.finditer("\n", content[:-1])), len(content)]
    begin = 0
    for end in ends:
        words = _size(content[begin:end])
        cuts = [end] if words <= MOST else [*_blanks(content, begin, end), end]
        for cut in cuts:
            yield _Piece(
                block.start + begin,
                block.start + cut,
                words if len(cuts) == 1 else _size(content[begin:cut]),
                heading=False,
                path=whole.path,
                first=begin == 0,
            )
            begin = cut


def _size(text: str) -> int:
    """Words of a text; more for what has hardly any blanks, such as encoded data."""
    return max(count_words(text), len(text) // 20)


def _blanks(text: str, begin: int, end: int) -> Iterator[int]:
    """Cuts inside a sentence too long for a chunk: at line ends or blanks, else anywhere."""
    room = TARGET * 6  # characters of about TARGET words
    ideographs = sum(1 for character in text[begin:end] if character > "\u2fff")
    # of which each is a word
    if ideographs * 2 > end - begin:
        room = TARGET
    while end - begin > room:
        cut = text.rfind("\n", begin + room // 2, begin + room)
        if cut < 0:
            cut = text.rfind(" ", begin + room // 2, begin + room)
        begin = cut + 1 if cut >= 0 else begin + room
        yield begin


# -- packing -------------------------------------------------------------------------------------


def _pack(pieces: Iterable[_Piece]) -> list[list[_Piece]]:
    groups: list[list[_Piece]] = []
    group: list[_Piece] = []
    words = 0
    for piece in pieces:
        if piece.heading and group and groups and _belongs(group, groups[-1]):
            groups[-1] += group
            group, words = [], 0
        if group and _closes(group, words, piece):
            size = _closed_size(group, words)
            if size:
                groups.append(group[:size])
                # a heading moves on to what follows it
                group = group[size:]
                words = sum(one.words for one in group)
        group.append(piece)
        words += piece.words
    if group:
        groups.append(group)
    if len(groups) > 1 and _fits(groups[-1], groups[-2]):
        rest = groups.pop()
        groups[-1] += rest
    return groups


def _closed_size(group: list[_Piece], words: int) -> int:
    """How many pieces of a group make its chunk: all but the headings at its end."""
    size = len(group)
    while size > 1 and group[size - 1].heading:
        size -= 1
    if not group[size - 1].heading:
        return size
    # nothing but headings: they wait for a text, unless they are one
    return len(group) if words > MOST // 2 else 0


def _belongs(rest: list[_Piece], before: list[_Piece]) -> bool:
    """Whether the rest of a section should join the chunk before it, which is of that section."""
    first = rest[0]
    return first.path == before[-1].path and not first.heading and _fits(rest, before)


def _fits(rest: list[_Piece], before: list[_Piece]) -> bool:
    size = sum(piece.words for piece in rest)
    joined = size + sum(piece.words for piece in before)
    return size < LEAST and joined <= MOST + LEAST


def _closes(group: list[_Piece], words: int, piece: _Piece) -> bool:
    if words + piece.words > MOST:
        return True
    if piece.heading:
        return words >= _SECTION and not group[-1].heading
    if group[-1].heading:
        return False
    if words >= TARGET:
        return True
    # rather a bit short than a paragraph cut
    is_long = words + piece.words > TARGET and words >= TARGET * 2 // 3
    return piece.first and is_long


def guess_gap(before: str, after: str) -> str:
    """Guess what stood between two chunks that share a line: a blank, or nothing.

    >>> guess_gap("She left.", "He stayed."), guess_gap("東京へ行く。", "雨が降る。")
    (' ', '')
    """
    if _JOINED_BEFORE.search(before[-1:]) and (
        _JOINED_AFTER.match(after) or not after[:1].isascii()
    ):
        return ""
    is_cut = len(before) >= _UNBROKEN and len(before[-_UNBROKEN:].split(maxsplit=1)) == 1
    return "" if is_cut else " "


def normal_gap(gap: str) -> str:
    """Reduce a gap to its line ends and the indentation behind them, if it has line ends."""
    count = gap.count("\n")
    return "\n" * count + gap.rpartition("\n")[2] if count else gap


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
    """The blocks of a text in Markdown, reStructuredText or none, from an offset on, together all
    of it."""
    return _Lines(text, start).blocks()


def _begins_block(line: str) -> bool:
    if _FENCE.match(line) or _ITEM.match(line):
        return True
    return bool(_ATX.fullmatch(line) or _TABLE.fullmatch(line))
