"""Remloom: memory for LLM agents. `Memory.open()` is where to begin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._version import __version__
from .ask.result import AskResult
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
    Speaker,
)
from .predicates import Query
from .settings import Settings

if TYPE_CHECKING:
    from .aio import AsyncMemory
    from .memory import Memory

__all__ = [
    "Answer",
    "AskResult",
    "AsyncMemory",
    "Edge",
    "Entity",
    "Hit",
    "Memory",
    "Message",
    "Moment",
    "Person",
    "Query",
    "ReadReport",
    "Recall",
    "RecallHit",
    "Receipt",
    "RemloomError",
    "Resource",
    "Settings",
    "Speaker",
    "__version__",
]


# the doors load their rooms: importing the names alone stays quick
def __getattr__(name: str) -> Any:
    if name == "Memory":
        from .memory import Memory

        return Memory
    if name == "AsyncMemory":
        from .aio import AsyncMemory

        return AsyncMemory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
