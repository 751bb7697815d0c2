"""`usage`: calls of the language model, and their cost, by task and by run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import msgspec
from click import FloatRange, option

from ..app import Call, command

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ....llm import UsageLine, UsageReport

RUNS = 10  # shown; --json has them all


@command("usage")
@option("--run", metavar="RUN", help="Of one run only: its id, or one end of it.")
@option(
    "--days",
    type=FloatRange(min=0, min_open=True),
    metavar="N",
    help="Of the last so many days only.",
)
def usage(call: Call, run: str | None, days: float | None) -> None:
    """Show what the language model was used for, and what it cost.

    Calls, tokens, cost and time, by task and by run.
    """
    since = None if days is None else datetime.now(UTC) - timedelta(days=days)
    with call.open() as memory:
        used = memory.admin.usage(run=run, since=since)
    call.show(msgspec.to_builtins(used), lambda: _view(used))


def _view(used: UsageReport) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

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
    from ..frame.text_formats import short_id
    from ..views.tables import draw_table

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
