"""What schemas, their fields and the things in their rows are called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..definitions.definition_faults import RESERVED_FIELDS, RESERVED_NAMES
from .edge_names import free_name
from .facts import TableFacts
from .words import snake

MOST_LETTERS = 63


def name_schemas(tables: Iterable[str], source: str) -> dict[str, str]:
    """Name the schema of each table: by the table, by the source too where that is no name."""
    named: dict[str, str] = {}
    for table in tables:
        name = snake(table.rpartition(".")[2])
        if name in named.values():
            name = snake(table)
        if name in RESERVED_NAMES:
            name = f"{snake(source)}_{name}"
        named[table] = free_name(name[: MOST_LETTERS - 3], named.values())
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
        named[column] = free_name(name[: MOST_LETTERS - 3], named.values())
    return named
