"""`ask`: a model turns a question into statements, reads the answers, and cites them (seed 5,
"ask_rem() with Staged Planning", "Iterated Retrieval").

Its statements only read: whatever a document tells it to do, it cannot write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from ..errors import BudgetError, EmbedderError, InvalidInputError, StoreBusyError
from ..llm import LLM, Quote
from ..llm.prompts import hint, prompt
from ..model import SchemaDefinition
from ..query.executor import Executor
from ..query.json_form import to_parameters
from ..query.parser import parse
from ..query.render import render
from ..query.statements import Statement, Traverse
from ..text.quoting import cleaned, one_line, quoted
from .result import AskResult, AskTurn
from .transcript import MAX_TURN, Transcript

MAX_EDGE_TYPES = 60  # that the model is shown
MAX_SCHEMAS = 20  # registered ones that it is shown with their fields
MAX_FIELDS = 40  # of each
MAX_DESCRIPTION = 300  # characters
_REPEATED = (
    "this was asked before, and what it brought back is above:"
    " answer from that, or ask something else"
)
_NO_NAMES = "none known by that name: SEARCH finds what was written"
_MAX_REPEATS = 2  # statements made again, after which a model is asked for its answer
_BYTES_PER_TOKEN = 3  # rather too few, as a budget is not to be overrun
_SCHEMA_TOKENS = 400  # that a call has besides its prompt
_CITED = re.compile(r"\[(\d{1,6}(?:\s*,\s*\d{1,6})*)\]")


# The descriptions and limits are part of what the model is asked: a change of them is one of its
# prompt.
class Step(Struct, frozen=True):
    """A turn: the next statement, or else the answer."""

    reasoning: Annotated[str, hint(maxLength=200)]
    staged_plan: Annotated[list[Annotated[str, hint(maxLength=60)]], hint(maxItems=5)]
    memo: Annotated[str, hint(maxLength=120)]
    statement: Annotated[str, hint(maxLength=400)]  # empty: it is done
    confidence: Annotated[float, Meta(ge=0, le=1)]
    answer: Annotated[str, hint(maxLength=1600)]  # empty: it is not done


class Last(Struct, frozen=True):
    """The answer. No statement can be run any more."""

    answer: Annotated[str, hint(minLength=1, maxLength=1600)]


class Asker:
    """Asks one tenant's memory; `find_names` gives the names of records in a question."""

    def __init__(
        self, executor: Executor, llm: LLM, find_names: Callable[[str], Sequence[str]]
    ) -> None:
        self._executor = executor
        self._llm = llm
        self._find_names = find_names

    def ask(
        self,
        question: str,
        *,
        turns: int,
        tokens: int,
        now: datetime,
        on_turn: Callable[[AskTurn], None] | None = None,
    ) -> AskResult:
        """Answer a question.

        Args:
            turns: statements at most.
            tokens: the budget of the run that the model belongs to.
        """
        conversation = _Conversation(question, turns, now, self._describe_memory(question))
        while True:
            # so that there is enough left for an answer
            if conversation.turns:
                needed = self._llm.spent + conversation.tokens_ahead
                if needed > tokens:
                    conversation.statements_left = 0
            try:
                if not conversation.statements_left:
                    last = self._llm.ask("ask", conversation.prompt_slots(), returns=Last)
                    return conversation.result(last.answer, self._llm.spent)
                step = self._llm.ask("ask", conversation.prompt_slots(), returns=Step)
            except BudgetError as error:
                return conversation.result("", self._llm.spent, error.message)
            turn = self._take_step(step, conversation)
            if turn is None:
                return conversation.result(step.answer, self._llm.spent)
            conversation.add_turn(turn)
            if on_turn:
                on_turn(turn)

    def _take_step(self, step: Step, conversation: _Conversation) -> AskTurn | None:
        """The turn that a step makes; None if the step is the answer."""
        turn = self._run_statement(step, conversation)
        if turn is None and (unknown := conversation.unknown_citations(step.answer)):
            return _failed_turn(
                step,
                f"the answer cites {unknown}, which no turn brought back: cite what was shown",
            )
        return turn

    def _run_statement(self, step: Step, conversation: _Conversation) -> AskTurn | None:
        """Run a statement; its errors are for the model to mend. None if there is an answer."""
        has_answer = bool(step.answer.strip())
        if not step.statement.strip():
            if has_answer:
                return None
            return _failed_turn(step, "this is neither a statement nor an answer: give one of them")
        try:
            statement = _with_memo(parse(step.statement), step.memo.strip())
        except InvalidInputError as error:
            return _failed_turn(step, str(error))
        turn = _new_turn(step, statement)
        if conversation.is_repeated(statement):
            # Small models repeat the statement that their answer is from.
            return None if has_answer else replace(turn, error=_REPEATED)
        try:
            return replace(turn, answer=self._executor.run(statement))
        except (InvalidInputError, EmbedderError, StoreBusyError) as error:
            return replace(turn, error=str(error))

    def _describe_memory(self, question: str) -> str:
        types = self._executor.store.graph.edge_types()
        listed = ", ".join(map(one_line, types[:MAX_EDGE_TYPES])) or "none"
        hidden = len(types) - MAX_EDGE_TYPES
        more = f" and {hidden} more" if hidden > 0 else ""
        names = ", ".join(map(quoted, dict.fromkeys(self._find_names(question))))
        return (
            f"edge types: {listed}{more}\n{self._describe_tables()}"
            f"names that the question may mean: {names or _NO_NAMES}"
        )

    def _describe_tables(self) -> str:
        """Describe the schemas that are registered, a line each; nothing where there are none."""
        definitions = list(self._executor.store.schemas().values())
        lines = [_described(definition) for definition in definitions[:MAX_SCHEMAS]]
        if hidden := definitions[MAX_SCHEMAS:]:
            names = ", ".join(definition.schema_name for definition in hidden[:MAX_SCHEMAS])
            lines.append(f"more tables: {names}")
        return "".join(f"{line}\n" for line in lines)


def _described(definition: SchemaDefinition) -> str:
    """A registered schema as the model is shown it: its fields and edges."""
    fields = [
        f"{name} {field}{f' ({_about(field.description)})' if field.description else ''}"
        for name, field in list(definition.base_fields.items())[:MAX_FIELDS]
    ]
    about = f": {_about(definition.description)}" if definition.description else ""
    edges = ", ".join(f"{edge.name} -> {edge.target}" for edge in definition.edges)
    types = "/".join(definition.entity_types)
    return one_line(
        f"table {definition.schema_name}{f' of {types}' if types else ''}{about}; "
        f"fields: {', '.join(fields) or 'none'}{f'; edges: {edges}' if edges else ''}",
        0,
    )


def _about(description: str) -> str:
    return one_line(description, MAX_DESCRIPTION)


def _with_memo(statement: Statement, memo: str) -> Statement:
    """A TRAVERSE with the memo that the model gave with it, unless it has one of its own."""
    query = statement.query
    if not isinstance(query, Traverse) or query.plan_memo or not memo:
        return statement
    return replace(statement, query=replace(query, plan_memo=memo))


def _new_turn(step: Step, statement: Statement) -> AskTurn:
    query = statement.query
    parameters = to_parameters(query)
    if statement.as_of:
        parameters["as_of"] = statement.as_of.isoformat()
    return replace(
        _failed_turn(step, ""),
        statement=render(statement),
        query=parameters,
        memo=query.plan_memo if isinstance(query, Traverse) else step.memo.strip(),
    )


def _failed_turn(step: Step, error: str) -> AskTurn:
    return AskTurn(
        statement=step.statement,
        memo=step.memo,
        reasoning=step.reasoning,
        confidence=step.confidence,
        staged_plan=tuple(step.staged_plan),
        error=error,
    )


class _Conversation:
    """The turns so far; `known` describes the memory to the model."""

    def __init__(self, question: str, turns: int, now: datetime, known: str) -> None:
        self.turns: list[AskTurn] = []
        self.statements_left = turns
        self._question = question
        self._today = now.strftime("%A, %Y-%m-%d")
        self._known = known
        self._transcript = Transcript()
        self._turn_texts: list[str] = []
        self._statements: set[str] = set()
        self._repeats = 0

    @property
    def tokens_ahead(self) -> int:
        """Tokens that one more statement and then the answer take at most."""
        form = prompt("ask")
        parts = form.fill(self.prompt_slots())
        size = sum(len(part.encode("utf-8", "surrogatepass")) for part in parts)
        call = size // _BYTES_PER_TOKEN + _SCHEMA_TOKENS + form.max_tokens
        # two calls, and the answer to the statement of the first
        return 2 * call + MAX_TURN // _BYTES_PER_TOKEN

    def add_turn(self, turn: AskTurn) -> None:
        if turn.answer is None:
            outcome = f"error: {cleaned(turn.error)}"
        else:
            outcome = self._transcript.quote_answer(turn.answer)
        self.turns.append(turn)
        # a model that goes in circles gets nowhere by another turn
        is_circling = self._repeats == _MAX_REPEATS
        self.statements_left = 0 if is_circling else self.statements_left - 1
        lines = [f"turn {len(self.turns)}: {one_line(turn.statement, 0)}"]
        if turn.memo:
            lines.append(f"memo: {one_line(turn.memo, 0)}")
        lines.append(outcome)
        self._turn_texts.append("\n".join(filter(None, lines)))

    def is_repeated(self, statement: Statement) -> bool:
        """Whether this statement, memos apart, was made before; from now on it was."""
        if isinstance(statement.query, Traverse):
            query = replace(statement.query, plan_memo="")
            statement = replace(statement, query=query)
        text = render(statement)
        if text in self._statements:
            self._repeats += 1
            return True
        self._statements.add(text)
        return False

    def prompt_slots(self) -> dict[str, str | Quote]:
        left = "no statement can be run any more: answer now"
        if self.statements_left:
            left = f"{self.statements_left} more statements can be run"
        turns = "\n\n".join(self._turn_texts) or "nothing yet"
        return {
            "question": self._question,
            "today": self._today,
            "known": Quote(self._known, trust=""),
            "turns": Quote(turns, trust=""),
            "left": left,
        }

    def unknown_citations(self, answer: str) -> str:
        """The numbers in an answer that stand for nothing: "[7], [9]"."""
        numbers = dict.fromkeys(_cited_numbers(answer))
        known = self._transcript.citation
        return ", ".join(f"[{number}]" for number in numbers if known(number) is None)

    def result(self, answer: str, tokens: int, doubt: str = "") -> AskResult:
        answer = answer.strip()
        connections = self._transcript.connections.sentences()
        numbers = list(_cited_numbers(answer))
        doubts = [doubt or ("" if answer else "the model found no answer")]
        if unknown := self.unknown_citations(answer):
            doubts.append(f"the answer cites {unknown}, which no turn brought back")
        if answer and not numbers:
            doubts.append("the answer cites nothing")
        numbers += _cited_numbers("\n".join(connections))
        citations = map(self._transcript.citation, dict.fromkeys(numbers))
        return AskResult(
            question=self._question,
            answer=answer,
            connections=connections,
            turns=tuple(self.turns),
            citations=tuple(citation for citation in citations if citation is not None),
            doubts=tuple(filter(None, doubts)),
            tokens=tokens,
        )


def _cited_numbers(answer: str) -> Iterator[int]:
    for group in _CITED.findall(answer):
        yield from map(int, group.split(","))
