"""A home, and the tenants in it: making, listing, moving, destroying them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime

import msgspec

from ..engine.arguments import Progress, check_aware
from ..engine.briefs import discard_briefs
from ..model import Copied, Migrated, TenantInfo
from ..predicates import Predicate
from ..settings import Settings
from ..store.tenants.backends import backend_for
from ..store.tenants.encryption import new_key
from ..tenancy.api_keys import ApiKeys
from ..tenancy.grants import USES, Grant, Grants, Use


class Home:
    """Where tenants are kept: a folder, or a PostgreSQL database. None of them needs to be open.

    Args:
        home_or_url: the folder, or `postgresql://…`; default the setting `home`.
        key: the master key of encrypted tenants in a folder; default the setting `key`.

    >>> Home(home).create("acme")
    >>> [tenant.name for tenant in Home(home).tenants()]
    ['acme']
    """

    def __init__(
        self, home_or_url: str | os.PathLike[str] | None = None, *, key: str | None = None
    ) -> None:
        self._url = None if home_or_url is None else os.fspath(home_or_url)
        self._key = key

    def __repr__(self) -> str:
        return f"<Home {self._settings().shown_home!r}>"

    def _settings(self, tenant: str | None = None) -> Settings:
        return Settings.load(home=self._url, tenant=tenant, key=self._key)

    def tenants(self) -> list[TenantInfo]:
        """List the tenants, by name."""
        return backend_for(self._settings()).tenants()

    def create(self, tenant: str) -> None:
        """Make a tenant, encrypted when there is a key.

        Raises:
            ConflictError: it is there already.
            SettingsError: the key could be guessed.
        """
        settings = self._settings()
        backend_for(settings).create(tenant, settings.key)

    def delete(self, tenant: str) -> None:
        """Destroy a tenant: its API keys, its grants, its name, its key, then its folder.

        A caller that has it open gets StoreClosedError. A deletion that is killed is finished by
        the next who opens or lists a tenant of this home.

        Raises:
            TenantNotFoundError: there is no such tenant.
            StoreError: its folder is a link to elsewhere, where nothing is touched.
        """
        settings = self._settings()
        # first: a tenant of this name that is made later is another
        with ApiKeys(settings) as keys:
            keys.revoke_all(tenant)
        with Grants(settings) as grants:
            grants.revoke_all(tenant)
        backend_for(settings).delete(tenant)
        discard_briefs(settings.home)

    def adopt(self, tenant: str) -> None:
        """Make what stands in the folder of this name the tenant of this name.

        For a folder that was copied, renamed, or restored from a backup under another name: until
        then it is refused, as nothing says that it was meant. An encrypted one needs its master
        key, and keeps its data key.

        Raises:
            TenantNotFoundError: there is no such folder.
            WrongKeyError: the key is another.
            InvalidInputError: the home is a PostgreSQL database.
        """
        settings = self._settings()
        backend_for(settings).adopt(tenant, settings.key)

    def repair(self, tenant: str) -> list[str]:
        """Go on with what is whole of a tenant that has lost acknowledged writes.

        `Memory.open` refuses such a tenant. The damaged log is kept beside the database. Pages of
        the database that are damaged stay so: for them there is the last backup.

        Returns: what was wrong and what was done, a line each.

        Raises:
            TenantNotFoundError: there is no such tenant.
            WrongKeyError: the key does not open it.
            CorruptStoreError: the database itself is damaged.
            InvalidInputError: the home is a PostgreSQL database.
        """
        settings = self._settings()
        return backend_for(settings).repair(tenant, settings.key)

    def migrate(self, *, citus: bool = False) -> Migrated:
        """Bring a PostgreSQL database to the schema this version knows.

        `Memory.open` does so too, unless `create` is False.

        Args:
            citus: distribute its tables over the cluster, by tenant.

        Raises:
            InvalidInputError: the home is a folder.
            SchemaVersionError: a newer Remloom made the schema.
            StoreError: an extension is missing, or the user may not do this.
        """
        return backend_for(self._settings()).migrate(citus=citus)

    def copy(
        self,
        target: str | os.PathLike[str],
        *,
        tenant: str | None = None,
        to_tenant: str | None = None,
        to_key: str | None = None,
        plain: bool = False,
        progress: Progress | None = None,
    ) -> Copied:
        """Copy a tenant into another home, a folder or a database either, and verify it.

        A copy that was broken off goes on when it is called again. Nobody should write to either
        meanwhile.

        Args:
            target: the other home.
            tenant: default the setting `tenant`.
            to_tenant: its name there; default the same.
            to_key: the master key there; default that of this home.
            plain: the copy of an encrypted tenant may be unencrypted.
            progress: called as `progress(done, total)`, of records and edges.

        Raises:
            ConflictError: the target has memories of its own.
            StoreError: source and target differ afterwards; the source was written to meanwhile.
        """
        from ..store.copy import copy_tenant

        # what is not given of the copy is as it is of the source
        source = self._settings(tenant)
        changes = {"home": os.fspath(target)}
        if to_tenant is not None:
            changes["tenant"] = to_tenant
        if to_key is not None:
            changes["key"] = to_key
        return copy_tenant(
            source, msgspec.structs.replace(source, **changes), plain=plain, progress=progress
        )

    def grant(
        self,
        tenant: str,
        *,
        to: str,
        may: Sequence[Use] = USES,
        schemas: Sequence[str] = ("resources",),
        where: Predicate | str | None = None,
        until: datetime | str | None = None,
    ) -> Grant:
        """Let one tenant find what another remembers, by `Federation`. See docs/federation.md.

        Several grants to one tenant add up. What is outside of them is neither shown nor counted.

        Args:
            tenant: that gives it.
            to: the tenant that may ask.
            may: how it may ask: lookup, search, recall.
            schemas: whose records it may find.
            where: only records for which this holds.
            until: a time, or how long: "12h", "30d", "4w"; default until it is revoked.

        Raises:
            TenantNotFoundError: one of the two does not exist.
            UnknownNameError: a use, a schema, or a field of a schema, that does not exist.
            InvalidInputError: it would be of no use.
            WrongKeyError: the key does not open the tenant that gives it.
        """
        if isinstance(until, datetime):
            check_aware(until)
            until = until.isoformat()
        with Grants(self._settings()) as grants:
            return grants.add(
                to, tenant=tenant, may=may, schemas=schemas, where=where, until=until or ""
            )

    def grants(self, tenant: str = "", *, to: str = "") -> list[Grant]:
        """List the grants that were not revoked, newest first; those that have ended too.

        Args:
            tenant: that gave them; default every one.
            to: the tenant that received them; default every one.
        """
        with Grants(self._settings()) as grants:
            return grants.list(tenant, to=to)

    def revoke(self, tenant: str, *, to: str, id: str = "") -> int:
        """End what a tenant granted another, from the next question on; returns how many grants.

        Args:
            id: of one grant; default all to that tenant.

        Raises:
            NotFoundError: there is none.
        """
        with Grants(self._settings()) as grants:
            return grants.revoke(to, tenant=tenant, id=id)

    @staticmethod
    def new_key(file: str | os.PathLike[str] | None = None) -> str:
        """Make a master key, 64 hex digits; write it into a new, private file if one is given.

        Raises:
            ConflictError: the file is there already.
            ReadOnlyStoreError: it cannot be written.
        """
        return new_key(file)
