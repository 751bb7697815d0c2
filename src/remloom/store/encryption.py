"""The data key of an encrypted tenant: random, and kept only wrapped by the master key.

The tenant file holds the wrapped key. Destroying it destroys the tenant: the master key alone opens
nothing. The master key comes from the settings and is a key of 256 bits (64 hex digits, or 44
characters of base64), a passphrase, `file:<path>`, `shared-file:<path>` or
`keyring:<service>/<name>`.

A passphrase is stretched by scrypt with the least cost that OWASP's Password Storage Cheat Sheet
recommends (n 2^17, r 8, p 1: 128 MB and about 0.3 s), once a process for each tenant. A tenant that
was made with less is wrapped anew when it is opened.
"""

from __future__ import annotations

import base64
import binascii
import os
import secrets
import stat
import threading
from pathlib import Path

from msgspec.structs import replace

from ..errors import ConflictError, MissingExtraError, SettingsError, WrongKeyError
from .folders import file_error, write_new
from .tenant_file import ScryptCost, TenantFile

__all__ = ["COST", "new_key", "refuse_weak", "rewrap", "unwrap", "weaker", "weakness", "wrap"]

COST = ScryptCost(2**17, 8, 1)
_SHORTEST = 12  # characters of a passphrase for a new tenant
_FEWEST = 5  # of them different
_KEPT = 256  # stretched passphrases that a process remembers
_MAKE_ONE = "make one with `remloom tenant key FILE`, and set REMLOOM_KEY=file:FILE"

_stretched: dict[tuple[str, str, ScryptCost], bytes] = {}
_stretching = threading.Lock()  # one at a time: each takes 128 MB


def new_key(file: str | os.PathLike[str] | None = None) -> str:
    """A fresh master key; in a new file of its owner's, if one is given. For the errors see
    `Home.new_key`."""
    fresh = secrets.token_hex(32)
    if file is not None:
        path = Path(file).expanduser()
        try:
            write_new(path, f"{fresh}\n".encode())
        except FileExistsError:
            raise ConflictError(
                f"{path} is there already", remedy="choose a new file name"
            ) from None
        except OSError as error:
            raise file_error(
                error, f"{path} cannot be written", "choose a folder you may write"
            ) from error
    return fresh


def wrap(master: str, tenant: str) -> tuple[TenantFile, str]:
    """A new data key for a tenant: the file to store, and the key in hex. Without a master key
    there is none."""
    if not master:
        return TenantFile(tenant=tenant), ""
    data_key = secrets.token_hex(32)
    return _sealed(TenantFile(tenant=tenant), _material(master), data_key), data_key


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
            f"tenant {file.tenant!r} is encrypted and no key was given",
            remedy="set REMLOOM_KEY to its master key",
        )
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    blob = bytes.fromhex(file.wrapped_key)
    material = _material(master)
    try:
        return (
            AESGCM(_wrapping_key(material, file))
            .decrypt(blob[:12], blob[12:], file.tenant.encode())
            .hex()
        )
    except (InvalidTag, ValueError):
        raise WrongKeyError(
            f"the key does not open tenant {file.tenant!r}",
            remedy="set REMLOOM_KEY to the key it was created with",
        ) from None


def rewrap(file: TenantFile, master: str, *, tenant: str | None = None) -> TenantFile:
    """The same data key wrapped at today's cost, for the same tenant or for one of another name.

    Raises:
        WrongKeyError: see `unwrap`.
    """
    data_key = unwrap(file, master)
    named = replace(file, tenant=file.tenant if tenant is None else tenant)
    return _sealed(named, _material(master), data_key) if data_key else named


def weaker(file: TenantFile) -> bool:
    """Whether its passphrase was stretched less than one is today."""
    memory, wanted = file.scrypt.n * file.scrypt.r, COST.n * COST.r
    return bool(file.salt) and (memory < wanted or memory * file.scrypt.p < wanted * COST.p)


def refuse_weak(master: str) -> None:
    """See that a master key is good enough for a new tenant.

    Raises:
        SettingsError: it could be guessed.
    """
    if master and (why := weakness(master)):
        raise SettingsError(
            f"{why}: whoever has the disk could guess it", setting="key", remedy=_MAKE_ONE
        )


def weakness(master: str) -> str:
    """What is wrong with a master key, or nothing."""
    material = _material(master)
    if _raw(material) is not None:
        return (
            "the master key is one digit again and again" if len(set(material.lower())) == 1 else ""
        )
    if len(material) < _SHORTEST:
        return f"the master key is a passphrase of {len(material)} characters, and {_SHORTEST} is the least"
    if len(set(material)) < _FEWEST:
        return "the master key is a passphrase of the same few characters"
    return ""


def _sealed(file: TenantFile, material: str, data_key: str) -> TenantFile:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    file = replace(
        file, salt="" if _raw(material) is not None else secrets.token_hex(16), scrypt=COST
    )
    nonce = secrets.token_bytes(12)
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
    asked = (material, file.salt, file.scrypt)
    if (known := _stretched.get(asked)) is not None:
        return known
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    with _stretching:
        if (known := _stretched.get(asked)) is None:
            cost = file.scrypt
            stretching = Scrypt(
                salt=bytes.fromhex(file.salt), length=32, n=cost.n, r=cost.r, p=cost.p
            )
            known = stretching.derive(material.encode())
            while len(_stretched) >= _KEPT:
                del _stretched[next(iter(_stretched))]
            _stretched[asked] = known
    return known


def _raw(material: str) -> bytes | None:
    """The 256 bits that a key spells in hex or base64; None for a passphrase."""
    try:
        if len(material) == 64:
            return bytes.fromhex(material) if material.isalnum() else None
        if len(material) == 44 and material.endswith("="):
            found = base64.b64decode(material.replace("-", "+").replace("_", "/"), validate=True)
            return found if len(found) == 32 else None
    except (ValueError, binascii.Error):
        pass
    return None


def _material(master: str) -> str:
    scheme, _, rest = master.partition(":")
    if scheme in ("file", "shared-file"):
        found = _from_file(rest, shared=scheme == "shared-file")
    elif scheme == "keyring":
        found = _from_keyring(rest)
    else:
        found = master
    if not found.strip():
        raise SettingsError("the master key is empty", setting="key", remedy=_MAKE_ONE)
    return found


def _from_file(place: str, *, shared: bool) -> str:
    path = Path(place).expanduser()
    try:
        with path.open("rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            found = stream.read()
    except OSError as error:
        raise SettingsError(
            f"the key file {place} cannot be read: {error.strerror}",
            setting="key",
            remedy="check REMLOOM_KEY",
        ) from error
    if os.name == "posix" and not shared and stat.S_ISREG(mode) and mode & 0o077:
        raise SettingsError(
            f"the key file {place} may be read by others: its mode is {stat.S_IMODE(mode):04o}", setting="key",
            remedy=f"chmod 600 {place}; if a container shows it like that, say so: REMLOOM_KEY=shared-file:{place}",
        )  # fmt: skip
    try:
        return found.decode().strip()
    except UnicodeDecodeError:
        raise SettingsError(
            f"the key file {place} holds no text", setting="key", remedy=_MAKE_ONE
        ) from None


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
            f"the keyring does not answer: {error}",
            setting="key",
            remedy="use a key file: REMLOOM_KEY=file:PATH",
        ) from error
    if not found:
        raise SettingsError(
            f"the keyring has no entry {place!r}",
            setting="key",
            remedy=f"keyring set {service} {name or 'master'}",
        )
    return str(found)
