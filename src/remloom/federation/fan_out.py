"""Asking each tenant that granted something, at the same time, and noting it there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ..engine.queries import parse_condition
from ..errors import (
    BusyError,
    EmbedderError,
    EmbedderMismatchError,
    EmbedderTimeoutError,
    RemloomError,
    StoreBusyError,
    StoreClosedError,
    StoreError,
    TenantNotFoundError,
    VectorError,
    WrongKeyError,
)
from ..model import Hit
from ..predicates import All, Or, Predicate
from ..store.contract import Store
from ..store.tenants.backends import backend_for
from ..tenancy.audit import AuditEntry, AuditLog
from ..tenancy.grants import Grant, Grants, Use, stored_grants
from .answer import ReceivedGrant
from .granted import GrantedStore
from .query_vectors import NotYet

if TYPE_CHECKING:
    from ..settings import Settings

_THREADS = 8  # tenants that are asked at the same time
_MOST_RECORDS = 50  # ids of one entry of an audit log


class TenantAnswer(Struct, frozen=True, kw_only=True):
    """What one tenant answers."""

    hits: Sequence[Hit] = ()
    suggestions: Sequence[Hit] = ()
    missing: tuple[str, ...] = ()
    reason: str = ""
    note: str = ""


# gives the store of a tenant, open as long as it is used; any thread may call it
OpenStore = Callable[[str], AbstractContextManager[Store]]
# what is asked of a tenant: of what it granted, and (to know its vectors) of its store
Work = Callable[[GrantedStore, Store], TenantAnswer]


class TenantAnswers(Struct, frozen=True, kw_only=True):
    """Who answered what, and who did not, and why; by tenant."""

    answers: dict[str, TenantAnswer] = {}
    unanswered: dict[str, str] = {}
    reason: str = ""  # why nobody was asked


class _Refused(Exception):
    """A tenant may not be asked this; the text says why."""


class Grantors:
    """The stores of those who granted something: each opened when it is first asked, and kept."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stores: dict[str, Store] = {}
        self._turns: dict[str, Lock] = {}  # of who opens a tenant
        self._is_closed = False
        self._lock = Lock()  # guards all of these

    @contextmanager
    def opened(self, tenant: str) -> Iterator[Store]:
        """Give the store of a tenant.

        Raises:
            TenantNotFoundError: there is no such tenant.
            StoreError: it cannot be opened, or this was closed.
        """
        store = self._store(tenant)
        try:
            yield store
        except StoreClosedError:
            # it was deleted, and the next caller finds what stands there now
            with self._lock:
                if self._stores.get(tenant) is store:
                    del self._stores[tenant]
            store.close()
            raise

    def close(self) -> None:
        """Close them all."""
        with self._lock:
            self._is_closed = True
            stores = list(self._stores.values())
            self._stores.clear()
        with ExitStack() as closing:
            for store in stores:
                closing.callback(store.close)

    def _store(self, tenant: str) -> Store:
        with self._lock:
            turn = self._turns.setdefault(tenant, Lock())
        # one that is slow to open holds up nobody who asks another
        with turn:
            with self._lock:
                self._check_open()
                if tenant in self._stores:
                    return self._stores[tenant]
            settings = replace(self._settings, tenant=tenant)
            store = backend_for(settings).open(settings, create=False)
            with ExitStack() as closing:
                closing.callback(store.close)
                with self._lock:
                    # one that was opened meanwhile, nobody would close
                    self._check_open()
                    self._stores[tenant] = store
                closing.pop_all()
            return store

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreClosedError("the federation is closed", remedy="open it again")


class FanOut:
    """Asks as one tenant, of those that granted it something; the others are not named.

    Args:
        only: tenants to ask; None: all.
    """

    def __init__(
        self, tenant: str, grants: Grants, opening: OpenStore, only: Sequence[str] | None
    ) -> None:
        self._tenant = tenant
        self._grants = grants
        self._opening = opening
        self._only = only
        self._threads: ThreadPoolExecutor | None = None
        self._is_closed = False
        self._lock = Lock()

    def close(self) -> None:
        """Wait for what is being asked, and release the threads."""
        with self._lock:
            threads, self._threads = self._threads, None
            self._is_closed = True
        if threads is not None:
            threads.shutdown()

    def ask(self, use: Use, operation: str, work: Work) -> TenantAnswers:
        """Do some work with what each tenant granted; each use is in that tenant's audit log.

        Raises:
            InvalidInputError, ForbiddenError: whatever is wrong with what is asked.
            StoreClosedError: this was closed.
        """
        received = self._received()
        without = [tenant for tenant in self._only or () if tenant not in received]
        unanswered = {tenant: self._nothing_granted(tenant) for tenant in without}

        def ask_one(tenant: str) -> TenantAnswer | str:
            try:
                return self._ask_one(tenant, received[tenant], use, operation, work)
            except _Refused as refusal:
                return str(refusal)
            except (BusyError, StoreError, EmbedderError, TenantNotFoundError) as error:
                return _reason(error)
            except VectorError:
                # that of the question is one: it was looked at before anybody was asked
                return "its vectors have other dimensions than the question's"

        answers: dict[str, TenantAnswer] = {}
        for tenant, outcome in self._each(sorted(received), ask_one).items():
            if isinstance(outcome, TenantAnswer):
                answers[tenant] = outcome
            elif outcome:
                unanswered[tenant] = outcome
        return TenantAnswers(
            answers=answers,
            unanswered=unanswered,
            reason="" if answers or unanswered else f"nobody has granted {self._tenant!r} anything",
        )

    def received(self) -> list[ReceivedGrant]:
        """List the grants that are in force, as the one who received them sees them."""
        listed: list[ReceivedGrant] = []
        for tenant, ids in sorted(self._received().items()):
            try:
                with self._opening(tenant) as store:
                    grants = self._in_force(store, tenant, ids)
            except StoreError as error:
                listed.append(ReceivedGrant(tenant=tenant, unreadable=_reason(error)))
                continue
            except TenantNotFoundError:
                continue
            listed += [
                ReceivedGrant(
                    id=one.id, tenant=tenant, may=one.may, schemas=one.schemas, until=one.until
                )
                for one in grants
            ]
        return listed

    def _received(self) -> Mapping[str, set[str]]:
        self._check_open()
        received = self._grants.received(self._tenant)
        if self._only is None:
            return received
        return {tenant: ids for tenant, ids in received.items() if tenant in self._only}

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreClosedError("the federation is closed", remedy="open it again")

    def _each(
        self, tenants: Sequence[str], ask_one: Callable[[str], TenantAnswer | str]
    ) -> dict[str, TenantAnswer | str]:
        if len(tenants) < 2:
            return {tenant: ask_one(tenant) for tenant in tenants}
        with self._lock:
            self._check_open()
            if self._threads is None:
                self._threads = ThreadPoolExecutor(_THREADS, "remloom-federation")
            futures: dict[str, Future[TenantAnswer | str]] = {
                tenant: self._threads.submit(ask_one, tenant) for tenant in tenants
            }
        return {tenant: future.result() for tenant, future in futures.items()}

    def _ask_one(
        self, tenant: str, ids: set[str], use: Use, operation: str, work: Work
    ) -> TenantAnswer:
        started = time.perf_counter()
        with self._opening(tenant) as store:
            found: TenantAnswer | RemloomError | None = None
            while found is None:
                try:
                    found = self._work(store, tenant, ids, use, work)
                except NotYet as answer:
                    answer.wait()
                except RemloomError as error:
                    found = error
            # before anything is given out: what cannot be noted is not answered
            self._note(store, operation, found, started)
        if isinstance(found, RemloomError):
            raise found
        return found

    def _work(self, store: Store, tenant: str, ids: set[str], use: Use, work: Work) -> TenantAnswer:
        # what was granted and what is found are of one state
        with store.snapshot():
            grants = self._in_force(store, tenant, ids)
            if not grants:
                raise _Refused(self._nothing_granted(tenant))
            usable = [grant for grant in grants if use in grant.may]
            if not usable:
                raise _Refused(f"its grants to {self._tenant!r} are not for {use}")
            return work(GrantedStore(store, _conditions(usable)), store)

    def _nothing_granted(self, tenant: str) -> str:
        """What is said of a tenant whose grants have ended: nothing, unless it was asked for."""
        named = self._only is not None and tenant in self._only
        return f"it has granted {self._tenant!r} nothing" if named else ""

    def _in_force(self, store: Store, tenant: str, ids: set[str]) -> list[Grant]:
        now = datetime.now(UTC)
        grants = stored_grants(store.kv, tenant, self._tenant)
        return [grant for grant in grants if grant.id in ids and grant.holds_at(now)]

    def _note(
        self, store: Store, operation: str, found: TenantAnswer | RemloomError, started: float
    ) -> None:
        records: list[str] = []
        outcome = "done"
        if isinstance(found, TenantAnswer):
            records = [hit.id for hit in (*found.hits, *found.suggestions)]
        else:
            outcome = type(found).__name__
        entry = AuditEntry(
            at=datetime.now(UTC),
            key_id=f"tenant:{self._tenant}",
            operation=operation,
            records=tuple(dict.fromkeys(records[:_MOST_RECORDS])),
            outcome=outcome,
            ms=round((time.perf_counter() - started) * 1000, 2),
        )
        AuditLog(store.kv).add([entry])


def _conditions(grants: Sequence[Grant]) -> dict[str, Predicate]:
    """Join grants to one condition for each schema: a record of any of them may be found."""
    by_schema: dict[str, list[str]] = {}
    for grant in grants:
        for schema in grant.schemas:
            by_schema.setdefault(schema, []).append(grant.where)
    return {
        schema: Or(tuple(map(_parsed, wheres))) if all(wheres) else All()
        for schema, wheres in by_schema.items()
    }


@lru_cache(1_024)
def _parsed(where: str) -> Predicate:
    return parse_condition(where) or All()


def _reason(error: RemloomError) -> str:
    """Why a tenant did not answer, without a word of what it holds or where."""
    match error:
        case TenantNotFoundError():
            return ""
        case WrongKeyError():
            return "its key does not open it"
        case StoreBusyError() | BusyError():
            return "it is busy"
        case EmbedderMismatchError():
            return "its vectors were made by another embedder"
        case EmbedderTimeoutError():
            return "the embedder takes too long"
        case EmbedderError():
            return "the embedder does not work"
    return f"it cannot be read ({type(error).__name__})"
