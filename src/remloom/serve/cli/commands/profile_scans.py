"""How a profile comes to know more: `profile scan`, `staged`, `normalise`, `bootstrap`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from click import argument, option
from click.exceptions import Exit

from ..app import Call, budget_options, command, model_option
from .profile_group import profile
from .reading import progress_bar

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ....llm import Budget
    from ....runs.failures import FailedItem
    from ....runs.run import Run


FAILED = 1  # exit code when something was parked, or the run stopped before its end

_model = option(
    "--model/--no-model", "model", default=None, help="Ask the model. [default: if there is one]"
)
_dry_run = option("--dry-run", is_flag=True, help="Write nothing, and print what would be written.")


@command("scan", to=profile)
@argument("path", required=False)
@option(
    "--category",
    default="note",
    metavar="NAME",
    help="Category of the texts in PATH. Chats and exports say themselves what they are.",
)
@option("--limit", type=int, metavar="N", help="Look at so many passages at most.")
@_model
@budget_options
@model_option
@_dry_run
def scan(
    call: Call,
    path: str | None,
    category: str,
    limit: int | None,
    model: bool | None,
    budget: Budget,
    dry_run: bool,
) -> None:
    """Look at what was read since the last scan for what it says of people.

    PATH is read first. Rules look at all of it, and a model too, if there is one. A scan that was
    interrupted goes on where it was; nothing is taken up twice. Exits with 1 when something was
    parked, or the budget was used up.
    """
    with call.open(create=True) as memory, progress_bar(call, "passages", "asking") as progress:
        result = memory.profile.observe(
            path,
            category=category,
            limit=limit,
            model=model,
            budget=budget,
            dry_run=dry_run,
            progress=progress,
        )

    def view() -> RenderableType:
        from ..views.profile import draw_scan

        return draw_scan(result, dry_run=dry_run)

    call.show(msgspec.to_builtins(result, enc_hook=str), view)
    _exit_unless_done(result.run, result.failed)


@command("bootstrap", to=profile)
@_model
@budget_options
@model_option
@_dry_run
def bootstrap(call: Call, model: bool | None, budget: Budget, dry_run: bool) -> None:
    """Look at everything that is remembered anew, also at what was looked at; nothing twice.

    For when there is a better model, or the rules have learned more. Exits with 1 when something
    was parked, or the budget was used up.
    """
    with call.open() as memory, progress_bar(call, "passages", "asking") as progress:
        result = memory.profile.bootstrap(
            model=model, budget=budget, dry_run=dry_run, progress=progress
        )

    def view() -> RenderableType:
        from ..views.profile import draw_scan

        return draw_scan(result, dry_run=dry_run)

    call.show(msgspec.to_builtins(result, enc_hook=str), view)
    _exit_unless_done(result.run, result.failed)


@command("staged", to=profile)
def staged(call: Call) -> None:
    """List the claims that wait to be normalised, the oldest first."""
    with call.open() as memory:
        claims = memory.profile.staged()

    def view() -> RenderableType:
        from ..views.profile import draw_staged

        return draw_staged(claims)

    call.show(msgspec.to_builtins(claims), view)


@command("normalise", to=profile)
@option("--due", is_flag=True, help="Only if ten claims wait, or the last time is six hours ago.")
@_model
@budget_options
@model_option
@_dry_run
def normalise(call: Call, due: bool, model: bool | None, budget: Budget, dry_run: bool) -> None:
    """Find the slots that staged claims belong to; without a model what has none is an extra.

    Exits with 1 when a claim still waits, or the budget was used up.
    """
    with call.open() as memory, progress_bar(call, "claims") as progress:
        result = memory.profile.normalise(
            now=not due, model=model, budget=budget, dry_run=dry_run, progress=progress
        )

    def view() -> RenderableType:
        from ..views.profile import draw_normalised

        return draw_normalised(result, dry_run=dry_run)

    call.show(msgspec.to_builtins(result, enc_hook=str), view)
    _exit_unless_done(result.run, result.failed)


def _exit_unless_done(run: Run, failed: tuple[FailedItem, ...]) -> None:
    # a run that had nothing to do has no id, and never ended
    if failed or (run.id and run.status == "stopped"):
        raise Exit(FAILED)
