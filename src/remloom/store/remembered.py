"""The uris of texts that were remembered one by one: several from one source stand beside each
other."""

from __future__ import annotations

import re
from hashlib import sha256

from ..model import Record, Resource, Row

__all__ = ["digest_of", "origin_of", "uri_of"]

_NO_SOURCE = "remembered"
_DIGEST = 16  # hexadecimal digits
_URI = re.compile(rf"(.+)/[0-9a-f]{{{_DIGEST}}}", re.DOTALL)


def uri_of(source: str, text: str) -> str:
    """The uri of a text from a source, which may be empty."""
    return f"{source or _NO_SOURCE}/{digest_of(text)}"


def origin_of(record: Record) -> str:
    """The source that the uri of a text was made of by `uri_of`; empty for other uris, and without
    a source. Of an entity or a moment, its uri."""
    if not isinstance(record, Resource):
        return "" if isinstance(record, Row) else record.uri
    found = _URI.fullmatch(record.uri)
    source = found[1] if found else ""
    return "" if source == _NO_SOURCE else source


def digest_of(text: str) -> str:
    """What tells a text from others of its source."""
    return sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
