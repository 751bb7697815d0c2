"""The memories that a server has open."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Lock
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ..errors import BusyError, RemloomError, StoreClosedError
from ..memory.memory import Memory
from ..settings import Settings

if TYPE_CHECKING:
    from ..llm import Model

__all__ = ["Tenants"]

IDLE = 600.0  # seconds after which a memory that nobody used is closed
CACHES = 4  # times `cache_mb` for all memories together
LEAST_CACHE = 8  # MB of one
PATIENCE = 30.0  # seconds to wait for a place, when as many as may be are open and in use


class _Open:
    """A memory that is open, or being opened, and who uses it."""

    def __init__(self) -> None:
        self.memory: Memory | None = None
        self.users = 0
        self.used_at = time.monotonic()
        self.opening = Lock()  # held by the one that opens it


class Tenants:
    """Opens a tenant's memory when it is first needed, and keeps it open while there is room.

    At most `serve_open_tenants` are open: the one that was used longest ago makes room for another,
    but never one that is in use. All share one embedder and one language model. A tenant that does
    not exist is not made: reading creates nothing.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        # the ones used longest ago first
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._changed = Condition()
        self._shared = _Shared(settings)

    @contextmanager
    def opened(self, tenant: str) -> Iterator[Memory]:
        """Give the memory of a tenant, which stays open at least as long as it is used here.

        Raises:
            TenantNotFoundError: there is no such tenant.
            StoreError: it cannot be opened: damaged, locked, another key.
            BusyError: as many tenants as may be open are in use.
        """
        entry = self._take(tenant)
        try:
            yield self._memory(entry, tenant)
        except StoreClosedError:
            # it was deleted, and whoever comes next finds what stands there now
            self._drop(tenant, entry)
            raise
        finally:
            self._give_back(tenant, entry)

    def open_memories(self) -> list[Memory]:
        """List the memories that are open now; none is opened."""
        with self._changed:
            return [entry.memory for entry in self._open.values() if entry.memory is not None]

    def close_idle(self) -> None:
        """Close those that nobody used for ten minutes."""
        before = time.monotonic() - IDLE
        with self._changed:
            names = [name for name, one in self._open.items() if one.used_at < before]
            idle = [self._open.pop(name) for name in names if not self._open[name].users]
        _close(idle)

    def close(self) -> None:
        """Close them all, after what is being done in them."""
        with self._changed:
            self._changed.wait_for(self._is_unused, PATIENCE)
            entries = list(self._open.values())
            self._open.clear()
        _close(entries)
        self._shared.close()

    def _take(self, tenant: str) -> _Open:
        """Reserve a tenant's place; another one's, which nobody uses, if none is left."""
        out: list[_Open] = []
        with self._changed:
            deadline = time.monotonic() + PATIENCE
            while tenant not in self._open and len(self._open) >= self._settings.serve_open_tenants:
                unused = next((name for name, one in self._open.items() if not one.users), None)
                if unused is not None:
                    out.append(self._open.pop(unused))
                elif not self._changed.wait(deadline - time.monotonic()):
                    raise BusyError(
                        f"all of the {len(self._open)} tenants that may be open are in use",
                        remedy="try again later; the setting serve_open_tenants is the limit",
                        retry_after=1,
                    )
            entry = self._open.setdefault(tenant, _Open())
            self._open.move_to_end(tenant)
            entry.users += 1
        _close(out)
        return entry

    def _memory(self, entry: _Open, tenant: str) -> Memory:
        """Open the memory of a place that is taken; several who need it open it once."""
        # without the lock where it is open: that is nearly always
        if entry.memory is None:
            with entry.opening:
                if entry.memory is None:
                    entry.memory = self._shared.open(tenant)
        return entry.memory

    def _give_back(self, tenant: str, entry: _Open) -> None:
        with self._changed:
            entry.users -= 1
            entry.used_at = time.monotonic()
            # what could not be opened takes no place
            if entry.memory is None and not entry.users and self._open.get(tenant) is entry:
                del self._open[tenant]
            self._changed.notify_all()

    def _drop(self, tenant: str, entry: _Open) -> None:
        with self._changed:
            if self._open.get(tenant) is entry:
                del self._open[tenant]

    def _is_unused(self) -> bool:
        return not any(entry.users for entry in self._open.values())


class _Shared:
    """What all open memories have in common: the embedder and the language model."""

    def __init__(self, settings: Settings) -> None:
        # what one memory may use of page cache is much for dozens
        cache = max(LEAST_CACHE, settings.cache_mb * CACHES // settings.serve_open_tenants)
        self._settings = replace(settings, cache_mb=min(settings.cache_mb, cache))
        self._lock = Lock()
        self._embedder: Any = None  # of the first memory; its model is loaded when it is first used
        self._model: Model | None = None
        self._is_tried = False

    def open(self, tenant: str) -> Memory:
        model = self._opened_model()
        memory = Memory.open(
            settings=replace(self._settings, tenant=tenant),
            create=False,
            embedder=self._embedder,
            llm=model,
        )
        with self._lock:
            if self._embedder is None:
                self._embedder = memory.admin.embedder or "none"
        return memory

    def close(self) -> None:
        if self._model is None:
            return
        from ..llm import event_loop
        from ..llm.contract import Closing

        if isinstance(self._model, Closing):
            event_loop.run(self._model.close)

    def _opened_model(self) -> Model | None:
        """The model, once it can be opened; else each memory says why not when it needs one."""
        with self._lock:
            if not self._is_tried and self._settings.llm_model:
                from ..llm import open_llm

                try:
                    self._model = open_llm(self._settings)
                except RemloomError:
                    self._model = None
            self._is_tried = True
            return self._model


def _close(entries: list[_Open]) -> None:
    for entry in entries:
        if entry.memory is not None:
            entry.memory.close()
