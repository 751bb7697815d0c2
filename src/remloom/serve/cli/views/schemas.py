"""The schemas of a tenant's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType

from ..frame.text_formats import plural
from .tables import draw_table

if TYPE_CHECKING:
    from ....model import Receipt, Registered, RowsMigrated, SchemaDefinition


def draw_registered(done: Sequence[Registered]) -> str:
    """Say what was registered, or was there already, with notes."""
    return "\n".join(map(_registered, done))


def _registered(done: Registered) -> str:
    what = f"{done.schema_name}, version {done.version}"
    lines = [f"registered {what}" if done.changes else f"unchanged {what}"]
    return "\n".join([*lines, *(f"  note: {note}" for note in done.notes)])


def draw_dropped(receipt: Receipt, name: str) -> str:
    """Say what went with a schema."""
    return f"dropped {name}, forgot {plural(receipt.records, 'row')}"


def draw_migrated(done: RowsMigrated, name: str) -> str:
    """Say how many rows were written anew."""
    return f"{plural(done.rows, 'row')} of {name} are of version {done.version} now"


def draw_schemas(definitions: list[SchemaDefinition], counts: dict[str, int]) -> RenderableType:
    rows = [
        (
            one.schema_name,
            one.version,
            f"{counts.get(one.schema_name, 0):,}",
            len(one.base_fields),
            one.source,
            one.description,
        )
        for one in definitions
    ]
    columns = ("schema", "version", "rows", "fields", "source", "description")
    right = ("version", "rows", "fields")
    return draw_table(columns, rows, right=right, none="no schemas")


def draw_fields(definition: SchemaDefinition) -> RenderableType:
    marks = ("required", "is_key", "searchable")
    fields = [
        (
            name,
            str(field),
            ", ".join(mark.removeprefix("is_") for mark in marks if getattr(field, mark)),
            field.personal,
            field.description,
        )
        for name, field in definition.base_fields.items()
    ]
    edges = [
        (edge.name, ", ".join(edge.fields), edge.target, edge.inverse) for edge in definition.edges
    ]
    parts: list[RenderableType] = [
        f"{definition.schema_name}, version {definition.version}",
        draw_table(("field", "type", "", "personal", "description"), fields),
    ]
    if edges:
        parts.append(draw_table(("edge", "by", "to", "back"), edges))
    return Group(*parts)
