"""The functions that statements and views call from SQL."""

from __future__ import annotations

from functools import lru_cache

import apsw
import msgspec

from ...errors import InvalidInputError
from .rows import decompress

__all__ = ["prepare"]

_PATIENCE = 1.0  # seconds for a regular expression on one text


def prepare(connection: apsw.Connection) -> None:
    """Register the SQL functions that statements and views use."""
    connection.create_scalar_function("merge_properties", merge_properties, 2, deterministic=True)
    connection.create_scalar_function("decompress", decompress, 1, deterministic=True)
    connection.create_scalar_function("casefold", casefold, 1, deterministic=True)
    connection.create_scalar_function("matches", matches, 2, deterministic=True)


def merge_properties(old: str | None, new: str | None) -> str | None:
    """The properties of an edge written again."""
    if not old or not new:
        return old or new
    return msgspec.json.encode({**msgspec.json.decode(old), **msgspec.json.decode(new)}).decode()


def casefold(text: object) -> str | None:
    """Unicode case folding."""
    return None if text is None else str(text).casefold()


def matches(pattern: str, text: str | None) -> bool | None:
    """A regular expression matches somewhere in the text.

    Raises:
        InvalidInputError: it takes too long; some patterns would take longer than the universe is old.
    """
    if text is None:
        return None
    try:
        return _compiled(pattern).search(str(text), timeout=_PATIENCE) is not None
    except TimeoutError:
        raise InvalidInputError(
            f"the regular expression {pattern!r} takes longer than {_PATIENCE:g} s on a text",
            remedy="write it without repetitions inside repetitions, such as (a|aa)+",
        ) from None


@lru_cache(maxsize=64)
def _compiled(pattern: str):  # type: ignore[no-untyped-def]
    import regex  # reads what `re` reads, and can be stopped

    return regex.compile(pattern)
