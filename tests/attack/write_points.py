"""Points right before each transaction in which a memory writes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from remloom import Memory

__all__ = ["tell_of_writes"]


def tell_of_writes(memory: Memory, passed: Callable[[str], None]) -> None:
    """Call `passed` before each write of this thread, with what writes."""
    thread = threading.get_ident()
    store: Any = memory.admin.store

    def telling(name: str, write: Callable[..., Any]) -> Callable[..., Any]:
        def tell(*arguments: Any, **named: Any) -> Any:
            if threading.get_ident() == thread:
                passed(f"before {name}")
            return write(*arguments, **named)

        return tell

    for part, names in (
        (store, ("write", "write_all", "erase", "update", "delete")),
        (store.kv, ("put",)),
        (store.vectors, ("put", "adopt", "park", "unpark")),
    ):
        for name in names:
            where = f"{type(part).__name__}.{name}"
            setattr(part, name, telling(where, getattr(part, name)))
