"""What moments, affinity and consolidation did, or would do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from ..frame.text_formats import one_line, plural, short_id
from .failures import parked_view

if TYPE_CHECKING:
    from ....dream.context import MaintenanceResult
    from ....runs.run import Run


SHOWN = 12  # records, edges, themes of a list; --json has them all
# what a run of a kind counts, in words: of one, of many, or as it is for both
_DID = {
    "moments": {
        "sessions": "looked at {} session|looked at {} sessions",
        "parts": "parted by topic into {}",
        "told": "the model told {} moment|the model told {} moments",
        # topics are told apart by vectors
        "waiting": (
            "{} session not parted: their texts wait to be embedded|"
            "{} sessions not parted: their texts wait to be embedded"
        ),
    },
    "affinity": {
        "resources": "compared {} resource|compared {} resources",
        "ambiguous": "passed over {} whose names others bear too",
    },
    "consolidate": {
        "insights": "looked at {} insight|looked at {} insights",
        "duplicates": "{} said what an older one says",
        "clusters": "{} cluster|{} clusters",
        "summaries": "{} new summary|{} new summaries",
    },
}


def draw_maintenance(done: MaintenanceResult) -> RenderableType:
    """Draw what such a run did, and what it wrote or would write."""
    run, receipt = done.run, done.run.receipt
    lines = [Text(", ".join(_summary(run.kind, run.counts)))]
    for theme in done.themes[:SHOWN]:
        topics = one_line(", ".join(theme.topics))
        size = plural(len(theme.insights), "insight")
        lines.append(Text.assemble("  ", (topics, "bold"), f"  {size}"))
    # a receipt counts updated records among the records
    updated = receipt.get("updated", 0)
    superseded = len(done.diff.superseded) if done.diff else receipt.get("superseded", 0)
    parts = (
        (receipt.get("records", 0) - updated, "record"),
        (updated, "updated record"),
        (receipt.get("edges", 0), "edge"),
        (superseded, "superseded insight"),
    )
    written = [plural(count, noun) for count, noun in parts if count]
    if done.diff is not None:
        lines.append(Text(f"would write {', '.join(written) or 'nothing'}", "bold"))
        lines += [Text(f"  {text}") for text in _differences(done)]
    else:
        lines.append(Text(f"wrote {', '.join(written)}" if written else "nothing new", "bold"))
    if run.status == "stopped":
        lines.append(Text(f"stopped: {run.reason}", "yellow"))
    if written and done.diff is None:
        lines += [
            Text(f"undo: remloom dream rollback {short_id(run.id)}", "dim"),
            Text(f"next: {_next(run)}", "dim"),
        ]
    return Group(*lines, *parked_view(done.failed))


def _summary(kind: str, counts: Mapping[str, int]) -> list[str]:
    """Put the counts of a run in words."""
    lines = []
    for number, (name, words) in enumerate(_DID[kind].items()):
        count = counts.get(name, 0)
        # the first is of what was looked at; a model that told nothing was asked all the same
        if count or number == 0 or (name == "told" and name in counts):
            one, _, many = words.partition("|")
            lines.append((one if count == 1 else many or one).format(f"{count:,}"))
    return lines


def _next(run: Run) -> str:
    """Name a command that shows what was written."""
    if run.kind == "moments":
        columns = "SELECT name, topic_tags FROM moments"
        return f'remloom query "{columns} ORDER BY starts_at DESC LIMIT 10"'
    if run.kind == "affinity":
        # the counts of the run are named after the types of edges
        written = ",".join(type for type in ("related", "entity") if run.counts.get(type))
        return f'remloom traverse "…" --edges {written} --direction both'
    return "remloom metrics"


def _differences(done: MaintenanceResult) -> list[str]:
    """List the first records, superseded insights and edges that a dry run would write."""
    diff = done.diff
    if diff is None:
        return []
    lines = [f"{record.schema[:-1]}  {one_line(record.name)}" for record in diff.records]
    lines += [f"superseded  {old} by {new}" for old, new in diff.superseded]
    # the schema that the edges of such a run start from
    schema = "moments" if done.run.kind == "moments" else "resources"
    edges = [f"{one_line(after.paths(schema)[0])}  {after.weight:.2f}" for _, after in diff.edges]
    shown = lines[:SHOWN]
    if len(lines) > SHOWN:
        shown.append("…")
    shown += edges[:SHOWN]
    if len(edges) > SHOWN:
        shown.append("… (--json has them all)")
    return shown
