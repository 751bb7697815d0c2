"""Records and whole memories: `show`, `forget`, `export`, `import`, `backup`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from ....errors import InvalidInputError, NotFoundError
from ....model import TargetKind
from ..frame.call import Call
from ..frame.command import Report

if TYPE_CHECKING:
    from ....memory import Memory, RecordView
    from ....model import Receipt


T = TypeVar("T")


def show(memory: Memory, what: str, *, as_of: datetime | None = None) -> RecordView:
    """Show one record whole, with its edges and its sources.

    Args:
        as_of: what had this label then, as it was, such as 2025-01-15.
    """
    return _as_named(what, lambda name: memory.admin.describe(name, as_of=as_of))


def forget(
    call: Call,
    memory: Memory,
    what: tuple[str, ...],
    *,
    by: TargetKind | None = None,
    dry_run: bool = False,
    yes: bool = False,
) -> Receipt:
    """Forget records and what was derived from them.

    Afterwards it is verified that nothing of them is left. Texts that only say a name stay, as they
    are somebody's words: it tells how many, and how to forget them too.

    Args:
        by: what these are. [default: found out]
        dry_run: say what would go, and keep it.
    """

    def check_known(name: str) -> str:
        memory.forget(name, by=by, dry_run=True)
        return name

    # All names first: a mistyped one stops the command before anything is forgotten.
    names = [_as_named(name, check_known) for name in what]
    receipt = memory.forget(*names, by=by, dry_run=True)
    if dry_run:
        return receipt
    from ..views.answers import count_receipt

    stays = f" ({receipt.namings})" if receipt.named_in else ""
    call.confirm(f"forget {count_receipt(receipt)}{stays}?", yes=yes)
    return memory.forget(*names, by=by)


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


def export(memory: Memory, file: str) -> Report | None:
    """Write everything to FILE as JSON lines; - is stdout.

    An export is not encrypted. `remloom import` takes it back.
    """
    if file != "-":
        counts = memory.admin.export(file).as_dict()
        return Report(counts, f"exported {_listed(counts)} to {file}")
    # Data byte for byte, control characters and all: a terminal would act on them.
    if sys.stdout.isatty():
        raise InvalidInputError(
            "an export is not written to a terminal", remedy="give a FILE, or pipe it"
        )
    memory.admin.export(sys.stdout.buffer)
    return None


def import_(memory: Memory, file: str, *, incomplete: bool = False) -> Report:
    """Take in FILE, an export; - is stdin: all of it, or nothing. Makes the tenant if need be.

    Args:
        incomplete: take what there is of an export that was cut off.
    """
    stream = sys.stdin.buffer if file == "-" else file
    counts = memory.admin.import_(stream, incomplete=incomplete).as_dict()
    return Report(counts, f"imported {_listed(counts)}")


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in counts.items())


def backup(memory: Memory, folder: str) -> Report:
    """Copy the tenant into a new FOLDER, encrypted as it is.

    It may be in use meanwhile. The copy can stand in for the tenant's own folder.
    """
    memory.admin.backup(folder)
    return Report({"backup": folder}, f"backed up to {folder}")
