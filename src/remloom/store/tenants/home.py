"""The tenants of one home folder: a folder each, `<home>/tenants/<tenant>`, with `memory.db` and
`tenant.json`.

A tenant is created and deleted as a whole, by renaming its folder. It is made in a folder of its
own and then given its name, which only the first of several can do; it is deleted by taking its
name away, and then destroyed. Whatever a killed process leaves of either lies in `tenants/.staging`
until the next start clears it.

The home itself may be reached through links. Nothing below it is: a link there is refused, or
removed where it stands for what is to be deleted, and nothing behind it is touched.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ...errors import (
    ConflictError,
    CorruptStoreError,
    InvalidInputError,
    RemloomError,
    StoreError,
    TenantNotFoundError,
)
from ...model import TenantInfo
from ..contract import Store
from . import encryption, folders
from .encryption import TENANT_FILE, TenantFile, change_tenant_file, read_tenant_file
from .folders import OpenFolder

# Where a home keeps what concerns it and none of its tenants: a folder beside theirs, or in a
# database a name that no tenant can have.
OWN = "server"
HIDDEN = f".{OWN}"

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._@+-]{0,126}[A-Za-z0-9_@+-])?")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_TENANTS = "tenants"
_STAGING = ".staging"
_DATABASE = "memory.db"
_FILES = (
    TENANT_FILE,
    _DATABASE,
    *(f"{_DATABASE}-{suffix}" for suffix in ("wal", "shm", "journal", "mark")),
)
# How folders in `.staging` begin: tenants being made, and tenants being deleted.
_NEW = "new-"
_DELETED = "gone-"
_TRIES = 20  # at renaming, while others create and delete a tenant of that name
_ABANDONED = 3600.0  # seconds after which a tenant that is being made is taken for left over


class HomeFolder:
    """A folder of tenants, made when the first one is; with `below` they are in folders in it, one
    in the other."""

    def __init__(self, folder: str | os.PathLike[str], *below: str) -> None:
        self._folder = Path(folder).expanduser()
        self._root = Path(os.path.realpath(self._folder))
        self._below = below
        self.folder = self._root.joinpath(*below)
        self._tenants = self.folder / _TENANTS

    def path(self, tenant: str) -> Path:
        """Return the database file of a tenant. Raises InvalidInputError: see `tenant_name`."""
        return self._tenants / tenant_name(tenant) / _DATABASE

    def tenants(self) -> list[TenantInfo]:
        """List every tenant, by name, damaged ones included."""
        folders.refuse_links(self._above)
        self.finish()
        tenants = []
        for folder in sorted(self._tenants / name for name in self._names()):
            if not _NAME.fullmatch(folder.name) or not (folder.is_symlink() or folder.is_dir()):
                continue
            try:
                self._refuse_links(folder)
                file = read_tenant_file(folder)
                if file is None and not self._has_database(folder):
                    continue
                damaged = file is None or file.tenant != folder.name
            except RemloomError:
                file, damaged = None, True
            # A link is listed as damaged, and nothing behind it is read.
            size = 0 if folder.is_symlink() else _folder_size(folder)
            encrypted = file is not None and bool(file.wrapped_key)
            tenants.append(
                TenantInfo(name=folder.name, encrypted=encrypted, bytes=size, damaged=damaged)
            )
        return tenants

    def identity(self, tenant: str) -> tuple[int, ...] | None:
        """Return what tells a tenant's folder from one made later under its name; None while there
        is none. A disk may give the number of a deleted folder to the next one: so the number of
        its tenant file, and when that was written, are part of it."""
        folder = self.path(tenant).parent
        try:
            status = os.stat(folder)
        except OSError:
            return None
        with suppress(OSError):
            file = os.stat(folder / TENANT_FILE)
            return status.st_dev, status.st_ino, file.st_ino, file.st_mtime_ns
        return status.st_dev, status.st_ino

    def create(self, tenant: str, master: str) -> None:
        """Make a tenant, encrypted when there is a master key. Of several attempts at once, one
        succeeds.

        Raises:
            ConflictError: it is there already.
            SettingsError: the master key could be guessed.
            StoreError: its folder is there, and is not a tenant.
            ReadOnlyStoreError, StoreFullError: the home cannot be written.
        """
        folder = self.path(tenant).parent
        self._refuse_taken(tenant, folder)
        encryption.refuse_weak(master)
        file, data_key = encryption.wrap(master, tenant)
        with (
            folders.refusing(
                f"cannot make tenant {tenant!r} in {self.folder}",
                "choose a folder you may write, with REMLOOM_HOME or --home",
            ),
            self._opened(_TENANTS, create=True) as tenants,
            tenants.inside(_STAGING, create=True) as staging,
        ):
            unnamed = f"{_NEW}{secrets.token_hex(8)}"
            staging.make(unnamed)
            try:
                with staging.inside(unnamed) as new:
                    # Made first, and private: SQLite gives its log and shared memory the same mode.
                    new.write_new(_DATABASE, b"")
                    _fill(new.path / _DATABASE, data_key)
                    new.write_new(TENANT_FILE, encryption.encode(file))
                    new.sync()
                self._give_name(staging, unnamed, tenants, tenant)
            finally:
                with suppress(OSError):
                    staging.destroy(unnamed, secret=TENANT_FILE)

    def _give_name(
        self, staging: OpenFolder, unnamed: str, tenants: OpenFolder, tenant: str
    ) -> None:
        for attempt in range(_TRIES + 1):
            _clear_stale(tenants, tenant)
            try:
                staging.move(unnamed, tenants, tenant)
                break
            except OSError:
                # If nothing is there now, another tenant of this name was deleted just now.
                self._refuse_taken(tenant, tenants.path / tenant)
                if attempt == _TRIES or not tenants.path.is_dir():
                    raise
        tenants.sync()

    def open(self, tenant: str, master: str, *, create: bool) -> str:
        """Decrypt the data key (hex, or empty) of a tenant, made first if it is missing and
        `create`.

        Raises:
            TenantNotFoundError: it is missing and not to be created.
            WrongKeyError: see `encryption.unwrap`.
            CorruptStoreError: its database was there once and is gone or empty.
            StoreError: it is another's, or a link, or its tenant file is gone.
        """
        self.finish()
        database = self.path(tenant)
        file = self._read(tenant, database.parent)
        if file is None:
            if not create:
                raise self._missing(tenant)
            with suppress(ConflictError):  # another process made it meanwhile
                self.create(tenant, master)
            file = self._read(tenant, database.parent)
            if file is None:
                raise self._missing(tenant)
        data_key = encryption.unwrap(file, master)
        if not _size(database):
            # Another process may have deleted it since, and perhaps made it again.
            if read_tenant_file(database.parent) != file:
                return self.open(tenant, master, create=create)
            raise CorruptStoreError(
                f"{database} is {'empty' if database.exists() else 'gone'}",
                remedy="restore it from a backup, or delete the tenant to begin anew",
            )
        if encryption.weaker(file):
            # Where it cannot be written now, a later opening does it.
            with suppress(OSError):
                change_tenant_file(database.parent, lambda now: encryption.rewrap(now, master))
        problem = encryption.weakness(master) if data_key else ""
        if problem:
            warnings.warn(
                f"{problem}: copy tenant {tenant!r} to one with a better key "
                "(remloom copy --to-key file:PATH)",
                stacklevel=2,
            )
        return data_key

    def adopt(self, tenant: str, master: str) -> None:
        """Make the folder of this name a tenant of this name: one that was copied, renamed, or
        restored as another. It keeps its data key.

        Raises:
            TenantNotFoundError: there is no such folder.
            WrongKeyError: it is encrypted, and the master key is another.
        """
        folder = self.path(tenant).parent
        self._refuse_links(folder)
        file = read_tenant_file(folder) if tenant in self._names() else None
        if file is None:
            raise self._missing(tenant)
        encryption.unwrap(file, master)
        if file.tenant == tenant:
            return
        with folders.refusing(f"{folder} cannot be written", "check its permissions"):
            change_tenant_file(folder, lambda now: encryption.rewrap(now, master, tenant=tenant))

    def delete(self, tenant: str) -> None:
        """Destroy a tenant: its name, its key, its database. It cannot be undone.

        If the process is killed, the next one that opens or lists a tenant here completes it.

        Raises:
            TenantNotFoundError: there is no such tenant.
            StoreError: its folder is a link.
            ReadOnlyStoreError: it cannot be removed.
        """
        self.finish()
        folder = self.path(tenant).parent
        self._refuse_links(folder)
        if tenant not in self._names() or not any((folder / name).exists() for name in _FILES):
            raise self._missing(tenant)
        with folders.refusing(
            f"cannot delete tenant {tenant!r} in {self.folder}",
            "close it, and check its permissions",
        ):
            try:
                self._destroy(tenant, folder)
            except FileNotFoundError:
                raise self._missing(tenant) from None  # another process deleted it

    def _destroy(self, tenant: str, folder: Path) -> None:
        unnamed = f"{_DELETED}{secrets.token_hex(8)}"
        with (
            self._opened(_TENANTS) as tenants,
            tenants.inside(_STAGING, create=True) as staging,
        ):
            tenants.move(tenant, staging, unnamed)
            # Looked at once it is where nobody else goes: what has its name by then may be another
            # thing than what had it before.
            if not staging.is_folder(unnamed):
                staging.move(unnamed, tenants, tenant)
                self._refuse_links(folder)
                raise self._missing(tenant)
            tenants.sync()
            left = staging.path / unnamed
            with folders.refusing(
                f"tenant {tenant!r} is deleted, and what it held is still in {left}",
                f"remove {left}",
            ):
                staging.destroy(unnamed, secret=TENANT_FILE)

    def finish(self) -> None:
        """Finish deletions that were killed, and clear away tenants that were never whole."""
        # It may be missing, or a link, which is not looked behind.
        with suppress(OSError, StoreError), self._opened(_TENANTS, _STAGING) as staging:
            for name in staging.names():
                with suppress(OSError, StoreError):
                    abandoned = time.time() - staging.status(name).st_mtime > _ABANDONED
                    if name.startswith(_DELETED) or (name.startswith(_NEW) and abandoned):
                        staging.destroy(name, secret=TENANT_FILE)

    def unfinished(self) -> list[str]:
        """List the folders that a killed deletion left and `finish` could not remove."""
        self.finish()
        with suppress(OSError, StoreError), self._opened(_TENANTS, _STAGING) as staging:
            return [
                str(staging.path / name) for name in staging.names() if name.startswith(_DELETED)
            ]
        return []

    @contextmanager
    def _opened(self, *names: str, create: bool = False) -> Iterator[OpenFolder]:
        """Open a folder of the home, each in the one above it. Raises StoreError: one is a link;
        OSError: one cannot be opened."""
        if create:
            folders.make_private(self._folder)
        with ExitStack() as stack:
            folder = stack.enter_context(OpenFolder.at(self._root))
            for name in (*self._below, *names):
                folder = stack.enter_context(folder.inside(name, create=create))
            yield folder

    @property
    def _above(self) -> list[Path]:
        own = [self._root.joinpath(*self._below[: n + 1]) for n in range(len(self._below))]
        return [*own, self._tenants]

    def _read(self, tenant: str, folder: Path) -> TenantFile | None:
        """Read the tenant file, if it is this tenant's; None when there is nothing of a tenant."""
        self._refuse_links(folder)
        before = self.identity(tenant)
        file = read_tenant_file(folder)
        database_alone = file is None and self._has_database(folder)
        # If the folder is another one by now, the tenant was made or deleted while this looked.
        if database_alone and before is not None and self.identity(tenant) == before:
            raise StoreError(
                f"{folder} holds a database but no tenant.json",
                remedy="restore tenant.json from a backup, or give it up: "
                f"remloom tenant delete {tenant}",
            )
        if file is not None and file.tenant != tenant:
            raise StoreError(
                f"{folder} holds tenant {file.tenant!r}, not {tenant!r}",
                remedy=f"open {file.tenant!r}; if it was copied or renamed on purpose: "
                f"remloom tenant adopt {tenant}",
                tenant=tenant,
                found=file.tenant,
            )
        return file

    def _refuse_taken(self, tenant: str, folder: Path) -> None:
        self._refuse_links(folder)
        before = self.identity(tenant)
        is_file = folder.exists() and not folder.is_dir()
        occupied = is_file or any(_other_files(folder))
        if self._read(tenant, folder) is not None:
            raise ConflictError(
                f"tenant {tenant!r} is there already", remedy="choose another name, or open it"
            )
        # If the folder is another one by now, it was made or deleted while this looked.
        if occupied and before is not None and self.identity(tenant) == before:
            raise StoreError(
                f"{folder} is there, and holds no tenant",
                remedy="move what is there elsewhere, or choose another name",
            )

    def _refuse_links(self, folder: Path) -> None:
        folders.refuse_links((*self._above, folder, *(folder / name for name in _FILES)))

    def _has_database(self, folder: Path) -> bool:
        return (folder / _DATABASE).exists()

    def _names(self) -> list[str]:
        """List the folders by their exact names: a disk may open `Acme` as `acme`."""
        with (
            folders.refusing(f"{self._tenants} cannot be listed", "check its permissions"),
            suppress(FileNotFoundError, NotADirectoryError),
        ):
            return os.listdir(self._tenants)
        return []

    def _missing(self, tenant: str) -> TenantNotFoundError:
        import difflib

        names = [info.name for info in self.tenants()]
        nearest = difflib.get_close_matches(tenant, names, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(map(repr, nearest))}? " if nearest else ""
        return TenantNotFoundError(
            f"there is no tenant {tenant!r} in {self.folder}",
            remedy=f"{hint}`remloom read PATH` or `remloom tenant create {tenant}` makes it; "
            "--home looks elsewhere",
            tenant=tenant,
            home=str(self.folder),
            nearest=nearest,
        )


def _folder_size(folder: Path) -> int:
    with suppress(OSError):
        return sum(map(_size, folder.iterdir()))
    return 0


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0


def _fill(database: Path, data_key: str) -> None:
    from ..sqlite import SqliteStore

    SqliteStore(database, data_key).close()


def _other_files(folder: Path) -> list[Path]:
    """List the files of a folder but those that a killed process may have left of a tenant
    file."""
    with suppress(OSError):
        return [path for path in folder.iterdir() if not _is_stale(path.name)]
    return []


def _is_stale(name: str) -> bool:
    return name.startswith(f"{TENANT_FILE}.") and name.endswith(".tmp")


def _clear_stale(tenants: OpenFolder, tenant: str) -> None:
    """Remove a folder that has nothing but unfinished tenant files."""
    # Where there is anything else in it, renaming to it fails and says so.
    with suppress(OSError):
        with tenants.inside(tenant) as folder:
            for name in folder.names():
                if _is_stale(name):
                    folder.unlink(name)
        tenants.remove_empty(tenant)


def tenant_name(tenant: str) -> str:
    """Check a name for a tenant, and return it. The rule is the same for every store, so that a
    tenant can be copied from any into any. Raises InvalidInputError: it could leave the home or is
    not a portable file name."""
    if not isinstance(tenant, str) or not _NAME.fullmatch(tenant) or _RESERVED.fullmatch(tenant):
        raise InvalidInputError(
            f"{tenant!r} is not a tenant name",
            remedy="use 1-128 letters, digits and . _ @ + -, the first a letter or digit, the last "
            "no dot",
        )
    return tenant


def backup(store: Store, folder: Path, target: Path) -> None:
    """Copy a tenant's database and wrapped key into a new folder.

    Raises:
        ConflictError: the target is there already.
        ReadOnlyStoreError, StoreFullError: it cannot be made.
        StoreClosedError: the tenant was deleted.
    """
    remedy = "choose a folder you may write"
    with folders.refusing(f"{target} cannot be made", remedy):
        try:
            target.mkdir(mode=0o700, parents=True)
        except FileExistsError:
            raise ConflictError(
                f"{target} is there already", remedy="choose a new folder name"
            ) from None
    with folders.refusing(f"{target} cannot be written", remedy):
        try:
            wrapped_key = None
            with suppress(FileNotFoundError):  # the store says why: its tenant was deleted
                wrapped_key = folders.read_whole(folder / TENANT_FILE)
            store.admin.backup(str(target / _DATABASE))
            os.chmod(target / _DATABASE, 0o600)
            # Last, as nothing opens a folder without it.
            if wrapped_key is not None:
                folders.write_new(target / TENANT_FILE, wrapped_key)
        except BaseException:
            # half a backup must not be taken for a whole one
            shutil.rmtree(target, ignore_errors=True)
            raise
