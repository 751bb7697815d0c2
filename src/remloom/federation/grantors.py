"""The stores of those who granted something: opened when they are first asked, and kept open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from ..errors import StoreClosedError
from ..store.tenants.backends import backend_for

if TYPE_CHECKING:
    from ..settings import Settings
    from ..store.contract import Store


class OpenStore(Protocol):
    """Gives the store of a tenant, open as long as it is used. Any thread may call it."""

    def __call__(self, tenant: str, /) -> AbstractContextManager[Store]: ...


class Grantors:
    """Opens the tenants of a home, each once."""

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
