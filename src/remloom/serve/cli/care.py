"""Looking after a memory: show, stats, forget, export, import, backup."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from click import argument, echo, option
from click.exceptions import Exit

from .app import Call, command

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ...memory import Memory
    from ...model import Receipt

__all__ = ["show_stats"]


@command("show")
@argument("what", metavar="ID|LABEL")
def show(call: Call, what: str) -> None:
    """Show one record whole.

    With its edges in and out, what it was derived from and what was derived from it.
    """
    with call.open() as memory:
        shown = memory.show(what)

    def view() -> RenderableType:
        from .render import record

        return record(shown)

    call.show(shown, view)


@command("stats")
def stats(call: Call) -> None:
    """Say what the memory holds: records, edges, vectors, size on disk."""
    with call.open() as memory:
        show_stats(call, memory)


def show_stats(call: Call, memory: Memory) -> None:
    """Print `Memory.stats`."""
    found = memory.stats()

    def view() -> RenderableType:
        from .render import nested

        return nested(found)

    call.show(found, view)


@command("forget")
@argument("what", metavar="ID|LABEL|URI...", nargs=-1, required=True)
@option("--dry-run", is_flag=True, help="Say what would go, and keep it.")
@option("--yes", "-y", is_flag=True, help="Do not ask.")
def forget(call: Call, what: tuple[str, ...], dry_run: bool, yes: bool) -> None:
    """Forget records and all derived from them, and verify that nothing is left."""
    with call.open() as memory:
        receipt = memory.forget(*what, dry_run=True)
        if not dry_run:
            call.confirm(f"forget {_counted(receipt)}?", yes=yes)
            receipt = memory.forget(*what)

    def view() -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        told = Text(f"{'would forget' if dry_run else 'forgot'} {_counted(receipt)}")
        if dry_run:
            return told
        if receipt.remaining:
            return Group(told, Text(f"still found: {', '.join(receipt.remaining)}", "red"))
        return Group(told, Text("verified: nothing of it is left", "green"))

    call.show(msgspec.to_builtins(receipt), view)
    if receipt.remaining:
        raise Exit(1)


def _counted(receipt: Receipt) -> str:
    from .render import plural

    derived = f" ({receipt.derived:,} of them derived from the others)" if receipt.derived else ""
    return (
        f"{plural(receipt.records, 'record')}{derived}, {plural(receipt.vectors, 'vector')}, "
        f"{plural(receipt.edges, 'edge')}"
    )


@command("export")
@argument("file")
def export(call: Call, file: str) -> None:
    """Write every record and edge to FILE as JSON lines; - is stdout.

    An export is not encrypted. `remloom import` takes it back.
    """
    with call.open() as memory:
        if file != "-":
            counts = memory.export(file)
            call.show(counts, lambda: f"exported {_listed(counts)} to {file}")
            return
        with tempfile.TemporaryDirectory() as folder:
            passed = Path(folder) / "export.jsonl"
            memory.export(passed)
            with passed.open("rb") as stream:
                shutil.copyfileobj(stream, sys.stdout.buffer)


@command("import")
@argument("file")
def import_(call: Call, file: str) -> None:
    """Take in FILE, an export; - is stdin. Makes the tenant if need be."""
    with call.open(create=True) as memory:
        if file != "-":
            counts = memory.import_(file)
        else:
            with tempfile.TemporaryDirectory() as folder:
                passed = Path(folder) / "import.jsonl"
                with passed.open("wb") as stream:
                    shutil.copyfileobj(sys.stdin.buffer, stream)
                counts = memory.import_(passed)
    call.show(counts, lambda: f"imported {_listed(counts)}")


def _listed(counts: dict[str, Any]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in counts.items() if isinstance(count, int))


@command("backup")
@argument("file")
def backup(call: Call, file: str) -> None:
    """Copy the tenant to FILE while it is in use, encrypted as it is."""
    with call.open() as memory:
        memory.backup(file)
    call.show({"backup": file}, lambda: f"backed up to {file}")
