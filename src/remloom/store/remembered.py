"""Texts that were remembered one by one: several from one source stand beside each other, each with
a uri of its own and the source as its origin."""

from __future__ import annotations

from hashlib import sha256

from ..model import Record, Resource, Row

_NO_SOURCE = "remembered"
_DIGEST = 16  # hexadecimal digits


def uri_of(source: str, text: str) -> str:
    """The uri of a text from a source, which may be empty."""
    return f"{source or _NO_SOURCE}/{digest_of(text)}"


def origin_of(record: Record) -> str:
    """The source that a text was remembered from, as it was written; of an entity or a moment, the
    uri of what it stands for."""
    if isinstance(record, Resource):
        return record.origin
    return "" if isinstance(record, Row) else record.uri


def digest_of(text: str) -> str:
    """What tells a text from others of its source."""
    return sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
