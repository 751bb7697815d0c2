"""The reading loop: a model reads documents by queries, until it can answer (seed 3, "Reading
Process").

The model only selects lines, whatever a document tells it to do. What fits the question best is
found without it, so that no model makes a reading worse than none.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from msgspec.structs import replace

from ...errors import (
    BudgetError,
    GoneError,
    InvalidInputError,
    ModelError,
    RemloomError,
    ReplyError,
)
from ...llm import Call, Quote
from ...llm.prompts import Slots
from ..check.evidence import ShownLines
from ..lines.lines import chunk_ids
from ..result import ReadStep, Rows
from .calls import Calls, ReadLimits
from .events import EventStream, EventType, error_event, event
from .session import Session
from .strategy import (
    FOUND,
    OPENING,
    ReadTools,
    RequestedStep,
    Step,
    Strategy,
    fill_evidence,
    read_whole,
)
from .transcript import (
    ShownText,
    describe_coverage,
    describe_documents,
    describe_steps,
    show_lines,
    show_rows,
)

MAX_REPEATS = 2  # queries made again, or replies that are none, after which the model is to answer
_OUTLINE_TOKENS = 500
_OPENING_TOKENS = 600  # of how the documents begin
_FOUND_TOKENS = 1_500
_SHOWN_TOKENS = 1_500  # of the lines that a turn shows
_PREVIEW = 5  # rows in an event
_SAMPLE = 3  # lines of a step
_SAMPLE_LENGTH = 200  # characters of one
# the value of lines when the evidence is packed, behind what is found without a model: those
# that the model made a note of, those it read closely, what its searches brought
_NOTED, _READ, _SEARCHED, _EARLIER = FOUND - 1, 1.0, 0.5, 0.2
_NOTED_LINES = re.compile(r"(?i)\blines?\s*(\d{1,9})(?:\s*(?:-|–|to)\s*(\d{1,9}))?")
_LONGEST_NOTED = 60  # lines that a note may name at once
# of a step, in the event of its end
_REPORTED = (
    *("iteration", "thought", "reading_mode", "goal", "satisfied", "next_move", "notes"),
    *("row_count", "word_count", "error"),
)
_REPEATED = (
    "this query ran before, and your notes have what it brought: ask something else, or be"
    " satisfied"
)
_NOTHING = "this is neither a query nor satisfied: give one of them"


class ReadingLoop:
    """Reads until enough was read for a question of a session.

    Attributes:
        evidence_tokens: how much of the evidence the answer can rest on at once.
        list_all: whether the model says that the question is for a list from every part.
    """

    def __init__(
        self,
        question: str,
        tools: ReadTools,
        calls: Calls,
        limits: ReadLimits,
        strategy: Strategy,
        session: Session,
    ) -> None:
        self.evidence = ShownLines(tools.documents)
        self.evidence_tokens = limits.evidence
        self.steps: list[ReadStep] = []
        self.doubts: list[str] = []
        self.list_all = False
        self._question = question
        self._tools = tools
        self._calls = calls
        self._limits = limits
        self._strategy = strategy
        self._earlier = session.earlier()
        self._began = time.monotonic()
        self._queries: set[str] = set()
        self._repeats = 0
        self._is_done = False
        # of the last move, for the next turn
        self._shown = ShownText()
        self._outcome = ""
        self._outline = ""
        # ids of the records of what was asked before, and of the headings in the outline
        self._about = session.subjects
        # the lines that earlier answers rest on
        names = {lines.uri: name for name, lines in tools.documents.items()}
        for answered in session.asked:
            for uri, first, last in answered.cited:
                if uri in names:
                    self.evidence.add(names[uri], first, last, value=_EARLIER)

    def subjects(self) -> tuple[str, ...]:
        """The ids of the records whose lines were shown, be it in the outline or before."""
        shown = chunk_ids(self._tools.documents, self.evidence.ranges())
        return tuple(dict.fromkeys((*self._about, *shown)))

    def read(self) -> EventStream[None]:
        if read_whole(self._tools, self.evidence, self._limits.whole):
            self.evidence_tokens = self._limits.whole
            return
        yield from self._take_turns()
        if self.list_all:
            return
        fill_evidence(self._question, self._tools, self.evidence, self.evidence_tokens)

    def _take_turns(self) -> EventStream[None]:
        documents = self._tools.documents
        self._outline, headings = self._tools.outline(_OUTLINE_TOKENS)
        self._about += chunk_ids(documents, headings)
        look = self._strategy.look_first(self._question, self._tools)
        for position, (name, first, last) in enumerate(look.found):
            self.evidence.add(name, first, last, value=FOUND - position / len(look.found))
        found = show_lines(documents, look.found, _FOUND_TOKENS)
        opening = show_lines(documents, look.opening, _OPENING_TOKENS)
        for range_ in opening.ranges:
            self.evidence.add(*range_, value=OPENING)
        text = "\n\n".join(filter(None, (opening.text, found.text)))
        self._shown = ShownText(text, opening.ranges + found.ranges)
        self._outcome = "How the documents begin, and what a search for the question found"
        if self._tools.queries is None:
            remedy = "pip install 'remloom[reader]'"
            self.doubts.append(f"no model chose what was read: that needs SQL ({remedy})")
            yield event(EventType.WARNING, warning=self.doubts[-1], remedy=remedy)
            return
        for iteration in range(self._limits.turns):
            if self._is_done or self._must_answer():
                break
            yield from self._take_turn(iteration)
            yield from self.check_documents()

    def check_documents(self) -> EventStream[None]:
        """See that what is read is still there; what is changed is read as it was at the question.

        Raises:
            GoneError: a document was forgotten.
        """
        for notice in self._tools.refresh():
            if notice.document not in self._tools.documents:
                continue
            if notice.forgotten:
                raise GoneError(
                    f"{notice.document!r} was forgotten while it was read",
                    remedy="ask again: without it",
                )
            doubt = f"{notice.document!r} was changed while it was read: this is of what it was"
            if doubt not in self.doubts:
                self.doubts.append(doubt)
                yield event(EventType.WARNING, warning=doubt)

    def _must_answer(self) -> bool:
        """Whether another turn could take what is kept back for the answer."""
        ahead = self._calls.most(self._call(len(self.steps))) + self._limits.answer
        if self._calls.spent + ahead > self._limits.tokens:
            self.doubts.append("the budget of tokens ended the reading")
            return True
        seconds = self._limits.seconds
        # a turn and the answer, each as slow as the slowest call so far
        elapsed = time.monotonic() - self._began
        if seconds is not None and elapsed + 2 * self._calls.longest > seconds:
            self.doubts.append(f"the limit of {seconds:g} seconds ended the reading")
            return True
        return False

    def _take_turn(self, iteration: int) -> EventStream[None]:
        yield event(
            EventType.ITERATION_START,
            iteration=iteration,
            max_iterations=self._limits.turns,
            lines=list(self._shown.ranges),
        )
        step = ReadStep(iteration=iteration)
        spent = self._calls.llm.spent
        failure: ModelError | None = None
        try:
            reply = yield from self._calls.ask(self._call(iteration))
            self._value_notes(reply.notes)
            step = yield from self._move(reply, _new_step(iteration, reply))
        except (ReplyError, BudgetError) as error:
            self._repeats += 1
            self._is_done = isinstance(error, BudgetError) or self._repeats >= MAX_REPEATS
            step = replace(step, error=error.message)
            self._outcome = "Your last reply was not what was asked for"
            self._shown = ShownText(error.message)
            yield error_event(error, recoverable=True)
        except ModelError as error:
            failure = error
            step = replace(step, error=error.message)
        step = replace(step, tokens=self._calls.llm.spent - spent)
        self.steps.append(step)
        yield event(
            EventType.ITERATION_END,
            **{name: getattr(step, name) for name in _REPORTED},
        )
        if failure is not None:
            raise failure

    def _move(self, reply: Step, step: ReadStep) -> EventStream[ReadStep]:
        """Do what a reply says; errors are for the model to mend in the next turn."""
        self._is_done = reply.satisfied or reply.list_all
        self.list_all = reply.list_all
        if reply.list_all:
            return step
        if reply.query and not self._is_repeated(reply.query):
            return (yield from self._run_query(reply.query, step))
        if reply.satisfied:
            return step
        return (yield from self._refuse(step, _REPEATED if reply.query else _NOTHING))

    def _run_query(self, query: str, step: ReadStep) -> EventStream[ReadStep]:
        queries = self._tools.queries
        documents = list(self._tools.documents.values())
        assert queries is not None  # noqa: S101 - else no turn is taken
        try:
            prepared = queries.prepare(query, documents)
            yield event(
                EventType.SQL_EXECUTE,
                sql=prepared.sql,
                auto_fixed=bool(prepared.fixes),
                original_sql=query,
                fixes=list(prepared.fixes),
            )
            try:
                rows = queries.run(query, documents)
            except InvalidInputError:
                # such an error may quote a text, as one that is not a number
                self._rest_on_all()
                raise
        except InvalidInputError as error:
            return (yield from self._refuse(step, str(error), error))
        yield event(
            EventType.SQL_RESULT,
            columns=list(rows.columns),
            row_count=rows.row_count,
            truncated=rows.truncated,
        )
        self._shown = show_rows(self._tools.documents, rows, _SHOWN_TOKENS)
        if rows.rows and not self._shown.ranges:
            self._rest_on_all()
        self._outcome = _describe_outcome(rows)
        is_close = step.reading_mode in ("read", "deep_read")
        for range in self._shown.ranges:
            self.evidence.add(*range, value=_READ if is_close else _SEARCHED)
        spans = ((self._tools.documents[name], span) for name, *span in self._shown.ranges)
        words = sum(lines.words(*span) for lines, span in spans) or rows.word_count
        preview = rows.as_dicts()[:_PREVIEW]
        yield event(EventType.RESULTS, row_count=rows.row_count, word_count=words, preview=preview)
        return replace(
            step,
            sql=rows.sql,
            fixes=rows.fixes,
            row_count=rows.row_count,
            word_count=words,
            sample_lines=tuple(self._sample_lines()),
            lines=self._shown.ranges,
        )

    def _rest_on_all(self) -> None:
        """Note that what the model is shown may be of any line: a table of values, an error."""
        documents = self._tools.documents
        every = [(name, 1, len(lines)) for name, lines in documents.items()]
        self._about = tuple(dict.fromkeys((*self._about, *chunk_ids(documents, every))))

    def _refuse(
        self, step: ReadStep, problem: str, error: RemloomError | None = None
    ) -> EventStream[ReadStep]:
        self._outcome = "Your last query did not run"
        self._shown = ShownText(problem)
        yield error_event(error or InvalidInputError(problem), recoverable=True)
        return replace(step, error=problem)

    def _is_repeated(self, query: str) -> bool:
        """Whether this query ran before; a model that goes in circles gets nowhere."""
        text = " ".join(query.split()).rstrip("; ")
        if text not in self._queries:
            self._queries.add(text)
            return False
        self._repeats += 1
        self._is_done = self._is_done or self._repeats >= MAX_REPEATS
        return True

    def _value_notes(self, notes: str) -> None:
        """Value the lines that the model made a note of, as far as it was shown them."""
        for match in _NOTED_LINES.finditer(notes):
            first = int(match[1])
            last = int(match[2] or first)
            if not first <= last < first + _LONGEST_NOTED:
                continue
            for name in dict.fromkeys(name for name, _, _ in self._shown.ranges):
                if self.evidence.was_shown(name, first, last):
                    self.evidence.add(name, first, last, value=_NOTED)

    def _sample_lines(self) -> Iterator[str]:
        left = _SAMPLE
        for name, first, last in self._shown.ranges:
            texts = self._tools.documents[name].texts
            for number in range(first, min(last, first + left - 1) + 1):
                yield f"{number}: {texts[number - 1][:_SAMPLE_LENGTH]}"
                left -= 1

    def _call(self, iteration: int) -> Call:
        documents = self._tools.documents
        left = self._limits.turns - iteration
        slots: Slots = {
            "question": self._question,
            "outline": Quote(f"{describe_documents(documents)}\n{self._outline}".strip()),
            "earlier": [Quote(text, trust="derived") for text in self._earlier],
            "turns": Quote(describe_steps(self.steps) or "none yet", trust="derived"),
            "outcome": self._outcome,
            "shown": self._shown.quote,
            "coverage": describe_coverage(self.evidence),
            "guidance": self._strategy.guide(iteration, self.steps),
            "left": f"{left} more queries can be run." if left > 1 else "This is the last query.",
        }
        return Call("read_step", slots, RequestedStep, self.subjects())


def _new_step(iteration: int, reply: Step) -> ReadStep:
    return ReadStep(
        iteration=iteration,
        thought=reply.thought,
        reading_mode=reply.mode,
        goal=reply.goal,
        original_sql=reply.query,
        satisfied=reply.satisfied,
        next_move=reply.next_move,
        notes=reply.notes,
    )


def _describe_outcome(rows: Rows) -> str:
    fixes = f"; your query was changed: {', '.join(rows.fixes)}" if rows.fixes else ""
    more = ", the first of more" if rows.truncated else ""
    return f"Your last query brought {rows.row_count} rows{more}{fixes}"
