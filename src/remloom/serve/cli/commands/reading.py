"""`read` documents, and `reembed` the texts that were read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import msgspec
from click import argument, option
from click.exceptions import Exit

from ....errors import EmbedderError, SourceError
from ....model import ReadItem, ReadReport
from ....text.quoting import visible
from ..app import Call, command
from ..frame.terminal import console

if TYPE_CHECKING:
    from rich.console import RenderableType


SHOWN_ITEMS = 20  # documents that were not read, listed at most

FAILED = 1  # exit code when a document failed, or nothing could be read


class Progress(Protocol):
    """Called by `Memory.read` and the like with the counts of done and of all items."""

    def __call__(self, done: int, total: int) -> None: ...


@command("read")
@argument("paths", metavar="PATH...", nargs=-1, required=True)
@option("--wait/--no-wait", default=True, help="Wait until every text is embedded.")
@option(
    "--category", metavar="NAME", help="Category of what is read. [default: by the kind of file]"
)
@option("--glob", metavar="PATTERN", help="In folders, only files like this, such as '*.md'.")
@option(
    "--exclude",
    metavar="PATTERN",
    multiple=True,
    help="In folders, no folders and files like this; may be given several times.",
)
def read(
    call: Call,
    paths: tuple[str, ...],
    wait: bool,
    category: str | None,
    glob: str | None,
    exclude: tuple[str, ...],
) -> None:
    """Read files, folders, or - for stdin.

    What was read before and has not changed is not read again. Makes the tenant if need be.

    Exits with 1 when a document failed, or when nothing could be read, and with 6 when the embedder
    did. What is skipped (a picture, a link to elsewhere) is not a failure.
    """
    reports = []
    with call.open(create=True) as memory:
        for path in paths:
            try:
                with progress_bar(call, "reading", "embedding") as progress:
                    report = memory.read(
                        path,
                        category=category,
                        glob=glob,
                        exclude=exclude,
                        wait=wait,
                        progress=progress,
                    )
                reports.append(report)
            except SourceError as error:
                # one path that cannot be read does not stop the others
                failed = ReadItem(uri=path, status="failed", reason=error.message)
                reports.append(ReadReport(items=[failed]))
    report = merged(reports)
    call.show(msgspec.to_builtins(report), lambda: report_view(report))
    # A failed document comes before a failed embedder: the latter is tried again by itself.
    statuses = {item.status for item in report.items}
    if "failed" in statuses or not statuses & {"read", "unchanged"}:
        raise Exit(FAILED)
    if report.embedding_error:
        raise Exit(EmbedderError.exit_code)


@command("reembed")
@option(
    "--embedder",
    metavar="NAME",
    help="minilm, bge, openai:MODEL or fastembed:MODEL. [default: the one in use]",
)
def reembed(call: Call, embedder: str | None) -> None:
    """Make the vectors anew, with another embedder, or embed what is still waiting.

    The old vectors serve until all are done, and an interrupted run goes on where it was. The
    embedder in use is that of REMLOOM_EMBEDDER, or the one that made the vectors.
    """
    with call.open() as memory:
        # a memory that nobody asks to move stays with the embedder that made its vectors
        with progress_bar(call, "embedding") as progress:
            done = memory.admin.reembed(embedder, progress=progress)
            in_use = memory.admin.embedder
            parked = memory.admin.stats().parked
        chosen = embedder or (in_use.name if in_use is not None else "none")

    def view() -> str:
        from ..frame.text_formats import plural

        refused = f"; {plural(parked, 'text')} parked after failing" if parked else ""
        return f"embedded {plural(done, 'text')} with {chosen}{refused}"

    call.show({"embedded": done, "embedder": chosen, "parked": parked}, view)


def merged(reports: list[ReadReport]) -> ReadReport:
    """Sum several reports up in one."""
    return ReadReport(
        items=[item for report in reports for item in report.items],
        resources=sum(report.resources for report in reports),
        entities=sum(report.entities for report in reports),
        moments=sum(report.moments for report in reports),
        edges=sum(report.edges for report in reports),
        seconds=round(sum(report.seconds for report in reports), 3),
        # each is of the whole memory, so the last one stands for all
        pending=reports[-1].pending if reports else 0,
        embedding_error=reports[-1].embedding_error if reports else "",
        caption_error=next((one.caption_error for one in reports if one.caption_error), ""),
        ids=tuple(id for report in reports for id in report.ids),
    )


def report_view(report: ReadReport) -> RenderableType:
    """Draw a report: the numbers, then by name the documents that were not read, and why."""
    from rich.console import Group
    from rich.text import Text

    from ..frame.text_formats import plural, short_source

    counts = dict.fromkeys(("read", "unchanged", "skipped", "failed"), 0)
    for item in report.items:
        counts[item.status] += 1
    outcomes = ", ".join(f"{count:,} {status}" for status, count in counts.items() if count)
    lines = [Text.assemble((outcomes or "nothing to read", "bold"), f" in {report.seconds:.1f} s")]
    if counts["read"]:
        written = (
            plural(report.resources, "resource"),
            plural(report.entities, "entity", "entities"),
            plural(report.moments, "moment"),
            plural(report.edges, "edge"),
        )
        lines.append(Text(f"wrote {', '.join(written)}"))
    # a folder of pictures is one line, not a thousand
    by_reason: dict[tuple[str, str], list[str]] = {}
    for item in report.skipped:
        by_reason.setdefault((item.status, item.reason), []).append(item.uri)
    for (status, reason), uris in list(by_reason.items())[:SHOWN_ITEMS]:
        style = "red" if status == "failed" else "yellow"
        more = f" and {len(uris) - 1:,} more" if len(uris) > 1 else ""
        first = short_source(uris[0])
        line = Text.assemble((f"{status}  ", style), first, more, (f"  {reason}", "dim"))
        lines.append(line)
    if len(by_reason) > SHOWN_ITEMS:
        lines.append(Text("… and more (--json lists them all)", "dim"))
    if report.embedding_error:
        lines.append(Text(f"not embedded: {visible(report.embedding_error)}", "red"))
    if report.caption_error:
        lines.append(Text(f"not captioned: {visible(report.caption_error)}", "red"))
    if report.pending:
        waiting = plural(report.pending, "text")
        lines.append(Text(f"{waiting} wait to be embedded: `remloom reembed` does it now"))
    if counts["read"] or counts["unchanged"]:
        lines.append(Text('next: remloom search "…"   remloom fuzzy "…"   remloom shell', "dim"))
    return Group(*lines)


@contextmanager
def progress_bar(call: Call, *phases: str) -> Iterator[Progress | None]:
    """Show a bar on the terminal while something runs; None, so no bar, elsewhere and with --json.

    Args:
        phases: names of what is counted; the next one begins when the count starts anew.
    """
    if call.json or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(phases[0], total=None)
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
