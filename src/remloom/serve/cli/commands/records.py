"""Records and whole memories: `show`, `stats`, `forget`, `sweep`, `export`, `import`, `backup`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

import msgspec
from click import Choice, IntRange, argument, option
from click.exceptions import Exit

from ....errors import InvalidInputError, NotFoundError
from ..app import Call, command
from ..frame.times import Time

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ....memory import Memory
    from ....model import TargetKind


T = TypeVar("T")
AS_OF = Time(needs_zone=True)


@command("show")
@argument("what", metavar="ID|LABEL")
@option(
    "--as-of",
    type=AS_OF,
    metavar="TIME",
    help="What had this label then, as it was, such as 2025-01-15.",
)
def show(call: Call, what: str, as_of: datetime | None) -> None:
    """Show one record whole, with its edges and its sources."""
    with call.open() as memory:
        described = _as_named(what, lambda name: memory.admin.describe(name, as_of=as_of))

    def view() -> RenderableType:
        from ..views.answers import draw_record_view

        return draw_record_view(described)

    call.show(described.as_dict(), view)


@command("stats")
def stats(call: Call) -> None:
    """Count what the memory holds."""
    with call.open() as memory:
        show_stats(call, memory)


def show_stats(call: Call, memory: Memory) -> None:
    """Print `Admin.stats`."""
    stats = memory.admin.stats()

    def view() -> RenderableType:
        from ..views.answers import draw_stats

        return draw_stats(stats)

    call.show(stats.as_dict(), view)


@command("forget")
@argument("what", metavar="ID|LABEL|URI...", nargs=-1, required=True)
@option("--by", type=Choice(["id", "source", "label"]), help="What these are. [default: found out]")
@option("--dry-run", is_flag=True, help="Say what would go, and keep it.")
@option("--yes", "-y", is_flag=True, help="Do not ask.")
def forget(
    call: Call, what: tuple[str, ...], by: TargetKind | None, dry_run: bool, yes: bool
) -> None:
    """Forget records and what was derived from them.

    Afterwards it is verified that nothing of them is left. Texts that only say a name stay, as they
    are somebody's words: it tells how many, and how to forget them too.
    """
    with call.open() as memory:

        def check_known(name: str) -> str:
            memory.forget(name, by=by, dry_run=True)
            return name

        # All names first: a mistyped one stops the command before anything is forgotten.
        names = [_as_named(name, check_known) for name in what]
        receipt = memory.forget(*names, by=by, dry_run=True)
        if not dry_run:
            from ..views.answers import count_receipt

            stays = f" ({receipt.namings})" if receipt.named_in else ""
            call.confirm(f"forget {count_receipt(receipt)}{stays}?", yes=yes)
            receipt = memory.forget(*names, by=by)

    def view() -> RenderableType:
        from ..views.answers import draw_receipt

        return draw_receipt(receipt, dry_run=dry_run)

    call.show(msgspec.to_builtins(receipt), view)
    if receipt.remaining:
        raise Exit(1)


@command("sweep")
@option(
    "--limit", type=IntRange(min=1), metavar="N", help="Expired records at most. [default: all]"
)
def sweep(call: Call, limit: int | None) -> None:
    """Forget what has expired, and what was derived from it.

    Nothing returns it any more; this erases it, and verifies that nothing of it is left.
    """
    with call.open() as memory:
        receipt = memory.admin.sweep(limit=limit)

    def view() -> RenderableType:
        from ..views.answers import draw_receipt

        return draw_receipt(receipt) if receipt.records else "nothing has expired"

    call.show(msgspec.to_builtins(receipt), view)
    if receipt.remaining:
        raise Exit(1)


def _as_named(name: str, ask: Callable[[str], T]) -> T:
    """Ask about a name as it was typed, or else as a file: sources are stored by absolute path.

    Raises:
        NotFoundError: it is neither; the error is that of the name as typed.
    """
    try:
        return ask(name)
    except NotFoundError as unknown:
        try:
            return ask(os.path.abspath(name))
        except NotFoundError:
            # the nearest names in it fit what was typed
            raise unknown from None


@command("export")
@argument("file")
def export(call: Call, file: str) -> None:
    """Write everything to FILE as JSON lines; - is stdout.

    An export is not encrypted. `remloom import` takes it back.
    """
    with call.open() as memory:
        if file == "-":
            # Data byte for byte, control characters and all: a terminal would act on them.
            if sys.stdout.isatty():
                raise InvalidInputError(
                    "an export is not written to a terminal", remedy="give a FILE, or pipe it"
                )
            memory.admin.export(sys.stdout.buffer)
        else:
            counts = memory.admin.export(file).as_dict()
            call.show(counts, lambda: f"exported {_listed(counts)} to {file}")


@command("import")
@argument("file")
@option("--incomplete", is_flag=True, help="Take what there is of an export that was cut off.")
def import_(call: Call, file: str, incomplete: bool) -> None:
    """Take in FILE, an export; - is stdin: all of it, or nothing. Makes the tenant if need be."""
    with call.open(create=True) as memory:
        counts = memory.admin.import_(
            sys.stdin.buffer if file == "-" else file, incomplete=incomplete
        ).as_dict()
    call.show(counts, lambda: f"imported {_listed(counts)}")


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in counts.items())


@command("backup")
@argument("folder")
def backup(call: Call, folder: str) -> None:
    """Copy the tenant into a new FOLDER, encrypted as it is.

    It may be in use meanwhile. The copy can stand in for the tenant's own folder.
    """
    with call.open() as memory:
        memory.admin.backup(folder)
    call.show({"backup": folder}, lambda: f"backed up to {folder}")
