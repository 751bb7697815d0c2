"""`read` documents, and `reembed` the texts that were read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....errors import SourceError
from ....model import ReadItem, ReadReport
from ..frame.call import Call
from ..frame.command import Report
from ..frame.text_formats import plural

if TYPE_CHECKING:
    from ....engine.arguments import Progress
    from ....memory import Memory


def read(
    call: Call,
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
