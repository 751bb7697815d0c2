"""Learning and dreaming: `learn`, `dream`, and the runs that they made."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import msgspec
from click import argument, option
from click.exceptions import Exit

from ....errors import ModelError
from ....model import Resource
from ....text.quoting import visible
from ..app import (
    COMMON,
    Call,
    boundary,
    budget_options,
    command,
    model_option,
    program,
    take_budget,
)
from ..frame.terminal import console
from ..views.run_counts import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ....dream.progress import Progress
    from ....llm import Budget
    from ....memory import Memory
    from ....model import ReadReport
    from ....runs.run import Run

KIND = "rem_dream"  # of resource
FAILED = 1  # exit code when something was parked, or the run stopped before its end
GO_ON = "the same command goes on where it stopped; what was done until there is kept"
SHOWN_DREAMS = 20  # of a learning run; `remloom search` finds the others
SHOWN_SOURCES = 8  # of a dream


@command("learn")
@argument("path", required=False)
@option(
    "--order",
    type=click.Choice(["strict", "relaxed"]),
    default="strict",
    help="One document at a time, or many.",
)
@option(
    "--period",
    default="month",
    metavar="PERIOD",
    help="month, year, none, or a number of documents.",
)
@option(
    "--dreams",
    metavar="N|N%",
    help="Dreams after each period. [default: 100, at most one a record of it]",
)
@option("--seed", default="", metavar="WORD", help="Another seed, other dreams.")
@option("--glob", metavar="PATTERN", help="In folders, only files like this, such as '*.md'.")
@budget_options
@model_option
def learn(
    call: Call,
    path: str | None,
    order: str,
    period: str,
    dreams: str | None,
    seed: str,
    glob: str | None,
    budget: Budget,
) -> None:
    """Read PATH and learn from it in time order, dreaming after each period.

    Without PATH, learn from all that was read. Needs a model. A run that was interrupted goes on
    where it was when the same command is given again. Exits with 1 when something was parked, or
    the budget was used up.
    """
    with call.open(create=True) as memory, _show_stop(call), _bar(call) as progress:
        learned = memory.learn(
            path,
            order=order,
            period=int(period) if period.isdigit() else period,
            dreams=dreams,
            seed=seed,
            glob=glob,
            budget=budget,
            progress=progress,
        )
        # a run that had nothing to do has no id, and no records
        records = memory.runs.records(learned.run.id) if learned.run.id else []
        resources = [record for record in records if isinstance(record, Resource)]
        made = [record for record in resources if record.kind == KIND]
        described = [_describe(memory, dream) for dream in made[:SHOWN_DREAMS]]

    def view() -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        from ..frame.text_formats import plural
        from ..views.failures import parked_view
        from .reading import report_view

        parts: list[RenderableType] = [report_view(learned.read)] if learned.read else []
        parts += [_run_view(learned.run), *map(_dream_view, described)]
        hidden = len(made) - len(described)
        if hidden:
            parts.append(Text(f"… and {plural(hidden, 'more dream')}", "dim"))
        return Group(*parts, *parked_view(learned.failed))

    call.show(msgspec.to_builtins(learned) | {"dreams": described}, view)
    items = learned.read.items if learned.read else []
    unread = any(item.status == "failed" for item in items)
    if unread or learned.failed or learned.run.status != "done":
        raise Exit(FAILED)


@option(
    "--dreams", metavar="N|N%", help="How many. [default: 100, at most one a record of the period]"
)
@option("--seed", metavar="WORD", help="The same seed over the same memory draws the same records.")
@option(
    "--period",
    metavar="MONTH|YEAR",
    help="The current period. [default: the year of the latest record]",
)
@option(
    "--dry-run",
    is_flag=True,
    help="Write nothing, and print what would be written. Calls the model.",
)
@budget_options
@model_option
@click.pass_context
def _dream(
    context: click.Context,
    /,
    home: str | None,
    tenant: str | None,
    json: bool,
    llm: str | None,
    **given: Any,
) -> None:
    """Dream once about all that is remembered, or look at runs and take them back.

    Draws three records at a time, one of them of the current period, asks what binds them, and
    keeps what the answer reveals. Needs a model; --dry-run calls it too, and writes nothing. Exits
    with 1 when something was parked, or the budget was used up.
    """
    # `dream` is a command and a group: the subcommands take their `Call` from the context.
    before: Call = context.obj
    call = context.obj = Call(
        home or before.home, tenant or before.tenant, json or before.json, llm
    )
    if context.invoked_subcommand is None:
        with boundary(json=call.json):
            take_budget(given)
            _dream_now(call, **given)


dream = click.Group(
    "dream",
    callback=_dream,
    invoke_without_command=True,
    params=[*reversed(_dream.__click_params__), *COMMON],  # type: ignore[attr-defined]
    help=_dream.__doc__,
)
program.add_command(dream)


def _dream_now(call: Call, *, dry_run: bool, **given: Any) -> None:
    with call.open() as memory, _show_stop(call), _bar(call) as progress:
        result = memory.dream(dry_run=dry_run, progress=progress, **given)
        described = [_describe(memory, dream) for dream in result.dreams]

    def view() -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        from ..views.failures import parked_view

        if dry_run:
            last: RenderableType = Text(
                f"a dry run: {len(described):,} would be written, nothing was; "
                "the model was called all the same",
                "yellow",
            )
        else:
            last = _run_view(result.run)
        return Group(*map(_dream_view, described), last, *parked_view(result.failed))

    call.show(msgspec.to_builtins(result) | {"dreams": described}, view)
    if result.failed or result.run.status != "done":
        raise Exit(FAILED)


@command("runs", to=dream)
@option(
    "--kind",
    default="",
    metavar="KIND",
    help="Only these: learn, dream, moments, affinity or consolidate.",
)
@option("--limit", default=20, help="At most so many.")
def runs(call: Call, kind: str, limit: int) -> None:
    """List what ran, the newest first, with what it wrote."""
    with call.open() as memory:
        listed = memory.runs.list(kind, limit=limit)

    def view() -> RenderableType:
        from ..frame.text_formats import short_id
        from ..views.tables import draw_table

        if not listed:
            return "nothing ran yet"
        rows = [
            (
                short_id(run.id),
                run.kind,
                run.state,
                f"{run.started_at:%Y-%m-%d %H:%M}",
                counted(run.counts),
                counted(run.receipt),
            )
            for run in listed
        ]
        return draw_table(("run", "kind", "state", "began", "did", "wrote"), rows)

    # `state` is a property, which msgspec does not encode
    call.show([msgspec.to_builtins(run) | {"state": run.state} for run in listed], view)


@command("rollback", to=dream)
@argument("run")
def rollback(call: Call, run: str) -> None:
    """Take RUN back: what it made goes, what it changed is as it was.

    RUN is the id of any run, or one end of it. Refused when later runs build on it, which are
    named.
    """
    from ..frame.text_formats import short_id

    with call.open() as memory:
        done = memory.runs.rollback(run)
    undone = counted({name: done.receipt.get(name, 0) for name in _UNDONE})
    line = f"rolled back {done.kind} run {short_id(done.id)}: {undone or 'nothing to undo'}"
    call.show(msgspec.to_builtins(done), lambda: line)


# counts in the receipt of a rollback, in the order in which they are shown
_UNDONE = ("removed", "unlinked", "restored", "kept")


def _describe(memory: Memory, dream: Resource) -> dict[str, Any]:
    """Describe a dream: its question and text, and the source lines at the roots of its history."""
    # a dictionary for the order: dreams about one document name its lines many times
    sources: dict[str, None] = {}
    # a dream that a dry run made is not stored: its parents stand in it alone
    for parent in dream.parents or memory.history(dream.id).entries[0].parents:
        roots = [entry.source for entry in memory.history(parent).entries if not entry.parents]
        sources |= dict.fromkeys(roots)
    return {
        "id": dream.id,
        "question": dream.metadata.get("question", dream.name),
        "text": dream.content,
        "years": dream.metadata.get("years", []),
        "generation": dream.generation,
        "sources": list(sources),
    }


def _dream_view(dream: dict[str, Any]) -> RenderableType:
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    from ..frame.text_formats import one_line, short_source

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


@contextmanager
def _show_stop(call: Call) -> Iterator[None]:
    """When the model fails for good, show what is saved, above the error.

    With --json the error has it all.
    """
    try:
        yield
    except ModelError as error:
        run, read = error.fields.get("run"), error.fields.get("read")
        if run is not None and not call.json:
            call.show(None, lambda: _stopped_view(run, read))
        raise


def _stopped_view(run: Run, read: ReadReport | None) -> RenderableType:
    from msgspec.structs import replace
    from rich.console import Group
    from rich.text import Text

    from .reading import report_view

    parts: list[RenderableType] = [report_view(read)] if read else []
    # the reason is the error itself, which is printed next
    run = replace(run, reason="")
    parts += [_run_view(run, listed=False), Text(GO_ON, "dim")]
    return Group(*parts)


def _run_view(run: Run, *, listed: bool = True) -> RenderableType:
    """Draw what a run did and wrote.

    Args:
        listed: the parked items are listed elsewhere, so their number is left out.
    """
    from rich.console import Group
    from rich.text import Text

    from ..frame.text_formats import short_id

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


@contextmanager
def _bar(call: Call) -> Iterator[Callable[[Progress], None] | None]:
    """Show a bar on the terminal: the phase, how far it is, calls, tokens, time left."""
    if call.json or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[spent]}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=console(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def advance(step: Progress) -> None:
            # a run names its phases as it comes to them
            if step.phase not in tasks:
                tasks[step.phase] = bar.add_task(step.phase, total=None, spent="")
            spent = f"{step.calls:,} calls, {step.tokens:,} tokens" if step.calls else ""
            bar.update(
                tasks[step.phase], completed=step.done, total=step.total or None, spent=spent
            )

        yield advance
