"""JSON Schemas, compiled: what they ask for is checked with every fault and its path."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from ...errors import InvalidInputError, MissingExtraError

_MOST_NODES = 10_000  # of a schema, with every reference followed
_DEEPEST = 100
_IS_COUNTED = -1  # stands for a reference that is being followed


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
    if depth > _DEEPEST:
        raise _refused(f"it is more than {_DEEPEST} objects and references deep", "make it flatter")
    if not isinstance(node, dict | list):
        return 0
    children = node.values() if isinstance(node, dict) else node
    nodes = 1 + sum(_count_nodes(child, root, counted, depth + 1) for child in children)
    if isinstance(node, dict):
        nodes += _count_referred(node, root, counted, depth)
    if nodes > _MOST_NODES:
        why = f"with its references followed it has more than {_MOST_NODES:,} places"
        raise _refused(why, "refer less often, or ask for less")
    return nodes


def _count_referred(node: dict[str, Any], root: Any, counted: dict[str, int], depth: int) -> int:
    for name in ("$dynamicRef", "$recursiveRef", "$id"):
        # they change what other references mean
        if isinstance(node.get(name), str) and node is not root:
            raise _refused(f"{name} is not followed", "say $ref with #/$defs/…")
    reference = node.get("$ref")
    if not isinstance(reference, str):
        return 0
    if counted.get(reference) == _IS_COUNTED:
        raise _refused(f"{reference} leads to itself", "write as many levels as there may be")
    if reference not in counted:
        counted[reference] = _IS_COUNTED
        target = _find_referred(reference, root)
        counted[reference] = _count_nodes(target, root, counted, depth + 1)
    return counted[reference]


def _find_referred(reference: str, root: Any) -> Any:
    if reference != "#" and not reference.startswith("#/"):
        raise _refused(f"{reference} is elsewhere", "write it here, under $defs")
    found = root
    for part in unquote(reference).split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        elif isinstance(found, dict) and name in found:
            found = found[name]
        else:
            raise _refused(f"there is no {reference}", "write it here, under $defs")
    return found


def _refused(why: str, remedy: str) -> InvalidInputError:
    return InvalidInputError(f"this is no JSON Schema that can be kept: {why[:300]}", remedy=remedy)


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri} is elsewhere: write it here, under $defs")
