"""`Reader`: long documents that are open, to be looked through, searched and asked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ..errors import InvalidInputError, StoreClosedError
from ..retrieve.question import Embed
from ..store.contract import Store
from .coverage import Coverage
from .documents import Documents, DocumentStats
from .events import EventType, Told
from .finder import Finder
from .outline import Outline
from .passage import Passage
from .queries import TABLE, LineQueries, checked_table, describe_tables
from .rows import Rows
from .session import Session, SessionStore
from .stats import SessionStats
from .telling import Listener, event, tell
from .transcript import line_ranges

if TYPE_CHECKING:
    from ..llm import LLM
    from .asking import DocumentAsker
    from .kept_answer import AnswerKeeper
    from .result import Reading
    from .search import LineSearch
    from .strategy import Strategy
    from .telling import Telling
    from .transcript import Range

__all__ = ["Reader"]

_LONGEST_NAME = 200  # characters of the name that a document is given
OUTLINE_TOKENS = 1_000  # of an outline that is shown, unless another number is given


class Reader:
    """Documents that are open. Made by `memory.reader(...)`; use it as a context manager.

    Lines are counted from 1. A document that was changed in the memory meanwhile is read anew, one
    that was forgotten is closed; either is told as a WARNING. Source: seed 3.

    Args:
        finder: finds documents, and reads in those that are not there.
        embed: embeds a question; None where there is no embedder.
        llm: gives the language model.
        keeper: gives what keeps answers.
        told: is called with each event.
        strategy: how a model reads; default as seed 3 has it.
        table: what SQL calls the table of lines.
    """

    def __init__(
        self,
        store: Store,
        finder: Finder,
        *,
        embed: Embed,
        llm: Callable[[], LLM],
        keeper: Callable[[], AnswerKeeper],
        told: Told | None = None,
        strategy: Strategy | None = None,
        table: str = TABLE,
    ) -> None:
        from .strategy import checked_strategy

        self._store = store
        self._finder = finder
        self._embed = embed
        self._llm = llm
        self._keeper = keeper
        self._listener = Listener(told)
        self._opened = Documents(store)
        # what was shown, by uri
        self._coverage: dict[str, Coverage] = {}
        self._stats = SessionStats()
        self._strategy = checked_strategy(strategy)
        self._table = checked_table(table)
        self._asker: DocumentAsker | None = None
        self._sessions = SessionStore(store)
        self._closed = False

    def __repr__(self) -> str:
        return f"<Reader of {', '.join(map(repr, self._opened.names)) or 'no documents'}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the documents; they stay in the memory. Closing twice is fine."""
        self._closed = True
        self._opened.close()
        self.__dict__.pop("_search", None)
        if queries := self.__dict__.pop("_queries", None):
            queries.close()

    # -- documents ---------------------------------------------------------------------------------

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
        uris = self._finder.find(path)
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
        return self._open(self._finder.add_text(text, name), name)

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
        return self._open(self._finder.add_rows(rows, name), name)

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
        self._note_shown(passage)
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
            self._note_shown(passage)
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
            for name, first, last in line_ranges(documents, rows):
                self._coverage.setdefault(documents[name].uri, Coverage()).add(first, last)
        return rows

    def schema(self) -> dict[str, Any]:
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
            total = lines.words(1, len(lines))
            ranges = self._coverage.get(lines.uri, Coverage())
            read = sum(lines.words(first, last) for first, last in ranges)
            shares[lines.name] = read / total if total else 0.0
        return shares

    def ranges_read(self) -> dict[str, list[tuple[int, int]]]:
        """Return the lines of each document that were shown so far: first and last, by its name."""
        return {lines.name: list(self._coverage.get(lines.uri, ())) for lines in self._current()}

    def stats(self) -> dict[str, Any]:
        """Return what was asked and read so far, in numbers. Source: seed 3, `session_stats`."""
        return self._stats.as_dict() | {"coverage": self.coverage()}

    # -- asking ------------------------------------------------------------------------------------

    def ask(
        self,
        question: str,
        *,
        turns: int = 6,
        budget_tokens: int = 30_000,
        seconds: float | None = None,
        session: str | None = None,
        told: Told | None = None,
    ) -> Reading:
        """Let a model answer a question from what is open: it reads, and what it says is checked.

        Without an answer in what was read, the reading says so, and what was searched. Source: seed
        3, "Reading Process".

        Args:
            turns: queries that the model may run; with 0 it answers from what is found without it.
            budget_tokens: of all calls of the model, in and out.
            seconds: after which it reads no further, and answers.
            session: the name of one that is kept: follow-up questions, in whichever process, see
                what was asked and noted before, and a question that was interrupted goes on without
                paying twice. Without a name a session lasts as long as this reader.
            told: called with each event as it happens; default that of the reader.

        Raises:
            ModelNotConfiguredError, ModelError: there is no model, or it did not answer.
            InvalidInputError: an empty or overlong question, a limit that allows nothing, or no
                document is open.
            GoneError: a document was forgotten meanwhile.
        """
        telling = self.stream(
            question,
            turns=turns,
            budget_tokens=budget_tokens,
            seconds=seconds,
            session=session,
        )
        return tell(telling, self._listener if told is None else Listener(told))

    def stream(
        self,
        question: str,
        *,
        turns: int = 6,
        budget_tokens: int = 30_000,
        seconds: float | None = None,
        session: str | None = None,
    ) -> Telling[Reading]:
        """Answer a question as `ask` does, and yield the events as they happen.

        The last one, `session_end`, has the reading in its data; a generator returns it, too. Who
        stops listening ends the reading. Source: seed 3, `ask_stream`.

        Raises:
            what `ask` raises: of what was given at once, else when it happens.
        """
        from .asking import DocumentAsker
        from .limits import ReadLimits
        from .strategy import ReadingStrategy
        from .tools import make_tools

        if self._asker is None:
            strategy = self._strategy or ReadingStrategy()
            self._asker = DocumentAsker(self._llm(), strategy, self._sessions)
        limits = ReadLimits(
            turns=turns,
            tokens=budget_tokens,
            seconds=seconds,
            context=self._llm().context("read_answer"),
        )
        self._current().all()
        tools = make_tools(self._current, lambda: self._search, self._queries, self._note_range)
        return self._count(self._asker.ask(question, tools, limits, session))

    def _count(self, telling: Telling[Reading]) -> Telling[Reading]:
        reading = yield from telling
        self._stats.add(reading)
        return reading

    def keep(self, reading: Reading) -> str:
        """Keep an answer as a record, which `recall` finds; returns its id.

        Only sentences without a doubt are kept, and only as far as what they cite still says so.
        The record is derived from the chunks that it cites: it goes with them when they are
        forgotten. It is written by a run, which can be rolled back: `memory.runs`.

        Raises:
            InvalidInputError: nothing in the answer holds.
            ConflictError: other answers were being kept for seconds.
        """
        self._check_open()
        return self._keeper().keep(reading)

    def sessions(self) -> list[Session]:
        """List the sessions of this memory that have names, by name."""
        self._check_open()
        return self._sessions.list()

    def session(self, name: str) -> Session:
        """Return a session: what was asked in it, and what came of that.

        Raises:
            NotFoundError: there is none of this name; the remedy lists those that there are.
        """
        self._check_open()
        return self._sessions.get(name)

    def delete_session(self, name: str) -> None:
        """Delete a session, and what is kept of a question that is open in it.

        Raises:
            NotFoundError: there is none of this name.
        """
        self._check_open()
        self._sessions.delete(name)

    # -- what the parts share ----------------------------------------------------------------------

    @cached_property
    def _queries(self) -> LineQueries:
        return LineQueries(
            lambda words, documents, limit: self._search.search(words, documents, limit=limit),
            self._table,
        )

    @cached_property
    def _search(self) -> LineSearch:
        from .search import LineSearch

        return LineSearch(self._store, self._embed)

    def _current(self) -> Documents:
        """The documents as the memory has them now."""
        self._check_open()
        for notice in self._opened.refresh():
            self._coverage.pop(notice.uri, None)
            self._search.drop(notice.uri)
            self._queries.drop()
            self._tell(EventType.WARNING, warning=str(notice), document=notice.document)
        return self._opened

    def _note_shown(self, passage: Passage) -> None:
        self._coverage.setdefault(passage.uri, Coverage()).add(passage.first, passage.last)

    def _note_range(self, shown: Range) -> None:
        name, first, last = shown
        uri = self._opened.get(name).uri
        self._coverage.setdefault(uri, Coverage()).add(first, last)

    def _tell(self, type: EventType, **data: Any) -> None:
        self._listener.hear(event(type, **data))

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosedError(
                "this reader is closed", remedy="open another one with `memory.reader(…)`"
            )


def _check_name(name: str | None) -> None:
    """Refuse what a document cannot be called."""
    is_name = isinstance(name, str) and name.isprintable() and len(name) <= _LONGEST_NAME
    if name is not None and not is_name:
        raise InvalidInputError(
            f"a document cannot be called {name!r:.100}",
            remedy=f"give it a name in one line, of at most {_LONGEST_NAME} characters",
        )


def _is_whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)
