"""Lines of documents as columns: what the tables that SQL reads are made of."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from ...text.sentences import count_words
from ..lines.outline import Section

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, Any]

# characters of a row; a longer line takes several rows, as the engine makes some two thousand
# copies of a text at a time
MAX_WIDTH = 10_000
_BLOCK = 100_000  # rows of a block
MAX_FURTHER = 200  # further columns
_MAX_WHOLE = 2**63
MARKS = ("is_header", "is_list_item", "is_code", "is_section_start", "is_strategic")


class LineColumn(Struct, frozen=True):
    """A column of a table."""

    name: str
    type: str
    description: str
    key: str = ""  # of a further column: what the rows call it


LINE_COLUMNS = (
    LineColumn("line_num", "INTEGER", "number of the line in its document, from 1"),
    LineColumn(
        "text", "VARCHAR", f"the line; one of over {MAX_WIDTH:,} characters takes several rows"
    ),
    LineColumn("word_count", "INTEGER", "its words"),
    LineColumn("is_header", "BOOLEAN", "it is a heading"),
    LineColumn("is_list_item", "BOOLEAN", "it is an item of a list"),
    LineColumn("is_code", "BOOLEAN", "it is code"),
    LineColumn("is_section_start", "BOOLEAN", "it is a heading, or leads in what follows it"),
    LineColumn("is_strategic", "BOOLEAN", "it is a heading or the start of a section"),
    LineColumn("doc", "VARCHAR", "name of its document"),
    LineColumn("section", "VARCHAR", "the headings that it stands under: 'Terms > Payment'"),
    LineColumn("page", "INTEGER", "the page that it is on, from 1; NULL where there are no pages"),
)
SECTION_COLUMNS = (
    LineColumn("doc", "VARCHAR", "name of the document"),
    LineColumn("title", "VARCHAR", "its heading"),
    LineColumn("level", "INTEGER", "1 for the highest"),
    LineColumn("first_line", "INTEGER", "number of its first line, the heading"),
    LineColumn("last_line", "INTEGER", "number of its last line"),
    LineColumn("word_count", "INTEGER", "the words in it"),
    LineColumn("page", "INTEGER", "the page that it begins on; NULL where there are no pages"),
)


class LineSource(Struct, frozen=True):
    """The lines of a document, as columns."""

    name: str
    texts: Sequence[str]
    words: Array  # counts, a line each
    marks: Mapping[str, Array]  # booleans, a line each, by the name of the column
    sections: Sequence[Section] = ()
    pages: Sequence[tuple[int, int]] = ()  # where they begin: a line, and its page, in order
    extras: Mapping[str, Sequence[Any]] = {}  # further columns, a value a line

    @property
    def widest(self) -> int:
        """The characters of the longest text in a row."""
        texts = [self.name, *(section.path for section in self.sections)]
        for values in self.extras.values():
            texts += (str(value) for value in values)
        width = max(map(len, self.texts), default=0)
        return min(MAX_WIDTH, max(width, *map(len, texts)))

    @property
    def characters(self) -> int:
        return sum(map(len, self.texts))


def further_columns(tables: Iterable[Mapping[str, Sequence[Any]]]) -> tuple[LineColumn, ...]:
    """The further columns of the lines of all documents.

    Each has a name that needs no quotes in SQL, and a type that has all its values.

    >>> [column.name for column in further_columns([{"Said by": ["Ann"], "text": ["x"]}])]
    ['said_by', 'text_2']
    """
    values: dict[str, list[Sequence[Any]]] = {}
    for table in tables:
        for key, column in table.items():
            values.setdefault(key, []).append(column)
    taken = {column.name for column in LINE_COLUMNS} | {"rank", "score"}
    columns = []
    for key, found in list(values.items())[:MAX_FURTHER]:
        name = _free_name(key, taken)
        taken.add(name)
        description = f"{key[:60]!r} of the rows that were opened"
        columns.append(LineColumn(name, _common_type(found), description, key))
    return tuple(columns)


def _free_name(key: str, taken: Collection[str]) -> str:
    name = re.sub(r"\W+", "_", key.lower()).strip("_")[:60] or "column"
    name = f"column_{name}" if name[0].isdigit() else name
    numbered = (f"{name}_{number}" for number in count(2))
    return next(free for free in chain([name], numbered) if free not in taken)


def line_blocks(source: LineSource, extras: Sequence[LineColumn]) -> Iterator[dict[str, Array]]:
    """The rows of a document, some at a time, as arrays by the name of the column."""
    import numpy as np

    texts, lines, words = _rows(source)
    count = len(source.texts)
    headings = [(section.first, section.path[:MAX_WIDTH]) for section in source.sections]
    sections = _spread("", headings, count)
    pages = _spread(None, source.pages, count)
    for start in range(0, len(texts), _BLOCK):
        rows = slice(start, start + _BLOCK)
        at = lines[rows]
        block = {
            "line_num": (at + 1).astype(np.int32),
            "text": text_array(texts[rows]),
            "word_count": words[rows].astype(np.int32),
        }
        for name in MARKS:
            block[name] = source.marks[name][at].astype(bool)
        block["doc"] = text_array([source.name] * len(at))
        block["section"] = sections[at]
        block["page"] = pages[at]
        for column in extras:
            block[column.name] = _values(source.extras.get(column.key), at, column)
        yield block


def section_block(source: LineSource) -> dict[str, Array]:
    """The sections of a document, as arrays by the name of the column."""
    import numpy as np

    sections = source.sections
    numbers = {
        "level": [section.level for section in sections],
        "first_line": [section.first for section in sections],
        "last_line": [section.last for section in sections],
        "word_count": [section.words for section in sections],
    }
    return {
        "doc": text_array([source.name] * len(sections)),
        "title": text_array([section.title[:MAX_WIDTH] for section in sections]),
        **{name: np.array(values, dtype=np.int32) for name, values in numbers.items()},
        "page": text_array([section.page or None for section in sections]),
    }


def text_array(values: Sequence[Any]) -> Array:
    import numpy as np

    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _rows(source: LineSource) -> tuple[Sequence[str], Array, Array]:
    import numpy as np

    indexes = np.arange(len(source.texts))
    if max(map(len, source.texts), default=0) <= MAX_WIDTH:
        return source.texts, indexes, source.words
    parts = [_parts(text) for text in source.texts]
    lines = np.repeat(indexes, [len(part) for part in parts])
    words = source.words[lines]
    texts = [text for part in parts for text in part]
    for row, line in enumerate(lines):
        if len(parts[line]) > 1:
            words[row] = count_words(texts[row])
    return texts, lines, words


def _parts(text: str) -> list[str]:
    parts = []
    while len(text) > MAX_WIDTH:
        end = text.rfind(" ", MAX_WIDTH // 2, MAX_WIDTH) + 1 or MAX_WIDTH
        parts.append(text[:end])
        text = text[end:]
    return [*parts, text]


def _spread(default: Any, starts: Sequence[tuple[int, Any]], count: int) -> Array:
    """A value for each line: that of the last start, a line from 1 and its value, before it."""
    import numpy as np

    values = np.full(count, default, dtype=object)
    ends = [*(line for line, _ in starts[1:]), count + 1]
    for (first, value), end in zip(starts, ends, strict=False):
        values[first - 1 : end - 1] = value
    return values


def _values(values: Sequence[Any] | None, at: Array, column: LineColumn) -> Array:
    if values is None:
        return text_array([None] * len(at))
    found = [values[line] for line in at]
    if column.type == "VARCHAR":
        found = [value if value is None else str(value)[:MAX_WIDTH] for value in found]
    return text_array(found)


def _common_type(columns: Sequence[Sequence[Any]]) -> str:
    kinds = {type(value) for column in columns for value in column if value is not None}
    if kinds == {bool}:
        return "BOOLEAN"
    if kinds == {int}:
        values = (value for column in columns for value in column if value is not None)
        return "BIGINT" if all(-_MAX_WHOLE <= value < _MAX_WHOLE for value in values) else "VARCHAR"
    return "DOUBLE" if kinds and kinds <= {int, float} else "VARCHAR"
