"""Edge types by any spelling and synonym: `reports_to` means the stored `reports-to`."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from .. import labels
from ..errors import UnknownNameError, nearest_names
from ..store.contract import Store
from ..store.taxonomy import read_taxonomy


class StoredTypes(Struct, frozen=True):
    """The edge types that a statement means."""

    names: list[str] | None  # as they are stored, with those that mean the same; None: all
    unknown: dict[str, list[str]] = {}  # types that no edge has, with the nearest that some have


def stored_edge_types(store: Store, names: Sequence[str]) -> StoredTypes:
    """Find the stored spellings of edge types. If none are named, all are meant.

    Raises:
        UnknownNameError: the memory has none of these edge types.
    """
    if not names:
        return StoredTypes(None)
    stored = store.graph.edge_types()
    # a memory without edges has no type that could be meant instead
    if not stored:
        return StoredTypes(list(names))
    spellings: dict[str, list[str]] = {}
    for name in stored:
        spellings.setdefault(labels.key(name), []).append(name)
    taxonomy = read_taxonomy(store.kv)
    types: list[str] = []
    unknown: dict[str, list[str]] = {}
    for name in names:
        found = [
            type
            for one in taxonomy.edge_types_like(name)
            for type in spellings.get(labels.key(one), ())
        ]
        if not found:
            unknown[name] = nearest_names(name, stored)
        types += found
    if not types:
        raise UnknownNameError("edge type", next(iter(unknown)), stored)
    return StoredTypes(list(dict.fromkeys(types)), unknown)
