"""A conversation between a model and the memory: its turns, as the model reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from msgspec.structs import replace

from ..llm import Quote
from ..llm.prompts import prompt
from ..query.render import render
from ..query.statements import Statement, Traverse
from ..text.quoting import cleaned, one_line
from .result import AskResult, AskTurn
from .transcript import MAX_TURN, Transcript

MAX_REPEATS = 2  # statements made again, after which a model is asked for its answer
_BYTES_PER_TOKEN = 3  # rather too few, as a budget is not to be overrun
_SCHEMA_TOKENS = 400  # that a call has besides its prompt
_CITED = re.compile(r"\[(\d{1,6}(?:\s*,\s*\d{1,6})*)\]")


class Conversation:
    """The turns so far.

    Args:
        turns: statements that can be run.
        known: what the model is told of the memory before it asks.
    """

    def __init__(
        self,
        question: str,
        turns: int,
        now: datetime,
        known: str,
    ) -> None:
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

    def close(self) -> None:
        """Let no more statements be run: the next turn is the answer."""
        self.statements_left = 0

    def add_turn(self, turn: AskTurn) -> None:
        """Add a turn, with its answer or its error."""
        if turn.answer is None:
            outcome = f"error: {cleaned(turn.error)}"
        else:
            outcome = self._transcript.quote_answer(turn.answer)
        self.turns.append(turn)
        # a model that goes in circles gets nowhere by another turn
        is_circling = self._repeats == MAX_REPEATS
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
        """Fill the slots of the prompt."""
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
        unknown = [f"[{number}]" for number in numbers if known(number) is None]
        return ", ".join(unknown)

    def result(self, answer: str, doubt: str = "") -> AskResult:
        """The outcome, with this answer.

        Args:
            doubt: why there is no better answer, if that is known.
        """
        connections = self._transcript.connections()
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
        )


def _cited_numbers(answer: str) -> Iterator[int]:
    """The numbers that an answer cites: [1], [2, 3]."""
    for group in _CITED.findall(answer):
        yield from map(int, group.split(","))
