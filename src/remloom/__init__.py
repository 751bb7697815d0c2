"""Remloom: memory for LLM agents. `Memory.open()` is where to begin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._version import __version__
from .errors import RemloomError
from .model import (
    Answer,
    Edge,
    Entity,
    Hit,
    Message,
    Moment,
    Person,
    ReadReport,
    Recall,
    RecallHit,
    Receipt,
    Resource,
    Row,
    Speaker,
)
from .predicates import Query
from .settings import Settings

if TYPE_CHECKING:
    from .aio import AsyncHome, AsyncMemory
    from .ask.result import AskResult
    from .client import AsyncClient, Client
    from .llm import Budget
    from .memory import Home, Lineage, Memory, RecordView
    from .retrieve.options import RecallOptions

__all__ = [
    "Answer",
    "AskResult",
    "AsyncClient",
    "AsyncHome",
    "AsyncMemory",
    "Budget",
    "Client",
    "Edge",
    "Entity",
    "Hit",
    "Home",
    "Lineage",
    "Memory",
    "Message",
    "Moment",
    "Person",
    "Query",
    "ReadReport",
    "Recall",
    "RecallHit",
    "RecallOptions",
    "Receipt",
    "RecordView",
    "RemloomError",
    "Resource",
    "Row",
    "Settings",
    "Speaker",
    "__version__",
]

# Loaded when first asked for: importing the names alone stays quick.
_LAZY = {
    "AskResult": ".ask.result",
    "AsyncClient": ".client",
    "AsyncHome": ".aio",
    "AsyncMemory": ".aio",
    "Budget": ".llm",
    "Client": ".client",
    "Home": ".memory",
    "Lineage": ".memory",
    "Memory": ".memory",
    "RecallOptions": ".retrieve.options",
    "RecordView": ".memory",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name], __name__), name)
