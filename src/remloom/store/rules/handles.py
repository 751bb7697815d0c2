"""Handles: what the rows of registered schemas are called by their keys.

A handle is the type of the entity, a hyphen, and the key: "customer-12345". Labels that differ only
in case and separators are one, so two keys of a database may be one label ("aB" and "Ab"): each of
those has six digits more, of the digest of what it would be called without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from hashlib import blake2b
from typing import Any

_DIGITS = 6  # of a digest behind a handle


def handle_of(entity_type: str, key: Sequence[Any]) -> str:
    """Give the handle of a row by its key, of which no part is None.

    >>> handle_of("customer", (12345,)), handle_of("line", (7, "a/b"))
    ('customer-12345', 'line-7/a%2Fb')
    """
    parts = [_text_of(part) for part in key]
    if len(parts) > 1:
        # else ("a/b", "c") and ("a", "b/c") would be one
        parts = [part.replace("%", "%25").replace("/", "%2F") for part in parts]
    return f"{entity_type}-{'/'.join(parts)}"


def with_digest(handle: str) -> str:
    """Give the handle of a row whose label others have as well.

    >>> with_digest("customer-aB") != with_digest("customer-Ab")
    True
    """
    return f"{handle}-{_digits(handle)}"


def plain_handle(handle: str) -> str:
    """Give a handle as it is without a digest, if it has one.

    >>> plain_handle(with_digest("customer-aB")), plain_handle("customer-aB")
    ('customer-aB', 'customer-aB')
    """
    plain, hyphen, digits = handle.rpartition("-")
    return plain if hyphen and digits == _digits(plain) else handle


def _digits(handle: str) -> str:
    digest = blake2b(handle.encode("utf-8", "surrogatepass"), digest_size=_DIGITS // 2)
    return digest.hexdigest()


def _text_of(part: Any) -> str:
    # databases give a number now as one type and now as another, by the column
    if isinstance(part, float) and part.is_integer():
        return str(int(part))
    if isinstance(part, Decimal) and part.is_finite() and part == part.to_integral_value():
        return str(int(part))
    if isinstance(part, date | datetime):
        return part.isoformat()
    return str(part)
