"""Plan files: a plan as TOML, for a person to read and to edit, with the evidence."""

from __future__ import annotations

import json
import textwrap
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict, fields, replace

from ...errors import InvalidInputError, PlanError, SourceError
from ...model import Field
from ..definitions.definition_faults import Fault
from .planned import (
    Estimate,
    LeftOut,
    PlanContents,
    PlannedEdge,
    PlannedField,
    PlannedLink,
    PlannedTable,
    Question,
    did_you_mean,
    edge_path,
    find_faults,
)

_T = TypeVar("_T")
_S = TypeVar("_S", bound=Struct)
_cached_fields = cache(fields)

_HEAD = (
    "What Remloom proposes to make of a database. Nothing has been written yet: read it, change "
    "what is not right, and register it. A table, field or edge that is deleted here is not taken."
)
_OF_FIELDS = "field = { column of the table, type, … }; key: rows are found by it"
_WIDTH = 96


def write_plan(plan: PlanContents, path: Path) -> None:
    try:
        path.write_text(render_plan(plan), encoding="utf-8")
    except OSError as error:
        why = f"{path} cannot be written: {error.strerror}"
        raise SourceError(
            why, remedy="name a file in a folder that exists", uri=str(path)
        ) from error


def read_plan(path: Path) -> PlanContents:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}"
        raise SourceError(why, remedy="name a plan that was saved", uri=str(path)) from error
    return parse_plan(text, str(path))


def parse_plan(text: str, uri: str) -> PlanContents:
    """Read a plan from its text; PlanError names every fault with its place."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(uri, [{"path": "the file", "why": f"it is not TOML: {error}"}]) from error
    except RecursionError:
        raise PlanError(uri, [{"path": "the file", "why": "it is nested too deep"}]) from None
    reader = _Reader()
    plan = reader.plan(data)
    faults = [*reader.faults, *(find_faults(plan) if plan else ())]
    if faults or plan is None:
        raise PlanError(uri, [{"path": fault.path, "why": fault.why} for fault in faults])
    return plan


def render_plan(plan: PlanContents) -> str:
    """Render a plan as TOML, which reads as the same plan."""
    lines = [*(f"# {line}" for line in textwrap.wrap(_HEAD, _WIDTH)), ""]
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
        lines += ["", *_table(table, plan.left_out)]
    if plan.edges:
        lines += ["", "# Edges: columns of a table that lead to rows of another."]
    for edge in plan.edges:
        lines += ["", "[[edges]]", *_of_struct(edge)]
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


def _table(table: PlannedTable, left_out: Iterable[LeftOut]) -> Iterator[str]:
    yield f"[tables.{_key(table.table)}]"
    yield from _of_struct(table, but=("table", "fields"))
    yield ""
    yield f"[tables.{_key(table.table)}.fields] # {_OF_FIELDS}"
    yield from _fields(table.fields)
    for each in left_out:
        if each.table == table.table and each.column:
            name, reason = _text(each.column), _line(each.reason)
            yield f'# {name} = {{ column = {name}, type = "string" }} # left out: {reason}'


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
    """The parts of a field as they are written, without those that are the default."""
    field = planned.field
    yield "column", planned.column
    # the values of an enum stand by themselves, as they may hold anything
    enum_type = "list[enum]" if field.list else "enum"
    yield "type", enum_type if field.kind == "enum" else str(field)
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


def _of_struct(value: Struct, but: Sequence[str] = ()) -> Iterator[str]:
    """Yield a line for each attribute that differs from its default, and for each empty tuple."""
    for field in _cached_fields(type(value)):
        held = getattr(value, field.name)
        if field.name not in but and held is not None and (held != field.default or held == ()):
            yield f"{field.name} = {_value(held)}"


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
    """A basic string of TOML: as JSON writes it, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _line(text: str) -> str:
    """A text in one line, without control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


# -- reading ---------------------------------------------------------------------------------------


class _FieldEntry(Struct):
    """A field as it is written in a plan file."""

    column: str
    type: str = "string"
    values: tuple[str, ...] = ()
    required: bool = False
    key: bool = False
    searchable: bool = False
    personal: str = ""
    unique: bool = False
    description: str = ""
    default: Any | UnsetType = UNSET
    evidence: str = ""

    def field(self) -> Field:
        """The field that rows get; InvalidInputError if there is no such type."""
        options: dict[str, Any] = {
            "required": self.required, "default": self.default, "description": self.description,
            "is_key": self.key, "searchable": self.searchable, "personal": self.personal,
        }  # fmt: skip
        kind = self.type.strip()
        if kind in ("enum", "list[enum]"):
            return Field(kind="enum", list=kind != "enum", values=self.values, **options)
        return Field.parse(kind, **options)


class _Reader:
    """Reads the parts of a plan one by one: a fault in one does not hide those of others."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def plan(self, data: dict[str, Any]) -> PlanContents | None:
        """Read a plan from its TOML; None if its head cannot be read."""
        lists = {
            name: self._take(name, data.get(name, []), list) for name in ("edges", "questions")
        }
        tables = {name: self._take(name, data.get(name, {}), dict) for name in ("tables", "links")}
        reasons = self._take("left_out", data.get("left_out", {}), dict[str, str])
        estimate = self._struct("estimate", data.get("estimate", {}), Estimate)
        parts = {*lists, *tables, "left_out", "estimate"}
        head = {name: value for name, value in data.items() if name not in parts}
        plan = self._struct("", head, PlanContents)
        if plan is None:
            return None
        planned = self._tables("tables", tables["tables"] or {}, PlannedTable)
        edges = [
            self._struct(edge_path(number, edge), edge, PlannedEdge)
            for number, edge in enumerate(lists["edges"] or ())
        ]
        questions = [
            self._struct(f"questions[{number}]", question, Question)
            for number, question in enumerate(lists["questions"] or (), 1)
        ]
        return replace(
            plan,
            tables=planned,
            edges=tuple(edge for edge in edges if edge),
            links=self._tables("links", tables["links"] or {}, PlannedLink),
            questions=tuple(question for question in questions if question),
            left_out=tuple(_left_out(reasons or {}, planned)),
            estimate=estimate or Estimate(),
        )

    def _tables(self, path: str, tables: dict[str, Any], kind: type[_S]) -> tuple[_S, ...]:
        found = []
        for name, table in tables.items():
            place = f"{path}.{name}"
            entries = self._take(place, table, dict[str, Any])
            if entries is None:
                continue
            fields = self._take(f"{place}.fields", entries.pop("fields", {}), dict[str, Any])
            planned = [self._field(f"{place}.fields", *field) for field in (fields or {}).items()]
            defaults = {"key": ()} if kind is PlannedTable else {}
            read = self._struct(place, {**defaults, **entries}, kind, table=name)
            if read is not None:
                found.append(replace(read, fields=tuple(field for field in planned if field)))
        return tuple(found)

    def _field(self, path: str, name: str, data: Any) -> PlannedField | None:
        entry = self._struct(f"{path}.{name}", data, _FieldEntry)
        if entry is None:
            return None
        try:
            field = entry.field()
        except InvalidInputError as error:
            self.faults.append(Fault(f"{path}.{name}.type", f"{error.message}; {error.remedy}"))
            return None
        return PlannedField(
            column=entry.column,
            name=name,
            field=field,
            is_unique=entry.unique,
            evidence=entry.evidence,
        )

    def _struct(self, path: str, data: Any, kind: type[_S], **known_parts: Any) -> _S | None:
        """Read a part whose names are those of a struct, without those passed here."""
        if isinstance(data, dict):
            known = [name for name in kind.__struct_fields__ if name not in known_parts]
            for name in (name for name in data if name not in known):
                why = f"there is no {name!r} in a plan{did_you_mean(name, known)}"
                self.faults.append(Fault(f"{path}.{name}".lstrip("."), why))
            data = {**data, **known_parts}
        return self._take(path, data, kind)

    def _take(self, path: str, data: Any, kind: type[_T]) -> _T | None:
        """Read a part; None, and the fault is noted, if it has another type."""
        try:
            return msgspec.convert(data, kind)
        except msgspec.ValidationError as error:
            why, _, place = str(error).partition(" - at `$")
            self.faults.append(Fault(f"{path}{place.rstrip('`')}".lstrip(".") or "the file", why))
            return None


def _left_out(reasons: Mapping[str, str], tables: Sequence[PlannedTable]) -> Iterator[LeftOut]:
    taken = {f"{table.table}.{field.column}" for table in tables for field in table.fields}
    known = {table.table for table in tables}
    for place, reason in reasons.items():
        if place in taken or place in known:
            continue
        # a name may hold a point itself: the longest table that there is
        owner = max((name for name in known if place.startswith(f"{name}.")), key=len, default="")
        column = place[len(owner) + 1 :] if owner else ""
        yield LeftOut(table=owner or place, column=column, reason=reason)
