"""`Reader`: long documents that are open, to be looked through, searched and asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..retrieve.question import Embed
from ..store.contract import Store
from .browser import DocumentBrowser
from .events import Told
from .loader import DocumentLoader
from .queries import TABLE
from .session import Session, SessionStore
from .telling import Listener, tell
from .totals import ReadingTotals

if TYPE_CHECKING:
    from ..llm import LLM
    from .asking import DocumentAsker
    from .kept_answer import AnswerKeeper
    from .result import Reading
    from .strategy import Strategy
    from .telling import Telling

__all__ = ["Reader"]


class Reader(DocumentBrowser):
    """Documents that are open. Made by `memory.reader(...)`; use it as a context manager.

    Args:
        llm: gives the language model.
        keeper: gives what keeps answers.
        strategy: how a model reads; default as seed 3 has it.
        loader, embed, told, table: as of `DocumentBrowser`.
    """

    def __init__(
        self,
        store: Store,
        loader: DocumentLoader,
        *,
        embed: Embed,
        llm: Callable[[], LLM],
        keeper: Callable[[], AnswerKeeper],
        told: Told | None = None,
        strategy: Strategy | None = None,
        table: str = TABLE,
    ) -> None:
        from .strategy import checked_strategy

        super().__init__(store, loader, embed=embed, told=told, table=table)
        self._llm = llm
        self._keeper = keeper
        self._strategy = checked_strategy(strategy)
        self._asker: DocumentAsker | None = None
        self._sessions = SessionStore(store)
        self._totals = ReadingTotals()

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
        self._totals.add(reading)
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

    def stats(self) -> dict[str, Any]:
        """Return what was asked and read so far, in numbers. Source: seed 3, `session_stats`."""
        return self._totals.as_dict() | {"coverage": self.coverage()}
