"""LangGraph's long-term memory: `RemloomStore`, a `BaseStore` over a tenant's memory.

It needs the extra `langgraph`. See docs/langgraph.md.
"""

from __future__ import annotations

from ...errors import MissingExtraError

try:
    import langgraph.store.base  # noqa: F401 - whether it is there
except ImportError as error:
    raise MissingExtraError("the store for LangGraph", "langgraph") from error

from .store import RemloomStore, open_memory

__all__ = ["RemloomStore", "open_memory"]
