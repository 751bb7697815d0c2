"""The parts of a plan, which say what becomes of tables, columns and foreign keys; its faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from ...errors import UnknownNameError
from ...model import Field
from ..definitions.definition_faults import Fault

UNREADABLE = "cannot be read"  # how the reason begins of what a database could not give


class PlannedField(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A column that becomes a field of the rows."""

    column: str
    name: str  # of the field
    field: Field
    is_unique: bool = False  # as far as was seen, no two rows have the same value
    evidence: str = ""


class PlannedTable(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A table whose rows become rows of a schema."""

    table: str
    schema_name: str
    entity_type: str  # "customer", what a handle begins with
    key: tuple[str, ...]  # columns that tell its rows apart; empty: all of them, by their content
    key_declared: bool = False
    name: tuple[str, ...] = ()  # columns of the human name; empty: rows are named by their handle
    fields: tuple[PlannedField, ...] = ()
    description: str = ""
    watermark: str = ""  # column that grows whenever a row is written
    # columns, each of which says which thing a row is, in whatever source: an e-mail address
    identified_by: tuple[str, ...] = ()
    rows: int | None = None
    confidence: float = 1.0  # of the key
    evidence: str = ""


class PlannedEdge(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Columns that lead from rows of one table to those of another: a foreign key."""

    table: str
    columns: tuple[str, ...]
    target: str = ""  # table; empty: things that have no table, each called by its value
    target_columns: tuple[str, ...] = ()
    entity_type: str = ""  # of what it leads to, where `target` is not a table of the plan
    name: str = ""  # type of the edge: "belongs_to"
    inverse: str = ""  # type of a second edge, back; empty: none is written
    declared: bool = False  # by the database; else inferred, or a person wrote it
    confidence: float = 1.0
    evidence: str = ""


class PlannedLink(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A link table: its rows are edges between those of two others, not rows of their own."""

    table: str
    owner: str  # table whose rows have the edges
    owner_columns: tuple[str, ...]  # of the link table; they lead to the owner's key
    target: str  # table that the edges lead to
    target_columns: tuple[str, ...]  # of the link table; they lead to the target's key
    name: str  # type of the edges: "contains"
    inverse: str = ""
    fields: tuple[PlannedField, ...] = ()  # its other columns, which become properties of the edges
    evidence: str = ""


class Question(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What discovery could not decide, with what it would do if nobody answers."""

    table: str
    columns: tuple[str, ...] = ()
    question: str
    proposal: str = ""  # what holds unless somebody edits the plan
    evidence: str = ""


class LeftOut(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A table, or a column of one, that is not taken, and why."""

    table: str
    column: str = ""
    reason: str


class Estimate(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What taking it all would come to."""

    rows: int = 0
    edges: int = 0
    megabytes: float = 0.0
    embedding_seconds: float = 0.0


class PlanContents(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All that a plan says of one database."""

    source: str  # the name that it is synced by: "crm"
    kind: str = ""  # of the database
    address: str = ""  # where it is, without credentials
    tables: tuple[PlannedTable, ...] = ()
    edges: tuple[PlannedEdge, ...] = ()  # every foreign key, those of link tables too
    links: tuple[PlannedLink, ...] = ()
    questions: tuple[Question, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    estimate: Estimate = Estimate()


# -- faults ----------------------------------------------------------------------------------------


def edge_path(number: int, edge: Any) -> str:
    """Name an edge of a plan, or an entry of its file: `edges[1] (orders.customer_id)`."""
    entry = asdict(edge) if isinstance(edge, PlannedEdge) else edge
    entry = entry if isinstance(entry, dict) else {}
    columns = entry.get("columns")
    names = ", ".join(map(str, columns)) if isinstance(columns, list | tuple) else "?"
    return f"edges[{number + 1}] ({entry.get('table', '?')}.{names})"


def find_faults(plan: PlanContents) -> Iterator[Fault]:
    if not plan.source.strip():
        yield Fault("source", "it names no source")
    tables = {table.table: table for table in plan.tables}
    for table in plan.tables:
        yield from _table_faults(table, f"tables.{table.table}")
    for attribute in ("schema_name", "entity_type"):
        yield from _shared(plan.tables, attribute)
    links = {link.table: link for link in plan.links}
    for number, edge in enumerate(plan.edges):
        yield from _edge_faults(edge, edge_path(number, edge), tables, links)
    yield from _shared_names(plan)
    for link in plan.links:
        yield from _link_faults(link, f"links.{link.table}", tables)


def _table_faults(table: PlannedTable, path: str) -> Iterator[Fault]:
    columns = [field.column for field in table.fields]
    if not table.fields:
        yield Fault(f"{path}.fields", "it has no fields; delete the table to leave it out")
    for part in ("key", "name", "identified_by"):
        yield from _unknown_columns(getattr(table, part), columns, f"{path}.{part}")
        yield from _twice(getattr(table, part), f"{path}.{part}")
    for attribute in ("schema_name", "entity_type"):
        if not getattr(table, attribute).strip():
            yield Fault(f"{path}.{attribute}", "it is empty")
    yield from _field_faults(table.fields, path)


def _field_faults(fields: Sequence[PlannedField], path: str) -> Iterator[Fault]:
    for column, times in Counter(field.column for field in fields).items():
        if times > 1:
            yield Fault(f"{path}.fields", f"{times} fields are of the column {column!r}")
    for field in fields:
        if field.field.kind == "enum" and not field.field.values:
            yield Fault(f"{path}.fields.{field.name}", 'an enum needs values = ["…", "…"]')


def _edge_faults(
    edge: PlannedEdge, path: str, tables: dict[str, PlannedTable], links: dict[str, PlannedLink]
) -> Iterator[Fault]:
    if not edge.columns:
        yield Fault(f"{path}.columns", "it comes from no column")
    if edge.table in tables:
        columns = [field.column for field in tables[edge.table].fields]
        yield from _unknown_columns(edge.columns, columns, f"{path}.columns")
    elif edge.table not in links:
        yield _unknown(f"{path}.table", "table", edge.table, (*tables, *links))
    if not edge.name.strip() and edge.table not in links:
        yield Fault(f"{path}.name", "it has no name")
    target = tables.get(edge.target)
    if target is None:
        if not edge.entity_type.strip():
            fault = _unknown(f"{path}.target", "table", edge.target, tuple(tables))
            yield Fault(fault.path, f"{fault.why}; or say what it leads to: entity_type")
        return
    if len(edge.columns) != len(edge.target_columns):
        why = f"{len(edge.target_columns)} columns, where the edge comes from {len(edge.columns)}"
        yield Fault(f"{path}.target_columns", why)
    known = [field.column for field in target.fields]
    yield from _unknown_columns(edge.target_columns, known, f"{path}.target_columns")


def _link_faults(link: PlannedLink, path: str, tables: dict[str, PlannedTable]) -> Iterator[Fault]:
    if link.table in tables:
        yield Fault(path, "it is a table of rows as well; delete one of the two")
    if not link.name.strip():
        yield Fault(f"{path}.name", "it has no name")
    for end, columns in (("owner", link.owner_columns), ("target", link.target_columns)):
        table = tables.get(getattr(link, end))
        if table is None:
            yield _unknown(f"{path}.{end}", "table", getattr(link, end), tuple(tables))
        elif len(columns) != len(table.key):
            why = f"{len(columns)} columns, where the key of {table.table} has {len(table.key)}"
            yield Fault(f"{path}.{end}_columns", why)
    yield from _field_faults(link.fields, path)


def _shared(tables: Sequence[PlannedTable], attribute: str) -> Iterator[Fault]:
    """Names that two tables share, so that two rows would have one handle."""
    for name, times in Counter(getattr(table, attribute) for table in tables).items():
        if times > 1:
            owners = [table.table for table in tables if getattr(table, attribute) == name]
            yield Fault(
                f"tables.{owners[-1]}.{attribute}", f"{name!r} is that of {' and '.join(owners)}"
            )


def _shared_names(plan: PlanContents) -> Iterator[Fault]:
    """Edges between the same two tables that share a name."""
    seen: dict[tuple[str, str, str], str] = {}
    linked = {link.table for link in plan.links}
    ends: list[tuple[str, str, PlannedEdge | PlannedLink]] = [
        (edge_path(number, edge), edge.table, edge)
        for number, edge in enumerate(plan.edges)
        if edge.table not in linked
    ]
    ends += [(f"links.{link.table}", link.owner, link) for link in plan.links]
    for path, owner, edge in ends:
        ends_and_name = (owner, edge.target, edge.name)
        if edge.target and ends_and_name in seen:
            why = f"{edge.name!r} is also {seen[ends_and_name]} from {owner} to {edge.target}"
            yield Fault(f"{path}.name", why)
        seen.setdefault(ends_and_name, path)


def _unknown_columns(columns: Iterable[str], known: Sequence[str], path: str) -> Iterator[Fault]:
    for column in columns:
        if column not in known:
            yield _unknown(path, "column", column, known)


def _twice(columns: Sequence[str], path: str) -> Iterator[Fault]:
    for column, times in Counter(columns).items():
        if times > 1:
            yield Fault(path, f"{column!r} is named {times} times")


def _unknown(path: str, kind: str, name: str, known: Sequence[str]) -> Fault:
    hint = did_you_mean(name, known)
    return Fault(path, f"there is no {kind} {name!r} in the plan{hint}")


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """Ask whether a similar name was meant; "" if there is none."""
    nearest = UnknownNameError("name", name, known).fields["nearest"]
    return f", did you mean {' or '.join(map(repr, nearest))}?" if nearest else ""
