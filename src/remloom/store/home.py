"""The tenants of one home folder: a folder each, `<home>/tenants/<tenant>/memory.db`."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from pathlib import Path

import msgspec

from ..errors import (
    ConflictError,
    CorruptStoreError,
    InvalidInputError,
    ReadOnlyStoreError,
    StoreError,
    TenantNotFoundError,
)
from ..model import TenantInfo
from . import keys
from .contract import Store

__all__ = ["Home", "backup", "tenant_name"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


class Home:
    """A folder of tenants.

    Args:
        folder: where the tenants are; made when the first one is.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).expanduser()

    def path(self, tenant: str) -> Path:
        """The database file of a tenant.

        Raises:
            InvalidInputError: the name could leave the home or is no portable file name.
        """
        tenant_name(tenant)
        return self.folder / "tenants" / tenant / "memory.db"

    def tenants(self) -> list[TenantInfo]:
        """Every tenant, by name."""
        found = []
        root = self.folder / "tenants"
        for folder in sorted(root.iterdir()) if root.is_dir() else ():
            if not folder.is_dir():
                continue
            try:
                file = keys.read_tenant_file(folder)
            except CorruptStoreError:
                file = keys.TenantFile(tenant="")
            if file is None:
                continue
            size = sum(entry.stat().st_size for entry in folder.iterdir() if entry.is_file())
            found.append(
                TenantInfo(name=folder.name, encrypted=bool(file.wrapped_key), bytes=size, damaged=not file.tenant)
            )
        return found

    def exists(self, tenant: str) -> bool:
        return keys.tenant_file(self.path(tenant).parent).is_file()

    def create(self, tenant: str, master: str) -> None:
        """Make a tenant, encrypted when there is a master key.

        Raises:
            ConflictError: it is there already.
            ReadOnlyStoreError: the home cannot be written.
        """
        folder = self.path(tenant).parent
        file, _ = keys.wrap(master, tenant)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.exists(tenant):
                raise ConflictError(f"tenant {tenant!r} is there already", remedy="choose another name, or open it")
            self._refuse_bare(tenant)
            keys.write_tenant_file(folder, file)
        except OSError as error:
            raise ReadOnlyStoreError(
                f"cannot make tenant {tenant!r} in {self.folder}: {error.strerror}",
                remedy="choose a folder you may write, with REMLOOM_HOME or --home",
            ) from error

    def open(self, tenant: str, master: str, *, create: bool) -> str:
        """The data key (hex, or empty) of a tenant, made first when it is missing and `create`.

        Raises:
            TenantNotFoundError: it is missing and not to be created.
            WrongKeyError: see `keys.unwrap`.
            CorruptStoreError: its database was there once and is gone or empty.
            StoreError: its database is there, and what tells how to open it is gone.
        """
        file = keys.read_tenant_file(self.path(tenant).parent)
        if file is None:
            self._refuse_bare(tenant)
            if not create:
                raise self._missing(tenant)
            with suppress(ConflictError):  # another process made it just now
                self.create(tenant, master)
            file = keys.read_tenant_file(self.path(tenant).parent)
            if file is None:
                raise self._missing(tenant)
        database = self.path(tenant)
        if file.begun and not (database.exists() and database.stat().st_size):
            raise CorruptStoreError(
                f"{database} is {'empty' if database.exists() else 'gone'}",
                remedy="restore it from a backup, or delete the tenant to begin anew",
            )
        return keys.unwrap(file, master)

    def begin(self, tenant: str) -> None:
        """Note that a tenant's database was made, so that its loss is not taken for a new tenant."""
        folder = self.path(tenant).parent
        file = keys.read_tenant_file(folder)
        if file is not None and not file.begun:
            with suppress(OSError):  # no room: noted at the next opening
                keys.write_tenant_file(folder, msgspec.structs.replace(file, begun=True))

    def delete(self, tenant: str) -> None:
        """Destroy a tenant's key, then its folder. There is no way back.

        Raises:
            TenantNotFoundError: there is no such tenant.
        """
        folder = self.path(tenant).parent
        if not self.exists(tenant):
            raise self._missing(tenant)
        key_file = keys.tenant_file(folder)
        with key_file.open("r+b") as stream:
            stream.write(os.urandom(key_file.stat().st_size))
            stream.flush()
            os.fsync(stream.fileno())
        shutil.rmtree(folder)

    def _refuse_bare(self, tenant: str) -> None:
        """A database without its key is neither a tenant nor the place for a new one."""
        database = self.path(tenant)
        if database.exists():
            raise StoreError(
                f"{database.parent} holds a database but no tenant.json", remedy="restore tenant.json from a backup"
            )

    def _missing(self, tenant: str) -> TenantNotFoundError:
        import difflib

        names = [info.name for info in self.tenants()]
        nearest = difflib.get_close_matches(tenant, names, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(map(repr, nearest))}? " if nearest else ""
        return TenantNotFoundError(
            f"there is no tenant {tenant!r} in {self.folder}",
            remedy=f"{hint}`remloom read PATH` or `remloom tenant create {tenant}` makes it; --home looks elsewhere",
            tenant=tenant,
            home=str(self.folder),
            nearest=nearest,
        )


def tenant_name(tenant: str) -> str:
    """The name, if a tenant can have it: the same for every store, so that each can be copied into any.

    Raises:
        InvalidInputError: the name could leave the home or is no portable file name.
    """
    if not isinstance(tenant, str) or not _NAME.fullmatch(tenant) or _RESERVED.fullmatch(tenant):
        raise InvalidInputError(
            f"{tenant!r} is no tenant name",
            remedy="use 1-128 letters, digits and . _ @ + -, starting with a letter or digit",
        )
    return tenant


def backup(store: Store, folder: Path, target: Path) -> None:
    """Copy a tenant's database and wrapped key into a new folder.

    Raises:
        ConflictError: the target is there already.
        ReadOnlyStoreError: it cannot be made.
    """
    try:
        target.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        raise ConflictError(f"{target} is there already", remedy="choose a new folder name") from None
    except OSError as error:
        raise ReadOnlyStoreError(f"{target} cannot be made: {error.strerror}") from error
    try:
        store.backup(str(target / "memory.db"))
        shutil.copy2(keys.tenant_file(folder), keys.tenant_file(target))
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)  # half a backup must not be taken for a whole one
        raise
