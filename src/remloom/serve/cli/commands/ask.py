"""`ask`: put a question in plain words to the memory, see each turn of the conversation, and the
cited answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click import argument, option

from ....text.quoting import visible
from ..app import Call, command, model_option
from ..frame.terminal import console, echo

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ....ask.result import AskResult, AskTurn
    from ....memory import Memory


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
        result = _ask_with_turns(call, memory, question, turns, budget)
    call.show(result.as_dict(), lambda: _result_view(result))


def _ask_with_turns(
    call: Call, memory: Memory, question: str, turns: int, budget: int
) -> AskResult:
    """Ask, and print each turn as it comes: an answer may take a minute."""
    shown = 0

    def show_turn(turn: AskTurn) -> None:
        nonlocal shown
        shown += 1
        if not call.json:
            console().print(_turn_view(shown, turn), crop=False)

    result = memory.ask(question, turns=turns, budget_tokens=budget, on_turn=show_turn)
    if shown and not call.json:
        echo()
    return result


def _turn_view(number: int, turn: AskTurn) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from ..frame.text_formats import one_line, plural

    lines = [Text.assemble((f"{number}. ", "green"), (one_line(turn.statement), "bold"))]
    # the model plans once, with its first statement
    if number == 1 and turn.staged_plan:
        lines.append(Text(f"   plan: {'; '.join(map(one_line, turn.staged_plan))}", "dim"))
    # a TRAVERSE carries its memo in the statement itself
    if turn.memo and turn.memo not in turn.statement:
        lines.append(Text(f"   memo: {one_line(turn.memo)}", "dim italic"))
    if turn.answer is None:
        lines.append(Text(f"   {one_line(turn.error)}", "yellow"))
    else:
        line = f"   found {turn.found}"
        if turn.answer.edge_summary:
            line += f", {plural(len(turn.answer.edge_summary), 'edge')}"
        lines.append(Text(line, "dim"))
    return Group(*lines)


def _result_view(result: AskResult) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from ..frame.text_formats import one_line, short_source

    parts = [Text(visible(result.answer) or "no answer", "" if result.answer else "yellow")]
    # only those that the answer does not quote already
    unquoted = [line for line in result.connections if line not in result.answer]
    parts += [Text(one_line(line), "dim") for line in unquoted]
    for citation in result.citations:
        name = one_line(citation.name or citation.statement)
        line = Text.assemble((f"[{citation.number}] ", "green"), (name, "bold"))
        if citation.uri:
            line.append("  ").append(short_source(citation.source), "blue")
        parts.append(line)
    parts += [Text(one_line(doubt), "yellow") for doubt in result.doubts]
    return Group(*parts)
