"""Sessions of web pages: a key is exchanged for a cookie, which no script can read.

They live in the server's memory. Whatever a session may do is what its key may do, at each request
anew: one whose key is revoked is over.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from threading import Lock

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
