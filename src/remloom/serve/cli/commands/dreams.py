"""Learning and dreaming: `learn`, `dream`, runs, `moments`, `affinity`, `metrics`, `usage`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
import msgspec

from ....errors import InvalidInputError, ModelError
from ....model import Resource
from ..frame.call import Invocation
from ..frame.command import Report

if TYPE_CHECKING:
    from ....dream.context import MaintenanceResult
    from ....dream.refresh import RefreshResult
    from ....llm import UsageReport
    from ....memory import Memory
    from ....runs.run import Run

KIND = "rem_dream"  # of resource
SHOWN_DREAMS = 20  # of a learning run; `remloom search` finds the others


def learn(
    call: Invocation,
    memory: Memory,
    path: str | None = None,
    *,
    order: Literal["strict", "relaxed"] = "strict",
    period: str = "month",
    **options: Any,
) -> Report:
    """Read PATH and learn from it in time order, dreaming after each period.

    Without PATH, learn from all that was read. Needs a model. A run that was interrupted goes on
    where it was when the same command is given again. Exits with 1 when something was parked, or
    the budget was used up.

    Args:
        order: one document at a time, or many.
        period: how long one is: month, year, none, or a number of documents.
    """
    from ..views.dreams import draw_learned

    with _show_stop(call):
        learned = memory.learn(
            path, order=order, period=int(period) if period.isdigit() else period, **options
        )
    # a run that had nothing to do has no id, and no records
    records = memory.runs.records(learned.run.id) if learned.run.id else []
    made = [one for one in records if isinstance(one, Resource) and one.kind == KIND]
    shown = [_describe(memory, dream) for dream in made[:SHOWN_DREAMS]]
    return Report(
        msgspec.to_builtins(learned) | {"dreams": shown},
        lambda: draw_learned(learned, shown, hidden=len(made) - len(shown)),
        learned,
    )


def dream(
    call: Invocation,
    memory: Memory,
    *,
    dreams: str | None = None,
    dry_run: bool = False,
    **options: Any,
) -> Report:
    """Dream once about all that is remembered, or look at runs and take them back.

    Draws three records at a time, one of them of the current period, asks what binds them, and
    keeps what the answer reveals. Needs a model; --dry-run calls it too, and writes nothing. Exits
    with 1 when something was parked, or the budget was used up.

    Args:
        dreams: how many. [default: 100, at most one a record of the period]
    """
    from ..views.dreams import draw_dreams

    with _show_stop(call):
        result = memory.dream(dreams, dry_run=dry_run, **options)
    described = [_describe(memory, dream) for dream in result.dreams]
    return Report(
        msgspec.to_builtins(result) | {"dreams": described},
        lambda: draw_dreams(result, described, dry_run=dry_run),
        result,
    )


def runs(memory: Memory, *, kind: str = "", limit: int = 20) -> Report:
    """List what ran, the newest first, with what it wrote.

    Args:
        kind: only these: learn, dream, moments, affinity, consolidate, refresh, confirm, observe,
            normalise or profile.
    """
    from ..views.lists import draw_runs

    listed = memory.runs.list(kind, limit=limit)
    # `state` is a property, which msgspec does not encode
    data = [msgspec.to_builtins(run) | {"state": run.state} for run in listed]
    return Report(data, lambda: draw_runs(listed))


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


@contextmanager
def _show_stop(call: Invocation) -> Iterator[None]:
    """When the model fails for good, show what is saved, above the error.

    With --json the error has it all.
    """
    try:
        yield
    except ModelError as error:
        run, read = error.fields.get("run"), error.fields.get("read")
        if run is not None and not call.json:
            from ..views.dreams import draw_stop

            call.show(None, lambda: draw_stop(run, read))
        raise


_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([hdw])", re.IGNORECASE)
_HOURS = {"h": 1, "d": 24, "w": 168}


def moments(
    memory: Memory, *, since: str = "24h", everything: bool = False, **options: Any
) -> MaintenanceResult:
    """Tell what happened, as moments: sessions, their topics, who was there.

    Args:
        since: 24h, 7d, 2w, or a date such as 2025-03-01.
        everything: look at everything that is remembered.
    """
    return memory.dreams.moments(**{"hours": None} if everything else window(since), **options)


def affinity(
    memory: Memory, *, since: str | None = None, neighbours: int = 5, **options: Any
) -> MaintenanceResult:
    """Connect resources that are about the same, or name the same. Needs a model only with --judge.

    Args:
        since: only from what is newer: 24h, 7d, 2025-03-01. [default: everything]
    """
    if neighbours < 1:
        raise click.BadParameter("it is 1 or more", param_hint="--neighbours")
    return memory.dreams.affinity(
        **(window(since) if since else {}), neighbours=neighbours, **options
    )


def refresh(memory: Memory, ids: tuple[str, ...] = (), **options: Any) -> RefreshResult:
    """Make again what rests on something that changed; without an ID, all of it.

    What no run made is listed: mend it, or confirm that it still holds.
    """
    return memory.dreams.refresh(ids or None, **options)


def confirm(memory: Memory, ids: tuple[str, ...], *, by: str = "") -> Run:
    """Say that records still hold, though something that they rest on changed.

    Args:
        by: who says so.
    """
    return memory.confirm(*ids, by=by)


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


def metrics(memory: Memory, *, held_out: str | None = None, html: str | None = None) -> Report:
    """Measure what was dreamt: coherence, coverage, novelty, depth, cost.

    Args:
        held_out: texts that were not read: how much of them was foreseen?
        html: write a page with plots, which needs nothing else.
    """
    from rich.console import Group

    from ..views.dreams import draw_metrics

    measured = memory.dreams.metrics(held_out)
    if html:
        Path(html).write_text(measured.page(), encoding="utf-8")
    notes = [f"wrote {os.path.abspath(html)}"] if html else []
    return Report(measured, lambda: Group(draw_metrics(measured), *notes))


def usage(memory: Memory, *, days: float | None = None, **options: Any) -> UsageReport:
    """Show what the language model was used for, and what it cost.

    Calls, tokens, cost and time, by task and by run.

    Args:
        days: of the last so many days only.
    """
    since = None if days is None else datetime.now(UTC) - timedelta(days=days)
    return memory.admin.usage(since=since, **options)
