"""Plans as they are read: every fault of an edited one, each with its place."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from ...errors import InvalidInputError, PlanError
from ...model import Field
from .plan_faults import Fault, edge_path, find_faults
from .planned import (
    Estimate,
    LeftOut,
    PlanContents,
    PlannedEdge,
    PlannedField,
    PlannedLink,
    PlannedTable,
    Question,
)

_T = TypeVar("_T")


class _Field(Struct, forbid_unknown_fields=True):
    """A field, as it is written."""

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


class _Head(Struct, forbid_unknown_fields=True):
    """A plan, as it is written."""

    source: str
    kind: str = ""
    address: str = ""
    estimate: Estimate = Estimate()
    tables: dict[str, Any] = {}
    links: dict[str, Any] = {}
    edges: list[Any] = []
    questions: list[Any] = []
    left_out: dict[str, str] = {}


class _Table(Struct, forbid_unknown_fields=True):
    """What is said of a table, beside its fields."""

    schema_name: str
    entity_type: str
    key: tuple[str, ...] = ()
    key_declared: bool = False
    name: tuple[str, ...] = ()
    description: str = ""
    watermark: str = ""
    rows: int | None = None
    confidence: float = 1.0
    evidence: str = ""


class _Link(Struct, forbid_unknown_fields=True):
    """What is said of a link table, beside its fields."""

    owner: str
    owner_columns: tuple[str, ...]
    target: str
    target_columns: tuple[str, ...]
    name: str
    inverse: str = ""
    evidence: str = ""


class _Edge(Struct, forbid_unknown_fields=True):
    """What is said of an edge."""

    table: str
    columns: tuple[str, ...]
    name: str = ""
    target: str = ""
    target_columns: tuple[str, ...] = ()
    entity_type: str = ""
    inverse: str = ""
    declared: bool = False
    confidence: float = 1.0
    evidence: str = ""


class _Question(Question, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question, as it is written."""


def parse_plan(text: str, uri: str) -> PlanContents:
    """Read a plan out of its text.

    Raises:
        PlanError: names every fault with its place.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(uri, [{"path": "the file", "why": f"it is no TOML: {error}"}]) from error
    reader = _Reader()
    head = reader.take("", data, _Head)
    plan = _read(reader, head) if head else None
    faults = [*reader.faults, *(find_faults(plan) if plan else ())]
    if faults or plan is None:
        raise PlanError(uri, [{"path": each.path, "why": each.why} for each in faults])
    return plan


def _read(reader: _Reader, head: _Head) -> PlanContents:
    tables = reader.each("tables", head.tables, _read_table)
    edges = [
        PlannedEdge(**msgspec.structs.asdict(edge))
        for number, each in enumerate(head.edges)
        if (edge := reader.take(edge_path(number, each), each, _Edge))
    ]
    questions = [
        Question(**msgspec.structs.asdict(question))
        for number, each in enumerate(head.questions)
        if (question := reader.take(f"questions[{number + 1}]", each, _Question))
    ]
    return PlanContents(
        source=head.source,
        kind=head.kind,
        address=head.address,
        tables=tuple(tables),
        edges=tuple(edges),
        links=tuple(reader.each("links", head.links, _read_link)),
        questions=tuple(questions),
        left_out=tuple(_left_out(head.left_out, tables)),
        estimate=head.estimate,
    )


class _Reader:
    """Reads the parts of a plan one by one: a fault in one does not hide those of others."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def take(self, path: str, data: Any, kind: type[_T]) -> _T | None:
        """Read a part as what it is to be; None: it is not, and that is noted."""
        try:
            return msgspec.convert(data, kind)
        except msgspec.ValidationError as error:
            why, _, where = str(error).partition(" - at `$")
            below = where.rstrip("`")
            self.note(f"{path}{below}".lstrip(".") or "the file", why)
            return None

    def note(self, path: str, why: str) -> None:
        """Note a fault."""
        self.faults.append(Fault(path, why))

    def each(
        self,
        path: str,
        parts: Mapping[str, Any],
        read: Callable[[_Reader, str, str, Any], _T | None],
    ) -> list[_T]:
        """Read parts that have names."""
        found = [read(self, f"{path}.{name}", name, data) for name, data in parts.items()]
        return [each for each in found if each is not None]


def _read_table(reader: _Reader, path: str, name: str, data: Any) -> PlannedTable | None:
    rest, fields = _fields_apart(reader, path, data)
    table = reader.take(path, rest, _Table)
    if table is None:
        return None
    return PlannedTable(table=name, fields=fields, **msgspec.structs.asdict(table))


def _read_link(reader: _Reader, path: str, name: str, data: Any) -> PlannedLink | None:
    rest, fields = _fields_apart(reader, path, data)
    link = reader.take(path, rest, _Link)
    if link is None:
        return None
    return PlannedLink(table=name, fields=fields, **msgspec.structs.asdict(link))


def _fields_apart(reader: _Reader, path: str, data: Any) -> tuple[Any, tuple[PlannedField, ...]]:
    """What is said of a table, and its fields."""
    if not isinstance(data, dict):
        return data, ()
    rest = {name: value for name, value in data.items() if name != "fields"}
    written = reader.take(f"{path}.fields", data.get("fields", {}), dict[str, Any]) or {}
    return rest, tuple(reader.each(f"{path}.fields", written, _read_field))


def _read_field(reader: _Reader, path: str, name: str, data: Any) -> PlannedField | None:
    said = reader.take(path, data, _Field)
    if said is None:
        return None
    try:
        field = _field_of(said)
    except InvalidInputError as error:
        reader.note(f"{path}.type", f"{error.message}; {error.remedy}")
        return None
    return PlannedField(
        column=said.column, name=name, field=field, is_unique=said.unique, evidence=said.evidence
    )


def _field_of(said: _Field) -> Field:
    options: dict[str, Any] = {
        "required": said.required, "default": said.default, "description": said.description,
        "is_key": said.key, "searchable": said.searchable, "personal": said.personal,
    }  # fmt: skip
    if said.type.strip() in ("enum", "list[enum]"):
        is_list = said.type.strip() != "enum"
        return Field(kind="enum", list=is_list, values=said.values, **options)
    return Field.parse(said.type, **options)


def _left_out(said: Mapping[str, str], tables: Sequence[PlannedTable]) -> Iterator[LeftOut]:
    """What is left out, but for what somebody took in again."""
    taken = {f"{table.table}.{field.column}" for table in tables for field in table.fields}
    known = {table.table for table in tables}
    for place, reason in said.items():
        if place in taken or place in known:
            continue
        # a name may hold a point itself: the longest table that there is
        owner = max((name for name in known if place.startswith(f"{name}.")), key=len, default=None)
        if owner is None:
            yield LeftOut(table=place, reason=reason)
        else:
            yield LeftOut(table=owner, column=place[len(owner) + 1 :], reason=reason)
