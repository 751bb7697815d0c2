"""Paths within JSON, as they are written (`key`, `$.key[0]."two words"`, `{a,b}`) and as values."""

from __future__ import annotations

import re
from typing import TypeAlias

from msgspec.structs import replace

from ..errors import InvalidInputError, SqlGuardError
from .coercion import describe
from .values import Column, Expression, Json

Steps: TypeAlias = tuple[str | int, ...]  # keys of objects, positions in lists

_MAX_LENGTH = 500  # characters
_MAX_DEPTH = 32  # steps
_MAX_INDEX = 9  # digits of a position in a list
_STEP = re.compile(r"""\.(?:"([^"]*)"|([^."\[\]]+))|\[(-?\d{1,6}|#-\d{1,6})\]""")


def parse_path(text: str, *, number: bool = False, braces: bool = False) -> Steps:
    """Parse a path within JSON into its steps.

    Args:
        number: the text is that of a number, a position in a list.
        braces: the text is one of PostgreSQL's lists, `{a,b}`.

    Raises:
        InvalidInputError: the text is not a path.

    >>> parse_path("$.a[0].\\"two words\\""), parse_path("two words")
    (('a', 0, 'two words'), ('two words',))
    >>> parse_path("{a,0}", braces=True)
    ('a', 0)
    """
    if len(text) > _MAX_LENGTH:
        raise InvalidInputError(f"a place in JSON may be written in {_MAX_LENGTH} characters")
    steps: Steps | None
    if number:
        steps = (int(text[:_MAX_INDEX]),) if text.isdigit() else None
    elif braces:
        steps = _parse_braces(text)
    elif text.startswith("$"):
        steps = _parse_dollar(text)
    else:
        steps = (text,) if text else None
    if steps is None:
        raise InvalidInputError(
            f"{text[:60]!r} is not a place in JSON", remedy="metadata ->> 'page', or '$.lines[0]'"
        )
    return steps


def _parse_braces(text: str) -> Steps | None:
    if not (text.startswith("{") and text.endswith("}")):
        return None
    steps: list[str | int] = []
    for part in text[1:-1].split(","):
        step = part.strip().strip('"')
        is_index = step.lstrip("-").isdigit()
        steps.append(int(step[:_MAX_INDEX]) if is_index else step)
    return tuple(steps)


def _parse_dollar(text: str) -> Steps | None:
    steps: list[str | int] = []
    position = 1
    while step := _STEP.match(text, position):
        quoted, plain, index = step.groups()
        if index is not None:
            steps.append(int(index.removeprefix("#")))
        else:
            steps.append(quoted if quoted is not None else plain)
        position = step.end()
    return tuple(steps) if position == len(text) else None


def extend_path(value: Expression, steps: Steps) -> Json:
    """The value that is these steps below another.

    Raises:
        SqlGuardError: the value does not hold JSON, or the path becomes too deep.
    """
    if isinstance(value, Column) and value.type == "json":
        value = Json(value.name, ())
    if not isinstance(value, Json):
        raise SqlGuardError(f"{describe(value)} holds no JSON", remedy="metadata ->> 'page'")
    if len(value.steps) + len(steps) > _MAX_DEPTH:
        raise SqlGuardError(f"a place in JSON may be {_MAX_DEPTH} keys deep")
    return replace(value, steps=value.steps + steps, is_list=False)
