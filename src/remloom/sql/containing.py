"""What is looked for inside lists, objects and texts, by name and by PostgreSQL's operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ..errors import InvalidInputError, SqlGuardError
from . import coercion, patterns
from .values import And, Column, Compare, Contains, Expression, IsNull, Json, Or, Value

__all__ = ["contains", "key_there", "overlaps"]

_MAX_PARTS = 100  # of an object or list that is looked for


def contains(value: Expression, wanted: Value | Sequence[Value]) -> Expression:
    """Whether a list has these elements, an object these keys and values, a text this text in it.

    A text that is looked for in an object or with `@>` in a list is JSON: `'{"page": 3}'`,
    `'["a"]'`.

    Raises:
        InvalidInputError: such a value cannot hold such a one.
    """
    if not isinstance(wanted, Value):
        return _all([contains(value, part) for part in wanted])
    if wanted.value is None:
        return Value(None, "boolean")
    if isinstance(value, Column) and value.name == "graph_paths":
        if wanted.type != "text":
            raise InvalidInputError(
                "an edge is looked for by its path", remedy="'/resources/Kickoff/related/*'"
            )
        return patterns.graph_path(wanted.value)
    if value.type == "json":
        found = _json(wanted)
        if found is not None:
            return _holds(value, found)
        return Contains(value, wanted)
    if value.type == "text":
        text = wanted.value if wanted.type == "text" else str(wanted.value)
        _check_wanted(text)
        return Contains(value, Value(text, "text"))
    raise InvalidInputError(
        f"{coercion.told(value)} holds nothing else", remedy="contains(topic_tags, 'pricing')"
    )


def overlaps(value: Expression, wanted: Sequence[Value]) -> Expression:
    """Whether a list has one of these elements."""
    if value.type != "json":
        raise InvalidInputError(
            f"{coercion.told(value)} is no list", remedy="topic_tags && ARRAY['pricing', 'plans']"
        )
    parts: list[Expression] = []
    for part in wanted:
        listed = _json(part)
        each = listed if isinstance(listed, list) else [part.value]
        parts += [contains(value, coercion.literal(element)) for element in each[:_MAX_PARTS]]
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def key_there(value: Expression, key: Value) -> Expression:
    """Whether an object has a key, or a list a text."""
    if isinstance(value, Column) and value.name not in ("metadata", "properties"):
        return contains(value, key)
    if isinstance(value, Column | Json) and value.type == "json":
        within = (value.name, ()) if isinstance(value, Column) else (value.column, value.steps)
        return IsNull(Json(within[0], (*within[1], str(key.value))), negated=True)
    raise InvalidInputError(f"{coercion.told(value)} holds no JSON", remedy="metadata ? 'page'")


def _json(wanted: Value) -> Any:
    """The object or list that a text is as JSON, or None."""
    if wanted.type != "text" or wanted.value[:1] not in ("{", "["):
        return None
    try:
        found = msgspec.json.decode(wanted.value)
    except (msgspec.DecodeError, RecursionError):
        return None
    return found if isinstance(found, dict | list) else None


def _holds(value: Expression, wanted: Any) -> Expression:
    """Whether JSON contains JSON, as PostgreSQL's `@>` means it."""
    parts: list[Expression] = []
    waiting: list[tuple[Expression, Any]] = [(value, wanted)]
    while waiting:
        place, part = waiting.pop()
        within = Json(place.name, ()) if isinstance(place, Column) else place
        if isinstance(part, dict) and isinstance(within, Json):
            waiting += [
                (Json(within.column, (*within.steps, key)), inner) for key, inner in part.items()
            ]
        elif isinstance(part, list):
            parts += [_element(place, element) for element in part]
        elif part is None:
            parts.append(IsNull(place))
        else:
            parts.append(Compare("=", place, coercion.literal(part)))
        if len(parts) + len(waiting) > _MAX_PARTS:
            raise SqlGuardError(
                f"what is looked for in JSON may have {_MAX_PARTS} parts",
                remedy="ask several times",
            )
    return _all(parts)


def _all(parts: Sequence[Expression]) -> Expression:
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _element(place: Expression, element: Any) -> Expression:
    if isinstance(element, dict) and set(element) == {"name"} and isinstance(element["name"], str):
        return Contains(place, Value(element["name"], "text"))
    if isinstance(element, dict | list) or element is None:
        raise SqlGuardError(
            "lists of objects are looked through by name only",
            remedy="contains(present_persons, 'Sarah Chen')",
        )
    return Contains(place, coercion.literal(element))


def _check_wanted(text: str) -> None:
    if len(text) > patterns.MAX_LIKE:
        raise SqlGuardError(
            f"what is looked for may have {patterns.MAX_LIKE} characters, this has {len(text):,}",
            remedy="look for a part of it",
        )
