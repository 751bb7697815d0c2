"""SQL over the documents that are open in a reader."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, TypedDict

from ...errors import InvalidInputError
from ..lines.lines import Lines, Passage
from ..lines.markers import LineMark
from ..result import Rows
from .line_columns import (
    LINE_COLUMNS,
    SECTION_COLUMNS,
    LineColumn,
    LineSource,
    further_columns,
)

if TYPE_CHECKING:
    from .prepare import PreparedQuery
    from .tables import LineTables, Ranked

TABLE = "documents"  # what the table of lines is called, unless another name is given


class DocumentSchema(TypedDict):
    """What SQL can read of one document, in the words of seed 3."""

    doc_name: str
    total_lines: int
    total_words: int
    strategic_lines: int
    line_range: tuple[int, int]


class TableSchema(DocumentSchema):
    """What SQL can read of the documents that are open, in the words of seed 3."""

    loaded: bool
    table_name: str
    columns: list[dict[str, str]]  # name, type and description
    sections: list[dict[str, str]]
    documents: list[DocumentSchema]


# words, documents and how many -> the lines that have them, best first
RankLines = Callable[[str, Sequence[Lines], int], Sequence[Passage]]


class LineQueries:
    """Answers SQL; its tables are made at the first query, and again when the documents change.

    Args:
        search: ranks lines for `FROM search('words')`.
    """

    def __init__(self, search: RankLines, table: str = TABLE) -> None:
        self.table = table
        self._search = search
        self._documents: list[Lines] = []
        self._tables: LineTables | None = None
        self._lock = Lock()

    def run(self, text: str, documents: Sequence[Lines], *, fix: bool = True) -> Rows:
        if not isinstance(text, str):
            raise InvalidInputError(f"{text!r} is no query", remedy="give a SELECT as a text")
        with self._lock:
            tables = self._current(list(documents))
        return tables.run(text, fix=fix)

    def prepare(self, text: str, documents: Sequence[Lines]) -> PreparedQuery:
        with self._lock:
            return self._current(list(documents)).prepare(text)

    def drop(self) -> None:
        with self._lock:
            # a query that still runs in another thread keeps the tables that it began with
            self._tables, self._documents = None, []

    def close(self) -> None:
        """Let go of the tables, and end the queries that still run."""
        with self._lock:
            tables = self._tables
            self._tables, self._documents = None, []
        if tables is not None:
            tables.close()

    def _current(self, documents: list[Lines]) -> LineTables:
        from .tables import LineTables

        if self._tables is None or list(map(id, documents)) != list(map(id, self._documents)):
            # a query that still runs in another thread keeps the tables that it began with
            self._tables = LineTables(
                list(map(_read_columns, documents)),
                table=self.table,
                rank=partial(self._rank, documents),
            )
            self._documents = documents
        return self._tables

    def _rank(self, documents: Sequence[Lines], words: str, limit: int) -> list[Ranked]:
        from .tables import Ranked

        found = self._search(words, documents, limit)
        return [Ranked(one.document, one.first, one.score) for one in found]


def checked_table(name: str) -> str:
    """Return a name as it is, if the table of lines can be called so."""
    is_name = isinstance(name, str) and re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", name)
    if not is_name or name in {"sections", "search", "block"}:
        raise InvalidInputError(
            f"{name!r:.80} cannot be what the table of lines is called",
            remedy="small letters, digits and underscores: 'documents'",
        )
    return name


def describe_tables(documents: Sequence[Lines], table: str = TABLE) -> TableSchema:
    described = [_describe(lines) for lines in documents]
    further = further_columns(lines.columns for lines in documents)
    longest = max((len(lines) for lines in documents), default=0)
    return {
        "loaded": bool(described),
        "doc_name": ", ".join(lines.name for lines in documents),
        "table_name": table,
        "total_lines": sum(one["total_lines"] for one in described),
        "total_words": sum(one["total_words"] for one in described),
        "strategic_lines": sum(one["strategic_lines"] for one in described),
        "line_range": (min(1, longest), longest),
        "columns": _describe_columns([*LINE_COLUMNS, *further]),
        "sections": _describe_columns(SECTION_COLUMNS),
        "documents": described,
    }


def _describe(lines: Lines) -> DocumentSchema:
    return {
        "doc_name": lines.name,
        "total_lines": len(lines),
        "total_words": lines.total_words,
        "strategic_lines": lines.strategic_lines,
        "line_range": (min(1, len(lines)), len(lines)),
    }


def _describe_columns(columns: Sequence[LineColumn]) -> list[dict[str, str]]:
    return [
        {"name": column.name, "type": column.type, "description": column.description}
        for column in columns
    ]


def _read_columns(lines: Lines) -> LineSource:
    marks = lines.marks
    starts = LineMark.HEADER | LineMark.SECTION_START
    return LineSource(
        lines.name,
        lines.texts,
        lines.word_counts,
        {
            "is_header": marks & LineMark.HEADER > 0,
            "is_list_item": marks & LineMark.LIST_ITEM > 0,
            "is_code": marks & LineMark.CODE > 0,
            "is_section_start": marks & LineMark.SECTION_START > 0,
            "is_strategic": marks & starts > 0,
        },
        lines.sections,
        lines.pages,
        lines.columns,
    )
