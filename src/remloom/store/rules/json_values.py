"""Checks and encodes the values of `properties` and `metadata`: only those that every store keeps
exactly as they are."""

from __future__ import annotations

import json
import math
import re
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import msgspec

from ...errors import InvalidInputError

NOT_STORABLE_REMEDY = "use text, finite numbers, booleans, lists and objects as the model says"

DEEPEST = 64  # lists and objects inside each other
LARGEST = 2**63 - 1  # whole number that every store can compare; the least is one further
_INSTEAD: tuple[tuple[type | tuple[type, ...], str], ...] = (
    ((set, frozenset), "a list: sorted(…)"),
    ((bytes, bytearray, memoryview), "text: .decode(), or base64"),
    ((datetime, date, time), "text: .isoformat()"),
    (Decimal, "a float, or text"),
)
# of a float that is a whole number of 17 digits and more
_EXPONENT = re.compile(rb"[:\[,]-?[0-9.]+e[0-9+]")
_NUL = b"\\u0000"
_encode = msgspec.json.Encoder().encode


def check_json(value: Any, path: str, depth: int = 0) -> None:
    """Refuse what would come back as something else: everything but text, booleans, None, finite
    floats, whole numbers of 64 bits, and lists and objects of these. (A tuple comes back as a
    list.)

    Raises:
        InvalidInputError: names the path, what is there, and what it could be instead.
    """
    if isinstance(value, (dict, list, tuple)):
        if depth >= DEEPEST:
            found = f"more than {DEEPEST} lists or objects inside each other"
            raise _refused(path[:200], found, "make it flatter")
        if isinstance(value, dict):
            _check_object(value, path, depth)
        else:
            for position, item in enumerate(value):
                check_json(item, f"{path}[{position}]", depth + 1)
    else:
        _check_scalar(value, path)


def _check_object(value: dict[Any, Any], path: str, depth: int) -> None:
    for key, item in value.items():
        # Nearly all keys and values are plain text.
        if type(key) is str and "\0" not in key and type(item) is str and "\0" not in item:
            continue
        if not isinstance(key, str):
            found = f"a name that is a {type(key).__name__}"
            raise _refused(f"{path}.{key!r}", found, f"use {str(key)!r}")
        _check_scalar(key, f"{path}.{key!r}")
        check_json(item, f"{path}.{key}", depth + 1)


def _check_scalar(value: Any, path: str) -> None:
    if isinstance(value, str):
        if "\0" in value:
            raise _refused(path, "text with a NUL character", "remove \\0 from it")
    elif isinstance(value, float):
        if not math.isfinite(value):
            found = f"{value!r}, which is not a number in JSON"
            raise _refused(path, found, "leave it out, or write None")
    elif isinstance(value, int):
        if not -LARGEST - 1 <= value <= LARGEST:
            raise _refused(path, "a whole number of more than 64 bits", "write it as text")
    elif value is not None:
        instead = (words for kinds, words in _INSTEAD if isinstance(value, kinds))
        remedy = f"write it as {next(instead, 'text, numbers or lists')}"
        raise _refused(path, f"of type {type(value).__name__}", remedy)


def holds_nul(encoded: bytes) -> bool:
    """Whether a NUL character is in a text of what is encoded as JSON."""
    # a backslash is written as two: what is left is an escape
    return _NUL in encoded and _NUL in encoded.replace(rb"\\", b"")


def encode_strict(value: Any) -> bytes:
    """Encode a value as JSON, if it can be read back from there. NaN and infinity cannot: they
    would become null.

    Raises:
        InvalidInputError: it cannot.
    """
    try:
        encoded = msgspec.json.encode(value)
        if b"null" in encoded:
            json.dumps(msgspec.to_builtins(value, str_keys=True), allow_nan=False)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise InvalidInputError(
            f"it cannot be stored: {error}", remedy=NOT_STORABLE_REMEDY
        ) from error
    return encoded


def encode_free(value: Any) -> str:
    """Encode a value as JSON for a store that keeps numbers as it would write them.

    Floats are written without an exponent: a whole number of many digits stays a float only by its
    point.
    """
    encoded = _encode(value)
    if _EXPONENT.search(encoded):
        encoded = _encode(_pointed(msgspec.to_builtins(value)))
    return encoded.decode()


def _pointed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _pointed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_pointed(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return msgspec.Raw(f"{value:.1f}".encode())
    return value


def _refused(path: str, found: str, remedy: str) -> InvalidInputError:
    return InvalidInputError(f"{path} is {found}: it would not come back as it is", remedy=remedy)
