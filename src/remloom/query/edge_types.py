"""Edge types by any spelling and synonym: `reports_to` means the stored `reports-to`."""

from __future__ import annotations

from collections.abc import Sequence

from .. import labels
from ..errors import UnknownNameError
from ..store.contract import Store
from ..store.taxonomy import read_taxonomy

__all__ = ["stored_edge_types"]


def stored_edge_types(store: Store, names: Sequence[str]) -> list[str] | None:
    """The stored spellings of edge types and of those that mean the same; None, which means all, if
    none are named.

    Raises:
        UnknownNameError: the memory has no such edge type.
    """
    if not names:
        return None
    stored = store.graph.edge_types()
    # a memory without edges has no type that could be meant instead
    if not stored:
        return list(names)
    spellings: dict[str, list[str]] = {}
    for name in stored:
        spellings.setdefault(labels.key(name), []).append(name)
    taxonomy = read_taxonomy(store.kv)
    types: list[str] = []
    for name in names:
        found = [
            type
            for one in taxonomy.edge_types_like(name)
            for type in spellings.get(labels.key(one), ())
        ]
        if not found:
            raise UnknownNameError("edge type", name, stored)
        types += found
    return list(dict.fromkeys(types))
