"""Homes and the tenants in them: making, listing, moving, destroying."""

from __future__ import annotations

import os

import msgspec

from ..model import Copied, TenantInfo
from ..settings import Settings
from ..store.places import place
from .checks import Progress

__all__ = ["Tenants"]


class Tenants:
    """What needs no opened memory."""

    @staticmethod
    def migrate(home: str | os.PathLike[str] | None = None, *, citus: bool = False) -> tuple[int, int]:
        """Bring a PostgreSQL database to the schema this version knows; returns the version it had, and the one it has.

        `open` does so too, unless `create` is False. With `citus` its tables are distributed by tenant.

        Raises:
            InvalidInputError: the home is a folder.
            SchemaVersionError: a newer Remloom made the schema.
            StoreError: an extension is missing, or the user may not do this.
        """
        return place(_settings(home)).migrate(citus=citus)

    @staticmethod
    def copy(
        source: str | os.PathLike[str],
        target: str | os.PathLike[str],
        *,
        tenant: str | None = None,
        to_tenant: str | None = None,
        key: str | None = None,
        to_key: str | None = None,
        plain: bool = False,
        progress: Progress | None = None,
    ) -> Copied:
        """Copy a tenant from one home into another, a folder or a database either, and verify it by checksums.

        A copy that was broken off goes on when it is called again. Nobody should write to either meanwhile.

        Args:
            to_tenant: its name there; default the same.
            key, to_key: master keys of folders; `to_key` defaults to `key`.
            plain: the copy of an encrypted tenant may be unencrypted.
            progress: told (done, all) of records and edges.

        Raises:
            ConflictError: the target has memories of its own.
            StoreError: source and target differ afterwards; the source was written to meanwhile.
        """
        from ..store.copying import copy_tenant

        one = Settings.load(home=os.fspath(source), tenant=tenant, key=key)
        given = {"home": os.fspath(target), "tenant": to_tenant, "key": to_key}
        other = msgspec.structs.replace(one, **{k: v for k, v in given.items() if v is not None})
        return copy_tenant(one, other, plain=plain, progress=progress)

    @staticmethod
    def tenants(home: str | os.PathLike[str] | None = None) -> list[TenantInfo]:
        """The tenants of a home, by name."""
        return place(_settings(home)).tenants()

    @staticmethod
    def create_tenant(home: str | os.PathLike[str] | None, name: str, key: str | None = None) -> None:
        """Make a tenant, encrypted when there is a key (default the setting `key`).

        Raises:
            ConflictError: it is there already.
        """
        settings = _settings(home, key)
        place(settings).create(name, settings.key)

    @staticmethod
    def delete_tenant(home: str | os.PathLike[str] | None, name: str) -> None:
        """Destroy a tenant: first its key, then its folder.

        Raises:
            TenantNotFoundError: there is no such tenant.
        """
        place(_settings(home)).delete(name)


def _settings(home: str | os.PathLike[str] | None, key: str | None = None) -> Settings:
    return Settings.load(home=None if home is None else os.fspath(home), key=key)
