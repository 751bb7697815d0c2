"""Where memories are kept: a folder or a PostgreSQL database. What differs between them is here,
and not above."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from ...errors import InvalidInputError, MissingExtraError, StoreBusyError, StoreError
from ...model import Migrated, TenantInfo
from ...settings import Settings
from ..contract import Store
from .folders import translate_errors
from .home import HIDDEN, OWN, HomeFolder, backup, tenant_name

if TYPE_CHECKING:
    from ..postgres.tenants import PostgresTenants

_TRIES = 20  # to open a tenant that others delete
_OWN_CACHE = 4  # MB: what a home keeps about itself is small


class Backend(Protocol):
    """Where tenants are stored."""

    def open(self, settings: Settings, *, create: bool) -> Store:
        """The store of the tenant that the settings name, made if it is not there and `create`."""

    def open_own(self, settings: Settings, *, create: bool) -> Store:
        """The store of what the home keeps about itself: a tenant that nobody can name, made if it
        is not there and `create`. Raises TenantNotFoundError."""

    def migrate(self, *, citus: bool) -> Migrated:
        """Bring it to the schema this version knows, and distribute it if `citus`."""

    def tenants(self) -> list[TenantInfo]:
        """Every tenant, by name."""

    def create(self, tenant: str, key: str) -> None:
        """Make a tenant. Raises ConflictError when it is there already."""

    def adopt(self, tenant: str, key: str) -> None:
        """Give what stands under a tenant's name that name. Raises TenantNotFoundError when nothing
        does."""

    def repair(self, tenant: str, key: str) -> list[str]:
        """Go on with what is whole of a tenant that lost writes; returns a line for each step."""

    def delete(self, tenant: str) -> None:
        """Destroy a tenant. Raises TenantNotFoundError when it is not there."""

    def unfinished(self) -> list[str]:
        """What is left of deleted tenants although it should be gone; a line each."""

    def backup(self, store: Store, tenant: str, target: Path) -> None:
        """Copy a tenant that is open into a new folder."""


def backend_for(settings: Settings) -> Backend:
    """Return where the setting `home` says that memories are. Raises InvalidInputError: a URL of
    something else than PostgreSQL; MissingExtraError: PostgreSQL, without the extra."""
    scheme, found, _ = settings.home.partition("://")
    if not found:
        return _Folder(settings.home)
    if scheme not in ("postgresql", "postgres"):
        raise InvalidInputError(
            f"memories are kept in folders and in PostgreSQL, and {scheme}:// is neither",
            remedy="give a folder, or postgresql://user:password@host/database",
        )
    return _Database(settings)


class _Folder:
    def __init__(self, folder: str, *below: str) -> None:
        self._folder = folder
        self._home = HomeFolder(folder, *below)

    @translate_errors("the tenant cannot be opened")
    def open(self, settings: Settings, *, create: bool) -> Store:
        from ..sqlite import SqliteStore

        tenant, tries = settings.tenant, _TRIES
        checked: tuple[int, ...] | None = None
        while True:
            folder = self._home.identity(tenant)
            try:
                data_key = self._home.open(tenant, settings.key, create=create)
                if self._home.identity(tenant) != folder:
                    continue  # it was made just now
                store = SqliteStore(
                    self._home.path(tenant),
                    data_key,
                    create=False,
                    synchronous=settings.synchronous,
                    cache_mb=settings.cache_mb,
                    busy_timeout=settings.busy_timeout,
                    hnsw=_hnsw(settings),
                )
            except StoreError as error:
                now = self._home.identity(tenant)
                if now == folder and now is not None:
                    if checked == now or isinstance(error, StoreBusyError):
                        raise
                    # what is wrong is wrong at a second look, too
                    checked = now
                elif now is None:
                    if not tries:
                        raise
                    # made by us, and deleted by another; or it could not be made
                    tries -= 1
                # it was deleted meanwhile, and perhaps made again
                continue
            if self._home.identity(tenant) == folder:
                return store
            store.close()

    def open_own(self, settings: Settings, *, create: bool) -> Store:
        # in a folder of its own, where no tenant can be
        return _Folder(self._folder, OWN).open(
            replace(settings, tenant=OWN, cache_mb=_OWN_CACHE), create=create
        )

    def migrate(self, *, citus: bool) -> Migrated:
        raise InvalidInputError(
            "memories in a folder are brought up to date when they are opened",
            remedy="migrate a postgresql:// URL",
        )

    @translate_errors("the tenants cannot be listed")
    def tenants(self) -> list[TenantInfo]:
        return self._home.tenants()

    @translate_errors("the tenant cannot be made")
    def create(self, tenant: str, key: str) -> None:
        self._home.create(tenant, key)

    @translate_errors("the tenant cannot be adopted")
    def adopt(self, tenant: str, key: str) -> None:
        self._home.adopt(tenant, key)

    @translate_errors("the tenant cannot be repaired")
    def repair(self, tenant: str, key: str) -> list[str]:
        from ..sqlite.admin import repair

        return repair(self._home.path(tenant), self._home.open(tenant, key, create=False))

    @translate_errors("the tenant cannot be deleted")
    def delete(self, tenant: str) -> None:
        self._home.delete(tenant)

    def unfinished(self) -> list[str]:
        return [
            f"{path} is left of a deleted tenant, and cannot be removed"
            for path in self._home.unfinished()
        ]

    def backup(self, store: Store, tenant: str, target: Path) -> None:
        backup(store, self._home.path(tenant).parent, target)


class _Database:
    def __init__(self, settings: Settings) -> None:
        try:
            import psycopg  # noqa: F401
            import psycopg_pool  # noqa: F401
        except ImportError:
            raise MissingExtraError("a memory in PostgreSQL", "postgres") from None
        if settings.key:
            raise InvalidInputError(
                "Remloom does not encrypt what it keeps in PostgreSQL, and a key was given",
                remedy="unset REMLOOM_KEY; let the server encrypt its disks, and connect by TLS "
                "(sslmode=verify-full)",
            )
        self._settings = settings

    def open(self, settings: Settings, *, create: bool) -> Store:
        tenant_name(settings.tenant)
        return self._open(settings, settings.tenant, create=create)

    def open_own(self, settings: Settings, *, create: bool) -> Store:
        return self._open(settings, HIDDEN, create=create)

    def _open(self, settings: Settings, tenant: str, *, create: bool) -> Store:
        from ..postgres import PostgresStore

        return PostgresStore(
            settings.home,
            tenant,
            create=create,
            pool_size=settings.pool_size,
            timeout=settings.busy_timeout,
            hnsw=_hnsw(settings),
        )

    def migrate(self, *, citus: bool) -> Migrated:
        from ..postgres import migrate

        return migrate(self._settings.home, self._settings.busy_timeout, citus=citus)

    def _tenants(self, *, migrate: bool = False) -> AbstractContextManager[PostgresTenants]:
        from ..postgres import tenants

        return tenants(self._settings.home, self._settings.busy_timeout, migrate=migrate)

    def tenants(self) -> list[TenantInfo]:
        with self._tenants() as found:
            return found.list()

    def create(self, tenant: str, key: str) -> None:
        with self._tenants(migrate=True) as found:
            found.create(tenant)

    def adopt(self, tenant: str, key: str) -> None:
        raise InvalidInputError(
            "a tenant in PostgreSQL has its name in every row",
            remedy="copy it under another: remloom copy --as NAME",
        )

    def repair(self, tenant: str, key: str) -> list[str]:
        raise InvalidInputError(
            "PostgreSQL repairs its own log", remedy="see the server's log, or restore a backup"
        )

    def unfinished(self) -> list[str]:
        return []  # a deletion is one transaction

    def delete(self, tenant: str) -> None:
        with self._tenants() as found:
            found.delete(tenant)

    def backup(self, store: Store, tenant: str, target: Path) -> None:
        store.admin.backup(str(target))


def _hnsw(settings: Settings) -> dict[str, int]:
    return {
        "m": settings.hnsw_m,
        "ef_construction": settings.hnsw_ef_construction,
        "ef": settings.hnsw_ef,
    }
