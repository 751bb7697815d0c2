"""Faults of a plan: what of it cannot be followed, each with its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import asdict

from ...errors import UnknownNameError
from ..definitions.definition_faults import Fault
from .planned import PlanContents, PlannedEdge, PlannedField, PlannedLink, PlannedTable


def edge_path(number: int, edge: Any) -> str:
    """Name an edge of a plan: `edges[1] (orders.customer_id)`.

    Args:
        number: counts from 0.
        edge: a `PlannedEdge`, or whatever stands for one in a plan file.
    """
    entry = asdict(edge) if isinstance(edge, PlannedEdge) else edge
    entry = entry if isinstance(entry, dict) else {}
    columns = entry.get("columns")
    names = ", ".join(map(str, columns)) if isinstance(columns, list | tuple) else "?"
    return f"edges[{number + 1}] ({entry.get('table', '?')}.{names})"


def find_faults(plan: PlanContents) -> Iterator[Fault]:
    """Yield every fault of a plan whose parts can be read."""
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
    for part in ("key", "name"):
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
    edge: PlannedEdge,
    path: str,
    tables: dict[str, PlannedTable],
    links: dict[str, PlannedLink],
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
    """Names that are to be different, and are not: handles of two tables would be one."""
    for name, times in Counter(getattr(table, attribute) for table in tables).items():
        if times > 1:
            owners = [table.table for table in tables if getattr(table, attribute) == name]
            yield Fault(
                f"tables.{owners[-1]}.{attribute}", f"{name!r} is that of {' and '.join(owners)}"
            )


def _shared_names(plan: PlanContents) -> Iterator[Fault]:
    """Edges from one table to one other that have one name."""
    seen: dict[tuple[str, str, str], str] = {}
    named = [(edge_path(number, edge), edge.table, edge) for number, edge in enumerate(plan.edges)]
    linked = {link.table for link in plan.links}
    ends: list[tuple[str, str, PlannedEdge | PlannedLink]] = [
        each for each in named if each[1] not in linked
    ]
    ends += [(f"links.{link.table}", link.owner, link) for link in plan.links]
    for path, owner, edge in ends:
        place = (owner, edge.target, edge.name)
        if edge.target and place in seen:
            why = f"{edge.name!r} is also {seen[place]} from {owner} to {edge.target}"
            yield Fault(f"{path}.name", why)
        seen.setdefault(place, path)


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
    """Ask whether a name that is close was meant; "" if none is."""
    nearest = UnknownNameError("name", name, known).fields["nearest"]
    return f", did you mean {' or '.join(map(repr, nearest))}?" if nearest else ""
