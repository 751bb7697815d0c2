"""Calls of functions of JSON, and of those that look into lists and texts for something."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import InvalidInputError, SqlGuardError
from .call_arguments import check_count, literal_text
from .coercion import cast, describe
from .containment import contains, overlaps
from .functions import find_function
from .paths import Steps, extend_path, parse_path
from .patterns import match_regex
from .values import (
    Call,
    EndsWith,
    Expression,
    StartsWith,
    Type,
    Value,
)


def _read_extract(name: str, arguments: list[Expression]) -> Expression:
    if len(arguments) < 2:
        raise SqlGuardError(
            f"{name} takes JSON and a place in it", remedy="json_extract(metadata, '$.page')"
        )
    steps: list[str | int] = []
    for step in arguments[1:]:
        if isinstance(step, Value) and step.type == "integer":
            steps.append(step.value)
        else:
            steps += parse_path(literal_text(name, step))
    return extend_path(arguments[0], tuple(steps))


def _measure_json(kind: Type) -> Callable[[str, list[Expression]], Expression]:
    """Make the reader of a function of one JSON value, which gives this type."""

    def read(name: str, arguments: list[Expression]) -> Expression:
        check_count(name, arguments, 1, 2)
        value = arguments[0]
        # the result of a function of JSON is an SQL value, and JSON no more
        if value.type != "json":
            raise InvalidInputError(f"{name} takes JSON, {describe(value)} is {value.type}")
        steps: Steps = ()
        # array_length(x, 1): the dimension, which is the only one here
        if len(arguments) == 2 and not _is_integer(arguments[1]):
            steps = parse_path(literal_text(name, arguments[1]))
        function = find_function(name)
        own_name = name if function is None else function.name
        return Call(own_name, (extend_path(value, steps),), kind)

    return read


def _is_integer(value: Expression) -> bool:
    return isinstance(value, Value) and value.type == "integer"


def _read_contains(name: str, arguments: list[Expression]) -> Expression:
    check_count(name, arguments, 2)
    value, needle = arguments
    if not isinstance(needle, Value):
        raise SqlGuardError(f"{name} looks for a literal, not for {describe(needle)}")
    return contains(value, needle)


def _read_overlap(name: str, arguments: list[Expression]) -> Expression:
    needles = [value for value in arguments[1:] if isinstance(value, Value)]
    if len(needles) != len(arguments) - 1 or not needles:
        raise SqlGuardError(
            f"{name} looks for literals", remedy="has_any(topic_tags, 'pricing', 'plans')"
        )
    return overlaps(arguments[0], needles)


def _read_starts_with(name: str, arguments: list[Expression]) -> Expression:
    check_count(name, arguments, 2)
    text = cast(arguments[0], "text")
    return StartsWith(text, literal_text(name, arguments[1]))


def _read_ends_with(name: str, arguments: list[Expression]) -> Expression:
    check_count(name, arguments, 2)
    text = cast(arguments[0], "text")
    return EndsWith(text, literal_text(name, arguments[1]))


def _read_regex(name: str, arguments: list[Expression]) -> Expression:
    check_count(name, arguments, 2, 3)
    pattern = arguments[1]
    if not isinstance(pattern, Value) or pattern.type != "text":
        raise SqlGuardError(
            "a regular expression is a literal", remedy="regexp_like(name, '^Project')"
        )
    flags = literal_text(name, arguments[2]) if len(arguments) == 3 else ""
    if flags not in ("", "i", "c"):
        raise SqlGuardError("the flags of a regular expression are 'i' or none")
    return match_regex(arguments[0], pattern.value, ignore_case=flags == "i")


READERS = {
    "contains": _read_contains,
    "ends_with": _read_ends_with,
    "has_any": _read_overlap,
    "json_array_length": _measure_json("integer"),
    "json_extract": _read_extract,
    "json_typeof": _measure_json("text"),
    "regexp_like": _read_regex,
    "starts_with": _read_starts_with,
}
