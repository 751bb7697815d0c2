"""Names in a plan: of schemas and their fields, of entities, and of edges (customer_id ->
belongs_to)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from ..definitions.definition_faults import RESERVED_FIELDS, RESERVED_NAMES
from ..plan.plan import free_name
from ..plan.planned import PlannedEdge
from .facts import ColumnFacts, TableFacts
from .name_matches import align
from .words import snake, word_lists

BELONGS_TO = "belongs_to"
CONTAINS = "contains"  # of a list, or of the rows of a link table
_MOST_LETTERS = 63


def name_edges(edges: Iterable[PlannedEdge], tables: Mapping[str, TableFacts]) -> list[PlannedEdge]:
    """Name edges: two of one table that lead to the same other one never share a name.

    An edge is called after the part that its target plays ("billing_address"); if that is the name
    of the target itself, `belongs_to`, or `contains` of a list; `reports_to` or `child_of` within
    one table.
    """
    named: list[PlannedEdge] = []
    taken: dict[tuple[str, str], set[str]] = {}
    for edge in edges:
        used = taken.setdefault((edge.table, edge.target), set())
        name = free_name(_name_of(edge, tables), used)
        used.add(name)
        named.append(replace(edge, name=name))
    return named


def _name_of(edge: PlannedEdge, tables: Mapping[str, TableFacts]) -> str:
    source, target = tables[edge.table], tables.get(edge.target)
    column = source.column_of(edge.columns[-1])
    if edge.table == edge.target:
        return _name_within(column)
    if target is None or len(edge.columns) > 1:
        return BELONGS_TO
    key = target.column_of(edge.target_columns[0]) if edge.target_columns else column
    plain_name = CONTAINS if column.column.list else BELONGS_TO
    if column.words == key.words and column is not key:
        return plain_name
    content = _without(column.content, key.words)
    is_target = len(content) <= len(target.words)
    if not content or (is_target and align(content, target.words) >= 0.7):
        return plain_name
    return _role(column, content)


def _without(content: tuple[str, ...], key: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a column without those of the key that it holds: `ship` of `ship_imo`."""
    if len(content) > len(key) and content[-len(key) :] == key:
        return content[: -len(key)]
    return content


def _name_within(column: ColumnFacts) -> str:
    """The type of an edge to another row of the same table."""
    for name, words in word_lists().same_table.items():
        if not set(words).isdisjoint(column.words):
            return name
    return _role(column, column.content) if column.content else "related_to"


def _role(column: ColumnFacts, content: tuple[str, ...]) -> str:
    """The part that the target plays: the column without the words that say it identifies it."""
    # "created_by" says more than "created"
    kept = column.words if column.words[-1] == "by" else content
    return snake("_".join(kept) or column.name)


def name_schemas(tables: Iterable[str], source: str) -> dict[str, str]:
    """Name the schema of each table: by the table, by the source too where that is not a name."""
    named: dict[str, str] = {}
    for table in tables:
        name = snake(table.rpartition(".")[2])
        if name in named.values():
            name = snake(table)
        if name in RESERVED_NAMES:
            name = f"{snake(source)}_{name}"
        named[table] = free_name(name[: _MOST_LETTERS - 3], named.values())
    return named


def entity_types(tables: Mapping[str, TableFacts], schemas: Mapping[str, str]) -> dict[str, str]:
    """Name what the rows of each table are: "customer", "order_detail". No two the same."""
    types: dict[str, str] = {}
    for name, facts in tables.items():
        entity_type = snake("_".join(facts.words))
        # handles of two tables would be one
        types[name] = schemas[name] if entity_type in types.values() else entity_type
    return types


def name_fields(columns: Iterable[str], entity_type: str) -> dict[str, str]:
    """Name the field of each column; what rows have anyway gets what they are before it."""
    named: dict[str, str] = {}
    for column in columns:
        name = snake(column)
        if name in RESERVED_FIELDS:
            name = f"{entity_type}_{name}"
        named[column] = free_name(name[: _MOST_LETTERS - 3], named.values())
    return named
