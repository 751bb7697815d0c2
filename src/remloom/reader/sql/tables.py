"""Tables of lines that SQL reads (extra `reader`): in memory, as a tenant's files are encrypted,
and shut off from everything else."""

from __future__ import annotations

import importlib.util
import pickle
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias

from ...errors import (
    InvalidInputError,
    MissingExtraError,
    RemloomError,
    SqlGuardError,
    StoreClosedError,
)
from ..result import Rows
from .guard import Readable
from .line_columns import (
    LINE_COLUMNS,
    SECTION_COLUMNS,
    LineColumn,
    LineSource,
    further_columns,
    line_blocks,
    section_block,
    text_array,
)
from .table_process import TableProcess, Task

if TYPE_CHECKING:
    import duckdb

    from .prepare import PreparedQuery, SearchCall

SECONDS = 10.0  # that a query may take
MAX_ROWS = 10_000  # of an answer
MAX_CHARACTERS = 10_000_000  # in the texts of an answer
_MEMORY = 512  # MB that a query may take, besides the lines
# operations of patterns in one step of the engine, which takes no notice of an interrupt: half a
# second, at worst
MAX_WORK = 2e8
_INSISTENCE = 0.1  # seconds between the interrupts of a query that goes on


class Ranked(NamedTuple):
    """A line that a search found."""

    document: str  # its name
    line: int  # from 1
    score: float


# what ranks lines: words and how many -> the best lines, best first
Rank: TypeAlias = Callable[[str, int], Sequence[Ranked]]


class LineTables:
    """The table of lines, and that of sections, of some documents.

    Args:
        table: what the table of lines is called; queries may call it `documents` as well.
        rank: what ranks lines for `FROM search('words')`.
        seconds: how long a query may take.
        is_alone: every query runs in this process, however long it may take in one step.
    """

    def __init__(
        self,
        sources: Sequence[LineSource],
        *,
        table: str = "documents",
        rank: Rank | None = None,
        seconds: float = SECONDS,
        is_alone: bool = False,
    ) -> None:
        if importlib.util.find_spec("duckdb") is None:
            raise MissingExtraError("SQL over lines", "reader")
        self.table = table
        self._several = len(sources) > 1
        self._rank = rank
        self._seconds = seconds
        self._is_alone = is_alone
        self._sources = tuple(sources)
        self._is_closed = False
        # the cursors and processes of the queries that run now
        self._running: set[Any] = set()
        self._ended = threading.Condition()
        extras = further_columns(source.extras for source in sources)
        self.columns: tuple[LineColumn, ...] = (*LINE_COLUMNS, *extras)
        self._readable = Readable(
            self.table,
            {
                self.table: tuple(column.name for column in self.columns),
                "sections": tuple(column.name for column in SECTION_COLUMNS),
            },
            max((source.widest for source in sources), default=0),
            sum(source.characters for source in sources),
        )
        self._database = _connect(_MEMORY + 4 * self._readable.characters // 1_000_000)
        self._create(self.table, self.columns)
        self._create("sections", SECTION_COLUMNS)
        for source in sources:
            for block in line_blocks(source, extras):
                self._load(self.table, block)
            if source.sections:
                self._load("sections", section_block(source))

    def close(self) -> None:
        """Let go of the lines; a query that runs in another thread ends with an error."""
        with self._ended:
            self._is_closed = True
            while self._running:
                # an interrupt before the query has begun is lost
                for running in self._running:
                    running.interrupt()
                self._ended.wait(_INSISTENCE)
        self._database.close()

    def prepare(self, text: str, *, fix: bool = True) -> PreparedQuery:
        from .prepare import prepare_query

        return prepare_query(text, self._readable, several=self._several, fix=fix)

    def run(self, text: str, *, fix: bool = True, most: int = MAX_ROWS) -> Rows:
        """Answer one SELECT, which may stand in a Markdown fence, with so many rows at most.

        Raises:
            QuerySyntaxError, SqlGuardError: it is not SQL, or not allowed; says where.
            InvalidInputError: it took too long, or too much memory.
            StoreClosedError: the tables were closed, be it meanwhile.
        """
        from .prepare import write_query

        prepared = self.prepare(text, fix=fix)
        if prepared.work > MAX_WORK and not self._is_alone:
            return self._run_alone(prepared, text, fix=fix, most=most)
        with self._begun(self._database.cursor) as cursor:
            ranked = [self._ranked(cursor, search) for search in prepared.searches]
            sql = write_query(prepared.tree, ranked, most=most + 1)
            with self._translated_errors(prepared.sql), self._limited(cursor):
                self._check_statement(cursor, sql)
                cursor.execute(sql)
                columns = tuple(name for name, *_ in cursor.description or ())
                rows, truncated = _fetch(cursor, most)
        return Rows(
            sql=prepared.sql,
            columns=columns,
            rows=rows,
            fixes=prepared.fixes,
            truncated=truncated,
        )

    def _run_alone(self, prepared: PreparedQuery, text: str, *, fix: bool, most: int) -> Rows:
        """Answer a query in a process that can be ended."""
        ranked = [self._best_lines(search) for search in prepared.searches]
        task = Task(self._sources, self.table, text, fix, most, ranked, self._seconds)
        with self._begun(TableProcess) as process:
            answer = process.run(task)
        if isinstance(answer, Rows):
            return answer
        if self._is_closed:
            raise _closed()
        raise answer or self._late()

    def _create(self, table: str, columns: Sequence[LineColumn]) -> None:
        written = ", ".join(f'"{column.name}" {column.type}' for column in columns)
        self._database.execute(f'CREATE TABLE "{table}" ({written})')

    def _load(self, table: str, block: Mapping[str, Any]) -> None:
        self._database.register("block", dict(block))
        self._database.execute(f'INSERT INTO "{table}" SELECT * FROM block')
        self._database.unregister("block")

    def _ranked(self, cursor: Any, search: SearchCall) -> str:
        """The SELECT of the lines that a search finds, best first."""
        import numpy as np

        found = self._best_lines(search)
        name = f"ranked_{next(_NUMBERS)}"
        cursor.register(
            name,
            {
                "rank": np.arange(1, len(found) + 1, dtype=np.int32),
                "score": np.array([line.score for line in found], dtype=np.float64),
                "doc": text_array([line.document for line in found]),
                "line_num": np.array([line.line for line in found], dtype=np.int32),
            },
        )
        return (
            f"SELECT ranked.rank, ranked.score, lines.* FROM {name} AS ranked "
            f'JOIN "{self.table}" AS lines '
            "ON lines.doc = ranked.doc AND lines.line_num = ranked.line_num"
        )

    def _best_lines(self, search: SearchCall) -> list[Ranked]:
        if self._rank is None:
            raise InvalidInputError("there is no search here", remedy="WHERE text ILIKE '%word%'")
        return list(self._rank(search.words, search.limit))[: search.limit]

    def _check_statement(self, cursor: Any, sql: str) -> None:
        statements = cursor.extract_statements(sql)
        if len(statements) != 1 or statements[0].type.name != "SELECT":
            raise SqlGuardError("this is not one SELECT", statement=sql)

    @contextmanager
    def _begun(self, begin: Callable[[], Any]) -> Iterator[Any]:
        """The cursor or process of a query, which `close` ends."""
        with self._ended:
            if self._is_closed:
                raise _closed()
            running = begin()
            self._running.add(running)
        try:
            yield running
        finally:
            with self._ended:
                self._running.remove(running)
                running.close()
                self._ended.notify_all()

    @contextmanager
    def _limited(self, cursor: Any) -> Iterator[None]:
        done = threading.Event()

        def interrupt() -> None:
            seconds = self._seconds
            # an interrupt before the query has begun is lost
            while not done.wait(seconds):
                cursor.interrupt()
                seconds = _INSISTENCE

        clock = threading.Thread(target=interrupt, daemon=True)
        clock.start()
        try:
            yield
        finally:
            done.set()
            clock.join()

    def _late(self) -> InvalidInputError:
        return InvalidInputError(
            f"the query took longer than {self._seconds:g} seconds",
            remedy="read fewer lines: line_num BETWEEN 1 AND 1000, or FROM search('words')",
        )

    @contextmanager
    def _translated_errors(self, sql: str) -> Iterator[None]:
        import duckdb

        try:
            yield
        except duckdb.InterruptException:
            if self._is_closed:
                raise _closed() from None
            raise self._late() from None
        except duckdb.OutOfMemoryException:
            raise InvalidInputError(
                "the query takes too much memory",
                remedy="join on line_num, and read fewer lines at once",
            ) from None
        except duckdb.Error as error:
            _raise_translated(error, sql, self.table)


_NUMBERS = count(1)


def _closed() -> StoreClosedError:
    return StoreClosedError(
        "the lines were closed", remedy="open another reader with `memory.reader(…)`"
    )


def _connect(memory: int) -> duckdb.DuckDBPyConnection:
    import duckdb

    return duckdb.connect(
        ":memory:",
        config={
            "allow_community_extensions": "false",
            "allow_persistent_secrets": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "enable_external_access": "false",
            "memory_limit": f"{memory}MB",
            # else a name in a query could be a variable of this program
            "python_enable_replacements": "false",
            "temp_directory": "",
            "threads": "2",
            "lock_configuration": "true",
        },
    )


def _fetch(cursor: Any, most: int) -> tuple[tuple[tuple[Any, ...], ...], bool]:
    """The rows of an answer as far as there is room, and whether there were more."""
    rows: list[tuple[Any, ...]] = []
    characters = 0
    while (row := cursor.fetchone()) is not None:
        characters += sum(len(value) for value in row if isinstance(value, str))
        if len(rows) == most or (rows and characters > MAX_CHARACTERS):
            return tuple(rows), True
        rows.append(row)
    return tuple(rows), False


_ERROR = re.compile(r"^(?:[A-Z][A-Za-z]*(?: [A-Z][a-z]+)* Error: )+", re.ASCII)


def _raise_translated(error: Exception, sql: str, table: str) -> NoReturn:
    """Say what DuckDB found wrong, without what is of no use to the author of the query."""
    from .parse import EXAMPLE

    message, _, location = str(error).partition("\n\nLINE ")
    message = _ERROR.sub("", message).split("\nCandidate")[0].strip()
    raise SqlGuardError(
        message[:500],
        remedy=f"for example: {EXAMPLE.format(table=table)}",
        statement=sql,
        position=_caret_position(location, sql),
    ) from None


def _caret_position(location: str, sql: str) -> int | None:
    """Where the caret of an error of DuckDB points to, in a query that it may have cut."""
    line, _, caret = location.partition("\n")
    number, _, shown = line.partition(": ")
    column = caret.find("^") - len(f"LINE {number}: ")
    word = shown[max(column, 0) :].removesuffix("...")[:20]
    found = sql.find(word) if word else -1
    return found if found >= 0 else None


def main() -> None:
    """Answer the query on standard input."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    task: Task = pickle.load(source)  # noqa: S301 - of the process that began this one
    searches = iter(task.ranked)
    rank: Callable[[str, int], Any] = lambda words, limit: next(searches)  # noqa: E731
    tables = LineTables(
        task.sources, table=task.table, rank=rank, seconds=task.seconds, is_alone=True
    )
    # the time runs from here
    target.write(b"\n")
    target.flush()
    answer: Rows | RemloomError
    try:
        answer = tables.run(task.text, fix=task.fix, most=task.most)
    except RemloomError as error:
        answer = error
    pickle.dump(answer, target)
    target.flush()
