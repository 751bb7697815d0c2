"""What the language model was used for, and what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from ..frame.text_formats import short_id
from .tables import draw_table

if TYPE_CHECKING:
    from ....llm import UsageLine, UsageReport

RUNS = 10  # shown; --json has them all


def draw_usage(used: UsageReport) -> RenderableType:
    """Draw what the language model was used for, by task and by run."""
    if not used.total.calls:
        return Text("The language model was not called.")
    parts: list[RenderableType] = [_table("task", [*used.tasks, used.total])]
    if used.runs:
        parts += [Text(), _table("run", used.runs[:RUNS])]
    if len(used.runs) > RUNS:
        parts.append(Text(f"{len(used.runs) - RUNS} earlier runs are not shown.", "dim"))
    if used.total.unpriced:
        parts += [
            Text(),
            Text("?: the price of the model is not known, so the cost lacks these calls.", "dim"),
        ]
    return Group(*parts)


def _table(name: str, lines: list[UsageLine] | tuple[UsageLine, ...]) -> RenderableType:
    if name == "run":
        lines = [msgspec.structs.replace(line, name=short_id(line.name)) for line in lines]
    columns = [name, "calls", "failed", "tokens in", "tokens out", "cost", "median"]
    return draw_table(columns, [_row(line) for line in lines], right=columns[1:])


def _row(line: UsageLine) -> list[str]:
    cost = f"${line.cost:,.4f}"
    # calls of a model without a known price are in no sum
    if line.unpriced:
        cost = f"{cost} + ?" if line.cost else "?"
    counts = (line.calls, line.failed, line.input_tokens, line.output_tokens)
    # the time of calls that succeeded; without any there is none
    median = f"{line.seconds:.2f} s" if line.calls > line.failed else ""
    return [line.name, *(f"{count:,}" for count in counts), cost, median]
