"""Who calls: whoever sent a key, or has a session that began with one, as a `Caller`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers

from ...errors import AuthenticationError, ForbiddenError, InvalidInputError
from ...tenancy.api_keys import ApiKey, ApiKeys
from ..caller import Caller
from .oauth import AccessTokens
from .sessions import COOKIE, Sessions

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

    async def log_in(self, given: str) -> tuple[ApiKey, str]:
        """Exchange a key for a session: gives the key and the value of the cookie.

        Raises:
            AuthenticationError: it does not hold.
        """
        key = await self._run(self._keys.check, given)
        return key, self.sessions.begin(key.id)

    def challenge(self) -> str:
        """Say how to show who one is, as `WWW-Authenticate` does."""
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
    """Refuse what a page of another origin could have a browser send, with the cookie of this one.

    Raises:
        ForbiddenError: it could be that.
    """
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
    """Give the token of an Authorization header; empty without the header."""
    given = headers.getlist("Authorization")
    if not given:
        return ""
    scheme, _, token = given[0].partition(" ")
    if len(given) > 1 or scheme.lower() != "bearer" or not token.strip():
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
