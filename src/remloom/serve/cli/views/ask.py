"""An answer with its citations, and each turn on the way to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from ....text.quoting import visible
from ..frame.text_formats import one_line, plural, short_source

if TYPE_CHECKING:
    from ....ask.result import AskResult, AskTurn


def draw_turn(number: int, turn: AskTurn) -> RenderableType:
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


def draw_result(result: AskResult) -> RenderableType:
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
