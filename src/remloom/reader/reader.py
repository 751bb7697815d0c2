"""`Reader`: long documents that are open, to be looked through, searched and asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .lines.documents import Notice
from .lines.lines import Passage
from .lines.outline import Outline
from .loop.browser import DocumentBrowser
from .loop.events import EventCallback, Listener, deliver
from .loop.session import Session, SessionStore

if TYPE_CHECKING:
    from ..engine.engine import Engine
    from ..engine.ingesting import Ingesting
    from .loop.asking import DocumentAsker
    from .loop.events import EventStream
    from .loop.strategy import ReadTools, Strategy
    from .loop.transcript import Range
    from .result import Reading

# sums over the readings, under the names of seed 3 -> what is added up of each
_TOTALS = {
    "total_iterations": "iterations",
    "total_lines_read": "unique_lines",
    "total_words_read": "total_words",
    "total_time": "elapsed_time",  # seconds
    "tokens": "tokens",  # in and out, of all calls of the model
}
_AVERAGES = {
    "avg_iterations_per_question": "total_iterations",
    "avg_lines_per_question": "total_lines_read",
    "avg_words_per_question": "total_words_read",
    "avg_time_per_question": "total_time",
}


class Reader(DocumentBrowser):
    """Documents that are open. Made by `memory.reader(...)`; use it as a context manager.

    Args:
        strategy: how a model reads; default as seed 3 has it.
        told, table, files: as of `DocumentBrowser`.
    """

    def __init__(
        self,
        engine: Engine,
        ingesting: Ingesting,
        *,
        told: EventCallback | None,
        strategy: Strategy | None,
        table: str,
        files: bool,
    ) -> None:
        from .loop.strategy import checked_strategy

        super().__init__(engine, ingesting, told=told, table=table, files=files)
        self._strategy = checked_strategy(strategy)
        self._asker: DocumentAsker | None = None
        self._sessions = SessionStore(engine.store)
        self._totals: Counter[str] = Counter()

    def ask(
        self,
        question: str,
        *,
        turns: int = 6,
        budget_tokens: int = 30_000,
        seconds: float | None = None,
        session: str | None = None,
        told: EventCallback | None = None,
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
        events = self.stream(
            question,
            turns=turns,
            budget_tokens=budget_tokens,
            seconds=seconds,
            session=session,
        )
        return deliver(events, self._listener if told is None else Listener(told))

    def stream(
        self,
        question: str,
        *,
        turns: int = 6,
        budget_tokens: int = 30_000,
        seconds: float | None = None,
        session: str | None = None,
    ) -> EventStream[Reading]:
        """Answer a question as `ask` does, and yield the events as they happen.

        The last one, `session_end`, has the reading in its data; a generator returns it, too. Who
        stops listening ends the reading. Source: seed 3, `ask_stream`.

        Raises:
            what `ask` raises: of what was given at once, else when it happens.
        """
        from .loop.asking import DocumentAsker
        from .loop.calls import ReadLimits
        from .loop.strategy import ReadingStrategy

        if self._asker is None:
            strategy = self._strategy or ReadingStrategy()
            self._asker = DocumentAsker(self._engine.required_llm, strategy, self._sessions)
        limits = ReadLimits(
            turns=turns,
            tokens=budget_tokens,
            seconds=seconds,
            context=self._engine.required_llm.context("read_answer"),
        )
        self._current().all()
        return self._count(self._asker.ask(question, self._make_tools(), limits, session))

    def _count(self, events: EventStream[Reading]) -> EventStream[Reading]:
        reading = yield from events
        self._totals.update({name: getattr(reading, field) for name, field in _TOTALS.items()})
        self._totals["questions_asked"] += 1
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
        from .loop.kept_answer import keep_answer

        self._check_open()
        return keep_answer(self._engine, reading)

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

    def stats(self) -> dict[str, Any]:
        """Return what was asked and read so far, in numbers. Source: seed 3, `session_stats`."""
        totals = {name: self._totals[name] for name in ("questions_asked", *_TOTALS)}
        questions = max(1, totals["questions_asked"])
        averages = {average: totals[name] / questions for average, name in _AVERAGES.items()}
        return {**totals, **averages, "coverage": self.coverage()}

    def _make_tools(self) -> ReadTools:
        """Make the tools of a reading of the documents as they are now."""
        from .loop.strategy import ReadTools

        documents = {lines.name: lines for lines in self._current()}
        opened = list(documents.values())

        def outline(tokens: int) -> tuple[str, Sequence[Range]]:
            sections = [section for lines in opened for section in lines.sections]
            headings = [(section.document, section.first, section.first) for section in sections]
            return str(Outline(tuple(sections), tokens)), headings

        def find(question: str, words: int) -> list[Passage]:
            return self._search.find(question, opened, words=words)

        def refresh() -> list[Notice]:
            now = {lines.name: lines for lines in self._current()}
            return [
                Notice(name, lines.uri, forgotten=name not in now)
                for name, lines in documents.items()
                if now.get(name) is not lines
            ]

        return ReadTools(
            documents=documents,
            outline=outline,
            find=find,
            # without an engine for SQL no model can use it
            queries=self._queries if find_spec("duckdb") else None,
            refresh=refresh,
            note_shown=self._note_shown,
        )
