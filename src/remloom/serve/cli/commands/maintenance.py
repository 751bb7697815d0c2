"""`moments`, `affinity`, `consolidate`: derive moments, edges and summaries, with a model or
without."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click
import msgspec
from click import option
from click.exceptions import Exit

from ....errors import InvalidInputError
from ..app import Call, budget_options, command, model_option
from .reading import progress_bar

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ....dream.maintenance import MaintenanceResult
    from ....llm import Budget


FAILED = 1  # exit code when something was parked, or the run stopped before its end
SHOWN = 12  # records, edges, themes of a list; --json has them all
_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([hdw])", re.IGNORECASE)
_HOURS = {"h": 1, "d": 24, "w": 168}

_dry_run = option("--dry-run", is_flag=True, help="Write nothing, and print what would be written.")
_model = option(
    "--model/--no-model", "model", default=None, help="Ask the model. [default: if there is one]"
)


@command("moments")
@option(
    "--since", metavar="AGE|DATE", default="24h", help="24h, 7d, 2w, or a date such as 2025-03-01."
)
@option("--all", "everything", is_flag=True, help="Look at everything that is remembered.")
@_model
@budget_options
@model_option
@_dry_run
def moments(
    call: Call, since: str, everything: bool, model: bool | None, budget: Budget, dry_run: bool
) -> None:
    """Tell what happened, as moments: sessions, their topics, who was there.

    Exits with 1 when something was parked, or the budget was used up.
    """
    with call.open() as memory, progress_bar(call, "sessions") as progress:
        period = {"hours": None} if everything else window(since)
        done = memory.dreams.moments(
            **period, model=model, dry_run=dry_run, budget=budget, progress=progress
        )

    def summarize(counts: dict[str, int]) -> list[str]:
        from ..frame.text_formats import plural

        lines = [f"looked at {plural(counts.get('sessions', 0), 'session')}"]
        if counts.get("parts"):
            lines.append(f"parted by topic into {counts['parts']:,}")
        if "told" in counts:
            lines.append(f"the model told {plural(counts['told'], 'moment')}")
        # topics are told apart by vectors
        if counts.get("waiting"):
            waiting = plural(counts["waiting"], "session")
            lines.append(f"{waiting} not parted: their texts wait to be embedded")
        return lines

    hint = 'remloom query "SELECT name, topic_tags FROM moments ORDER BY starts_at DESC LIMIT 10"'
    _show(call, done, summarize, hint)


@command("affinity")
@option(
    "--since",
    metavar="AGE|DATE",
    help="Only from what is newer: 24h, 7d, 2025-03-01. [default: everything]",
)
@option("--neighbours", default=5, help="Edges of each type from one resource.")
@option(
    "--min-score",
    type=float,
    help="Cosine from which two are related. [default: by the memory itself]",
)
@option("--judge", is_flag=True, help="Keep only those edges by likeness that the model agrees to.")
@budget_options
@model_option
@_dry_run
def affinity(
    call: Call,
    since: str | None,
    neighbours: int,
    min_score: float | None,
    judge: bool,
    budget: Budget,
    dry_run: bool,
) -> None:
    """Connect resources that are about the same, or name the same.

    Needs a model only with --judge. Exits with 1 when something was parked, or the budget was used
    up.
    """
    if neighbours < 1:
        raise click.BadParameter("it is 1 or more", param_hint="--neighbours")
    with call.open() as memory, progress_bar(call, "resources") as progress:
        period = window(since) if since else {}
        done = memory.dreams.affinity(
            **period,
            neighbours=neighbours,
            min_score=min_score,
            judge=judge,
            dry_run=dry_run,
            budget=budget,
            progress=progress,
        )

    def summarize(counts: dict[str, int]) -> list[str]:
        from ..frame.text_formats import plural

        lines = [f"compared {plural(counts.get('resources', 0), 'resource')}"]
        if counts.get("ambiguous"):
            lines.append(f"passed over {counts['ambiguous']:,} whose names others bear too")
        return lines

    # the counts of the run are named after the types of edges
    written = ",".join(type for type in ("related", "entity") if done.run.counts.get(type))
    _show(call, done, summarize, f'remloom traverse "…" --edges {written} --direction both')


@command("consolidate")
@option("--min-score", default=0.95, help="Cosine above which two insights say the same.")
@_model
@budget_options
@model_option
@_dry_run
def consolidate(
    call: Call, min_score: float, model: bool | None, budget: Budget, dry_run: bool
) -> None:
    """Merge insights that say the same, and sum up those that are close.

    Exits with 1 when something was parked, or the budget was used up.
    """
    with call.open() as memory, progress_bar(call, "summaries") as progress:
        done = memory.dreams.consolidate(
            min_score=min_score, model=model, dry_run=dry_run, budget=budget, progress=progress
        )

    def summarize(counts: dict[str, int]) -> list[str]:
        from ..frame.text_formats import plural

        lines = [f"looked at {plural(counts.get('insights', 0), 'insight')}"]
        if counts.get("duplicates"):
            lines.append(f"{counts['duplicates']:,} said what an older one says")
        if counts.get("clusters"):
            lines.append(plural(counts["clusters"], "cluster"))
        if counts.get("summaries"):
            lines.append(plural(counts["summaries"], "new summary", "new summaries"))
        return lines

    _show(call, done, summarize, "remloom metrics")


def window(since: str) -> dict[str, Any]:
    """Parse `--since` into arguments of a method of `memory.dreams`.

    Raises:
        InvalidInputError: it is neither an age nor a date.
    """
    age = _AGE.fullmatch(since.strip())
    if age:
        return {"hours": float(age[1]) * _HOURS[age[2].lower()]}
    try:
        at = datetime.fromisoformat(since.strip())
    except ValueError:
        raise InvalidInputError(
            f"{since!r} is not an age or date", remedy="--since 24h, 7d, 2w, or 2025-03-01"
        ) from None
    return {"hours": None, "since": at if at.tzinfo else at.replace(tzinfo=UTC)}


def _show(
    call: Call,
    done: MaintenanceResult,
    summarize: Callable[[dict[str, int]], list[str]],
    hint: str,
) -> None:
    """Print a result, and exit with 1 when something was parked or the run stopped early.

    Args:
        summarize: puts the run's counts in words.
        hint: a command that shows what was written.
    """

    def view() -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        from ..frame.text_formats import one_line, plural, short_id
        from ..views.failures import parked_view

        run, receipt = done.run, done.run.receipt
        lines = [Text(", ".join(summarize(run.counts)))]
        for theme in done.themes[:SHOWN]:
            topics = one_line(", ".join(theme.topics))
            size = plural(len(theme.insights), "insight")
            lines.append(Text.assemble("  ", (topics, "bold"), f"  {size}"))
        # a receipt counts updated records among the records
        updated = receipt.get("updated", 0)
        superseded = len(done.diff.superseded) if done.diff else receipt.get("superseded", 0)
        parts = (
            (receipt.get("records", 0) - updated, "record"),
            (updated, "updated record"),
            (receipt.get("edges", 0), "edge"),
            (superseded, "superseded insight"),
        )
        written = [plural(count, noun) for count, noun in parts if count]
        if done.diff is not None:
            lines.append(Text(f"would write {', '.join(written) or 'nothing'}", "bold"))
            lines += [Text(f"  {text}") for text in _differences(done)]
        else:
            lines.append(Text(f"wrote {', '.join(written)}" if written else "nothing new", "bold"))
        if run.status == "stopped":
            lines.append(Text(f"stopped: {run.reason}", "yellow"))
        if written and done.diff is None:
            lines += [
                Text(f"undo: remloom dream rollback {short_id(run.id)}", "dim"),
                Text(f"next: {hint}", "dim"),
            ]
        return Group(*lines, *parked_view(done.failed))

    call.show(msgspec.to_builtins(done, enc_hook=str), view)
    if done.failed or done.run.status != "done":
        raise Exit(FAILED)


def _differences(done: MaintenanceResult) -> list[str]:
    """List the first records, superseded insights and edges that a dry run would write."""
    from ..frame.text_formats import one_line

    diff = done.diff
    if diff is None:
        return []
    lines = [f"{record.schema[:-1]}  {one_line(record.name)}" for record in diff.records]
    lines += [f"superseded  {old} by {new}" for old, new in diff.superseded]
    # the schema that the edges of such a run start from
    schema = "moments" if done.run.kind == "moments" else "resources"
    edges = [f"{one_line(after.paths(schema)[0])}  {after.weight:.2f}" for _, after in diff.edges]
    shown = lines[:SHOWN]
    if len(lines) > SHOWN:
        shown.append("…")
    shown += edges[:SHOWN]
    if len(edges) > SHOWN:
        shown.append("… (--json has them all)")
    return shown
