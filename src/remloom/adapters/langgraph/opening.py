"""Opening the memory that a store is over."""

from __future__ import annotations

import os

from langgraph.store.base import IndexConfig

from ...embed import Embedder
from ...memory import Memory
from .indexing import embedder_of


def open_memory(
    home_or_url: str | os.PathLike[str] | None = None,
    *,
    tenant: str | None = None,
    key: str | None = None,
    index: IndexConfig | None = None,
    embedder: Embedder | str | None = None,
) -> Memory:
    """Open a memory whose embedder is that of `index`, if it is given and `embedder` is not.

    So what is read into the memory, and what is asked of it, has vectors of the same model. The
    other arguments, and what is raised, are those of `Memory.open`.
    """
    if embedder is None and index is not None:
        embedder = embedder_of(index)
    return Memory.open(home_or_url, tenant=tenant, key=key, embedder=embedder)
