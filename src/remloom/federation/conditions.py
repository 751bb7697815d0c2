"""Conditions of those who ask: only on what they are shown."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from ..errors import ForbiddenError, InvalidInputError
from ..predicates import All, And, Not, Or, Predicate, VectorSimilar
from ..sql.columns import RENAMED

# Fields that point from a record to others, or quote them. A condition on one of them would tell,
# answer by answer, what it holds.
UNSHOWN = frozenset({
    "aliases", "context", "embedding", "entity_refs", "graph_paths", "parent_moment", "parents",
    "present_persons", "related_entities", "resource_refs",
})  # fmt: skip


def permitted(where: Predicate, columns: Collection[str]) -> Predicate:
    """Return a condition with the full paths of its fields.

    A bare name that is no column means a key of the record's own JSON: whether any record of the
    store has such a key is not looked up.

    Args:
        columns: of the schema that it is for.

    Raises:
        ForbiddenError: it asks for a field that is not shown.
        InvalidInputError: it has a `VectorSimilar`.
    """
    match where:
        case All():
            return where
        case And() | Or():
            parts = tuple(permitted(part, columns) for part in where.predicates)
            return replace(where, predicates=parts)
        case Not():
            return Not(permitted(where.predicate, columns))
        case VectorSimilar():
            raise InvalidInputError(
                "VectorSimilar is no condition for other tenants", remedy="search for the text"
            )
        case _:
            return replace(where, field=_path(where.field, columns))


def _path(name: str, columns: Collection[str]) -> str:
    name = RENAMED.get(name, name)
    root = name.partition(".")[0]
    if root.casefold() in UNSHOWN:
        raise ForbiddenError(
            f"other tenants do not show {root!r}", remedy="ask for what their records say"
        )
    if root in columns:
        return name
    return f"{'properties' if 'properties' in columns else 'metadata'}.{name}"
