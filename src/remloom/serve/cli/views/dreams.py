"""Dreams, the runs that made them, and what stopped one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from ....text.quoting import visible
from ..frame.text_formats import one_line, plural, short_id, short_source
from .failures import parked_view
from .reading import draw_report
from .run_counts import counted

if TYPE_CHECKING:
    from ....dream.learn.run import LearnResult
    from ....dream.rem_cycle import DreamResult
    from ....model import ReadReport
    from ....runs.run import Run


GO_ON = "the same command goes on where it stopped; what was done until there is kept"
SHOWN_SOURCES = 8  # of a dream


def draw_learned(
    learned: LearnResult, dreams: Sequence[dict[str, Any]], *, hidden: int
) -> RenderableType:
    """Draw what was read and dreamt; `hidden` more dreams are not shown."""
    parts: list[RenderableType] = [draw_report(learned.read)] if learned.read else []
    parts += [draw_run(learned.run), *map(_dream_view, dreams)]
    if hidden:
        parts.append(Text(f"… and {plural(hidden, 'more dream')}", "dim"))
    return Group(*parts, *parked_view(learned.failed))


def draw_dreams(
    result: DreamResult, dreams: Sequence[dict[str, Any]], *, dry_run: bool
) -> RenderableType:
    """Draw what was dreamt, or of a dry run what would be written."""
    last = draw_run(result.run)
    if dry_run:
        last = Text(
            f"a dry run: {len(dreams):,} would be written, nothing was; "
            "the model was called all the same",
            "yellow",
        )
    return Group(*map(_dream_view, dreams), last, *parked_view(result.failed))


# counts in the receipt of a rollback, in the order in which they are shown
_UNDONE = ("removed", "unlinked", "restored", "kept")


def draw_rollback(done: Run) -> str:
    """Say what was taken back."""
    undone = counted({name: done.receipt.get(name, 0) for name in _UNDONE})
    return f"rolled back {done.kind} run {short_id(done.id)}: {undone or 'nothing to undo'}"


def _dream_view(dream: dict[str, Any]) -> RenderableType:
    years = dream["years"]
    span = "undated"
    if years:
        span = str(years[0]) if len(years) == 1 else f"{years[0]} to {years[-1]}"
    title = Text(one_line(dream["question"]), "bold cyan")
    title.append(f"  {span}  {dream['id']}", "dim")
    body = Padding(Text(visible(dream["text"])), (0, 0, 0, 2))
    sources = dream["sources"]
    lines = [Text(f"  {short_source(source)}", "dim") for source in sources[:SHOWN_SOURCES]]
    if len(sources) > SHOWN_SOURCES:
        lines.append(Text(f"  … and {len(sources) - SHOWN_SOURCES:,} more", "dim"))
    return Group(title, body, *lines, Text(""))


def draw_stop(run: Run, read: ReadReport | None) -> RenderableType:
    parts: list[RenderableType] = [draw_report(read)] if read else []
    # the reason is the error itself, which is printed next
    run = replace(run, reason="")
    parts += [draw_run(run, listed=False), Text(GO_ON, "dim")]
    return Group(*parts)


def draw_run(run: Run, *, listed: bool = True) -> RenderableType:
    """Draw what a run did and wrote.

    Args:
        listed: the parked items are listed elsewhere, so their number is left out.
    """
    done = {name: count for name, count in run.counts.items() if name != "parked" or not listed}
    wrote = {name: run.receipt.get(name, 0) for name in ("records", "edges")}
    lines = [
        Text.assemble(
            (f"{run.kind} {run.state}", "bold" if run.status == "done" else "bold yellow"),
            f": {counted(done) or 'nothing to do'}",
        )
    ]
    if any(wrote.values()):
        undo = f"remloom dream rollback {short_id(run.id)}"
        lines.append(Text(f"wrote {counted(wrote)}; `{undo}` takes it back", "dim"))
    if run.reason:
        lines.append(Text(run.reason, "yellow"))
        lines.append(Text(GO_ON, "dim"))
    return Group(*lines)
