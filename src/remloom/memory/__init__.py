"""Memory: the one door. Everything that reads, remembers or answers goes through it."""

from ..engine.lineage import (
    ChainLink,
    DescribedRecord,
    EntityChange,
    Lineage,
    LineageEntry,
    RecordView,
)
from .admin import MemoryStats
from .home import Home
from .memory import Memory

__all__ = [
    "ChainLink",
    "DescribedRecord",
    "EntityChange",
    "Home",
    "Lineage",
    "LineageEntry",
    "Memory",
    "MemoryStats",
    "RecordView",
]
