"""The store of a home itself: its keys and grants are in it. It is made when the first one is."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Self

from ..errors import TenantNotFoundError
from ..store.tenants.backends import backend_for
from ..store.tenants.home import tenant_name

if TYPE_CHECKING:
    from ..settings import Settings
    from ..store.contract import Store


class HomeStore:
    """Opens the store when it is first needed. Any thread may use it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._store: Store | None = None
        self._lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the files."""
        with self._lock:
            store, self._store = self._store, None
        if store is not None:
            store.close()

    def _check_tenants(self, *tenants: str) -> None:
        names = {info.name for info in backend_for(self._settings).tenants()}
        for tenant in tenants:
            if tenant_name(tenant) not in names:
                raise TenantNotFoundError(
                    f"there is no tenant {tenant!r}",
                    remedy=f"make it with `remloom tenant create {tenant}`",
                    tenant=tenant,
                )

    def _found(self) -> Store | None:
        try:
            return self._opened(create=False)
        except TenantNotFoundError:
            return None

    def _opened(self, *, create: bool) -> Store:
        with self._lock:
            if self._store is None:
                self._store = backend_for(self._settings).open_own(self._settings, create=create)
            return self._store
