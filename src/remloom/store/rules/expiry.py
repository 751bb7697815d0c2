"""When records expire: from that moment on no store returns them, until they are erased."""

from __future__ import annotations

from time import time_ns

from ...model import Record
from ..encoding import micros

BEFORE_ALL = -(2**63)  # a time at which nothing has expired


def now() -> int:
    """The time by which records expire, in microseconds since 1970 UTC."""
    return time_ns() // 1000


def has_expired(record: Record) -> bool:
    """Whether the time of a record has come."""
    at = record.expires_at
    return at is not None and (micros(at) or 0) <= now()
