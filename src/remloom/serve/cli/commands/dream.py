"""Learning and dreaming: `learn`, `dream`, and the runs that they made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ....errors import ModelError
from ....model import Resource
from ..frame.call import Call
from ..frame.command import Report

if TYPE_CHECKING:
    from ....memory import Memory

KIND = "rem_dream"  # of resource
SHOWN_DREAMS = 20  # of a learning run; `remloom search` finds the others


def learn(
    call: Call,
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
    call: Call,
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
        kind: only these: learn, dream, moments, affinity, consolidate, observe, normalise or
            profile.
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
def _show_stop(call: Call) -> Iterator[None]:
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
