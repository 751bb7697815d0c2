"""Keys as they stand in indexed columns, which hold no more than 2,700 bytes."""

from __future__ import annotations

from hashlib import sha256

_LONGEST = 1_000  # bytes
_MARK = "\x1f"  # a separator, so no key has it
_SHOWN = 100  # characters of a long key that its short form begins with


def short(key: str) -> str:
    """The key itself, or what stands for a long one: its beginning and its hash. Shortening twice
    changes nothing."""
    if len(key) * 4 <= _LONGEST or len(encoded := key.encode("utf-8")) <= _LONGEST:
        return key
    return f"{key[:_SHOWN]}{_MARK}{sha256(encoded).hexdigest()}"


def is_short(key: str) -> bool:
    """Whether it stands for a longer key, which `names.label` has."""
    return _MARK in key
