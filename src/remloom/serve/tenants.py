"""The memories that a server has open."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Event, Lock, Thread
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ..errors import BusyError, RemloomError, StoreClosedError, StoreError
from ..memory.memory import Memory
from ..settings import Settings
from ..tenancy.audit import AuditEntry, AuditLog

if TYPE_CHECKING:
    from ..llm import Model


TENDING = 1.0  # seconds between two looks at what is to be written or closed
PRUNING = 86_400.0  # seconds between two prunings of an audit log
MOST_PENDING = 10_000  # calls that wait for an audit log that cannot be written
IDLE = 600.0  # seconds after which a memory that nobody used is closed
CACHES = 4  # times `cache_mb` for all memories together
LEAST_CACHE = 8  # MB of one
PATIENCE = 30.0  # seconds to wait for a place, when as many as may be are open and in use

_log = logging.getLogger("remloom.serve")


class _Open:
    """A memory that is open, or being opened, who uses it, and what is to be noted of that."""

    def __init__(self) -> None:
        self.memory: Memory | None = None
        self.users = 0
        self.used_at = time.monotonic()
        self.opening = Lock()  # held by the one that opens it
        # calls that the audit log does not have yet
        self.pending: list[AuditEntry] = []
        self._writing = Lock()
        self._pruned_at = float("-inf")

    def write_audit(self, days: int) -> None:
        """Write what is pending, and once a day prune what is older than so many days."""
        if self.memory is None:
            return
        store = self.memory.admin.store
        with self._writing:
            entries = list(self.pending)
            try:
                if store.capabilities.writable:
                    AuditLog(store.kv).add(entries)
                    self._prune(AuditLog(store.kv), days)
            except StoreError:
                # they wait for better times; what was done is done, and is answered so
                _log.exception("the audit log of a tenant cannot be written")
                return
            # others only add to the end
            del self.pending[: len(entries)]

    def close(self, days: int) -> None:
        if self.memory is not None:
            self.write_audit(days)
            self.memory.close()

    def _prune(self, log: AuditLog, days: int) -> None:
        if time.monotonic() - self._pruned_at > PRUNING:
            self._pruned_at = time.monotonic()
            log.prune(days)


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
        self._ended = Event()
        self._tending: Thread | None = None

    @contextmanager
    def opened(self, tenant: str) -> Iterator[Memory]:
        """Give the memory of a tenant, which stays open at least as long as it is used here.

        Raises:
            TenantNotFoundError: there is no such tenant.
            StoreError: it cannot be opened: damaged, locked, another key.
            BusyError: as many tenants as may be open are in use.
        """
        entry = self._take(tenant)
        with self._used(entry, tenant):
            yield self._memory(entry, tenant)

    @contextmanager
    def opened_already(self, tenant: str) -> Iterator[Memory | None]:
        """Give the memory of a tenant as `opened` does, but None where that may have to wait."""
        with self._changed:
            entry = self._open.get(tenant)
            if entry is not None and entry.memory is not None:
                self._open.move_to_end(tenant)
                entry.users += 1
            else:
                entry = None
        if entry is None:
            yield None
            return
        with self._used(entry, tenant):
            yield entry.memory

    def open_memories(self) -> list[Memory]:
        """List the memories that are open now; none is opened."""
        with self._changed:
            return [entry.memory for entry in self._open.values() if entry.memory is not None]

    def note(self, tenant: str, entry: AuditEntry, *, at_once: bool) -> None:
        """Note a call of a tenant whose memory is in use: now, or within a second."""
        with self._changed:
            handle = self._open.get(tenant)
            # none: it was deleted just now, with its audit log
            if handle is not None:
                handle.pending.append(entry)
                del handle.pending[:-MOST_PENDING]
        if handle is not None and at_once:
            handle.write_audit(self._settings.serve_audit_days)

    def write_audit(self) -> None:
        with self._changed:
            waiting = [(name, one) for name, one in self._open.items() if one.pending]
            for _, handle in waiting:
                handle.users += 1
        for name, handle in waiting:
            handle.write_audit(self._settings.serve_audit_days)
            self._give_back(name, handle)

    def close_idle(self) -> None:
        """Close those that nobody used for ten minutes."""
        before = time.monotonic() - IDLE
        with self._changed:
            names = [name for name, one in self._open.items() if one.used_at < before]
            idle = [self._open.pop(name) for name in names if not self._open[name].users]
        self._close(idle)

    def close(self) -> None:
        """Close them all, after what is being done in them."""
        self._ended.set()
        if self._tending is not None:
            self._tending.join()
        with self._changed:
            self._changed.wait_for(self._is_unused, PATIENCE)
            entries = list(self._open.values())
            self._open.clear()
        self._close(entries)
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
            if self._tending is None:
                self._tending = Thread(target=self._tend, name="remloom-tenants", daemon=True)
                self._tending.start()
        self._close(out)
        return entry

    @contextmanager
    def _used(self, entry: _Open, tenant: str) -> Iterator[None]:
        try:
            yield
        except StoreClosedError:
            # it was deleted: the next caller opens what is there now
            self._drop(tenant, entry)
            raise
        finally:
            self._give_back(tenant, entry)

    def _memory(self, entry: _Open, tenant: str) -> Memory:
        """Open the memory of a place that is taken; several who need it open it once."""
        # without the lock where it is open: that is nearly always
        if entry.memory is None:
            with entry.opening:
                if entry.memory is None:
                    entry.memory = self._open_memory(tenant)
        return entry.memory

    def _open_memory(self, tenant: str) -> Memory:
        return self._shared.open(tenant)

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

    def _close(self, places: list[_Open]) -> None:
        for handle in places:
            handle.close(self._settings.serve_audit_days)

    def _tend(self) -> None:
        """Write audit logs, and close what nobody uses, until all is closed."""
        while not self._ended.wait(TENDING):
            self.write_audit()
            self.close_idle()

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
            # where none is asked for, each tenant keeps the one that made its vectors
            if self._embedder is None and self._settings.embedder:
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
