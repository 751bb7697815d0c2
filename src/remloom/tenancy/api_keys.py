"""API keys: who may call a server, as which tenant, and what they may do there.

A home keeps them in a store of its own, as encrypted as its tenants are. What is stored of a key
is a hash: the key itself is shown once, when it is made. A key has 256 random bits, so that a plain
SHA-256 of it gives nothing away, and checking one costs microseconds.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..engine.arguments import end_of
from ..errors import (
    AuthenticationError,
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    UnknownNameError,
)
from ..kv import Entry
from .audit import AuditEntry, AuditLog
from .home_store import HomeStore

if TYPE_CHECKING:
    from ..settings import Settings
    from ..store.contract import Store


Scope: TypeAlias = Literal["read", "write", "forget", "dream", "admin", "metrics"]
SCOPES: tuple[Scope, ...] = get_args(Scope)

_NAMESPACE = "api-keys"
_FORM = re.compile(r"rlm_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_LONGEST_NAME = 200  # characters
# compared with where there is no such key, so that both take as long
_NO_HASH = hashlib.sha256(secrets.token_bytes(32)).hexdigest()


class ApiKey(Struct, frozen=True, kw_only=True):
    """What is known of an API key.

    Attributes:
        id: its public part, by which logs and the audit name it.
        tenant: whose memory it opens; empty: one of all tenants, that names one with each call.
        last_used_at: within a minute; None: it never was.
    """

    id: str
    name: str
    tenant: str
    scopes: tuple[Scope, ...]
    created_at: datetime
    expires_at: datetime | None = None
    last_used_at: datetime | None = None


class NewApiKey(ApiKey, frozen=True, kw_only=True):
    """An API key that was made just now, with what its owner sends. It cannot be shown again."""

    key: str

    def __repr__(self) -> str:
        return f"NewApiKey(id={self.id!r}, key='***')"


class _Stored(Struct, frozen=True):
    """An API key as it is stored."""

    of: ApiKey
    hash: str


class ApiKeys(HomeStore):
    """The API keys of a home. Nothing is made before the first key is. Any thread may use it.

    Args:
        tenant: only those of this tenant are seen and made; empty: all.
        scopes: that a new key can have.

    >>> Home(home).create("default")
    >>> with ApiKeys(Settings(home=str(home))) as keys:
    ...     made = keys.create("laptop", ["read", "write"], tenant="default")
    ...     keys.check(made.key).name
    'laptop'
    """

    def __init__(
        self, settings: Settings, *, tenant: str = "", scopes: Iterable[Scope] = SCOPES
    ) -> None:
        super().__init__(settings)
        self._tenant = tenant
        self._scopes = frozenset(scopes)

    def audit(self, limit: int = 100) -> list[AuditEntry]:
        """List what was done with keys and tenants over a server, newest first."""
        store = self._found()
        return AuditLog(store.kv).calls(limit) if store is not None else []

    def note(self, entry: AuditEntry) -> None:
        """Note what was done with keys and tenants."""
        AuditLog(self._opened(create=True).kv).add([entry])

    def create(
        self, name: str, scopes: Sequence[Scope], *, tenant: str = "", expires: str = ""
    ) -> NewApiKey:
        """Make an API key. What its owner sends is in the value this once, and nowhere later.

        Args:
            name: what it is for.
            scopes: what it may do: read, write, forget, dream, admin, metrics.
            tenant: whose memory it opens; without, it names one with each call, which needs the
                scope admin.
            expires: a time such as "2027-01-31", or how long it lasts: "12h", "30d", "4w". Empty:
                until it is revoked.

        Raises:
            InvalidInputError: it would be of no use.
            TenantNotFoundError: there is no such tenant.
            ForbiddenError: the caller may not do that itself.
        """
        now = datetime.now(UTC)
        if not name.strip() or len(name) > _LONGEST_NAME:
            raise InvalidInputError(
                "an API key needs a name",
                remedy=f"say in 1-{_LONGEST_NAME} characters what it is for",
            )
        known_scopes = _known(scopes)
        tenant = self._permitted(tenant, known_scopes)
        made = ApiKey(
            id=secrets.token_hex(6),
            name=name.strip(),
            tenant=tenant,
            scopes=known_scopes,
            created_at=now,
            expires_at=end_of(expires, now, "a key"),
        )
        secret = secrets.token_urlsafe(32)
        entry = _entry(_Stored(made, _hash(secret)))
        self._opened(create=True).kv.put([entry], expected_version=0)
        return NewApiKey(**msgspec.structs.asdict(made), key=f"rlm_{made.id}_{secret}")

    def list(self) -> list[ApiKey]:
        """List the API keys, newest first."""
        store = self._found()
        entries = store.kv.list(_NAMESPACE) if store is not None else []
        keys = [_decode(entry).of for entry in entries]
        mine = [key for key in keys if not self._tenant or key.tenant == self._tenant]
        return sorted(mine, key=lambda key: key.created_at, reverse=True)

    def revoke(self, id: str) -> None:
        """End an API key. A server that runs refuses it from then on.

        Raises:
            NotFoundError: there is none of this id.
        """
        store = self._found()
        stored = self._stored(store, id)
        if store is None or stored is None or self._tenant not in ("", stored.of.tenant):
            raise NotFoundError(
                f"there is no API key {id!r:.50}", remedy="remloom keys list has their ids", id=id
            )
        store.kv.put([], deleted=[(_NAMESPACE, id)])

    def revoke_all(self, tenant: str) -> None:
        """End the API keys of a tenant that is deleted: one of its name that is made later is
        another."""
        store = self._found()
        if store is not None:
            gone = [key.id for key in self.list() if key.tenant == tenant]
            store.kv.put([], deleted=[(_NAMESPACE, id) for id in gone])

    def check(self, key: str) -> ApiKey:
        """Find the API key that was sent: one probe of an index.

        Raises:
            AuthenticationError: it is none, or has ended.
        """
        form = _FORM.fullmatch(key)
        id, secret = form.groups() if form else ("", "")
        stored = self._stored(self._found(), id)
        is_right = hmac.compare_digest(_hash(secret), stored.hash if stored else _NO_HASH)
        if stored is None or not is_right:
            raise _unknown()
        return _in_force(stored.of)

    def current(self, id: str) -> ApiKey:
        """Find an API key that was checked before, as it is now.

        Raises:
            AuthenticationError: it was revoked, or has ended.
        """
        stored = self._stored(self._found(), id)
        if stored is None:
            raise _unknown()
        return _in_force(stored.of)

    def note_use(self, id: str) -> None:
        """Note that an API key was used just now."""
        store = self._found()
        entry = store.kv.get(_NAMESPACE, id) if store is not None else None
        if store is None or entry is None or not store.capabilities.writable:
            return
        stored = _decode(entry)
        used = replace(stored, of=replace(stored.of, last_used_at=datetime.now(UTC)))
        # noted by another meanwhile, or revoked, in which case it must not come back
        with suppress(ConflictError):
            store.kv.put([_entry(used)], expected_version=entry.version)

    def _permitted(self, tenant: str, scopes: Sequence[Scope]) -> str:
        """Give the tenant of a new key, after checking that there may be such a key."""
        beyond = set(scopes) - self._scopes
        if beyond:
            raise ForbiddenError(
                f"a key without scope {min(beyond)!r} cannot give it to another",
                remedy="ask whoever has it",
                scope=min(beyond),
            )
        if self._tenant:
            if tenant not in ("", self._tenant):
                raise ForbiddenError(
                    f"a key of tenant {self._tenant!r} cannot make one of another",
                    remedy="leave the tenant out",
                )
            tenant = self._tenant
        if not tenant:
            if not {"admin", "metrics"} & set(scopes):
                raise InvalidInputError(
                    "a key of no tenant needs the scope admin, or metrics",
                    remedy="give it a tenant",
                )
            return ""
        self._check_tenants(tenant)
        return tenant

    def _stored(self, store: Store | None, id: str) -> _Stored | None:
        entry = store.kv.get(_NAMESPACE, id) if store is not None else None
        return _decode(entry) if entry is not None else None


def _known(scopes: Sequence[str]) -> tuple[Scope, ...]:
    for scope in scopes:
        if scope not in SCOPES:
            raise UnknownNameError("scope", scope, SCOPES)
    if not scopes:
        raise InvalidInputError(
            "an API key without scopes may do nothing", remedy=f"give some of {', '.join(SCOPES)}"
        )
    return tuple(scope for scope in SCOPES if scope in scopes)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _entry(stored: _Stored) -> Entry:
    return Entry(_NAMESPACE, stored.of.id, msgspec.json.encode(stored))


def _decode(entry: Entry) -> _Stored:
    return msgspec.json.decode(entry.value, type=_Stored)


def _in_force(key: ApiKey) -> ApiKey:
    if key.expires_at is not None and key.expires_at <= datetime.now(UTC):
        raise AuthenticationError(
            f"API key {key.id} ended at {key.expires_at:%Y-%m-%d %H:%M} UTC",
            remedy="make another: remloom keys create",
        )
    return key


def _unknown() -> AuthenticationError:
    return AuthenticationError(
        "this is no API key of this server", remedy="make one: remloom keys create"
    )
