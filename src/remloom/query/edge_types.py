"""Edge types by any spelling: `reports_to` means the stored `reports-to`."""

from __future__ import annotations

from collections.abc import Sequence

from .. import labels
from ..errors import UnknownNameError
from ..store.contract import Store

__all__ = ["stored_edge_types"]


def stored_edge_types(store: Store, names: Sequence[str]) -> list[str] | None:
    """The stored spellings of edge types; None, which means all, if none are named.

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
    types: list[str] = []
    for name in names:
        if labels.key(name) not in spellings:
            raise UnknownNameError("edge type", name, stored)
        types += spellings[labels.key(name)]
    return types
