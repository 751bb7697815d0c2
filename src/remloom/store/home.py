"""The tenants of one home folder: a folder each, `<home>/tenants/<tenant>`, with `memory.db` and
`tenant.json`.

A tenant comes and goes whole, by one renaming. It is made in a folder of its own and then given its
name, which only the first of several can do; it is deleted by taking its name away, and then
destroyed. What a killed process leaves of either has no tenant's name: it lies in
`tenants/.staging`, in nobody's way, and the next start clears it.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
import time
import warnings
from contextlib import suppress
from pathlib import Path

from ..errors import (
    ConflictError,
    CorruptStoreError,
    InvalidInputError,
    ReadOnlyStoreError,
    RemloomError,
    StoreError,
    TenantNotFoundError,
)
from ..model import TenantInfo
from . import encryption, folders, tenant_file
from .contract import Store

__all__ = ["HomeFolder", "backup", "tenant_name"]

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._@+-]{0,126}[A-Za-z0-9_@+-])?")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_DATABASE = "memory.db"
_FILES = (
    tenant_file.NAME,
    _DATABASE,
    *(f"{_DATABASE}-{beside}" for beside in ("wal", "shm", "journal", "mark")),
)
_NEW, _GONE = "new-", "gone-"
_TRIES = 20  # of a name that others give and take away
_FORSAKEN = 3600.0  # seconds after which nobody is making a tenant any more


class HomeFolder:
    """A folder of tenants.

    Args:
        folder: where the tenants are; made when the first one is.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).expanduser()
        self._tenants = self.folder / "tenants"
        self._staging = self._tenants / ".staging"

    def path(self, tenant: str) -> Path:
        """The database file of a tenant.

        Raises:
            InvalidInputError: the name could leave the home or is no portable file name.
        """
        return self._tenants / tenant_name(tenant) / _DATABASE

    def tenants(self) -> list[TenantInfo]:
        """Every tenant, by name; those that do not open as they are, too."""
        self.finish()
        tenants = []
        for folder in sorted(self._tenants.iterdir()) if self._tenants.is_dir() else ():
            if not _NAME.fullmatch(folder.name) or not (folder.is_symlink() or folder.is_dir()):
                continue
            try:
                self._refuse_links(folder)
                file = tenant_file.read(folder)
                if file is None and not self._bare(folder):
                    continue
                damaged = file is None or file.tenant != folder.name
            except RemloomError:
                file, damaged = None, True
            size = 0 if folder.is_symlink() else _held(folder)
            encrypted = file is not None and bool(file.wrapped_key)
            tenants.append(
                TenantInfo(name=folder.name, encrypted=encrypted, bytes=size, damaged=damaged)
            )
        return tenants

    def identity(self, tenant: str) -> tuple[int, ...] | None:
        """Tells the folder of a tenant from that of one made later under its name; None while there
        is none.

        A disk gives the number of what was deleted to what is made next: so its tenant file, and
        when that was written, count too.
        """
        folder = self.path(tenant).parent
        try:
            found = os.stat(folder)
        except OSError:
            return None
        with suppress(OSError):
            file = os.stat(folder / tenant_file.NAME)
            return found.st_dev, found.st_ino, file.st_ino, file.st_mtime_ns
        return found.st_dev, found.st_ino

    def create(self, tenant: str, master: str) -> None:
        """Make a tenant, encrypted when there is a master key. Of several who try at once, one
        does.

        Raises:
            ConflictError: it is there already.
            SettingsError: the master key could be guessed.
            StoreError: something else has its place.
            ReadOnlyStoreError, StoreFullError: the home cannot be written.
        """
        folder = self.path(tenant).parent
        self._refuse_taken(tenant, folder)
        encryption.refuse_weak(master)
        file, data_key = encryption.wrap(master, tenant)
        try:
            folders.make_private(self._staging)
            making = Path(tempfile.mkdtemp(prefix=_NEW, dir=self._staging))
            try:
                # its log and shared memory are as private as it is
                folders.write_new(making / _DATABASE, b"")
                _fill(making / _DATABASE, data_key)
                folders.write_new(making / tenant_file.NAME, tenant_file.encode(file))
                folders.sync(making)
                self._place(making, folder, tenant)
            finally:
                shutil.rmtree(making, ignore_errors=True)
        except OSError as error:
            raise folders.file_error(
                error, f"cannot make tenant {tenant!r} in {self.folder}",
                "choose a folder you may write, with REMLOOM_HOME or --home",
            ) from error  # fmt: skip

    def _place(self, making: Path, folder: Path, tenant: str) -> None:
        """Give what was made the name of a tenant."""
        for last in (*[False] * _TRIES, True):
            _clear_stale(folder)
            try:
                os.rename(making, folder)
                break
            except OSError:
                self._refuse_taken(tenant, folder)
                if last or not folder.parent.is_dir():
                    raise  # else who was first was deleted since
        folders.sync(self._tenants)

    def open(self, tenant: str, master: str, *, create: bool) -> str:
        """The data key (hex, or empty) of a tenant, made first when it is missing and `create`.

        Raises:
            TenantNotFoundError: it is missing and not to be created.
            WrongKeyError: see `keys.unwrap`.
            CorruptStoreError: its database was there once and is gone or empty.
            StoreError: it is another's, or a link, or what tells how to open it is gone.
        """
        self.finish()
        database = self.path(tenant)
        file = self._read(tenant, database.parent)
        if file is None:
            if not create:
                raise self._missing(tenant)
            with suppress(ConflictError):  # another was first
                self.create(tenant, master)
            file = self._read(tenant, database.parent)
            if file is None:
                raise self._missing(tenant)
        data_key = encryption.unwrap(file, master)
        if not _size(database):
            # deleted meanwhile, and perhaps made anew
            if tenant_file.read(database.parent) != file:
                return self.open(tenant, master, create=create)
            raise CorruptStoreError(
                f"{database} is {'empty' if database.exists() else 'gone'}",
                remedy="restore it from a backup, or delete the tenant to begin anew",
            )
        if encryption.weaker(file):
            # no room, or nothing may be written here: at another opening
            with suppress(OSError):
                tenant_file.change(database.parent, lambda now: encryption.rewrap(now, master))
        if data_key and (why := encryption.weakness(master)):
            warning = f"{why}: copy tenant {tenant!r} to one with a better key (remloom copy --to-key file:PATH)"
            warnings.warn(warning, stacklevel=2)
        return data_key

    def adopt(self, tenant: str, master: str) -> None:
        """Make the folder of this name a tenant of this name: one that was copied, renamed, or
        restored as another.

        It keeps its data key. One that is this tenant already stays as it is.

        Raises:
            TenantNotFoundError: there is no such folder.
            WrongKeyError: it is encrypted, and the master key is another.
        """
        folder = self.path(tenant).parent
        self._refuse_links(folder)
        file = tenant_file.read(folder) if tenant in self._names() else None
        if file is None:
            raise self._missing(tenant)
        encryption.unwrap(file, master)
        if file.tenant == tenant:
            return
        try:
            tenant_file.change(folder, lambda now: encryption.rewrap(now, master, tenant=tenant))
        except OSError as error:
            raise folders.file_error(
                error, f"{folder} cannot be written", "check its permissions"
            ) from error

    def delete(self, tenant: str) -> None:
        """Destroy a tenant: its name, its key, its database. There is no way back, and what is
        begun is finished, if need be by the next who opens or lists a tenant of this home.

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
        gone = self._staging / f"{_GONE}{secrets.token_hex(8)}"
        try:
            folders.make_private(self._staging)
            os.rename(folder, gone)
            folders.sync(self._tenants)
        except FileNotFoundError:
            raise self._missing(tenant) from None  # another was faster
        except OSError as error:
            raise folders.file_error(
                error,
                f"cannot delete tenant {tenant!r} in {self.folder}",
                "close it, and check its permissions",
            ) from error
        try:
            folders.destroy(gone, secret=tenant_file.NAME)
        except OSError as error:
            raise folders.file_error(
                error,
                f"tenant {tenant!r} is deleted, and what it held is still in {gone}",
                f"remove {gone}",
            ) from error

    def finish(self) -> None:
        """Finish deletions that were killed, and clear what was left of tenants that were never
        whole."""
        try:
            left = list(os.scandir(self._staging))
        except OSError:
            return
        for entry in left:
            with suppress(OSError):
                forsaken = time.time() - entry.stat(follow_symlinks=False).st_mtime > _FORSAKEN
                if entry.name.startswith(_GONE) or (entry.name.startswith(_NEW) and forsaken):
                    folders.destroy(Path(entry.path), secret=tenant_file.NAME)

    def unfinished(self) -> list[str]:
        """What a killed deletion left and `finish` could not remove: where it is."""
        self.finish()
        with suppress(OSError):
            return [
                entry.path for entry in os.scandir(self._staging) if entry.name.startswith(_GONE)
            ]
        return []

    def _read(self, tenant: str, folder: Path) -> tenant_file.TenantFile | None:
        """The tenant file, if it is this tenant's; None when there is no tenant, and nothing of
        one."""
        self._refuse_links(folder)
        before = self.identity(tenant)
        file = tenant_file.read(folder)
        bare = file is None and self._bare(folder)
        # else it came, or went, meanwhile
        if bare and before is not None and self.identity(tenant) == before:
            raise StoreError(
                f"{folder} holds a database but no tenant.json",
                remedy=f"restore tenant.json from a backup, or give it up: remloom tenant delete {tenant}",
            )
        if file is not None and file.tenant != tenant:
            raise StoreError(
                f"{folder} holds tenant {file.tenant!r}, not {tenant!r}",
                remedy=f"open {file.tenant!r}; if it was copied or renamed on purpose: remloom tenant adopt {tenant}",
                tenant=tenant, found=file.tenant,
            )  # fmt: skip
        return file

    def _refuse_taken(self, tenant: str, folder: Path) -> None:
        before = self.identity(tenant)
        held = (folder.exists() and not folder.is_dir()) or any(_others(folder))
        if self._read(tenant, folder) is not None:
            raise ConflictError(
                f"tenant {tenant!r} is there already", remedy="choose another name, or open it"
            )
        # else it came, or went, meanwhile
        if held and before is not None and self.identity(tenant) == before:
            raise StoreError(
                f"{folder} is there, and holds no tenant",
                remedy="move what is there elsewhere, or choose another name",
            )

    def _refuse_links(self, folder: Path) -> None:
        folders.refuse_links((folder, *(folder / name for name in _FILES)))

    def _bare(self, folder: Path) -> bool:
        """A database without its key is neither a tenant nor the place for a new one."""
        return (folder / _DATABASE).exists()

    def _names(self) -> list[str]:
        """What is there by these very names: a disk may find `Acme` under `acme`."""
        with suppress(FileNotFoundError, NotADirectoryError):
            return os.listdir(self._tenants)
        return []

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


def _held(folder: Path) -> int:
    """Bytes of the files in it, as far as they are still there."""
    with suppress(FileNotFoundError):
        return sum(map(_size, folder.iterdir()))
    return 0


def _size(path: Path) -> int:
    """Bytes; 0 of what is not there."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _fill(database: Path, data_key: str) -> None:
    from .sqlite import SqliteStore

    SqliteStore(database, data_key).close()


def _others(folder: Path) -> list[Path]:
    """What a folder holds besides what a killed process may have left of a tenant file."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return [path for path in folder.iterdir() if not _is_stale(path)]
    return []


def _is_stale(path: Path) -> bool:
    return path.name.startswith(f"{tenant_file.NAME}.") and path.name.endswith(".tmp")


def _clear_stale(folder: Path) -> None:
    """Make room for a tenant where at most the leavings of another attempt are."""
    with suppress(FileNotFoundError, NotADirectoryError):
        for path in folder.iterdir():
            if _is_stale(path):
                path.unlink(missing_ok=True)
    # somebody was first, or it holds something: the renaming says so
    with suppress(OSError):
        folder.rmdir()


def tenant_name(tenant: str) -> str:
    """The name, if a tenant can have it: the same for every store, so that each can be copied into
    any.

    Raises:
        InvalidInputError: the name could leave the home or is no portable file name.
    """
    if not isinstance(tenant, str) or not _NAME.fullmatch(tenant) or _RESERVED.fullmatch(tenant):
        raise InvalidInputError(
            f"{tenant!r} is no tenant name",
            remedy="use 1-128 letters, digits and . _ @ + -, the first a letter or digit, the last no dot",
        )
    return tenant


def backup(store: Store, folder: Path, target: Path) -> None:
    """Copy a tenant's database and wrapped key into a new folder.

    Raises:
        ConflictError: the target is there already.
        ReadOnlyStoreError: it cannot be made.
        StoreClosedError: the tenant was deleted.
    """
    try:
        target.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        raise ConflictError(
            f"{target} is there already", remedy="choose a new folder name"
        ) from None
    except OSError as error:
        raise ReadOnlyStoreError(f"{target} cannot be made: {error.strerror}") from error
    try:
        kept = None
        with suppress(FileNotFoundError):  # the store says why: its tenant was deleted
            kept = (folder / tenant_file.NAME).read_bytes()
        store.admin.backup(str(target / _DATABASE))
        os.chmod(target / _DATABASE, 0o600)
        if kept is not None:  # last, for nothing opens a folder without it
            folders.write_new(target / tenant_file.NAME, kept)
    except BaseException:
        # half a backup must not be taken for a whole one
        shutil.rmtree(target, ignore_errors=True)
        raise
