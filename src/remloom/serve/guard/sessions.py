"""Sessions of web pages: a key is exchanged for a cookie, which no script can read.

They live in the server's memory. Whatever a session may do is what its key may do, at each request
anew: one whose key is revoked is over.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

__all__ = ["COOKIE", "Sessions"]

COOKIE = "remloom_session"
LIFETIME = 12 * 3600.0  # seconds
MOST = 10_000  # sessions; the oldest ends for a new one


class Sessions:
    """Keeps whose session each cookie is. What is kept of the cookie is a hash."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        # the id of the key, and when the session ends; the oldest first
        self._sessions: OrderedDict[str, tuple[str, float]] = OrderedDict()

    def begin(self, key_id: str) -> str:
        """Begin a session with a key that holds; returns the value of its cookie."""
        cookie = secrets.token_urlsafe(32)
        with self._lock:
            self._sessions[_hash(cookie)] = (key_id, self._clock() + LIFETIME)
            while len(self._sessions) > MOST:
                self._sessions.popitem(last=False)
        return cookie

    def key_of(self, cookie: str) -> str:
        """Give the id of a session's key; empty when there is no such session, or it is over."""
        key_id, end = self._sessions.get(_hash(cookie), ("", 0.0))
        return key_id if self._clock() < end else ""

    def end(self, cookie: str) -> None:
        """End a session, if there is one."""
        with self._lock:
            self._sessions.pop(_hash(cookie), None)


def _hash(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()
