"""`ask`: a model puts a question in plain words into statements, reads the answers, and cites them.

Source: seed design 5, "ask_rem() with Staged Planning" and "Iterated Retrieval"; DESIGN section 4.
The model has the statements of the dialect and nothing else, and those only read: whatever a
document tells it to do, it cannot write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from ..errors import BudgetError, EmbedderError, InvalidInputError, StoreBusyError
from ..llm import LLM
from ..model import SchemaDefinition
from ..query.executor import Executor
from ..query.json_form import to_parameters
from ..query.parser import parse
from ..query.render import render
from ..query.statements import Statement, Traverse
from ..text.quoting import one_line, quoted
from .conversation import Conversation
from .result import AskResult, AskTurn

MAX_EDGE_TYPES = 60  # that the model is told of
MAX_SCHEMAS = 20  # registered ones that it is told the fields of
MAX_FIELDS = 40  # of each
MAX_DESCRIPTION = 300  # characters
_REPEATED = (
    "this was asked before, and what it brought back is above:"
    " answer from that, or ask something else"
)
_NO_NAMES = "none known by that name: SEARCH finds what was written"


def _hint(**limits: int) -> Meta:
    """A limit that a reply is asked to keep to. A reply that goes beyond is taken all the same."""
    return Meta(extra_json_schema=limits)


# The descriptions and limits are part of what the model is asked: a change of them is one of its
# prompt.
class Step(Struct, frozen=True):
    """A turn: the next statement, or else the answer."""

    reasoning: Annotated[str, _hint(maxLength=200)]
    staged_plan: Annotated[list[Annotated[str, _hint(maxLength=60)]], _hint(maxItems=5)]
    memo: Annotated[str, _hint(maxLength=120)]
    statement: Annotated[str, _hint(maxLength=400)]  # empty: it is done
    confidence: Annotated[float, Meta(ge=0, le=1)]
    answer: Annotated[str, _hint(maxLength=1600)]  # empty: it is not done


class Last(Struct, frozen=True):
    """The answer. No statement can be run any more."""

    answer: Annotated[str, _hint(minLength=1, maxLength=1600)]


class Asker:
    """Asks one tenant's memory.

    Args:
        find_names: the names of records that a question has in it.
    """

    def __init__(
        self,
        executor: Executor,
        llm: LLM,
        find_names: Callable[[str], Sequence[str]],
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
            on_turn: called with each turn.
        """
        conversation = Conversation(question, turns, now, self._describe_memory(question))
        while True:
            # so that there is enough left for an answer
            if conversation.turns:
                needed = self._llm.spent + conversation.tokens_ahead
                if needed > tokens:
                    conversation.close()
            try:
                if not conversation.statements_left:
                    last = self._llm.ask("ask", conversation.prompt_slots(), returns=Last)
                    return self._finish(conversation, last.answer)
                step = self._llm.ask("ask", conversation.prompt_slots(), returns=Step)
            except BudgetError as error:
                return self._finish(conversation, "", error.message)
            turn = self._take_step(step, conversation)
            if turn is None:
                return self._finish(conversation, step.answer)
            conversation.add_turn(turn)
            if on_turn:
                on_turn(turn)

    def _finish(
        self,
        conversation: Conversation,
        answer: str,
        doubt: str = "",
    ) -> AskResult:
        result = conversation.result(answer.strip(), doubt)
        return replace(result, tokens=self._llm.spent)

    def _take_step(self, step: Step, conversation: Conversation) -> AskTurn | None:
        """The turn that a step makes; None if the step is the answer."""
        turn = self._run_statement(step, conversation)
        if turn is None and (unknown := conversation.unknown_citations(step.answer)):
            return _failed_turn(
                step,
                f"the answer cites {unknown}, which no turn brought back: cite what was shown",
            )
        return turn

    def _run_statement(self, step: Step, conversation: Conversation) -> AskTurn | None:
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
        """Describe the memory to the model: its edge types, and names in the question."""
        types = self._executor.store.graph.edge_types()
        listed = ", ".join(map(one_line, types[:MAX_EDGE_TYPES])) or "none"
        hidden = len(types) - MAX_EDGE_TYPES
        more = f" and {hidden} more" if hidden > 0 else ""
        distinct = dict.fromkeys(self._find_names(question))
        names = ", ".join(map(quoted, distinct))
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
    """A registered schema as the model is told of it: its fields and edges."""
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
    """A TRAVERSE with the memo that the model gave beside it, unless it has one of its own."""
    query = statement.query
    if not isinstance(query, Traverse) or query.plan_memo or not memo:
        return statement
    return replace(statement, query=replace(query, plan_memo=memo))


def _new_turn(step: Step, statement: Statement) -> AskTurn:
    """The turn of a statement that is still to be run."""
    query = statement.query
    parameters = to_parameters(query)
    if statement.as_of:
        parameters["as_of"] = statement.as_of.isoformat()
    return AskTurn(
        statement=render(statement),
        query=parameters,
        memo=query.plan_memo if isinstance(query, Traverse) else step.memo.strip(),
        reasoning=step.reasoning,
        confidence=step.confidence,
        staged_plan=tuple(step.staged_plan),
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
