"""Bars on the terminal while something runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from .terminal import console

if TYPE_CHECKING:
    from ....dream.context import LearnProgress


@contextmanager
def count_bar(phases: Sequence[str]) -> Iterator[Callable[[int, int], None]]:
    """Show a bar for what is counted.

    Args:
        phases: names of what is counted; the next one begins when the count starts anew.
    """
    with _bar() as bar:
        task = bar.add_task(phases[0], total=None, spent="")
        next_phases = list(phases[1:])
        last_done = last_total = 0

        def advance(done: int, total: int) -> None:
            nonlocal last_done, last_total
            # a count that falls, or whose end moves, is that of the next phase
            is_new_count = done < last_done or total != last_total
            if next_phases and last_done and is_new_count:
                bar.update(task, description=next_phases.pop(0))
            last_done = done
            last_total = total
            bar.update(task, completed=done, total=total or None)

        yield advance


@contextmanager
def run_bar() -> Iterator[Callable[[LearnProgress], None]]:
    """Show a bar for a run that names its phases: how far each is, calls, tokens, time left."""
    with _bar() as bar:
        tasks: dict[str, TaskID] = {}

        def advance(step: LearnProgress) -> None:
            # a run names its phases as it comes to them
            if step.phase not in tasks:
                tasks[step.phase] = bar.add_task(step.phase, total=None, spent="")
            spent = f"{step.calls:,} calls, {step.tokens:,} tokens" if step.calls else ""
            bar.update(
                tasks[step.phase], completed=step.done, total=step.total or None, spent=spent
            )

        yield advance


def _bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[spent]}"),
        TimeRemainingColumn(),
        console=console(stderr=True),
        transient=True,
    )
