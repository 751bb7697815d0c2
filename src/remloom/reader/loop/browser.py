"""Documents that are open, to be looked through and searched; this needs no model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from ...errors import InvalidInputError, StoreClosedError
from ..check.evidence import Coverage
from ..lines.documents import DocumentLoader, Documents, DocumentStats
from ..lines.lines import Passage
from ..lines.outline import Outline
from ..result import Rows
from ..sql.queries import LineQueries, TableSchema, checked_table, describe_tables
from .events import EventCallback, EventType, Listener, event
from .transcript import line_ranges

if TYPE_CHECKING:
    from ...engine.engine import Engine
    from ...engine.ingesting import Ingesting
    from ..find.search import LineSearch
    from .transcript import Range

_LONGEST_NAME = 200  # characters of the name that a document is given
OUTLINE_TOKENS = 1_000  # of an outline that is shown, unless another number is given


class DocumentBrowser:
    """Documents that are open, to be looked through and searched.

    Lines are counted from 1. A document that was changed in the memory meanwhile is read again, one
    that was forgotten is closed; either is told as a WARNING. Source: seed 3.

    Args:
        told: is called with each event.
        table: what SQL calls the table of lines.
        files: whether paths are read in; without, only what the memory has can be opened.
    """

    def __init__(
        self,
        engine: Engine,
        ingesting: Ingesting,
        *,
        told: EventCallback | None,
        table: str,
        files: bool,
    ) -> None:
        self._engine = engine
        self._loader = DocumentLoader(engine, ingesting, files=files)
        self._listener = Listener(told)
        self._opened = Documents(engine.store)
        # what was shown, by uri
        self._coverage: dict[str, Coverage] = {}
        self._table = checked_table(table)
        self._closed = False

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self._opened.names))
        return f"<{type(self).__name__} of {names or 'no documents'}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the documents; they stay in the memory. Closing twice is fine."""
        self._closed = True
        self._opened.close()
        self.__dict__.pop("_search", None)
        if queries := self.__dict__.pop("_queries", None):
            queries.close()

    def open(self, path: str | os.PathLike[str], name: str | None = None) -> DocumentStats:
        """Open a document beside those that are open. Source: seed 3.

        Args:
            path: of a file, which is read into the memory if it is not there or has changed; or
                the uri, title or label of a document that the memory has. Of a file that holds
                several documents all are opened, and the first is returned.
            name: what to call it here; default its title.

        Raises:
            NotFoundError: there is no such file or document; the remedy names the nearest.
            SourceError: the file cannot be read, or has no text.
            InvalidInputError: another document that is open has this name, or it can be no name.
        """
        self._check_open()
        _check_name(name)
        uris = self._loader.load(path)
        if name is not None and len(uris) > 1:
            raise InvalidInputError(
                f"{os.fspath(path)!r} holds {len(uris)} documents",
                remedy="leave the name out: each has its own",
            )
        opened = [self._open(uri, name or "") for uri in uris]
        return opened[0]

    def open_text(self, text: str, name: str = "text") -> DocumentStats:
        """Read a text into the memory and open it. Source: seed 3, `load_text`.

        Args:
            name: what to call it; a text that was read so under this name before is replaced.

        Raises:
            InvalidInputError: the text or the name is blank.
        """
        self._check_open()
        _check_name(name)
        return self._open(self._loader.load_text(text, name), name)

    def open_rows(self, rows: Iterable[Mapping[str, Any]], name: str = "rows") -> DocumentStats:
        """Read rows into the memory and open them, a line each. Source: seed 3, `load_dataframe`.

        Their other values are further columns in SQL.

        Args:
            rows: mappings that have a `text`, or a DataFrame with this column. Line ends in a text
                become blanks.
            name: what to call them; what was read so under this name before is replaced.

        Raises:
            InvalidInputError: a row has no `text`, none has any words, or the name is blank.
        """
        self._check_open()
        _check_name(name)
        return self._open(self._loader.load_rows(rows, name), name)

    def _open(self, uri: str, name: str) -> DocumentStats:
        stats = DocumentStats.of(self._opened.open(uri, name))
        self._tell(
            EventType.DOCUMENT_LOADED,
            filepath=stats.uri,
            doc_name=stats.doc_name,
            total_lines=stats.total_lines,
            total_words=stats.total_words,
        )
        return stats

    @property
    def documents(self) -> list[DocumentStats]:
        """The documents that are open, in numbers, in the order in which they were opened."""
        return [DocumentStats.of(lines) for lines in self._current()]

    def outline(
        self, document: str | None = None, *, budget_tokens: int = OUTLINE_TOKENS
    ) -> Outline:
        """Outline a document, or all that are open: their sections with lines, pages and words.

        A document without headings has none. `str()` of the outline is text for a person or a
        model.

        Args:
            document: the name of one.
            budget_tokens: of that text: where it would be longer, the deepest levels are left out.

        Raises:
            UnknownNameError: no document that is open is called so.
            InvalidInputError: no document is open, or a budget below 1.
        """
        if not _is_whole(budget_tokens) or budget_tokens < 1:
            raise InvalidInputError(
                f"{budget_tokens!r} is not a budget", remedy="give a number of tokens of 1 or more"
            )
        opened = self._current().all(document)
        sections = (section for lines in opened for section in lines.sections)
        return Outline(tuple(sections), budget_tokens, tuple(lines.name for lines in opened))

    def lines(self, first: int, last: int | None = None, document: str | None = None) -> Passage:
        """Read lines of a document, both included.

        Args:
            first, last: from 1; lines behind the end are left out. Without `last`, one line.
            document: its name, where several are open.

        Raises:
            InvalidInputError: there are no such lines, or several documents are open.
            UnknownNameError: no document that is open is called so.
        """
        lines = self._current().get(document)
        end = first if last is None else last
        if not (_is_whole(first) and _is_whole(end)):
            raise InvalidInputError(
                f"{first!r} and {end!r} are not lines", remedy="give whole numbers, from 1"
            )
        passage = lines.passage(first, min(end, len(lines)) if first <= len(lines) else end)
        self._note_shown((lines.name, passage.first, passage.last))
        return passage

    def search(self, words: str, *, limit: int = 20, document: str | None = None) -> list[Passage]:
        """Find the lines with some of these words, best first: as written and in a row, then all.

        A phrase in quotation marks must be there; it may go over line ends.

        Args:
            document: the name of one; default all that are open.

        Raises:
            InvalidInputError: there are no words, a limit below 1, or no document is open.
            UnknownNameError: no document that is open is called so.
        """
        return self._search.search(words, self._current().all(document), limit=limit)

    def find(
        self, question: str, *, words: int = 2000, document: str | None = None
    ) -> list[Passage]:
        """Find what to read for a question: passages in the order to read them. Needs no model.

        They have so many words at most, do not overlap, and are widened while there is room.

        Args:
            document: the name of one; default all that are open.

        Raises:
            InvalidInputError: an empty question, `words` below 1, or no document is open.
            UnknownNameError: no document that is open is called so.
        """
        found = self._search.find(question, self._current().all(document), words=words)
        for passage in found:
            self._note_shown((passage.document, passage.first, passage.last))
        return found

    def sql(self, text: str, *, fix: bool = True) -> Rows:
        """Answer a SELECT over the lines that are open, as DuckDB reads it. Source: seed 3.

        `documents` has a row for each line, `sections` for each section, and
        `search('words', 20)` the lines that fit these words best; see `schema()`.

        Args:
            text: the query; may stand in a Markdown fence.
            fix: whether it is mended where it would show too little or too much; `Rows.fixes` says
                what was changed.

        Raises:
            QuerySyntaxError, SqlGuardError: it is not SQL, or not one SELECT over these tables;
                says where, and what would be right.
            InvalidInputError: it takes more than ten seconds or too much memory, or no document is
                open.
            MissingExtraError: DuckDB is not installed.
        """
        opened = self._current().all()
        rows = self._queries.run(text, opened, fix=fix)
        if "text" in rows.columns:
            documents = {lines.name: lines for lines in opened}
            for shown in line_ranges(documents, rows):
                self._note_shown(shown)
        return rows

    def schema(self) -> TableSchema:
        """Describe the tables that `sql` reads: columns, lines and words. Source: seed 3.

        Returns:
            `loaded doc_name table_name total_lines total_words strategic_lines line_range columns`
            of all that is open, `sections` (the columns of that table), and `documents`: the same
            numbers of each.
        """
        return describe_tables(list(self._current()), self._table)

    def coverage(self) -> dict[str, float]:
        """Return the share of the words of each document that was shown so far, by its name."""
        shares = {}
        for lines in self._current():
            total = lines.total_words
            ranges = self._coverage.get(lines.uri, Coverage())
            read = sum(lines.words(first, last) for first, last in ranges)
            shares[lines.name] = read / total if total else 0.0
        return shares

    def ranges_read(self) -> dict[str, list[tuple[int, int]]]:
        """Return the lines of each document that were shown so far: first and last, by its name."""
        return {lines.name: list(self._coverage.get(lines.uri, ())) for lines in self._current()}

    @cached_property
    def _queries(self) -> LineQueries:
        return LineQueries(
            lambda words, documents, limit: self._search.search(words, documents, limit=limit),
            self._table,
        )

    @cached_property
    def _search(self) -> LineSearch:
        from ..find.search import LineSearch

        return LineSearch(self._engine.store, self._engine.try_embed_query)

    def _current(self) -> Documents:
        """The documents as the memory has them now."""
        self._check_open()
        for notice in self._opened.refresh():
            self._coverage.pop(notice.uri, None)
            self._search.drop(notice.uri)
            self._queries.drop()
            self._tell(EventType.WARNING, warning=str(notice), document=notice.document)
        return self._opened

    def _note_shown(self, shown: Range) -> None:
        name, first, last = shown
        self._coverage.setdefault(self._opened.get(name).uri, Coverage()).add(first, last)

    def _tell(self, type: EventType, **data: Any) -> None:
        self._listener.hear(event(type, **data))

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosedError(
                "this reader is closed", remedy="open another one with `memory.reader(…)`"
            )


def _check_name(name: str | None) -> None:
    is_name = isinstance(name, str) and name.isprintable() and len(name) <= _LONGEST_NAME
    if name is not None and not is_name:
        raise InvalidInputError(
            f"a document cannot be called {name!r:.100}",
            remedy=f"give it a name in one line, of at most {_LONGEST_NAME} characters",
        )


def _is_whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)
