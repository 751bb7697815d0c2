"""The service behind every door: it checks who calls, opens their memory, and does the work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ..federation import Federation
from ..memory.home import Home
from ..memory.memory import Memory
from ..operations import Operation, Progress
from ..operations.table import admit_by_scope
from ..settings import Settings
from ..store.rules.admission import admitting
from ..telemetry import memory_span
from ..tenancy.api_keys import SCOPES, ApiKeys
from ..tenancy.audit import AuditEntry
from ..tenancy.grants import Grants
from .audited_call import AuditedCall, is_grave
from .caller import Caller
from .guard.authentication import Authentication
from .guard.oauth import open_tokens
from .metrics import ServerMetrics
from .pace import Pace
from .pool import Pool
from .tenants import Tenants

if TYPE_CHECKING:
    from ..store.contract import Store


AT_ONCE = 8  # calls that run at the same time, of all tenants together
WAITING = 1_000  # calls that wait for their turn at most
STREAMS = 4  # exports and backups that are sent at the same time
TURN = 0.02  # seconds for which a call that computes here lets no other begin; most end before
LONG = 6 * 3600.0  # seconds for a call that may take minutes
WAIT = 0.05  # seconds of a short call that has waited for something
HEAVY_RETRY = 10  # seconds after which a heavy call may try again


class Service:
    """Calls operations for callers who may. REST, MCP and the pages all go through it.

    Attributes:
        keys: the API keys of the home.
        metrics: what it counts.
        authentication: finds who calls.
    """

    def __init__(self, settings: Settings, tenants: Tenants | None = None) -> None:
        self.settings = settings
        self.tenants = tenants or Tenants(settings)
        self.metrics = ServerMetrics(self.tenants)
        self.keys = ApiKeys(settings)
        self._grants = Grants(settings)
        self._is_local = "://" not in settings.home
        self.authentication = Authentication(
            self.keys, open_tokens(settings), is_local=self._is_local
        )
        self._pace = Pace()
        self._places = Pool(
            AT_ONCE,
            waiting=WAITING,
            seconds=settings.serve_timeout,
            busy="calls wait for their turn",
            retry_after=1,
            # what asks a database server waits for that most of the time
            turn=TURN if self._is_local else 0.0,
        )
        self._heavy = _pool_of_long(max(1, settings.serve_heavy))
        # a client that reads slowly holds the place of its stream, and no other
        self._streams = _pool_of_long(STREAMS)

    async def call(
        self,
        caller: Caller,
        operation: Operation,
        values: Struct,
        progress: Progress | None = None,
        *,
        is_noted: bool = True,
    ) -> Any:
        """Do an operation in the caller's memory.

        A caller who goes away ends the waiting, not the work: a write that has begun is finished.

        Raises:
            ForbiddenError: the caller may not; nothing was opened.
            BusyError: too much is being done; nothing was begun.
            LimitError: too much of it for this key or tenant; nothing was begun.
            TimeLimitError: it takes longer than the setting `serve_timeout`.
            RemloomError: whatever the operation raises.
        """
        caller.check(operation, values)
        call = AuditedCall(caller, operation, values, progress, is_noted)
        with self.metrics.operation(operation.name):
            if self._is_local and self._pace.is_short(caller.tenant, operation, values):
                with self.tenants.opened_already(caller.tenant) as memory:
                    if memory is not None:
                        return self._do_at_once(memory, call)
            who = caller.tenant, caller.key_id
            # what writes waits for its disk: writes of several tenants go on at the same time
            reads = operation.hints.read_only
            pool = self._pool_of(operation)
            return await pool.run(operation.name, who, partial(self._do, call), has_turn=reads)

    def close(self) -> None:
        """Close every memory that is open."""
        # it waits for what is being done in them
        self.tenants.close()
        for pool in (self._places, self._heavy, self._streams):
            pool.close()
        self._grants.close()
        self.keys.close()

    def _pool_of(self, operation: Operation) -> Pool:
        if operation.carries == "out":
            return self._streams
        return self._heavy if operation.is_long or operation.carries else self._places

    def _do(self, call: AuditedCall) -> Any:
        tenant = call.caller.tenant
        if call.operation.needs in ("memory", "federation"):
            with (
                self.tenants.opened(tenant) as memory,
                self._opened_target(call.operation, tenant, memory) as target,
            ):
                # by its CPU: how long it waits for other threads says nothing of it
                began = time.thread_time()
                try:
                    return self._do_with(target, call)
                finally:
                    seconds = time.thread_time() - began
                    self._pace.note(tenant, call.operation, call.values, seconds)
        call.begun = time.perf_counter()
        try:
            value = self._do_of_home(call)
        except BaseException as error:
            self.keys.note(call.entry(error=error))
            raise
        self.keys.note(call.entry())
        return value

    def _do_at_once(self, memory: Memory, call: AuditedCall) -> Any:
        """Do what is short on the thread of the event loop: another one costs more than that."""
        began, began_cpu = time.perf_counter(), time.thread_time()
        try:
            return self._do_with(memory, call)
        finally:
            seconds = time.perf_counter() - began
            if seconds < WAIT:
                # nobody was waited for; what other processes took is not of the call
                seconds = time.thread_time() - began_cpu
            self._pace.note_at_once(call.caller.tenant, call.operation, call.values, seconds)

    def _do_with(self, target: Memory | Federation, call: AuditedCall) -> Any:
        operation, tenant = call.operation, call.caller.tenant
        call.begun = time.perf_counter()
        try:
            with memory_span(operation.method or operation.name, tenant) as span:
                value = _do_admitted(target, call)
                if span is not None:
                    span.returned(value)
        except BaseException as error:
            self._note(call.entry(error=error), operation, tenant)
            raise
        if call.is_noted:
            self._note(call.entry(value), operation, tenant)
        return value

    def _do_of_home(self, call: AuditedCall) -> Any:
        """Do what concerns the home, its keys or its grants, and no memory."""
        caller, does = call.caller, call.operation.does
        if call.operation.needs == "home":
            home = Home(self.settings.home, key=self.settings.key or None)
            return does(home, call.values, call.progress)
        if call.operation.needs == "grants":
            with Grants(self.settings, tenant=caller.tenant) as grants:
                return does(grants, call.values, call.progress)
        scopes = SCOPES if caller.of_home else caller.scopes
        # a key of all tenants that names one sees that one's
        with ApiKeys(self.settings, tenant=caller.tenant, scopes=scopes) as keys:
            return does(keys, call.values, call.progress)

    @contextmanager
    def _opened_target(
        self, operation: Operation, tenant: str, memory: Memory
    ) -> Iterator[Memory | Federation]:
        """Give what an operation asks: the caller's memory, or those that others let it ask."""
        if operation.needs == "memory":
            yield memory
            return
        with Federation(
            tenant,
            self._grants,
            self._opened_store,
            lambda _stored: memory.admin.embedder,
            token_encoder=lambda: memory.admin.token_encoder,
            seconds=self.settings.embedder_timeout or None,
            has_learned_order=self.settings.recall_order == "learned",
        ) as federation:
            yield federation

    @contextmanager
    def _opened_store(self, tenant: str) -> Iterator[Store]:
        with self.tenants.opened(tenant) as memory:
            yield memory.admin.store

    def _note(self, entry: AuditEntry, operation: Operation, tenant: str) -> None:
        self.tenants.note(tenant, entry, at_once=is_grave(operation))


def _do_admitted(target: Any, call: AuditedCall) -> Any:
    """Do an operation; what it carries beside needs the scope of doing that directly."""
    operation = call.operation
    if operation.hints.read_only:
        return operation.does(target, call.values, call.progress)
    with admitting(partial(admit_by_scope, partial(call.caller.require, operation))):
        return operation.does(target, call.values, call.progress)


def _pool_of_long(places: int) -> Pool:
    """Threads for what may take minutes, and does not wait."""
    return Pool(
        places,
        waiting=0,
        seconds=LONG,
        busy="calls that take long are being done",
        retry_after=HEAVY_RETRY,
    )
