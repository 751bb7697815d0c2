"""Memory: the one door. Everything that reads, remembers or answers goes through it."""

from __future__ import annotations

from .home import Tenants
from .jobs import Working
from .maintenance import Care
from .queries import Queries
from .recall import Recalling

__all__ = ["Memory"]


class Memory(Working, Queries, Recalling, Care, Tenants):
    """A tenant's memory, opened. Use it as a context manager; any thread may call any method.

    >>> with Memory.open(home, embedder="none") as memory:
    ...     _ = memory.write([
    ...         Entity(name="Sarah Chen", type="person", aliases=("S. Chen",)),
    ...         Edge(src="Sarah Chen", rel_type="manages", dst="Bob Smith"),
    ...     ])
    ...     answer = memory.query('TRAVERSE manages WITH LOOKUP "sarah chen"')
    ...     [node["name"] for node in answer.nodes]
    ['Sarah Chen', 'Bob Smith']
    """
