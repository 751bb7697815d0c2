"""Lists of what a person saved to read, and marked while reading: Pocket, Instapaper, Readwise.

Each is a table (CSV) that is recognised by its columns and read a month at a time, a line for each
item. What was marked are the words of its author, the note those of the reader. Of an address the
site alone is kept.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from ...errors import SourceError
from ...text import dates
from ..document import Document, Skipped
from .pages import one_line, site_of

_LONGEST = 2_000  # characters of what was marked, or noted
_LONGEST_TITLE = 200  # characters
_LISTED = 10  # rows in a message
_FIRST_YEAR, _LAST_YEAR = 1990, 9990  # of an item
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_TAGS = re.compile(r"[|,;]")


class _List(Struct, frozen=True):
    """How a program writes its list: the columns by what they mean, in lower case."""

    program: str
    needed: frozenset[str]
    time: str
    title: str = "title"
    url: str = "url"
    author: str = ""
    tags: tuple[str, ...] = ("tags",)
    folder: str = ""  # or whether it was read
    marked: str = ""
    note: str = ""


_LISTS = (
    _List(
        program="Pocket",
        needed=frozenset(("title", "url", "time_added", "status")),
        time="time_added",
        folder="status",
    ),
    _List(
        program="Instapaper",
        needed=frozenset(("url", "title", "selection", "folder", "timestamp")),
        time="timestamp",
        folder="folder",
        marked="selection",
    ),
    _List(
        program="Readwise",
        needed=frozenset(("highlight", "book title", "book author")),
        time="highlighted at",
        title="book title",
        author="book author",
        tags=("tags", "document tags"),
        marked="highlight",
        note="note",
    ),
)

Row = Mapping[str, str]


def is_saved_list(text: str) -> bool:
    """Whether a table has the columns of one of these lists."""
    header = next(_rows(text.partition("\n")[0]), [])
    return _list_of(header) is not None


def read(uri: str, text: str, title: str) -> Iterator[Document | Skipped]:
    """Read a list a month at a time, `<uri>#2026-03`; what has no time is in `<uri>#undated`."""
    rows = _rows(text, uri)
    header = next(rows, [])
    layout = _list_of(header)
    if layout is None:
        raise SourceError("no list of saved items", uri=uri)
    columns = [name.strip().lower() for name in header]
    months: dict[str, list[str]] = defaultdict(list)
    without: list[int] = []
    for number, cells in enumerate(rows, 2):
        if not any(cells):
            continue
        # a row may be shorter than the header, or longer
        row = dict(zip(columns, cells, strict=False))
        at = _time(row.get(layout.time, ""))
        line = _line(layout, row, at)
        if line:
            month = f"{at:%Y-%m}" if at else "undated"
            months[month].append(line)
        else:
            without.append(number)
    if not months:
        raise SourceError(f"a list of {layout.program} without items", uri=uri)
    # a month is let go of as soon as it is handed on
    for month in sorted(months, reverse=True):
        yield _document(uri, title, layout, month, months.pop(month))
    if without:
        yield Skipped(uri=uri, reason=_without(without))


def _rows(text: str, uri: str = "") -> Iterator[list[str]]:
    # a cell may be as long as the file
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    # line by line: a copy of all lines would be larger than the text
    reader = csv.reader(line[0] for line in _LINE.finditer(text))
    try:
        yield from reader
    except csv.Error as error:
        raise SourceError(f"row {reader.line_num} is no CSV: {error}", uri=uri) from error


def _list_of(header: Sequence[str]) -> _List | None:
    names = {name.strip().lower() for name in header}
    return next((layout for layout in _LISTS if layout.needed <= names), None)


def _line(layout: _List, row: Row, at: datetime | None) -> str:
    """Write an item, if it says something: `- 2026-03-02: Rye bread (crumb.example), by Ann
    Baker`."""
    title = one_line(row.get(layout.title, ""), _LONGEST_TITLE)
    site = site_of(row.get(layout.url, ""))
    # programs give the address for the title of what has none
    if "://" in title:
        title = ""
    name = f"{title} ({site})" if title and site else title or site
    # the words of the author of what was read, hence in quotes
    marked = one_line(row.get(layout.marked, ""), _LONGEST)
    if not name and not marked:
        return ""
    author = one_line(row.get(layout.author, ""), _LONGEST_TITLE)
    parts = [(name or "Untitled") + (f", by {author}" if author else "")]
    tags = [tag for column in layout.tags for tag in _tags(row.get(column, ""))]
    if tags:
        parts.append(f"tags: {', '.join(dict.fromkeys(tags))}")
    labels = (
        ("list", one_line(row.get(layout.folder, ""), _LONGEST_TITLE)),
        ("marked", f"“{marked}”" if marked else ""),
        ("note", one_line(row.get(layout.note, ""), _LONGEST)),
    )
    parts += [f"{label}: {words}" for label, words in labels if words]
    day = f"{at:%Y-%m-%d}: " if at else ""
    return f"- {day}{'; '.join(parts)}"


def _time(cell: str) -> datetime | None:
    """When an item was saved; None for what cannot be, such as 0 for a time that is not known."""
    at = dates.parse(cell.strip())
    return at.astimezone(UTC) if at and _FIRST_YEAR <= at.year <= _LAST_YEAR else None


def _tags(cell: str) -> list[str]:
    """Split tags as the programs write them: `a|b`, `a, b`, or `["a", "b"]`."""
    if cell.startswith("["):
        try:
            found: list[Any] = msgspec.json.decode(cell, type=list[Any])
        except msgspec.DecodeError:
            found = [cell]
    else:
        found = _TAGS.split(cell)
    tags = (one_line(str(tag), _LONGEST_TITLE) for tag in found)
    return [tag for tag in tags if tag]


def _document(
    uri: str,
    title: str,
    layout: _List,
    month: str,
    lines: list[str],
) -> Document:
    dated = month != "undated"
    if dated:
        # each begins with its day; those of a day stay in the order of the list
        lines.sort(key=lambda line: line[: len("- 2026-03-02")])
    return Document(
        uri=f"{uri}#{month}",
        origin=uri,
        title=f"{title} {month} ({layout.program})",
        text="\n".join(lines) + "\n",
        lined=False,
        media_type="text/markdown",
        category="saved",
        at=datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC) if dated else None,
        metadata={"program": layout.program, "items": len(lines)},
    )


def _without(numbers: Sequence[int]) -> str:
    listed = ", ".join(map(str, numbers[:_LISTED])) + (", …" if len(numbers) > _LISTED else "")
    one = len(numbers) == 1
    return f"{len(numbers):,} of its rows {'has' if one else 'have'} no title or site: row {listed}"
