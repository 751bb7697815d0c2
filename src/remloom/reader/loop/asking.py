"""Questions to documents: read, answer, and yield events meanwhile (seed 3, "Event Flow")."""

from __future__ import annotations

import time

from msgspec.structs import replace

from ...errors import RemloomError
from ...llm import LLM, Budget
from ...retrieve.question import checked
from ..check.evidence import ShownLines
from ..result import Reading
from .answering import WrittenAnswer, write_answer
from .calls import Calls, ReadLimits
from .events import EventStream, EventType, error_event, event
from .listing import list_parts
from .reading import ReadingLoop
from .session import Session, SessionStore
from .strategy import ReadTools, Strategy
from .transcript import searched_words

# tokens of the lines that an answer is tried with where the budget is small, and of the fewest
_FEW_LINES, _FEWEST_LINES = 1_000, 200
_NO_TEXT = "There is no text in what is open."
_NOT_LISTED = (
    "a list from every part was asked for, for which the budget is too small: there may be more"
)


class DocumentAsker:
    """Answers questions about the documents that are open in a reader."""

    def __init__(self, llm: LLM, strategy: Strategy, sessions: SessionStore) -> None:
        self._llm = llm
        self._strategy = strategy
        self._sessions = sessions
        # what was asked without the name of a session
        self._unnamed = Session()

    def ask(
        self, question: str, tools: ReadTools, limits: ReadLimits, session: str | None = None
    ) -> EventStream[Reading]:
        """Answer a question; yields events as they happen, and returns the reading.

        Args:
            session: the name of the session that it belongs to. The same question, interrupted
                before, goes on there without paying twice.

        Raises:
            InvalidInputError: an empty or overlong question, or a name that cannot be one; before
                anything happens.
            ModelError: the model does not answer, or will not.
            GoneError: a document was forgotten meanwhile.
        """
        question = checked(question)
        state = self._unnamed
        if session is not None:
            state = self._sessions.find(session) or Session(name=session)
        return self._ask(question, tools, limits, state)

    def _ask(
        self, question: str, tools: ReadTools, limits: ReadLimits, session: Session
    ) -> EventStream[Reading]:
        began = time.monotonic()
        documents = tools.documents
        yield event(EventType.SESSION_START, session=session.name, documents=list(documents))
        for name, lines in documents.items():
            yield event(
                EventType.DOCUMENT_LOADED,
                filepath=lines.uri,
                doc_name=name,
                total_lines=len(lines),
                total_words=lines.total_words,
            )
        yield event(EventType.QUESTION_START, question=question)
        outcome: Reading | RemloomError
        try:
            outcome = yield from self._read(question, tools, limits, session, began)
        except RemloomError as error:
            outcome = error
            yield error_event(error, recoverable=False)
        elapsed = time.monotonic() - began
        reading = outcome if isinstance(outcome, Reading) else None
        yield event(EventType.QUESTION_END, question=question, elapsed_time=elapsed)
        yield event(EventType.SESSION_END, session=session.name, reading=reading)
        if isinstance(outcome, RemloomError):
            raise outcome
        return outcome

    def _read(
        self,
        question: str,
        tools: ReadTools,
        limits: ReadLimits,
        session: Session,
        began: float,
    ) -> EventStream[Reading]:
        session = self._sessions.begin(session, question, tools.documents)
        assert session.open is not None  # noqa: S101 - it has just begun
        budget = Budget(tokens=limits.tokens)
        with self._llm.run(session.open.run, budget, keep=bool(session.name)) as llm:
            calls = Calls(llm)
            loop = ReadingLoop(question, tools, calls, limits, self._strategy, session)
            yield from loop.read()
            evidence = loop.evidence
            yield event(EventType.SYNTHESIS_START, stage="start", **_size(evidence))
            written = yield from self._write_answer(question, loop, calls, limits)
            yield from loop.check_documents()
            yield event(EventType.SYNTHESIS_END, stage="complete", **_size(evidence))
            reading = Reading(
                question=question,
                answer=written.text,
                found=written.found,
                iterations=len(loop.steps),
                unique_lines=evidence.unique_lines,
                total_words=evidence.total_words,
                elapsed_time=time.monotonic() - began,
                sentences=written.sentences,
                doubts=(*loop.doubts, *written.doubts),
                steps=tuple(loop.steps),
                coverage=evidence.shares(),
                tokens=llm.spent,
                calls=llm.calls,
                session=session.name,
            )
        for range in evidence.ranges():
            tools.note_shown(range)
        ended = self._sessions.end(session, reading, loop.subjects())
        if not session.name:
            self._unnamed = ended
        yield event(
            EventType.ANSWER,
            answer=reading.answer,
            found=reading.found,
            iterations=reading.iterations,
            total_lines=reading.unique_lines,
            total_words=reading.total_words,
            elapsed_time=reading.elapsed_time,
        )
        return reading

    def _write_answer(
        self, question: str, loop: ReadingLoop, calls: Calls, limits: ReadLimits
    ) -> EventStream[WrittenAnswer]:
        evidence = loop.evidence
        if not any(lines.total_words for lines in evidence.documents.values()):
            return WrittenAnswer(text=_NO_TEXT)
        left = limits.tokens - calls.spent
        if loop.list_all:
            listing = list_parts(question, evidence, tokens=left)
            return (yield from calls.make(listing, next(listing)))
        written = yield from self._write_sentences(question, loop, calls, left)
        if not written.list_all:
            return written
        # the model saw the lines that fit into one prompt, and wrote a few sentences
        left = limits.tokens - calls.spent
        listing = list_parts(question, evidence, tokens=left)
        first = next(listing)
        if sum(map(calls.most, first)) > left:
            return replace(written, doubts=(*written.doubts, _NOT_LISTED))
        listed = yield from calls.make(listing, first)
        return listed if listed.found else written

    def _write_sentences(
        self, question: str, loop: ReadingLoop, calls: Calls, left: int
    ) -> EventStream[WrittenAnswer]:
        evidence = loop.evidence
        notes = "\n".join(step.notes for step in loop.steps if step.notes)
        searched = searched_words(loop.steps)
        tokens = max(loop.evidence_tokens, _FEW_LINES)
        while True:
            writing = write_answer(
                question,
                evidence,
                tokens=tokens,
                notes=notes,
                searched=searched,
                subjects=loop.subjects(),
            )
            first = next(writing)
            if tokens < _FEWEST_LINES or sum(map(calls.most, first)) <= left:
                return (yield from calls.make(writing, first))
            # a text of many tokens: what does not fit beside it is a doubt
            tokens = tokens * 2 // 3


def _size(evidence: ShownLines) -> dict[str, int]:
    return {"total_lines": evidence.unique_lines, "total_words": evidence.total_words}
