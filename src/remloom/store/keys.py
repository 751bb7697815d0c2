"""The data key of an encrypted tenant: random, and kept only wrapped by the master key.

`tenant.json` in the tenant's folder holds the wrapped key. Destroying it destroys the tenant: the master key alone
opens nothing. The master key comes from the settings and is 64 hex digits, a passphrase (stretched by scrypt, about
0.1 s), `file:<path>` or `keyring:<service>/<name>`.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import msgspec
from msgspec import Struct

from ..errors import CorruptStoreError, MissingExtraError, ReadOnlyStoreError, SettingsError, WrongKeyError

__all__ = ["TenantFile", "read_tenant_file", "tenant_file", "unwrap", "wrap", "write_tenant_file"]

_FILE = "tenant.json"


class TenantFile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What can be known of a tenant without opening it. All values but the name are hex."""

    tenant: str
    format: int = 1
    wrapped_key: str = ""  # nonce and AES-256-GCM of the data key; empty: not encrypted
    salt: str = ""  # of the passphrase; empty when the master key was given as hex
    begun: bool = False  # its database was made: when that is gone, the tenant is not new but damaged


def wrap(master: str, tenant: str) -> tuple[TenantFile, str]:
    """A new data key for a tenant: the file to store, and the key in hex."""
    if not master:
        return TenantFile(tenant=tenant), ""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    salt = "" if _is_hex(material := _material(master)) else secrets.token_hex(16)
    data_key, nonce = secrets.token_bytes(32), secrets.token_bytes(12)
    sealed = AESGCM(_stretch(material, salt)).encrypt(nonce, data_key, tenant.encode())
    return TenantFile(tenant=tenant, wrapped_key=(nonce + sealed).hex(), salt=salt), data_key.hex()


def unwrap(file: TenantFile, master: str) -> str:
    """The data key in hex; empty for a tenant that is not encrypted.

    Raises:
        WrongKeyError: no key was given for an encrypted tenant, or it is another one.
    """
    if not file.wrapped_key:
        if master:
            raise WrongKeyError(
                f"a key was given, and tenant {file.tenant!r} is not encrypted",
                remedy="open it without a key; to encrypt it, export it and import it into a tenant made with the key",
            )
        return ""
    if not master:
        raise WrongKeyError(
            f"tenant {file.tenant!r} is encrypted and no key was given", remedy="set REMLOOM_KEY to its master key"
        )
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    blob = bytes.fromhex(file.wrapped_key)
    material = _material(master)
    try:
        return AESGCM(_stretch(material, file.salt)).decrypt(blob[:12], blob[12:], file.tenant.encode()).hex()
    except (InvalidTag, ValueError):
        raise WrongKeyError(
            f"the key does not open tenant {file.tenant!r}", remedy="set REMLOOM_KEY to the key it was created with"
        ) from None


def tenant_file(folder: Path) -> Path:
    """Where a tenant's folder has its tenant file."""
    return folder / _FILE


def read_tenant_file(folder: Path) -> TenantFile | None:
    """The tenant file of a folder, or None when there is none."""
    path = folder / _FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=TenantFile)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ReadOnlyStoreError(f"{path} cannot be read: {error.strerror}", remedy="check its permissions") from error
    except msgspec.MsgspecError as error:
        raise CorruptStoreError(
            f"{path} is damaged: {error}", remedy="restore it from a backup; without it an encrypted tenant is lost"
        ) from error


def write_tenant_file(folder: Path, file: TenantFile) -> None:
    """Write it so that it is on disk, wholly or not at all."""
    temporary = folder / f"{_FILE}.{os.getpid()}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(descriptor, msgspec.json.format(msgspec.json.encode(file)))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(temporary, folder / _FILE)


def _material(master: str) -> str:
    scheme, _, rest = master.partition(":")
    if scheme == "file":
        try:
            found = Path(rest).expanduser().read_text(encoding="utf-8").strip()
        except OSError as error:
            raise SettingsError(
                f"the key file {rest} cannot be read: {error.strerror}", setting="key", remedy="check REMLOOM_KEY"
            ) from error
        except UnicodeDecodeError:
            raise SettingsError(
                f"the key file {rest} holds no text", setting="key", remedy="make one with `remloom tenant key`"
            ) from None
    elif scheme == "keyring":
        found = _from_keyring(rest)
    else:
        found = master
    if not found:
        raise SettingsError("the master key is empty", setting="key", remedy="make one with `remloom tenant key`")
    return found


def _from_keyring(place: str) -> str:
    try:
        import keyring
    except ImportError:
        raise MissingExtraError("a key in the OS keyring", "keyring") from None
    service, _, name = place.partition("/")
    try:
        found = keyring.get_password(service, name or "master")
    except keyring.errors.KeyringError as error:
        raise SettingsError(
            f"the keyring does not answer: {error}", setting="key", remedy="use a key file: REMLOOM_KEY=file:PATH"
        ) from error
    if not found:
        raise SettingsError(
            f"the keyring has no entry {place!r}", setting="key", remedy=f"keyring set {service} {name or 'master'}"
        )
    return str(found)


def _is_hex(material: str) -> bool:
    return len(material) == 64 and all(digit in "0123456789abcdefABCDEF" for digit in material)


def _stretch(material: str, salt: str) -> bytes:
    if not salt:
        return bytes.fromhex(material)
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    return Scrypt(salt=bytes.fromhex(salt), length=32, n=2**15, r=8, p=1).derive(material.encode())
