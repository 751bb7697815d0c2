"""Who calls: a key, or the session of a web page that began with one, as a `Caller`."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie
from threading import Lock
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers

from ...errors import (
    AuthenticationError,
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    SettingsError,
)
from ...memory.home import Home
from ...settings import Settings
from ...tenancy.api_keys import ApiKey, ApiKeys, NewApiKey, Scope
from ..caller import Caller
from .oauth import AccessTokens
from .origins import is_loopback

COOKIE = "remloom_session"
LIFETIME = 12 * 3600.0  # seconds
MOST = 100  # sessions of a key; its oldest ends for a new one


class Sessions:
    """Keeps whose session each cookie is. What is kept of the cookie is a hash."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        # the id of the key, and when the session ends; the oldest first, which is the first to end
        self._sessions: OrderedDict[str, tuple[str, float]] = OrderedDict()
        # the sessions of each key, in the same order
        self._of_key: defaultdict[str, deque[str]] = defaultdict(deque)

    def begin(self, key_id: str) -> str:
        """Begin a session with a key that holds; returns the value of its cookie."""
        cookie = secrets.token_urlsafe(32)
        hashed, now = _hash(cookie), self._clock()
        with self._lock:
            while self._sessions and (oldest := next(iter(self._sessions.items())))[1][1] <= now:
                self._drop(oldest[0])
            if len(self._of_key[key_id]) >= MOST:
                self._drop(self._of_key[key_id][0])
            self._sessions[hashed] = (key_id, now + LIFETIME)
            self._of_key[key_id].append(hashed)
        return cookie

    def key_of(self, cookie: str) -> str:
        """Give the id of a session's key; empty when there is no such session, or it is over."""
        key_id, end = self._sessions.get(_hash(cookie), ("", 0.0))
        return key_id if self._clock() < end else ""

    def end(self, cookie: str) -> None:
        """End a session, if there is one."""
        with self._lock:
            self._drop(_hash(cookie))

    def _drop(self, hashed: str) -> None:
        key_id, _ = self._sessions.pop(hashed, ("", 0.0))
        if not key_id:
            return
        self._of_key[key_id].remove(hashed)
        if not self._of_key[key_id]:
            del self._of_key[key_id]


def _hash(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()


TENANT_HEADER = "X-Remloom-Tenant"
# no page of another origin can send it without being asked first
PAGE_HEADER = "X-Remloom"
API_KEY = "rlm_"  # how one begins
CHECKING = 4  # access tokens that are checked at once
NOTED = 60.0  # seconds between two notes of when a key was used
_SAFE = ("GET", "HEAD", "OPTIONS")

_T = TypeVar("_T")


class Authentication:
    """Finds who calls.

    Args:
        tokens: checks access tokens, where an issuer is set up.
        is_local: whether keys are found in microseconds, and need no thread.
    """

    def __init__(self, keys: ApiKeys, tokens: AccessTokens | None, *, is_local: bool) -> None:
        self.tokens = tokens
        self.sessions = Sessions()
        self._keys = keys
        self._is_local = is_local
        # an issuer that does not answer holds up these alone
        self._checking = CapacityLimiter(CHECKING)
        self._noted: dict[str, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def caller(self, method: str, headers: Headers, *, is_own: bool) -> Caller:
        """Find who sent a request.

        Args:
            is_own: whether it does not come from a page of another origin.

        Raises:
            AuthenticationError: nobody that is known.
            ForbiddenError: somebody who names a tenant although their key is of one; or a web page
                that could be another's.
        """
        token = _bearer(headers)
        if token and self.tokens is not None and not token.startswith(API_KEY):
            caller = await to_thread.run_sync(self.tokens.check, token, limiter=self._checking)
            return _of_token(caller, headers)
        if token:
            key = await self._run(self._keys.check, token)
        else:
            key = await self._of_session(method, headers, is_own)
        self._note_use(key.id)
        return _caller(key, headers)

    async def log_in(self, sent: str) -> tuple[ApiKey, str]:
        """Exchange a key for a session: gives the key and the value of the cookie."""
        key = await self._run(self._keys.check, sent)
        return key, self.sessions.begin(key.id)

    def challenge(self) -> str:
        challenge = 'Bearer realm="remloom"'
        if self.tokens is not None:
            challenge += f', resource_metadata="{self.tokens.metadata_url}"'
        return challenge

    async def _of_session(self, method: str, headers: Headers, is_own: bool) -> ApiKey:
        cookie = session_cookie(headers)
        id = self.sessions.key_of(cookie) if cookie else ""
        if not id:
            raise AuthenticationError(
                "this needs an API key",
                remedy="send it: Authorization: Bearer rlm_…; `remloom keys create` makes one",
            )
        check_page(method, headers, is_own=is_own)
        return await self._run(self._keys.current, id)

    async def _run(self, find: Callable[[str], _T], text: str) -> _T:
        return find(text) if self._is_local else await to_thread.run_sync(find, text)

    def _note_use(self, id: str) -> None:
        """Note in the background that a key was used, once a minute."""
        now = time.monotonic()
        if now - self._noted.get(id, -NOTED) < NOTED:
            return
        self._noted[id] = now
        task = asyncio.get_running_loop().create_task(self._write_use(id))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _write_use(self, id: str) -> None:
        await to_thread.run_sync(self._keys.note_use, id)


def check_page(method: str, headers: Headers, *, is_own: bool) -> None:
    """Refuse what a page of another origin could have a browser send, with our cookie."""
    if not is_own or headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
        raise ForbiddenError(
            "a session belongs to the server's own pages", remedy="send a key instead"
        )
    if method not in _SAFE and headers.get(PAGE_HEADER) != "1":
        raise ForbiddenError(
            f"a page that changes something has to send {PAGE_HEADER}: 1",
            remedy="or send a key instead of the cookie",
        )


def session_cookie(headers: Headers) -> str:
    """Give the value of a session's cookie; empty without one."""
    try:
        cookies = SimpleCookie(headers.get("Cookie", ""))
    except CookieError:
        return ""
    return cookies[COOKIE].value if COOKIE in cookies else ""


def _bearer(headers: Headers) -> str:
    sent = headers.getlist("Authorization")
    if not sent:
        return ""
    scheme, _, token = sent[0].partition(" ")
    if len(sent) > 1 or scheme.lower() != "bearer" or not token.strip():
        raise AuthenticationError(
            "the Authorization header is none that this server takes",
            remedy="send one: Authorization: Bearer rlm_…",
        )
    return token.strip()


def _of_token(caller: Caller, headers: Headers) -> Caller:
    if TENANT_HEADER in headers:
        raise ForbiddenError(
            f"an access token is of one tenant, and the call names one in {TENANT_HEADER}",
            remedy="leave the header out",
        )
    return caller


def _caller(key: ApiKey, headers: Headers) -> Caller:
    named = headers.getlist(TENANT_HEADER)
    scopes = frozenset(key.scopes)
    if key.tenant:
        if named:
            raise ForbiddenError(
                f"this key is of one tenant, and the call names one in {TENANT_HEADER}",
                remedy="leave the header out, or use a key of all tenants",
            )
        return Caller(key_id=key.id, tenant=key.tenant, scopes=scopes)
    if len(named) > 1:
        raise InvalidInputError(f"{TENANT_HEADER} is there twice", remedy="send it once")
    if named and "admin" not in scopes:
        raise ForbiddenError(
            "a key without scope 'admin' may not name a tenant", remedy="use one with it"
        )
    tenant = named[0] if named else ""
    return Caller(key_id=key.id, tenant=tenant, scopes=scopes, of_home="admin" in scopes)


# a key of one tenant has no use for the numbers of the whole server
_FIRST: tuple[Scope, ...] = ("read", "write", "forget", "dream", "admin")


def first_key(keys: ApiKeys, settings: Settings, *, others: bool = False) -> NewApiKey | None:
    """Make the first API key of a server on loopback, and its tenant; None when there are keys."""
    if others or keys.list():
        return None
    host = settings.serve_bind.rpartition(":")[0]
    if not is_loopback(host):
        raise SettingsError(
            f"a server on {settings.serve_bind} needs an API key before it starts",
            setting="serve_bind",
            remedy="make one: remloom keys create NAME --tenant TENANT",
        )
    with suppress(ConflictError):
        Home(settings.home, key=settings.key or None).create(settings.tenant)
    return keys.create("first", _FIRST, tenant=settings.tenant)
