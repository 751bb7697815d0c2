"""Memory: the one door. Everything that reads, remembers or answers goes through it."""

from .home import Home
from .lineage import DescribedRecord, EntityChange, Lineage, LineageEntry, RecordView
from .memory import Memory
from .stats import MemoryStats

__all__ = [
    "DescribedRecord",
    "EntityChange",
    "Home",
    "Lineage",
    "LineageEntry",
    "Memory",
    "MemoryStats",
    "RecordView",
]
