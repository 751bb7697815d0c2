"""Records and whole memories: `read`, `forget`, `export`, `import`, `backup`, `reembed`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ....errors import InvalidInputError, NotFoundError, SourceError
from ....model import ReadItem, ReadReport, TargetKind
from ..frame.call import Invocation
from ..frame.command import Report
from ..frame.text_formats import plural

if TYPE_CHECKING:
    from ....engine.arguments import Progress
    from ....memory import Memory
    from ....model import Receipt


def read(
    call: Invocation,
    memory: Memory,
    paths: tuple[str, ...],
    **options: Any,
) -> ReadReport:
    """Read files, folders, or - for stdin.

    What was read before and has not changed is not read again. Makes the tenant if need be.

    Exits with 1 when a document failed, or when nothing could be read, and with 6 when the embedder
    did. What is skipped (a picture, a link to elsewhere) is not a failure.
    """
    reports = []
    for path in paths:
        try:
            with call.progress("reading", "embedding") as progress:
                report = memory.read(path, **options | {"progress": progress})
        except SourceError as error:
            # one path that cannot be read does not stop the others
            failed = ReadItem(uri=path, status="failed", reason=error.message)
            report = ReadReport(items=[failed])
        reports.append(report)
    return ReadReport.of_parts(reports)


def reembed(memory: Memory, *, embedder: str | None = None, progress: Progress | None) -> Report:
    """Make the vectors anew, with another embedder, or embed what is still waiting.

    The old vectors serve until all are done, and an interrupted run goes on where it was. The
    embedder in use is that of REMLOOM_EMBEDDER, or the one that made the vectors.

    Args:
        embedder: which one: minilm, bge, openai:MODEL or fastembed:MODEL. [default: the one in
            use]
    """
    # a memory that nobody asks to move stays with the embedder that made its vectors
    done = memory.admin.reembed(embedder, progress=progress)
    in_use = memory.admin.embedder
    parked = memory.admin.stats().parked
    chosen = embedder or (in_use.name if in_use is not None else "none")
    refused = f"; {plural(parked, 'text')} parked after failing" if parked else ""
    return Report(
        {"embedded": done, "embedder": chosen, "parked": parked},
        f"embedded {plural(done, 'text')} with {chosen}{refused}",
    )


T = TypeVar("T")


def forget(
    call: Invocation,
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
    names = [as_named(name, check_known) for name in what]
    receipt = memory.forget(*names, by=by, dry_run=True)
    if dry_run:
        return receipt
    from ..views.answers import count_receipt

    stays = f" ({receipt.namings})" if receipt.named_in else ""
    call.confirm(f"forget {count_receipt(receipt)}{stays}?", yes=yes)
    return memory.forget(*names, by=by)


def as_named(name: str, ask: Callable[[str], T]) -> T:
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
