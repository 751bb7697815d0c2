"""One call of the command line: the memory it is about, and the form of its output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from ....errors import InvalidInputError
from ....text.quoting import visible
from .terminal import console, echo, to_json

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ....memory import Home, Memory
    from ....settings import Settings
    from ....tenancy.api_keys import ApiKeys


@dataclass(frozen=True)
class Call:
    """One call of the command line: the memory it is about, and the form of its output."""

    home: str | None = None
    tenant: str | None = None
    json: bool = False
    llm: str | None = None

    def with_options(
        self, home: str | None, tenant: str | None, json: bool, llm: str | None = None
    ) -> Call:
        """The same call with the options that stand further behind: they win."""
        return Call(
            self.home if home is None else home,
            self.tenant if tenant is None else tenant,
            json or self.json,
            llm,
        )

    def settings(self) -> Settings:
        from ....settings import Settings

        return Settings.load(home=self.home, tenant=self.tenant, llm_model=self.llm)

    def open(self, *, create: bool = False) -> Memory:
        """Open the memory of this call. A missing tenant is made only when `create` is set."""
        from ....memory import Memory

        return Memory.open(settings=self.settings(), create=create)

    def open_home(self) -> Home:
        """Give the home of this call, with the key of the settings."""
        from ....memory import Home

        settings = self.settings()
        return Home(settings.home, key=settings.key or None)

    def open_keys(self) -> ApiKeys:
        """Open the API keys of the home."""
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
        """Ask before something that cannot be undone.

        Raises:
            InvalidInputError: there is no terminal to ask at, and `yes` is not set.
        """
        if yes:
            return
        if not sys.stdin.isatty():
            raise InvalidInputError(f"not done without being sure: {question}", remedy="add --yes")
        click.confirm(visible(question), abort=True, err=True)

    def refuse_tenant(self, option: str) -> None:
        """Refuse `--tenant` beside an option that is about all tenants."""
        if self.tenant:
            raise InvalidInputError(
                f"{option} and --tenant contradict each other", remedy="give one of them"
            )

    @contextmanager
    def progress(self, *phases: str) -> Iterator[Callable[..., None] | None]:
        """Show a bar on the terminal while something runs; None elsewhere and with --json.

        Args:
            phases: names of what is counted, one after another; none for a run that names them.
        """
        if self.json or not sys.stderr.isatty():
            yield None
            return
        from .progress import count_bar, run_bar

        with count_bar(phases) if phases else run_bar() as advance:
            yield advance
