"""What users may put into `properties` and `metadata`: what every store keeps exactly as it is, and
nothing else."""

from __future__ import annotations

import math
import re
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import msgspec

from ..errors import InvalidInputError

__all__ = ["check", "encode_free"]

DEEPEST = 64  # lists and objects inside each other
_LEAST, _MOST = -(2**63), 2**63 - 1  # whole numbers that every store can compare
_INSTEAD: tuple[tuple[type | tuple[type, ...], str], ...] = (
    ((set, frozenset), "a list: sorted(…)"),
    ((bytes, bytearray, memoryview), "text: .decode(), or base64"),
    ((datetime, date, time), "text: .isoformat()"),
    (Decimal, "a float, or text"),
)
# of a float that is a whole number of 17 digits and more
_EXPONENT = re.compile(rb"[:\[,]-?[0-9.]+e[0-9+]")
_encode = msgspec.json.Encoder().encode


def check(value: Any, path: str, depth: int = 0) -> None:
    """Refuse what would come back as something else: everything but text, booleans, None, finite
    floats, whole numbers of 64 bits, and lists and objects of these. (A tuple comes back as a
    list.)

    Raises:
        InvalidInputError: names the path, what is there, and what it could be instead.
    """
    if isinstance(value, (dict, list, tuple)):
        if depth >= DEEPEST:
            raise _refused(
                path[:200],
                f"more than {DEEPEST} lists or objects inside each other",
                "make it flatter",
            )
        if isinstance(value, dict):
            for key, item in value.items():
                if type(key) is str and "\0" not in key and type(item) is str and "\0" not in item:
                    continue  # what nearly all are
                if not isinstance(key, str):
                    raise _refused(
                        f"{path}.{key!r}",
                        f"a name that is a {type(key).__name__}",
                        f"use {str(key)!r}",
                    )
                check(key, f"{path}.{key!r}")
                check(item, f"{path}.{key}", depth + 1)
        else:
            for place, item in enumerate(value):
                check(item, f"{path}[{place}]", depth + 1)
    elif isinstance(value, str):
        if "\0" in value:
            raise _refused(path, "text with a NUL character", "remove \\0 from it")
    elif value is None or isinstance(value, bool):
        pass
    elif isinstance(value, int):
        if not _LEAST <= value <= _MOST:
            raise _refused(path, "a whole number of more than 64 bits", "write it as text")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise _refused(
                path, f"{value!r}, which is no number in JSON", "leave it out, or write None"
            )
    else:
        instead = next(
            (words for kinds, words in _INSTEAD if isinstance(value, kinds)),
            "text, numbers or lists",
        )
        raise _refused(path, f"of type {type(value).__name__}", f"write it as {instead}")


def encode_free(value: Any) -> str:
    """A value as JSON for a store that keeps numbers as it would write them: floats without an
    exponent, since a whole number of many digits comes back as one only with its point."""
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
