"""`tenant.json`, beside a tenant's database: whose it is, and its data key, random, and kept only
wrapped by the master key.

Destroying the file destroys the tenant: the master key alone opens nothing. The master key comes
from the settings and is a key of 256 bits (64 hex digits, or 44 characters of base64), a
passphrase, `file:<path>`, `shared-file:<path>` or `keyring:<service>/<name>`.

A passphrase is stretched by scrypt with the least cost that OWASP's Password Storage Cheat Sheet
recommends (n 2^17, r 8, p 1: 128 MB and about 0.3 s), once a process for each tenant. A tenant that
was made with less is wrapped again when it is opened.
"""

from __future__ import annotations

import base64
import binascii
import os
import secrets
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...errors import (
    ConflictError,
    CorruptStoreError,
    MissingExtraError,
    SchemaVersionError,
    SettingsError,
    WrongKeyError,
)
from .folders import file_error, open_without_links, read_whole, refusing, replace_in, write_new

TENANT_FILE = "tenant.json"
_FORMAT = 2
_RESTORE = "restore it from a backup; without it an encrypted tenant is lost"
_NONCE = 12  # bytes before the wrapped key, as AES-GCM takes them
_MIN_LENGTH = 12  # characters of a passphrase for a new tenant
_MIN_DISTINCT = 5  # different characters of it
_REMEMBERED = 256  # stretched passphrases in one process
_NEW_KEY_REMEDY = "make one with `remloom tenant key FILE`, and set REMLOOM_KEY=file:FILE"


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


COST = ScryptCost(2**17, 8, 1)
# By passphrase, salt and cost.
_stretched: dict[tuple[str, str, ScryptCost], bytes] = {}
_stretching = threading.Lock()  # one at a time: each takes 128 MB


# -- the file --------------------------------------------------------------------------------------


def encode(file: TenantFile) -> bytes:
    return msgspec.json.format(msgspec.json.encode(replace(file, format=_FORMAT)))


def read_tenant_file(folder: Path, within: int | None = None) -> TenantFile | None:
    """The tenant file of a folder, or None when there is none; `within` is its descriptor, if it is
    open.

    Raises:
        CorruptStoreError: it is damaged.
        SchemaVersionError: a newer Remloom wrote it.
        ReadOnlyStoreError: it may not be read.
    """
    path = folder / TENANT_FILE
    try:
        file = msgspec.json.decode(
            read_whole(path if within is None else TENANT_FILE, within=within), type=TenantFile
        )
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise file_error(error, f"{path} cannot be read", "check its permissions") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptStoreError(f"{path} is damaged: {error}", remedy=_RESTORE) from error
    if file.format > _FORMAT:
        raise SchemaVersionError(
            f"{path} has format {file.format}, this Remloom knows {_FORMAT}",
            remedy="upgrade remloom", found=file.format, expected=_FORMAT,
        )  # fmt: skip
    return file


def change_tenant_file(folder: Path, changed: Callable[[TenantFile], TenantFile]) -> None:
    """Replace the tenant file of a folder by what `changed` makes of it, wholly or not at all.

    It is the folder of this moment that is changed: when another is made in its place meanwhile,
    that one keeps its own. Raises OSError: it cannot be written, or it or a folder above it is a
    link.
    """
    within = None if os.name == "nt" else open_without_links(folder)
    try:
        if (file := read_tenant_file(folder, within)) is not None:
            replace_in(within, folder, TENANT_FILE, encode(changed(file)))
    finally:
        if within is not None:
            os.close(within)


# -- keys ------------------------------------------------------------------------------------------


def new_key(file: str | os.PathLike[str] | None = None) -> str:
    """Make a master key; with a file, also write it to that, readable by its owner alone. Raises
    ConflictError: the file is there already; StoreError: it cannot be written."""
    key = secrets.token_hex(32)
    if file is not None:
        path = Path(file).expanduser()
        with refusing(f"{path} cannot be written", "choose a folder you may write"):
            try:
                write_new(path, f"{key}\n".encode())
            except FileExistsError:
                raise ConflictError(
                    f"{path} is there already", remedy="choose a new file name"
                ) from None
    return key


def wrap(master: str, tenant: str) -> tuple[TenantFile, str]:
    """Make a data key for a tenant: the file to store, and the key in hex. Without a master key
    there is none."""
    if not master:
        return TenantFile(tenant=tenant), ""
    data_key = secrets.token_hex(32)
    return _sealed(TenantFile(tenant=tenant), read_reference(master), data_key), data_key


def unwrap(file: TenantFile, master: str) -> str:
    """Decrypt the data key, in hex; empty for a tenant that is not encrypted. Raises WrongKeyError:
    no key was given for an encrypted tenant, or it is another one."""
    if not file.wrapped_key:
        if master:
            raise WrongKeyError(
                f"a key was given, and tenant {file.tenant!r} is not encrypted",
                remedy="open it without a key; to encrypt it, export it and import it into a "
                "tenant made with the key",
            )
        return ""
    if not master:
        raise WrongKeyError(
            f"tenant {file.tenant!r} is encrypted and no key was given",
            remedy="set REMLOOM_KEY to its master key",
        )
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    blob = bytes.fromhex(file.wrapped_key)
    material = read_reference(master)
    try:
        cipher = AESGCM(_wrapping_key(material, file))
        # The tenant's name is authenticated as well: a key does not open under another's.
        data_key = cipher.decrypt(blob[:_NONCE], blob[_NONCE:], file.tenant.encode())
    except (InvalidTag, ValueError):
        raise WrongKeyError(
            f"the key does not open tenant {file.tenant!r}",
            remedy="set REMLOOM_KEY to the key it was created with",
        ) from None
    return data_key.hex()


def rewrap(file: TenantFile, master: str, *, tenant: str | None = None) -> TenantFile:
    """Wrap the same data key at today's cost, for the same tenant or for one of another name.
    Raises WrongKeyError: see `unwrap`."""
    data_key = unwrap(file, master)
    named = replace(file, tenant=file.tenant if tenant is None else tenant)
    return _sealed(named, read_reference(master), data_key) if data_key else named


def weaker(file: TenantFile) -> bool:
    """Whether its passphrase was stretched less than one is today."""
    if not file.salt:  # not a passphrase
        return False
    memory = file.scrypt.n * file.scrypt.r
    least_memory = COST.n * COST.r
    return memory < least_memory or memory * file.scrypt.p < least_memory * COST.p


def refuse_weak(master: str) -> None:
    """Refuse a master key for a new tenant that could be guessed. Raises SettingsError."""
    problem = weakness(master) if master else ""
    if problem:
        raise _key_error(f"{problem}: whoever has the disk could guess it")


def weakness(master: str) -> str:
    """Say why a master key could be guessed; empty when it could not."""
    material = read_reference(master)
    if _raw(material) is not None:
        repeats = len(set(material.lower())) == 1
        return "the master key is one digit again and again" if repeats else ""
    if len(material) < _MIN_LENGTH:
        return (
            f"the master key is a passphrase of {len(material)} characters, and {_MIN_LENGTH} is "
            "the least"
        )
    if len(set(material)) < _MIN_DISTINCT:
        return "the master key is a passphrase of the same few characters"
    return ""


def _sealed(file: TenantFile, material: str, data_key: str) -> TenantFile:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    # A key of 256 bits is used as it is; a passphrase is stretched, by a salt of its own.
    salt = "" if _raw(material) is not None else secrets.token_hex(16)
    file = replace(file, salt=salt, scrypt=COST)
    nonce = secrets.token_bytes(_NONCE)
    sealed = AESGCM(_wrapping_key(material, file)).encrypt(
        nonce, bytes.fromhex(data_key), file.tenant.encode()
    )
    return replace(file, wrapped_key=(nonce + sealed).hex())


def _wrapping_key(material: str, file: TenantFile) -> bytes:
    if not file.salt:
        raw = _raw(material)
        if raw is None:
            raise ValueError("a passphrase, where a key was used")
        return raw
    parameters = (material, file.salt, file.scrypt)
    stretched = _stretched.get(parameters)
    if stretched is not None:
        return stretched
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    with _stretching:
        # Another thread may have done it while this one waited.
        stretched = _stretched.get(parameters)
        if stretched is None:
            cost = file.scrypt
            stretching = Scrypt(
                salt=bytes.fromhex(file.salt), length=32, n=cost.n, r=cost.r, p=cost.p
            )
            stretched = stretching.derive(material.encode())
            # The oldest goes first: dictionaries keep their order.
            while len(_stretched) >= _REMEMBERED:
                del _stretched[next(iter(_stretched))]
            _stretched[parameters] = stretched
    return stretched


def _raw(material: str) -> bytes | None:
    """Decode the 256 bits that a key spells in hex or base64; None for a passphrase."""
    try:
        if len(material) == 64:
            return bytes.fromhex(material) if material.isalnum() else None
        if len(material) == 44 and material.endswith("="):
            standard = material.replace("-", "+").replace("_", "/")  # from its URL-safe form
            key = base64.b64decode(standard, validate=True)
            return key if len(key) == 32 else None
    except (ValueError, binascii.Error):
        pass
    return None


def read_reference(secret: str, *, variable: str = "REMLOOM_KEY") -> str:
    """Read a key, passphrase or password that is given, or of which it is said where it is.

    Args:
        secret: itself, or `file:<path>`, `shared-file:<path>`, `keyring:<service>/<name>`.
        variable: what to mend, if it is not there.

    Raises:
        SettingsError: it is not there, empty, or may be read by others.
        MissingExtraError: the keyring needs an extra.
    """
    scheme, _, location = secret.partition(":")
    if scheme in ("file", "shared-file"):
        material = _read_file(location, shared=scheme == "shared-file", variable=variable)
    elif scheme == "keyring":
        material = _read_keyring(location)
    else:
        material = secret
    if not material.strip():
        raise _key_error("the master key is empty")
    return material


def _read_file(name: str, *, shared: bool, variable: str) -> str:
    path = Path(name).expanduser()
    try:
        with path.open("rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            data = stream.read()
    except OSError as error:
        message = f"the key file {name} cannot be read: {error.strerror}"
        raise _key_error(message, f"check {variable}") from error
    if os.name == "posix" and not shared and stat.S_ISREG(mode) and mode & 0o077:
        raise _key_error(
            f"the key file {name} may be read by others: its mode is {stat.S_IMODE(mode):04o}",
            f"chmod 600 {name}; if a container shows it like that, say so: shared-file:{name}",
        )
    try:
        return data.decode().strip()
    except UnicodeDecodeError:
        raise _key_error(f"the key file {name} holds no text") from None


def _read_keyring(entry: str) -> str:
    try:
        import keyring
    except ImportError:
        raise MissingExtraError("a key in the OS keyring", "keyring") from None
    service, _, name = entry.partition("/")
    try:
        password = keyring.get_password(service, name or "master")
    except keyring.errors.KeyringError as error:
        remedy = "use a key file: REMLOOM_KEY=file:PATH"
        raise _key_error(f"the keyring does not answer: {error}", remedy) from error
    if not password:
        remedy = f"keyring set {service} {name or 'master'}"
        raise _key_error(f"the keyring has no entry {entry!r}", remedy)
    return str(password)


def _key_error(message: str, remedy: str = _NEW_KEY_REMEDY) -> SettingsError:
    return SettingsError(message, setting="key", remedy=remedy)
