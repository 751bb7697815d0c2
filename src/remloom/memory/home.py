"""Homes and the tenants in them: making, listing, moving, destroying."""

from __future__ import annotations

import os

import msgspec

from ..model import Copied, TenantInfo
from ..settings import Settings
from ..store.backends import place
from ..store.encryption import new_key
from .arguments import Progress

__all__ = ["Tenants"]


class Tenants:
    """What needs no opened memory."""

    @staticmethod
    def migrate(
        home: str | os.PathLike[str] | None = None, *, citus: bool = False
    ) -> tuple[int, int]:
        """Bring a PostgreSQL database to the schema this version knows; returns the version it had,
        and the one it has.

        `open` does so too, unless `create` is False. With `citus` its tables are distributed by
        tenant.

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
        """Copy a tenant from one home into another, a folder or a database either, and verify it by
        checksums.

        A copy that was broken off goes on when it is called again. Nobody should write to either
        meanwhile.

        Args:
            to_tenant: its name there; default the same.
            key, to_key: master keys of folders; `to_key` defaults to `key`.
            plain: the copy of an encrypted tenant may be unencrypted.
            progress: told (done, all) of records and edges.

        Raises:
            ConflictError: the target has memories of its own.
            StoreError: source and target differ afterwards; the source was written to meanwhile.
        """
        from ..store.copy import copy_tenant

        one = Settings.load(home=os.fspath(source), tenant=tenant, key=key)
        given = {"home": os.fspath(target), "tenant": to_tenant, "key": to_key}
        other = msgspec.structs.replace(one, **{k: v for k, v in given.items() if v is not None})
        return copy_tenant(one, other, plain=plain, progress=progress)

    @staticmethod
    def tenants(home: str | os.PathLike[str] | None = None) -> list[TenantInfo]:
        """The tenants of a home, by name."""
        return place(_settings(home)).tenants()

    @staticmethod
    def create_tenant(
        home: str | os.PathLike[str] | None, name: str, key: str | None = None
    ) -> None:
        """Make a tenant, encrypted when there is a key (default the setting `key`).

        Raises:
            ConflictError: it is there already.
            SettingsError: the key could be guessed.
        """
        settings = _settings(home, key)
        place(settings).create(name, settings.key)

    @staticmethod
    def new_key(file: str | os.PathLike[str] | None = None) -> str:
        """A fresh master key, 64 hex digits; written into a new file that only its owner may read,
        if one is given.

        Raises:
            ConflictError: the file is there already.
            ReadOnlyStoreError: it cannot be written.
        """
        return new_key(file)

    @staticmethod
    def adopt_tenant(
        home: str | os.PathLike[str] | None, name: str, key: str | None = None
    ) -> None:
        """Make what stands in the folder of this name the tenant of this name. For one that was
        copied, renamed, or restored from a backup as another: until then it is refused, as nothing
        says that it was meant.

        An encrypted one needs its master key (default the setting `key`), and keeps its data key.

        Raises:
            TenantNotFoundError: there is no such folder.
            WrongKeyError: the key is another.
            InvalidInputError: the home is a PostgreSQL database.
        """
        settings = _settings(home, key)
        place(settings).adopt(name, settings.key)

    @staticmethod
    def repair_tenant(
        home: str | os.PathLike[str] | None, name: str, key: str | None = None
    ) -> list[str]:
        """Go on with what is whole of a tenant that has lost acknowledged writes, which `open`
        refuses; returns what was found and done, a line each. The damaged log is kept beside the
        database.

        Pages of the database that are damaged stay so: for them there is the last backup.

        Raises:
            TenantNotFoundError: there is no such tenant.
            WrongKeyError: the key (default the setting `key`) does not open it.
            CorruptStoreError: the database itself is damaged.
            InvalidInputError: the home is a PostgreSQL database.
        """
        settings = _settings(home, key)
        return place(settings).repair(name, settings.key)

    @staticmethod
    def delete_tenant(home: str | os.PathLike[str] | None, name: str) -> None:
        """Destroy a tenant: its name, its key, then what is in its folder. Whoever has it open gets
        StoreClosedError.

        A deletion that is killed is finished by the next who opens or lists a tenant of this home.

        Raises:
            TenantNotFoundError: there is no such tenant.
            StoreError: its folder is a link to elsewhere, where nothing is touched.
        """
        place(_settings(home)).delete(name)


def _settings(home: str | os.PathLike[str] | None, key: str | None = None) -> Settings:
    return Settings.load(home=None if home is None else os.fspath(home), key=key)
