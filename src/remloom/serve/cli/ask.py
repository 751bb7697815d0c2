"""`ask`: put a question in plain words to the memory, see each turn of the conversation, and the
cited answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click import argument, option

from .app import Call, command, model_option
from .terminal import console, echo, visible

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ...ask.result import AskResult, AskTurn
    from ...memory import Memory


@command("ask")
@argument("question")
@option("--turns", default=5, help="Statements at most.")
@option(
    "--budget", default=20_000, metavar="TOKENS", help="Tokens of all calls of the model at most."
)
@model_option
def ask(call: Call, question: str, turns: int, budget: int) -> None:
    """Ask in plain words, and let a model find the answer.

    It asks the memory in statements, over several turns; the answer cites its sources. Without a
    model, `remloom recall` finds what answers a question.
    """
    with call.open() as memory:
        asked = _asked(call, memory, question, turns, budget)
    call.show(asked.as_dict(), lambda: _answered(asked))


def _asked(call: Call, memory: Memory, question: str, turns: int, budget: int) -> AskResult:
    """Ask; on the way, show each turn as it comes."""
    shown = 0

    def tell(turn: AskTurn) -> None:
        nonlocal shown
        shown += 1
        if not call.json:
            console().print(_turn(shown, turn), crop=False)

    asked = memory.ask(question, turns=turns, budget_tokens=budget, on_turn=tell)
    if shown and not call.json:
        echo()
    return asked


def _turn(number: int, turn: AskTurn) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from .text_formats import one_line, plural

    lines = [Text.assemble((f"{number}. ", "green"), (one_line(turn.statement), "bold"))]
    if number == 1 and turn.staged_plan:
        lines.append(Text(f"   plan: {'; '.join(map(one_line, turn.staged_plan))}", "dim"))
    if turn.memo and turn.memo not in turn.statement:
        lines.append(Text(f"   memo: {one_line(turn.memo)}", "dim italic"))
    if turn.answer is None:
        lines.append(Text(f"   {one_line(turn.error)}", "yellow"))
    else:
        edges = (
            f", {plural(len(turn.answer.edge_summary), 'edge')}" if turn.answer.edge_summary else ""
        )
        lines.append(Text(f"   found {turn.found}{edges}", "dim"))
    return Group(*lines)


def _answered(asked: AskResult) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from .text_formats import one_line, short_source

    parts = [Text(visible(asked.answer) or "no answer", "" if asked.answer else "yellow")]
    parts += [Text(one_line(said), "dim") for said in asked.connections if said not in asked.answer]
    for citation in asked.citations:
        parts.append(
            Text.assemble(
                (f"[{citation.number}] ", "green"),
                (one_line(citation.name or citation.statement), "bold"),
            )
        )
        if citation.uri:
            parts[-1].append("  ").append(short_source(citation.source), "blue")
    parts += [Text(one_line(doubt), "yellow") for doubt in asked.doubts]
    return Group(*parts)
