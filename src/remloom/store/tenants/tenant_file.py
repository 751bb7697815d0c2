"""`tenant.json`, beside a tenant's database: whose it is, and its data key, wrapped. Losing it
loses the tenant."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from ...errors import CorruptStoreError, SchemaVersionError
from .folders import file_error, open_without_links, read_whole, replace_in

NAME = "tenant.json"
FORMAT = 2
_RESTORE = "restore it from a backup; without it an encrypted tenant is lost"


class ScryptCost(Struct, frozen=True, omit_defaults=False):
    """What one guess at a passphrase costs: `128 * n * r` bytes, and time in proportion to `n * r *
    p`."""

    n: int
    r: int
    p: int

    def sane(self) -> bool:
        """Whether one could have been meant: what a damaged file says must not take all memory."""
        small = 2 <= self.n <= 2**22 and 1 <= self.r <= 32 and 1 <= self.p <= 64
        return small and self.n & (self.n - 1) == 0 and self.n * self.r <= 2**25


class TenantFile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What can be known of a tenant without opening it."""

    tenant: str
    format: int = 1  # written since the first version that had another
    wrapped_key: str = ""  # hex of nonce and AES-256-GCM of the data key; empty: not encrypted
    salt: str = ""  # hex; of the passphrase; empty when the master key is a key of 256 bits
    # by which the passphrase was stretched; format 1 did not say
    scrypt: ScryptCost = ScryptCost(2**15, 8, 1)

    def __post_init__(self) -> None:
        bytes.fromhex(self.wrapped_key + self.salt)
        if not self.scrypt.sane():
            raise ValueError("this is not a cost of scrypt")


def encode(file: TenantFile) -> bytes:
    """As it is stored."""
    return msgspec.json.format(msgspec.json.encode(msgspec.structs.replace(file, format=FORMAT)))


def read(folder: Path) -> TenantFile | None:
    """The tenant file of a folder, or None when there is none.

    Raises:
        CorruptStoreError: it is damaged.
        SchemaVersionError: a newer Remloom wrote it.
        ReadOnlyStoreError: it may not be read.
    """
    return _read(folder, None)


def change(folder: Path, changed: Callable[[TenantFile], TenantFile]) -> None:
    """Replace the tenant file of a folder by what `changed` makes of it, wholly or not at all.

    It is the folder of this moment that is changed: when it is deleted meanwhile, and another made
    in its place, that one keeps its own.

    Raises:
        OSError: it cannot be written, or it or a folder above it is a link.
    """
    within = None if os.name == "nt" else open_without_links(folder)
    try:
        if (file := _read(folder, within)) is not None:
            replace_in(within, folder, NAME, encode(changed(file)))
    finally:
        if within is not None:
            os.close(within)


def _read(folder: Path, within: int | None) -> TenantFile | None:
    path = folder / NAME
    try:
        file = msgspec.json.decode(
            read_whole(path if within is None else NAME, within=within), type=TenantFile
        )
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise file_error(error, f"{path} cannot be read", "check its permissions") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptStoreError(f"{path} is damaged: {error}", remedy=_RESTORE) from error
    if file.format > FORMAT:
        raise SchemaVersionError(
            f"{path} has format {file.format}, this Remloom knows {FORMAT}",
            remedy="upgrade remloom", found=file.format, expected=FORMAT,
        )  # fmt: skip
    return file
