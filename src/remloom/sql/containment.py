"""Conditions on what lists, objects and texts hold: by name and by PostgreSQL's operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from ..errors import InvalidInputError, SqlGuardError
from .coercion import describe, literal
from .patterns import MAX_LIKE, parse_graph_path
from .values import (
    And,
    Column,
    Compare,
    Contains,
    Expression,
    IsNull,
    Json,
    Or,
    Value,
)

_MAX_PARTS = 100  # of an object or list that is looked for


def contains(value: Expression, needle: Value | Sequence[Value]) -> Expression:
    """Whether a list has these elements, an object these keys and values, a text this text in it.

    A text that is looked for in an object, or in a list with `@>`, is JSON: `'{"page": 3}'`,
    `'["a"]'`.

    Raises:
        InvalidInputError: such a value cannot hold such a one.
    """
    if not isinstance(needle, Value):
        return _and([contains(value, part) for part in needle])
    if needle.value is None:
        return Value(None, "boolean")
    if isinstance(value, Column) and value.name == "graph_paths":
        return _contains_edge(needle)
    if value.type == "json":
        document = _decode_container(needle)
        return Contains(value, needle) if document is None else _contains_json(value, document)
    if value.type == "text":
        return _contains_text(value, needle)
    raise InvalidInputError(
        f"{describe(value)} holds nothing else", remedy="contains(topic_tags, 'pricing')"
    )


def _contains_edge(needle: Value) -> Expression:
    if needle.type != "text":
        raise InvalidInputError(
            "an edge is looked for by its path", remedy="'/resources/Kickoff/related/*'"
        )
    return parse_graph_path(needle.value)


def _contains_text(value: Expression, needle: Value) -> Expression:
    text = needle.value if needle.type == "text" else str(needle.value)
    if len(text) > MAX_LIKE:
        raise SqlGuardError(
            f"what is looked for may have {MAX_LIKE} characters, this has {len(text):,}",
            remedy="look for a part of it",
        )
    return Contains(value, Value(text, "text"))


def overlaps(value: Expression, needles: Sequence[Value]) -> Expression:
    """Whether a list has at least one of these elements."""
    if value.type != "json":
        raise InvalidInputError(
            f"{describe(value)} is not a list", remedy="topic_tags && ARRAY['pricing', 'plans']"
        )
    parts: list[Expression] = []
    for needle in needles:
        document = _decode_container(needle)
        elements = document if isinstance(document, list) else [needle.value]
        parts += [contains(value, literal(element)) for element in elements[:_MAX_PARTS]]
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def has_key(value: Expression, key: Value) -> Expression:
    """Whether an object has a key, or a list a text."""
    is_list = isinstance(value, Json) and value.is_list
    if is_list or (isinstance(value, Column) and value.name not in ("metadata", "properties")):
        return contains(value, key)
    if isinstance(value, Column | Json) and value.type == "json":
        parent = _as_path(value)
        child = replace(parent, steps=(*parent.steps, str(key.value)), is_list=False)
        return IsNull(child, negated=True)
    raise InvalidInputError(f"{describe(value)} holds no JSON", remedy="metadata ? 'page'")


def _as_path(value: Column | Json) -> Json:
    return Json(value.name, ()) if isinstance(value, Column) else value


def _decode_container(needle: Value) -> Any:
    """The object or list that a text is as JSON, or None."""
    # what does not begin so is neither an object nor a list
    if needle.type != "text" or needle.value[:1] not in ("{", "["):
        return None
    try:
        document = msgspec.json.decode(needle.value)
    except (msgspec.DecodeError, RecursionError):
        return None
    return document if isinstance(document, dict | list) else None


def _contains_json(value: Expression, document: Any) -> Expression:
    """Whether JSON contains JSON, as PostgreSQL's `@>` means it."""
    parts: list[Expression] = []
    waiting: list[tuple[Expression, Any]] = [(value, document)]
    while waiting:
        target, part = waiting.pop()
        parent = _as_path(target) if isinstance(target, Column) else target
        if isinstance(part, dict) and isinstance(parent, Json):
            for key, inner in part.items():
                child = replace(parent, steps=(*parent.steps, key), is_list=False)
                waiting.append((child, inner))
        elif isinstance(part, list):
            parts += [_contains_element(target, element) for element in part]
        elif part is None:
            parts.append(IsNull(target))
        else:
            parts.append(Compare("=", target, literal(part)))
        # what waits will be a part, so that a wide object is refused before it is gone through
        if len(parts) + len(waiting) > _MAX_PARTS:
            raise SqlGuardError(
                f"what is looked for in JSON may have {_MAX_PARTS} parts",
                remedy="ask several times",
            )
    return _and(parts)


def _contains_element(value: Expression, element: Any) -> Expression:
    # Lists of people and speakers are looked through by name: {"name": …} means that.
    if isinstance(element, dict) and set(element) == {"name"}:
        name = element["name"]
        if isinstance(name, str):
            return Contains(value, Value(name, "text"))
    if isinstance(element, dict | list) or element is None:
        raise SqlGuardError(
            "lists of objects are looked through by name only",
            remedy="contains(present_persons, 'Sarah Chen')",
        )
    return Contains(value, literal(element))


def _and(parts: Sequence[Expression]) -> Expression:
    return parts[0] if len(parts) == 1 else And(tuple(parts))
