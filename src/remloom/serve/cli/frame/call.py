"""One call of the command line: the memory it is about, its output and its progress bars."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from ....errors import InvalidInputError
from ....text.quoting import visible
from .terminal import console, echo, to_json

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress, TaskID

    from ....dream.context import LearnProgress
    from ....memory import Home, Memory
    from ....settings import Settings
    from ....tenancy.api_keys import ApiKeys


@dataclass(frozen=True)
class Invocation:
    """One call of the command line: the memory it is about, and the form of its output."""

    home: str | None = None
    tenant: str | None = None
    json: bool = False
    llm: str | None = None

    def with_options(
        self, home: str | None, tenant: str | None, json: bool, llm: str | None = None
    ) -> Invocation:
        """The same call with the options that stand further behind: they win."""
        return Invocation(
            self.home if home is None else home,
            self.tenant if tenant is None else tenant,
            json or self.json,
            llm,
        )

    def settings(self) -> Settings:
        from ....settings import Settings

        return Settings.load(home=self.home, tenant=self.tenant, llm_model=self.llm)

    def open(self, *, create: bool = False) -> Memory:
        from ....memory import Memory

        return Memory.open(settings=self.settings(), create=create)

    def open_home(self) -> Home:
        from ....memory import Home

        settings = self.settings()
        return Home(settings.home, key=settings.key or None)

    def open_keys(self) -> ApiKeys:
        from ....tenancy.api_keys import ApiKeys

        return ApiKeys(self.settings())

    def show(self, data: Any, view: str | Callable[[], RenderableType]) -> None:
        """Print a result: `data` as JSON, or a text, or the drawing that `view` returns."""
        if self.json:
            echo(to_json(data), nl=False)
            return
        drawn = view() if callable(view) else view
        if isinstance(drawn, str):
            echo(drawn)
        elif sys.stdout.isatty():
            console().print(drawn, crop=False)
        else:
            # rich pads lines to the width of the console; a pipe gets them without that
            plain = console()
            with plain.capture() as captured:
                plain.print(drawn, crop=False)
            echo("\n".join(line.rstrip() for line in captured.get().splitlines()))

    def confirm(self, question: str, *, yes: bool) -> None:
        """Ask before something that cannot be undone."""
        if yes:
            return
        if not sys.stdin.isatty():
            raise InvalidInputError(f"not done without being sure: {question}", remedy="add --yes")
        click.confirm(visible(question), abort=True, err=True)

    def refuse_tenant(self, option: str) -> None:
        if self.tenant:
            raise InvalidInputError(
                f"{option} and --tenant contradict each other", remedy="give one of them"
            )

    @contextmanager
    def progress(self, *phases: str) -> Iterator[Callable[..., None] | None]:
        """Show a bar on the terminal while something runs; None elsewhere and with --json."""
        if self.json or not sys.stderr.isatty():
            yield None
            return

        with count_bar(phases) if phases else run_bar() as advance:
            yield advance


@contextmanager
def count_bar(phases: Sequence[str]) -> Iterator[Callable[[int, int], None]]:
    """Show a bar for what is counted."""
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
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[spent]}"),
        TimeRemainingColumn(),
        console=console(stderr=True),
        transient=True,
    )
