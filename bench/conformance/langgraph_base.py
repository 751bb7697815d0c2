"""Points LangGraph's tests of its `InMemoryStore` at `RemloomStore`."""

from __future__ import annotations

import tempfile
from typing import Any

import langgraph.store.memory

from remloom.adapters.langgraph import RemloomStore, open_memory


class FreshStore(RemloomStore):
    """A store over a new memory of its own, made as theirs is: `InMemoryStore(index=…)`."""

    def __init__(self, *, index: Any = None) -> None:
        folder = tempfile.mkdtemp(prefix="conformance-")
        super().__init__(open_memory(folder, index=index, embedder="none"), index=index)


langgraph.store.memory.InMemoryStore = FreshStore  # type: ignore[misc]
