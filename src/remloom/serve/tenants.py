"""The memories that a server has open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from msgspec.structs import replace

from ..memory.memory import Memory
from ..settings import Settings

__all__ = ["Tenants"]


class Tenants:
    """Opens a tenant's memory when it is first needed, and keeps it open.

    A tenant that does not exist is not made: reading creates nothing.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._memories: dict[str, Memory] = {}
        self._lock = Lock()

    @contextmanager
    def opened(self, tenant: str) -> Iterator[Memory]:
        """Give the memory of a tenant, which stays open at least as long as it is used here.

        Raises:
            TenantNotFoundError: there is no such tenant.
        """
        with self._lock:
            if tenant not in self._memories:
                settings = replace(self._settings, tenant=tenant)
                self._memories[tenant] = Memory.open(settings=settings, create=False)
            memory = self._memories[tenant]
        yield memory

    def close(self) -> None:
        """Close them all."""
        with self._lock:
            memories, self._memories = self._memories, {}
        for memory in memories.values():
            memory.close()
