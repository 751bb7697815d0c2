"""The service behind every door: it checks who calls, opens their memory, and does the work."""

from __future__ import annotations

from typing import Any

from anyio import CapacityLimiter, to_thread
from msgspec import Struct

from ..memory.home import Home
from ..operations import Operation, Progress
from ..settings import Settings
from .caller import Caller
from .tenants import Tenants

__all__ = ["Service"]

AT_ONCE = 8  # calls that run at the same time, of all tenants together


class Service:
    """Calls operations for whoever may. REST, MCP and the pages go through it, and nothing else."""

    def __init__(self, settings: Settings, tenants: Tenants | None = None) -> None:
        self.settings = settings
        self.tenants = tenants or Tenants(settings)
        self._limiter = CapacityLimiter(AT_ONCE)

    async def call(
        self,
        caller: Caller,
        operation: Operation,
        values: Struct,
        progress: Progress | None = None,
    ) -> Any:
        """Do an operation in the caller's memory.

        A caller who goes away ends the waiting, not the work: a write that has begun is finished.

        Args:
            values: an instance of `operation.takes`.
            progress: called from the thread that works.

        Raises:
            ForbiddenError: the caller may not; nothing was opened.
            RemloomError: whatever the operation raises.
        """
        caller.check(operation)

        def work() -> Any:
            if operation.needs == "home":
                return operation.does(self._home(), values, progress)
            with self.tenants.opened(caller.tenant) as memory:
                return operation.does(memory, values, progress)

        return await to_thread.run_sync(work, limiter=self._limiter, abandon_on_cancel=True)

    def close(self) -> None:
        """Close every memory that is open."""
        self.tenants.close()

    def _home(self) -> Home:
        return Home(self.settings.home, key=self.settings.key or None)
