"""The result of `ask`: its conversation with the memory, and the answer (seed 5, "ask_rem() with
Staged Planning", "Agent Scratchpad: Stage Memos")."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from ..model import Answer, Stage, cited


class AskTurn(Struct, frozen=True, kw_only=True):
    """One statement that a model made, why, and what the memory answered."""

    statement: str  # canonical text; as the model wrote it when it cannot be parsed
    # the same in the JSON form of `rem_query`; None when it cannot be parsed
    query: dict[str, Any] | None = None
    memo: str = ""  # the model's note to itself; a TRAVERSE echoes it on its stages
    reasoning: str = ""
    confidence: float = 0.0  # 0..1
    staged_plan: tuple[str, ...] = ()
    answer: Answer | None = None  # None when there is an error
    error: str = ""  # why it could not be run, as the model was shown

    @property
    def stages(self) -> list[Stage]:
        return self.answer.stages if self.answer else []

    @property
    def found(self) -> int:
        answer = self.answer
        if answer is None:
            return 0
        # only one of them is filled
        return len(answer.records) + len(answer.nodes) + len(answer.rows)

    def as_dict(self) -> dict[str, Any]:
        """The turn as JSON-ready values; `response` is the whole answer."""
        shown: dict[str, Any] = {
            "query": self.query,
            "staged_plan": list(self.staged_plan),
            "statement": self.statement,
            "memo": self.memo,
            "reasoning": self.reasoning,
            "confidence": self.confidence,
            "stages": [stage.as_dict() for stage in self.stages],
            "found": self.found,
        }
        if self.answer is None:
            return shown | {"error": self.error}
        return shown | {"response": self.answer.as_dict()}


class Citation(Struct, frozen=True, kw_only=True):
    """A number in the answer, and its source: a record that came back, or the rows of a SELECT."""

    number: int
    id: str = ""
    schema: str = ""
    name: str = ""
    uri: str = ""
    lines: tuple[int, int] | None = None  # first and last, from 1
    pages: tuple[int, int] | None = None
    statement: str = ""  # of a SELECT

    @property
    def source(self) -> str:
        """`uri:first-last`, or else the name or the SELECT."""
        if self.uri:
            return cited(self.uri, {"lines": self.lines, "pages": self.pages})
        return self.name or self.statement


class AskResult(Struct, frozen=True, kw_only=True):
    """A question and its answer; `query` and `staged_plan` are of the first statement.

    An empty `answer` means that there is none, and `doubts` say why. `connections` are not the
    model's words but what is remembered: however little a model makes of what it walked along, here
    is all of it.
    """

    question: str
    answer: str = ""
    connections: tuple[str, ...] = ()  # the edges walked along: "Ada [1] manages Bob [2], Eve [3]"
    # what the answer cites, by number, then what only the connections do
    citations: tuple[Citation, ...] = ()
    turns: tuple[AskTurn, ...] = ()
    doubts: tuple[str, ...] = ()  # reasons not to trust the answer
    tokens: int = 0  # in and out, of all calls

    @property
    def first(self) -> AskTurn | None:
        """The first turn with a statement that could be parsed."""
        parsed = (turn for turn in self.turns if turn.query is not None)
        return next(parsed, None)

    @property
    def query(self) -> dict[str, Any] | None:
        return self.first.query if self.first else None

    @property
    def staged_plan(self) -> tuple[str, ...]:
        return self.first.staged_plan if self.first else ()

    def as_dict(self) -> dict[str, Any]:
        """The seed's JSON, `query` and `staged_plan`, with all the rest."""
        first = self.first
        return {
            "question": self.question,
            "query": self.query,
            "staged_plan": list(self.staged_plan),
            "statement": first.statement if first else "",
            "confidence": first.confidence if first else 0.0,
            "reasoning": first.reasoning if first else "",
            "answer": self.answer,
            "connections": list(self.connections),
            "citations": [
                msgspec.to_builtins(citation) | {"source": citation.source}
                for citation in self.citations
            ],
            "turns": [turn.as_dict() for turn in self.turns],
            "doubts": list(self.doubts),
            "tokens": self.tokens,
        }
