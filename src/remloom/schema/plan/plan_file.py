"""Plan files: a plan as TOML, for a person to read and to edit, with the evidence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import asdict

from ...errors import SourceError
from ...model import Field
from .plan_reading import parse_plan
from .planned import (
    PlanContents,
    PlannedEdge,
    PlannedField,
    PlannedLink,
    PlannedTable,
)

_HEAD = (
    "What Remloom proposes to make of a database. Nothing has been written yet: read it, change "
    "what is not right, and register it. A table, field or edge that is deleted here is not taken."
)
_OF_FIELDS = "field = { column of the table, type, … }; key: rows are found by it"
_WIDTH = 96


def write_plan(plan: PlanContents, path: Path) -> None:
    """Write a plan to a file.

    Raises:
        SourceError: the file cannot be written.
    """
    try:
        path.write_text(render_plan(plan), encoding="utf-8")
    except OSError as error:
        why = f"{path} cannot be written: {error.strerror}"
        raise SourceError(
            why, remedy="name a file in a folder that exists", uri=str(path)
        ) from error


def read_plan(path: Path) -> PlanContents:
    """Read a plan from a file.

    Raises:
        SourceError: there is no such file.
        PlanError: names every fault with its place.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is no UTF-8'}"
        raise SourceError(why, remedy="name a plan that was saved", uri=str(path)) from error
    return parse_plan(text, str(path))


def render_plan(plan: PlanContents) -> str:
    """Render a plan as TOML, which reads as the same plan."""
    lines = [*_comment(_HEAD), ""]
    lines += _values(source=plan.source, kind=plan.kind, address=plan.address)
    lines += ["", "# What it would come to.", "[estimate]", *_values(**asdict(plan.estimate))]
    if plan.questions:
        lines += [
            "",
            "# What could not be decided. What is proposed holds, unless it is edited below.",
        ]
    for question in plan.questions:
        lines += ["", "[[questions]]", *_of_struct(question)]
    for table in plan.tables:
        lines += ["", *_table(table, _left_out_of(plan, table.table))]
    if plan.edges:
        lines += ["", "# Edges: columns of a table that lead to rows of another."]
    for edge in plan.edges:
        lines += ["", "[[edges]]", *_edge(edge)]
    if plan.links:
        lines += ["", "# Link tables: their rows are edges between rows of two others."]
    for link in plan.links:
        lines += ["", *_link(link)]
    if plan.left_out:
        lines += ["", "# What is not taken, and why.", "[left_out]"]
        for each in plan.left_out:
            place = f"{each.table}.{each.column}" if each.column else each.table
            lines.append(f"{_text(place)} = {_text(each.reason)}")
    return "\n".join(lines) + "\n"


def _table(table: PlannedTable, left_out: Mapping[str, str]) -> Iterator[str]:
    yield f"[tables.{_key(table.table)}]"
    yield from _of_struct(table, but=("table", "fields"))
    yield ""
    yield f"[tables.{_key(table.table)}.fields] # {_OF_FIELDS}"
    yield from _fields(table.fields)
    for column, reason in left_out.items():
        name = _text(column)
        yield f'# {name} = {{ column = {name}, type = "string" }} # left out: {_line(reason)}'


def _edge(edge: PlannedEdge) -> Iterator[str]:
    yield from _of_struct(edge)


def _link(link: PlannedLink) -> Iterator[str]:
    yield f"[links.{_key(link.table)}]"
    yield from _of_struct(link, but=("table", "fields"))
    if link.fields:
        yield ""
        yield f"[links.{_key(link.table)}.fields]"
        yield from _fields(link.fields)


def _fields(fields: Iterable[PlannedField]) -> Iterator[str]:
    for field in fields:
        parts = ", ".join(f"{name} = {_value(value)}" for name, value in _parts(field))
        yield f"{_key(field.name)} = {{ {parts} }}"


def _parts(planned: PlannedField) -> Iterator[tuple[str, Any]]:
    """What is said of a field, as it is written: what holds anyway is left out."""
    field = planned.field
    yield "column", planned.column
    # the values of an enum stand by themselves, as they may hold anything
    yield "type", str(field) if field.kind != "enum" else _enum_type(field)
    for name, value in (
        ("values", field.values), ("required", field.required), ("key", field.is_key),
        ("searchable", field.searchable), ("personal", field.personal),
        ("unique", planned.is_unique), ("description", field.description),
    ):  # fmt: skip
        if value:
            yield name, value
    if field.default is not UNSET:
        yield "default", field.default
    if planned.evidence:
        yield "evidence", planned.evidence


def _enum_type(field: Field) -> str:
    return "list[enum]" if field.list else "enum"


def _left_out_of(plan: PlanContents, table: str) -> dict[str, str]:
    return {
        each.column: each.reason for each in plan.left_out if each.table == table and each.column
    }


def _of_struct(value: Struct, but: Sequence[str] = ()) -> Iterator[str]:
    """The attributes of a value that are not what they are anyway."""
    for name, default in zip(value.__struct_fields__, _defaults(value), strict=True):
        held = getattr(value, name)
        if name not in but and held is not None and (held != default or held == ()):
            yield f"{name} = {_value(held)}"


def _defaults(value: Struct) -> Sequence[Any]:
    defaults = value.__struct_defaults__
    return (UNSET,) * (len(value.__struct_fields__) - len(defaults)) + defaults


def _values(**values: Any) -> Iterator[str]:
    for name, value in values.items():
        yield f"{name} = {_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, (int, float)) else _text(str(value))


def _key(name: str) -> str:
    is_bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if is_bare else _text(name)


def _text(text: str) -> str:
    """A basic string: as JSON writes it, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment(text: str) -> Iterator[str]:
    import textwrap

    for line in text.splitlines():
        yield from (f"# {part}" for part in textwrap.wrap(_line(line), _WIDTH))


def _line(text: str) -> str:
    """A text as a comment can hold it: in one line, without control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
