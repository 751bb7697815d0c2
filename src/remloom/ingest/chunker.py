"""Cutting a document into chunks of about 300 words that read on their own and can be cited to the
line.

Source: DESIGN section 6.
"""

from __future__ import annotations

import csv
import io
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from msgspec import Struct

from ..text.sentences import count_words, sentence_ends
from .blocks import Block, blocks

__all__ = ["TARGET", "Chunk", "chunk_table", "chunk_text"]

TARGET = 300  # words of a chunk
MOST = 360  # words up to which a chunk is filled rather than a paragraph cut
LEAST = 75  # words below which a rest joins the chunk before it
_SECTION = 150  # words from which a chunk ends where a new section begins


class Chunk(Struct, frozen=True):
    """A piece of a document: `text[start:end]`, for tables with their header before it."""

    text: str
    start: int  # character offsets in the document
    end: int
    lines: tuple[int, int]  # first and last line in the document, from 1
    heading: str = ""  # "Steps > Rollback": the headings it stands under


class _Piece(Struct, frozen=True):
    """What is packed into chunks and never cut: a heading, a paragraph, or a sentence of one."""

    start: int
    end: int
    words: int
    heading: bool
    path: tuple[str, ...]
    first: bool = True  # of its block: a chunk may begin here without cutting a paragraph


def chunk_text(text: str, *, start: int = 0, title: str = "") -> list[Chunk]:
    """Chunks of a text from an offset on, in order: every character but blank ones between chunks
    is in one.

    A sentence is never broken, unless it alone is longer than `MOST` words. A heading stays with
    what follows it, code and tables stay whole where they fit, and a short rest joins its
    neighbour.

    Args:
        text: the whole document.
        start: where its content begins.
        title: of the document; left out of the chunks' headings.
    """
    breaks = [found.start() for found in re.finditer("\n", text)]
    found = []
    for group in _packed(_pieces(text, start)):
        opened, closed = group[0].start, group[-1].end
        closed -= len(text[opened:closed]) - len(text[opened:closed].rstrip())
        if opened >= closed:
            continue
        # Leading blank lines go; the first line keeps its indentation, which means something in
        # code and lists.
        first = closed - len(text[opened:closed].lstrip())
        opened = max(group[0].start, text.rfind("\n", 0, first) + 1)
        lines = (bisect_right(breaks, opened - 1) + 1, bisect_right(breaks, closed - 1) + 1)
        path = " > ".join(name for name in group[0].path if name != title)
        found.append(Chunk(text[opened:closed], opened, closed, lines, path))
    return found


def chunk_table(text: str, *, delimiter: str) -> list[Chunk]:
    """Chunks of a CSV or TSV file: whole rows, each chunk with the header line first.

    Rows may hold line ends inside quotes; a row is never cut. `start`, `end` and `lines` are those
    of the rows.
    """
    spans = list(_rows(text, delimiter))
    if not spans:
        return []
    header = text[spans[0][0] : spans[0][1]].strip()
    found: list[Chunk] = []
    group: list[tuple[int, int, int, int]] = []
    words = 0
    for span in [*spans[1:], None]:
        size = _size(text[span[0] : span[1]].replace(delimiter, " ")) if span else 0
        if group and (span is None or words + size > MOST):
            opened, closed = group[0][0], group[-1][1]
            rows = text[opened:closed].rstrip("\n")
            found.append(
                Chunk(f"{header}\n{rows}", opened, opened + len(rows), (group[0][2], group[-1][3]))
            )
            group, words = [], 0
        if span:
            group.append(span)
            words += size
    if not found:  # a header alone
        found.append(
            Chunk(header, spans[0][0], spans[0][0] + len(header), (spans[0][2], spans[0][3]))
        )
    return found


def _rows(text: str, delimiter: str) -> Iterator[tuple[int, int, int, int]]:
    """Start, end, first and last line of each row that is not blank."""
    lines = io.StringIO(text).readlines()
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    reader = csv.reader(lines, delimiter=delimiter)
    last = 0
    for row in reader:
        first, last = last, reader.line_num
        if any(cell.strip() for cell in row):
            yield offsets[first], offsets[last], first + 1, last


def _pieces(text: str, start: int) -> Iterator[_Piece]:
    path: list[tuple[int, str]] = []
    for block in blocks(text, start):
        if block.kind == "heading":
            while path and path[-1][0] >= block.level:
                path.pop()
            if block.title:
                path.append((block.level, block.title))
        names = tuple(name for _, name in path)
        words = _size(text[block.start : block.end])
        whole = _Piece(block.start, block.end, words, block.kind == "heading", names)
        if words <= MOST or block.kind == "heading":
            yield whole
        else:
            yield from _sentences(text, block, whole)


def _sentences(text: str, block: Block, whole: _Piece) -> Iterator[_Piece]:
    content = text[block.start : block.end]
    ends = _line_ends(content) if block.kind == "solid" else sentence_ends(content)
    begin = 0
    for end in ends:
        words = _size(content[begin:end])
        cuts = [end] if words <= MOST else [*_blanks(content, begin, end), end]
        for cut in cuts:
            size = words if len(cuts) == 1 else _size(content[begin:cut])
            yield _Piece(
                block.start + begin, block.start + cut, size, False, whole.path, first=begin == 0
            )
            begin = cut


def _size(text: str) -> int:
    """Words of a text; more for what has hardly any blanks, such as encoded data."""
    return max(count_words(text), len(text) // 20)


def _line_ends(text: str) -> list[int]:
    return [offset + 1 for offset, character in enumerate(text[:-1]) if character == "\n"] + [
        len(text)
    ]


def _blanks(text: str, begin: int, end: int) -> Iterator[int]:
    """Cuts inside a sentence too long for a chunk: at line ends or blanks, else anywhere."""
    room = TARGET * 6  # characters of about TARGET words
    if sum(1 for character in text[begin:end] if character > "\u2fff") * 2 > end - begin:
        room = TARGET
    while end - begin > room:
        cut = text.rfind("\n", begin + room // 2, begin + room)
        if cut < 0:
            cut = text.rfind(" ", begin + room // 2, begin + room)
        begin = cut + 1 if cut >= 0 else begin + room
        yield begin


def _packed(pieces: Iterable[_Piece]) -> list[list[_Piece]]:
    """Groups of pieces, one a chunk."""
    groups: list[list[_Piece]] = []
    group: list[_Piece] = []
    words = 0
    for piece in pieces:
        if piece.heading and group and groups and _belongs(group, groups[-1]):
            groups[-1] += group
            group, words = [], 0
        if group and _closes(group, words, piece):
            kept = len(group)
            while kept > 1 and group[kept - 1].heading:
                kept -= 1
            # nothing but headings: they wait for a text, unless they are one
            if group[kept - 1].heading:
                kept = len(group) if words > MOST // 2 else 0
            if kept:
                groups.append(group[:kept])
                group = group[kept:]  # a heading moves on to what follows it
                words = sum(one.words for one in group)
        group.append(piece)
        words += piece.words
    if group:
        groups.append(group)
    if len(groups) > 1 and _fits(groups[-1], groups[-2]):
        rest = groups.pop()
        groups[-1] += rest
    return groups


def _belongs(rest: list[_Piece], before: list[_Piece]) -> bool:
    """Whether what is left at the end of a section should join the chunk before it, which is of
    that section."""
    return rest[0].path == before[-1].path and not rest[0].heading and _fits(rest, before)


def _fits(rest: list[_Piece], before: list[_Piece]) -> bool:
    size = sum(piece.words for piece in rest)
    return size < LEAST and size + sum(piece.words for piece in before) <= MOST + LEAST


def _closes(group: list[_Piece], words: int, piece: _Piece) -> bool:
    """Whether a chunk ends before this piece."""
    if words + piece.words > MOST:
        return True
    if piece.heading:
        return words >= _SECTION and not group[-1].heading
    if group[-1].heading:
        return False
    return words >= TARGET or (
        piece.first and words + piece.words > TARGET and words >= TARGET * 2 // 3
    )
