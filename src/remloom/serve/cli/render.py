"""Answers, one thing with all that is known of it, and statistics, as rich renderables.

Nothing here prints. On a terminal lines are cut to its width; elsewhere names and citations are
always whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...model import Answer
from .hit_list import draw_hits
from .rows import draw_rows
from .tables import draw_nested
from .text_formats import byte_size, one_line, plural
from .traversal_view import draw_edges, draw_traversal, styled_kind

if TYPE_CHECKING:
    from ...memory import RecordView

__all__ = ["draw_answer", "draw_record_view", "draw_stats"]

SHOWN_COUNTS = 12  # types in one line of the statistics


def draw_answer(found: Answer) -> RenderableType:
    """Draw an answer of any kind of query."""
    if found.query_type in ("sql", "explain"):
        return draw_rows(found)
    if found.query_type == "traverse":
        return draw_traversal(found) if found.nodes else _nothing(found)
    shown = draw_hits(found.records) if found.records else _nothing(found)
    if waiting := found.metadata.get("waiting"):
        note = f"{plural(waiting, 'text')} not embedded yet could not be found: `remloom reembed` does it now"
        return Group(shown, Text(note, "yellow"))
    return shown


def _nothing(found: Answer) -> RenderableType:
    if not found.suggestions:
        return Text("nothing found", "yellow")
    return Group(
        Text("nothing found; the nearest names are", "yellow"), draw_hits(found.suggestions)
    )


def draw_record_view(view: RecordView) -> RenderableType:
    """Draw what `Memory.describe` knows of one thing: its records, field by field, then its edges."""
    parts: list[RenderableType] = []
    for described in view.records:
        record = described.as_dict()
        title = Text.assemble((one_line(record["name"]), "bold"), "  ", styled_kind(record))
        # the title has the name and schema; the edges stand below
        for name in ("name", "schema", "graph_paths"):
            record.pop(name, None)
        facts = {name: value for name, value in record.items() if value not in ([], {})}
        parts += [title, draw_nested(facts, indent="  "), Text()]
    parts += draw_edges([(e.src, e.rel_type, e.dst) for e in view.edges_out], "edges out")
    parts += draw_edges([(e.src, e.rel_type, e.dst) for e in view.edges_in], "edges in")
    return Group(*parts)


def draw_stats(found: dict[str, Any]) -> RenderableType:
    """Draw what `Admin.stats` counts."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(overflow="fold")
    sealed = "encrypted" if found["encrypted"] else "not encrypted"
    title = Text.assemble(
        (found["tenant"], "bold"), f"  {sealed}, {byte_size(found['bytes'])} on disk"
    )
    for schema, count in found["records"].items():
        types = {type or "no type": number for type, number in found["types"][schema].items()}
        mentioned = (
            f"; {found['thin_entities']:,} only mentioned"
            if schema == "entities" and found["thin_entities"]
            else ""
        )
        grid.add_row(schema, f"{count:,}", _counts(types) + mentioned)
    grid.add_row("edges", f"{found['edges']:,}", _counts(found["edge_types"]))
    vectors = found["vectors"]
    searched = (
        "" if vectors["exact_share"] is None else f", {vectors['exact_share']:.0%} searched exactly"
    )
    made = f"{vectors['model']}, {vectors['dims']} dimensions{searched}" if vectors["count"] else ""
    grid.add_row("vectors", f"{vectors['count']:,}", made)
    if found["pending"] or found["parked"]:
        parked = f"and {found['parked']:,} parked after failing" if found["parked"] else ""
        grid.add_row("to embed", f"{found['pending']:,}", parked)
    return Group(title, grid)


def _counts(counts: dict[str, int]) -> str:
    listed = [f"{one_line(name)} {count:,}" for name, count in list(counts.items())[:SHOWN_COUNTS]]
    return ", ".join([*listed, "…"] if len(counts) > SHOWN_COUNTS else listed)
