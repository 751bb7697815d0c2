"""The lines of a document, rebuilt from its stored chunks: there is no second copy to encrypt or to
forget."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from ...ingest.chunker import PARAGRAPH, guess_gap
from ...model import Resource
from ...store.contract import Store
from ...store.specs import ChunkRange
from .lines import ChunkSpan, Lines

_AT_ONCE = 1_000  # chunks that are in memory with the lines
# lines without text that are believed, for each line with text, and in any case
_MOST_BLANK, _BLANK_AT_LEAST = 1_000, 100_000


_Range = tuple[Annotated[int, Meta(ge=1)], Annotated[int, Meta(ge=1)]]


class _ChunkPosition(Struct, frozen=True, gc=False):
    """What the metadata of a chunk say of its position; who wrote the record may say anything."""

    lines: _Range | None = None
    pages: _Range | None = None
    page_lines: list[Annotated[int, Meta(ge=0)]] = []
    heading: str = ""
    header: _Range | None = None
    gap: str | None = None
    columns: dict[str, list[Any]] = {}
    column_lines: _Range | None = None


class _Piece(Struct, frozen=True, gc=False):
    id: str
    texts: list[str]
    position: _ChunkPosition
    is_turn: bool


def read_lines(store: Store, uri: str, name: str = "") -> Lines:
    """Rebuild the lines of a document by its uri; none where nothing was read.

    Args:
        name: default its title.
    """
    title = ""

    def chunks() -> Iterator[Resource]:
        nonlocal title
        for chunk in _chunks(store, uri):
            title = title or chunk.title
            yield chunk

    lines = rebuild(chunks(), uri)
    lines.name = name or title or uri
    return lines


def _chunks(store: Store, uri: str) -> Iterator[Resource]:
    """The chunks of a document in order, some at a time."""
    after, is_last = -1, False
    while not is_last:
        some = store.records.chunks(uri, ChunkRange(after=after, limit=_AT_ONCE))
        is_last = len(some) < _AT_ONCE
        if not is_last:
            # more may have the ordinal of the last one
            cut = some[-1].ordinal
            some = [chunk for chunk in some if chunk.ordinal < cut]
            if not some:
                some = store.records.chunks(uri, ChunkRange(after=after, before=cut + 1))
            after = some[-1].ordinal
        yield from (chunk for chunk in some if chunk.is_chunk)


def rebuild(chunks: Iterable[Resource], uri: str = "") -> Lines:
    """Rebuild the lines from a document's chunks, given in order, each needed for a moment only.

    By the lines that they say they have; where they say none, or cannot have those, one after
    another. Blanks at the ends of lines may be lost; what is in no chunk, such as front matter, is
    a blank line.
    """
    pieces = [_piece_of(chunk) for chunk in chunks]
    header, pieces = _split_headers(pieces)
    fitted = _fit(pieces)
    builder = _Builder()
    header_lines: tuple[int, ...] = ()
    if fitted is not None and header is not None:
        texts, (first, _) = header
        builder.add(texts, first)
        header_lines = tuple(range(first, first + len(texts)))
    for piece in pieces if fitted is None else fitted:
        builder.add_piece(piece, by_lines=fitted is not None)
    texts = builder.finish()
    columns = _columns_of(pieces, texts) if fitted is not None else {}
    return Lines(
        uri,
        "",
        texts,
        builder.spans,
        lined=fitted is not None,
        header=header_lines,
        pages=builder.pages,
        columns=columns,
    )


def _columns_of(pieces: Sequence[_Piece], texts: list[str]) -> dict[str, list[Any]]:
    """The values of each line; blank lines are added for those without text."""
    columns: dict[str, list[Any]] = {}
    for piece in pieces:
        if piece.position.column_lines is None:
            continue
        first, last = piece.position.column_lines
        if last - len(texts) > _BLANK_AT_LEAST:
            continue
        texts.extend([""] * (last - len(texts)))
        for name, values in piece.position.columns.items():
            if len(values) != last - first + 1:
                continue
            column = columns.setdefault(name, [])
            column.extend([None] * (last - len(column)))
            column[first - 1 : last] = values
    for column in columns.values():
        column.extend([None] * (len(texts) - len(column)))
    return columns


def _piece_of(chunk: Resource) -> _Piece:
    position = _position_of(chunk.metadata)
    return _Piece(chunk.id, _texts_of(chunk, position.lines), position, bool(chunk.speaker))


def _position_of(metadata: dict[str, Any]) -> _ChunkPosition:
    """What metadata say of a position; nothing is believed of what cannot be so."""
    try:
        position = msgspec.convert(metadata, _ChunkPosition)
    except msgspec.ValidationError:
        return _ChunkPosition()
    ranges = (position.lines, position.pages, position.header)
    if any(range_ and range_[0] > range_[1] for range_ in ranges):
        return _ChunkPosition()
    if position.column_lines and position.column_lines[0] > position.column_lines[1]:
        # no line ends in a chunk of the middle of a long one
        position = replace(position, columns={}, column_lines=None)
    return replace(position, gap=None) if position.gap and position.gap.strip() else position


def _texts_of(chunk: Resource, lines: tuple[int, int] | None) -> list[str]:
    """The lines of a chunk; those of a turn begin with who speaks."""
    content = chunk.content
    if "\r" in content:
        content = content.replace("\r\n", "\n").replace("\r", "\n")
    texts = content.split("\n")
    if chunk.speaker:
        # a turn that was read from a file may begin in the line below its speaker
        below = lines[1] - lines[0] + 1 - len(texts) if lines else 0
        if 0 < below <= len(texts) + _BLANK_AT_LEAST:
            texts = [""] * below + texts
        texts[0] = f"{chunk.speaker}: {texts[0]}" if texts[0] else f"{chunk.speaker}:"
    return texts


def _split_headers(
    pieces: list[_Piece],
) -> tuple[tuple[list[str], tuple[int, int]] | None, list[_Piece]]:
    """Take the header off the chunks of a table, each of which begins with it."""
    surplus = [_surplus(piece) for piece in pieces]
    if not pieces or not surplus[0] or len(set(surplus)) > 1:
        return None, pieces
    size = surplus[0]
    header = pieces[0].texts[:size]
    if any(piece.texts[:size] != header or len(piece.texts) == size for piece in pieces):
        return None, pieces
    position = pieces[0].position.header or (1, size)
    rest = [replace(piece, texts=piece.texts[size:]) for piece in pieces]
    return (header, position), rest


def _surplus(piece: _Piece) -> int:
    """How many lines more a chunk has than it had in the source: those of its header."""
    if header := piece.position.header:
        return header[1] - header[0] + 1
    lines = piece.position.lines
    if not lines or piece.is_turn:
        return 0
    return max(0, len(piece.texts) - (lines[1] - lines[0] + 1))


def _fit(pieces: Sequence[_Piece]) -> list[_Piece] | None:
    """The chunks with as many lines as they say; None where one cannot have those."""
    fitted = []
    at = filled = 0
    for piece in pieces:
        if piece.position.lines is None:
            return None
        first, last = piece.position.lines
        missing = last - first + 1 - len(piece.texts)
        if first < max(at, 1) or missing < 0:
            return None
        filled += len(piece.texts)
        if last - filled > max(_BLANK_AT_LEAST, _MOST_BLANK * filled):
            return None
        # of the last cell of a table blank lines at its end are not kept
        if missing:
            piece = replace(piece, texts=piece.texts + [""] * missing)
        fitted.append(piece)
        at = last
    return fitted


class _Builder:
    """Joins what shares a line when the line is complete."""

    def __init__(self) -> None:
        self.spans: list[ChunkSpan] = []
        self.pages: list[tuple[int, int]] = []
        self._texts: list[str] = []
        # the parts of the last line
        self._parts: list[str] = []
        self._before = ""

    def finish(self) -> list[str]:
        self._complete()
        return self._texts

    def add_piece(self, piece: _Piece, *, by_lines: bool) -> None:
        """Add a chunk at its lines, or else behind what is there."""
        at = len(self._texts) + bool(self._parts)
        gap = piece.position.gap
        if by_lines and piece.position.lines:
            first = piece.position.lines[0]
        else:
            gap = gap if gap is not None else "\n" if piece.is_turn else PARAGRAPH
            first = at + gap.count("\n") if at else 1
        if first == at:
            self._parts.append(guess_gap(self._before, piece.texts[0]) if gap is None else gap)
        # where a chunk begins within a line, what that line begins with is in the gap
        indentation = gap.rpartition("\n")[2] if gap and first > at else ""
        self.add([indentation + piece.texts[0], *piece.texts[1:]], first)
        self._before = piece.texts[-1]
        last = len(self._texts) + 1
        page = piece.position.pages[0] if piece.position.pages else 0
        self.spans.append(ChunkSpan(piece.id, first, last, piece.position.heading, page))
        self._add_pages(piece.position, first)

    def add(self, texts: Sequence[str], first: int) -> None:
        """Add lines from a line on; it may be the last one that is there."""
        if first > len(self._texts) + bool(self._parts):
            self._complete()
            self._texts.extend([""] * (first - 1 - len(self._texts)))
        self._parts.append(texts[0])
        if len(texts) > 1:
            self._complete()
            self._texts.extend(texts[1:-1])
            self._parts.append(texts[-1])

    def _complete(self) -> None:
        if self._parts:
            self._texts.append("".join(self._parts))
            self._parts = []

    def _add_pages(self, position: _ChunkPosition, first: int) -> None:
        if not position.pages:
            return
        page = position.pages[0]
        if not self.pages or self.pages[-1][1] < page:
            self.pages.append((first, page))
        for offset in position.page_lines:
            page += 1
            self.pages.append((first + offset, page))
