"""`ask`: a model puts a question in plain words into statements, reads what comes back, and answers
with citations.

Source: seed design 5, "ask_rem() with Staged Planning" and "Iterated Retrieval"; DESIGN section 4.
The model has the statements of the dialect and nothing else, and those only read: whatever a
document tells it to do, it cannot write.
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
from ..llm.prompts import prompt
from ..query.executor import Executor
from ..query.json_form import to_parameters
from ..query.parser import parse
from ..query.statements import Statement, Traverse, render
from .result import AskResult, AskTurn
from .transcript import TURN, Quoted, one_line

__all__ = ["Asker", "Step"]

EDGE_TYPES = 60  # that the model is told of
# statements made before, after which a model is going in circles: it is asked for its answer
REPEATS = 2
BYTES = 3  # of a token, rather too few, as budgets count
SCHEMA = 400  # tokens that a call has besides its prompt
_BEFORE = "this was asked before, and what it brought back is above: answer from that, or ask something else"
_CITED = re.compile(r"\[(\d{1,6}(?:\s*,\s*\d{1,6})*)\]")


def _at_most(**limits: int) -> Meta:
    """What a reply is asked to keep to. One that goes beyond is taken all the same."""
    return Meta(extra_json_schema=limits)


class Step(Struct, frozen=True):
    """A turn: the next statement, or else the answer."""

    reasoning: Annotated[str, _at_most(maxLength=200)]
    staged_plan: Annotated[list[Annotated[str, _at_most(maxLength=60)]], _at_most(maxItems=5)]
    memo: Annotated[str, _at_most(maxLength=120)]
    statement: Annotated[str, _at_most(maxLength=400)]  # empty: it is done
    confidence: Annotated[float, Meta(ge=0, le=1)]
    answer: Annotated[str, _at_most(maxLength=1600)]  # empty: it is not done


class Last(Struct, frozen=True):
    """The answer. No statement can be run any more."""

    answer: Annotated[str, _at_most(minLength=1, maxLength=1600)]


class Asker:
    """Asks one tenant's memory.

    Args:
        names: the names of what is known, that a question names.
    """

    def __init__(self, executor: Executor, llm: LLM, names: Callable[[str], Sequence[str]]) -> None:
        self._executor = executor
        self._llm = llm
        self._names = names

    def ask(
        self,
        question: str,
        *,
        turns: int,
        tokens: int,
        now: datetime,
        told: Callable[[AskTurn], None] | None = None,
    ) -> AskResult:
        """The question's answer after at most `turns` statements, `tokens` being the budget of the
        run that `llm` belongs to. `told` is called with each turn."""
        conversation = _Conversation(question, turns, now, self._known(question))
        while True:
            if conversation.turns and self._llm.spent + conversation.ahead > tokens:
                conversation.close()
            try:
                if not conversation.left:
                    return self._asked(
                        conversation,
                        self._llm.ask("ask", conversation.slots(), returns=Last).answer,
                    )
                step = self._llm.ask("ask", conversation.slots(), returns=Step)
            except BudgetError as error:
                return self._asked(conversation, "", error.message)
            turn = self._turn(step, conversation)
            if turn is None and (unknown := conversation.unknown(step.answer)):
                turn = _refused(
                    step,
                    f"the answer cites {unknown}, which no turn brought back: cite what was shown",
                )
            if turn is None:
                return self._asked(conversation, step.answer)
            conversation.add(turn)
            if told:
                told(turn)

    def _asked(self, conversation: _Conversation, answer: str, doubt: str = "") -> AskResult:
        return replace(conversation.asked(answer.strip(), doubt), tokens=self._llm.spent)

    def _turn(self, step: Step, conversation: _Conversation) -> AskTurn | None:
        """Run a statement; what is wrong with it is for the model to mend. None: this is the
        answer."""
        if not step.statement.strip():
            if step.answer.strip():
                return None
            return _refused(step, "this is neither a statement nor an answer: give one of them")
        try:
            statement = parse(step.statement)
        except InvalidInputError as error:
            return _refused(step, str(error))
        if (
            isinstance(statement.query, Traverse)
            and step.memo.strip()
            and not statement.query.plan_memo
        ):
            statement = replace(
                statement, query=replace(statement.query, plan_memo=step.memo.strip())
            )
        turn = _made(step, statement)
        if conversation.had(statement):
            # small models repeat the statement that their answer is from
            if step.answer.strip():
                return None
            return replace(turn, error=_BEFORE)
        try:
            return replace(turn, answer=self._executor.run(statement))
        except (InvalidInputError, EmbedderError, StoreBusyError) as error:
            return replace(turn, error=str(error))

    def _known(self, question: str) -> str:
        """What the model is told of the memory before it asks."""
        store = self._executor.store
        types = store.graph.edge_types()
        more = f" and {len(types) - EDGE_TYPES} more" if len(types) > EDGE_TYPES else ""
        names = ", ".join(f'"{one_line(name)}"' for name in dict.fromkeys(self._names(question)))
        return (
            f"edge types: {', '.join(map(one_line, types[:EDGE_TYPES])) or 'none'}{more}\n"
            f"names that the question may mean: {names or 'none known by that name: SEARCH finds what was written'}"
        )


class _Conversation:
    """The turns so far, as the model is shown them and as they are answered with."""

    def __init__(self, question: str, turns: int, now: datetime, known: str) -> None:
        self.turns: list[AskTurn] = []
        self._question = question
        self.left = turns  # statements that can still be run
        self._today = now.strftime("%A, %Y-%m-%d")
        self._known = known
        self._quoted = Quoted()
        self._shown: list[str] = []
        self._had: set[str] = set()
        self._repeats = 0

    @property
    def ahead(self) -> int:
        """Tokens that one more statement and then the answer take at most."""
        form = prompt("ask")
        size = (
            sum(len(part.encode("utf-8", "surrogatepass")) for part in form.fill(self.slots()))
            // BYTES
        )
        return 2 * (size + SCHEMA + form.max_tokens) + TURN // BYTES

    def close(self) -> None:
        """Let no more statements be run: the next turn is the answer."""
        self.left = 0

    def add(self, turn: AskTurn) -> AskTurn:
        came = self._quoted.text(turn.answer) if turn.answer is not None else f"error: {turn.error}"
        self.turns.append(turn)
        self.left = 0 if self._repeats == REPEATS else self.left - 1
        said = [
            f"turn {len(self.turns)}: {one_line(turn.statement)}",
            f"memo: {one_line(turn.memo)}" if turn.memo else "",
            came,
        ]
        self._shown.append("\n".join(filter(None, said)))
        return turn

    def had(self, statement: Statement) -> bool:
        """Whether this statement, memos apart, was made before; from now on it was."""
        if isinstance(statement.query, Traverse):
            statement = replace(statement, query=replace(statement.query, plan_memo=""))
        text = render(statement)
        if text in self._had:
            self._repeats += 1
            return True
        self._had.add(text)
        return False

    def slots(self) -> dict[str, str | Quote]:
        left = (
            f"{self.left} more statements can be run"
            if self.left
            else "no statement can be run any more: answer now"
        )
        return {
            "question": self._question, "today": self._today, "known": Quote(self._known, trust=""),
            "turns": Quote("\n\n".join(self._shown) or "nothing yet", trust=""), "left": left,
        }  # fmt: skip

    def unknown(self, answer: str) -> str:
        """The numbers in an answer that stand for nothing: "[7], [9]"."""
        numbers = dict.fromkeys(_numbers(answer))
        return ", ".join(
            f"[{number}]" for number in numbers if self._quoted.citation(number) is None
        )

    def asked(self, answer: str, doubt: str = "") -> AskResult:
        cited, connections = list(_numbers(answer)), self._quoted.connections()
        doubts = [doubt or ("" if answer else "the model found no answer")]
        if unknown := self.unknown(answer):
            doubts.append(f"the answer cites {unknown}, which no turn brought back")
        if answer and not cited:
            doubts.append("the answer cites nothing")
        numbers = dict.fromkeys([*cited, *_numbers("\n".join(connections))])
        return AskResult(
            question=self._question, answer=answer, connections=connections, turns=tuple(self.turns),
            citations=tuple(filter(None, map(self._quoted.citation, numbers))), doubts=tuple(filter(None, doubts)),
        )  # fmt: skip


def _made(step: Step, statement: Statement) -> AskTurn:
    memo = statement.query.plan_memo if isinstance(statement.query, Traverse) else step.memo.strip()
    query = to_parameters(statement.query) | (
        {"as_of": statement.as_of.isoformat()} if statement.as_of else {}
    )
    return AskTurn(
        statement=render(statement), query=query, memo=memo, reasoning=step.reasoning, confidence=step.confidence,
        staged_plan=tuple(step.staged_plan),
    )  # fmt: skip


def _refused(step: Step, error: str) -> AskTurn:
    return AskTurn(
        statement=step.statement, memo=step.memo, reasoning=step.reasoning, confidence=step.confidence,
        staged_plan=tuple(step.staged_plan), error=error,
    )  # fmt: skip


def _numbers(answer: str) -> Iterator[int]:
    """The numbers that an answer cites: [1], [2, 3]."""
    for group in _CITED.findall(answer):
        yield from map(int, group.split(","))
