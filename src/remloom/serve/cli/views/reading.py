"""What was read, and what was not."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from ....model import ReadReport
from ....text.quoting import visible
from ..frame.text_formats import plural, short_source

SHOWN_ITEMS = 20  # documents that were not read, listed at most


def draw_report(report: ReadReport) -> RenderableType:
    """Draw a report: the numbers, then by name the documents that were not read, and why."""
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
