"""Workers: they do the jobs of all tenants, in the process of the server."""

from __future__ import annotations

import heapq
import logging
import time
from datetime import UTC, datetime
from threading import Condition, Event, Thread

from ..errors import RemloomError
from ..memory.home import Home
from ..memory.memory import Memory
from .service import Service

_log = logging.getLogger("remloom.serve")

SPREAD = 0.1  # seconds between two tenants that are looked at when the server starts
OPEN_AGAIN = 60.0  # seconds after which a tenant with jobs is looked at again, at the latest
ALL_AGAIN = 3600.0  # seconds after which any tenant is: another process may have added jobs


class Workers:
    """Threads that work off the queues of tenants: those who were rung for first.

    What was waiting when the server stopped goes on when it starts again; what was running does
    when its lease has run out.
    """

    def __init__(self, service: Service, count: int = 1) -> None:
        self._service = service
        self._stop = Event()
        # when each tenant is to be looked at, the earliest first
        self._due: list[tuple[float, str]] = []
        self._changed = Condition()
        self._threads = [
            Thread(target=self._run, name=f"remloom-worker-{number}", daemon=True)
            for number in range(count)
        ]

    def start(self) -> None:
        """Begin, with all tenants of the home."""
        if not self._threads:
            return
        settings = self._service.settings
        try:
            tenants = Home(settings.home, key=settings.key or None).tenants()
        except (RemloomError, OSError):
            # told by /health/ready; who adds a job rings
            tenants = []
        for number, tenant in enumerate(tenants):
            self.ring(tenant.name, after=number * SPREAD)
        for thread in self._threads:
            thread.start()

    def ring(self, tenant: str, *, after: float = 0.0) -> None:
        """Have the jobs of a tenant looked at, some seconds from now."""
        with self._changed:
            heapq.heappush(self._due, (time.monotonic() + after, tenant))
            self._changed.notify()

    def close(self, seconds: float = 10.0) -> None:
        """Begin no further job, and wait for those that are being done, at most so long."""
        self._stop.set()
        with self._changed:
            self._changed.notify_all()
        end = time.monotonic() + seconds
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, end - time.monotonic()))

    def _run(self) -> None:
        while (tenant := self._next()) is not None:
            try:
                with self._service.tenants.opened(tenant) as memory:
                    memory.jobs.work(until_idle=True, stop=self._stop)
                    again = _next_look(memory)
            except RemloomError as error:
                # deleted, locked or damaged: a caller who asks for it sees why
                _log.warning("the jobs of a tenant wait: %s", type(error).__name__)
                again = ALL_AGAIN
            except Exception:
                _log.exception("the jobs of a tenant wait")
                again = ALL_AGAIN
            self.ring(tenant, after=again)

    def _next(self) -> str | None:
        """Wait for a tenant that is due; None when the server stops."""
        with self._changed:
            while not self._stop.is_set():
                now = time.monotonic()
                if self._due and self._due[0][0] <= now:
                    tenant = heapq.heappop(self._due)[1]
                    # once is enough, however often it was rung for
                    self._due = [one for one in self._due if one[1] != tenant]
                    heapq.heapify(self._due)
                    return tenant
                self._changed.wait(self._due[0][0] - now if self._due else None)
        return None


def _next_look(memory: Memory) -> float:
    """Give the seconds after which the next job of a memory is due."""
    waiting = [*memory.jobs.list("waiting"), *memory.jobs.list("running")]
    if not waiting:
        return ALL_AGAIN
    due = min((job.lease_until or job.not_before) for job in waiting)
    return min(OPEN_AGAIN, max(0.5, (due - datetime.now(UTC)).total_seconds()))
