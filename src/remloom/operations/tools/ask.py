"""The tool `ask`: an answer in words, by the language model that is set."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from ...memory.memory import Memory
from ...predicates import LONGEST_QUESTION
from ...text.quoting import cleaned, one_line, quoted
from ..bounds import NO_NUL
from ..operation import Hints, Operation, Progress, Route


class AskTakes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `ask`."""

    question: Annotated[str, Meta(max_length=LONGEST_QUESTION, pattern=NO_NUL)]
    turns: Annotated[int, Meta(ge=1, le=20)] = 5
    budget_tokens: Annotated[int, Meta(ge=1, le=200_000)] = 20_000


class Asked(Struct, frozen=True, kw_only=True):
    """An answer with its citations; an empty one is none, and `doubts` say why."""

    answer: str
    citations: list[dict[str, Any]]
    connections: list[str]
    doubts: list[str]
    statements: list[str]
    tokens: int


def _ask(memory: Memory, values: AskTakes, progress: Progress | None) -> Asked:
    found = memory.ask(
        values.question,
        turns=values.turns,
        budget_tokens=values.budget_tokens,
        on_turn=progress,
    )
    return Asked(
        answer=found.answer,
        citations=[
            {"number": one.number, "name": one.name, "source": one.source, "id": one.id}
            for one in found.citations
        ],
        connections=list(found.connections),
        doubts=list(found.doubts),
        statements=[turn.statement for turn in found.turns],
        tokens=found.tokens,
    )


def _text(value: Asked) -> str:
    lines = [cleaned(value.answer) or "There is no answer."]
    lines += [f"> {one_line(sentence, 0)}" for sentence in value.connections]
    lines += [f"[{one['number']}] {quoted(one['source'])}" for one in value.citations]
    lines += [f"doubt: {one_line(doubt, 0)}" for doubt in value.doubts]
    return "\n".join(lines)


ASK = Operation(
    name="ask",
    takes=AskTakes,
    gives=Asked,
    does=_ask,
    scope="read",
    hints=Hints(read_only=True),
    description=(
        "Ask in plain words: a language model looks through the memory in statements, answers "
        "and cites. Slow; recall first."
    ),
    route=Route("POST", "/v1/tools/ask"),
    is_default=True,
    is_long=True,
    aliases={"query": "question", "q": "question"},
    text=_text,
)
