"""Values of `properties` and `metadata`: only those that every store keeps exactly as they are; and
the JSON Schemas that they are checked by."""

from __future__ import annotations

import json
import math
import re
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

import msgspec

from ...errors import InvalidInputError, MissingExtraError

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
_MOST_NODES = 10_000  # of a schema, with every reference followed
_DEEPEST_SCHEMA = 100
_IS_COUNTED = -1  # stands for a reference that is being followed


def check_json(value: Any, path: str, depth: int = 0) -> None:
    """Refuse what would come back as something else: everything but text, booleans, None, finite
    floats, whole numbers of 64 bits, and lists and objects of these. (A tuple comes back as a
    list.) The InvalidInputError names the path, what is there, and what it could be instead."""
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
    """Encode a value as JSON; raises InvalidInputError if it cannot be read back from there. NaN
    and infinity cannot: they would become null."""
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
    """Encode a value as JSON, floats without an exponent: for a store that keeps numbers as it
    would write them, a whole number of many digits stays a float only by its point."""
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


# -- JSON Schemas ----------------------------------------------------------------------------------


def compile_schema(schema: dict[str, Any]) -> Any:
    """Compile a JSON Schema to a validator of `jsonschema_rs`. Nothing is fetched for it.

    Raises:
        InvalidInputError: it is no JSON Schema, refers to one elsewhere or to itself, or is too
            large with its references followed.
        MissingExtraError: `remloom[schemas]` is not installed.
    """
    try:
        import jsonschema_rs
    except ImportError as error:
        raise MissingExtraError("a metadata_schema", "schemas") from error
    _count_nodes(schema, schema, {})
    try:
        return jsonschema_rs.validator_for(schema, retriever=_refuse)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        message = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidInputError(
            f"this is no JSON Schema: {message}", remedy="see https://json-schema.org"
        ) from error


def _count_nodes(node: Any, root: Any, counted: dict[str, int], depth: int = 0) -> int:
    """Count the objects and lists of a schema as a validator goes through them.

    References that branch double them with each step: a short schema may take years to check.
    """
    if depth > _DEEPEST_SCHEMA:
        raise _schema_refused(
            f"it is more than {_DEEPEST_SCHEMA} objects and references deep", "make it flatter"
        )
    if not isinstance(node, dict | list):
        return 0
    children = node.values() if isinstance(node, dict) else node
    nodes = 1 + sum(_count_nodes(child, root, counted, depth + 1) for child in children)
    if isinstance(node, dict):
        nodes += _count_referred(node, root, counted, depth)
    if nodes > _MOST_NODES:
        why = f"with its references followed it has more than {_MOST_NODES:,} places"
        raise _schema_refused(why, "refer less often, or ask for less")
    return nodes


def _count_referred(node: dict[str, Any], root: Any, counted: dict[str, int], depth: int) -> int:
    for name in ("$dynamicRef", "$recursiveRef", "$id"):
        # they change what other references mean
        if isinstance(node.get(name), str) and node is not root:
            raise _schema_refused(f"{name} is not followed", "say $ref with #/$defs/…")
    reference = node.get("$ref")
    if not isinstance(reference, str):
        return 0
    if counted.get(reference) == _IS_COUNTED:
        raise _schema_refused(
            f"{reference} leads to itself", "write as many levels as there may be"
        )
    if reference not in counted:
        counted[reference] = _IS_COUNTED
        target = _find_referred(reference, root)
        counted[reference] = _count_nodes(target, root, counted, depth + 1)
    return counted[reference]


def _find_referred(reference: str, root: Any) -> Any:
    if reference != "#" and not reference.startswith("#/"):
        raise _schema_refused(f"{reference} is elsewhere", "write it here, under $defs")
    found = root
    for part in unquote(reference).split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        elif isinstance(found, dict) and name in found:
            found = found[name]
        else:
            raise _schema_refused(f"there is no {reference}", "write it here, under $defs")
    return found


def _schema_refused(why: str, remedy: str) -> InvalidInputError:
    return InvalidInputError(f"this is no JSON Schema that can be kept: {why[:300]}", remedy=remedy)


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri} is elsewhere: write it here, under $defs")
