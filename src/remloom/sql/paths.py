"""Places within JSON as they are written: `key`, `$.key[0]."two words"`, `{a,b}`."""

from __future__ import annotations

import re

from ..errors import InvalidInputError

__all__ = ["json_path"]

_STEP = re.compile(r"""\.(?:"([^"]*)"|([^."\[\]]+))|\[(-?\d{1,6}|#-\d{1,6})\]""")


def json_path(text: str, *, number: bool = False, braces: bool = False) -> tuple[str | int, ...]:
    """The steps to a place: keys and places in lists.

    Args:
        number: the text is that of a number, a place in a list.
        braces: a list of PostgreSQL's, `{a,b}`, is meant.

    Raises:
        InvalidInputError: it is none.

    >>> json_path("$.a[0].\\"two words\\""), json_path("two words"), json_path("{a,0}", braces=True)
    (('a', 0, 'two words'), ('two words',), ('a', 0))
    """
    if len(text) > 500:
        raise InvalidInputError("a place in JSON may be written in 500 characters")
    if number:
        if text.isdigit():
            return (int(text[:9]),)
    elif braces:
        if text.startswith("{") and text.endswith("}"):
            parts = (part.strip().strip('"') for part in text[1:-1].split(","))
            return tuple(int(part[:9]) if part.lstrip("-").isdigit() else part for part in parts)
    elif not text.startswith("$"):
        if text:
            return (text,)
    else:
        steps, place = list[str | int](), 1
        while found := _STEP.match(text, place):
            quoted, plain, listed = found.groups()
            steps.append(
                int(listed.removeprefix("#"))
                if listed is not None
                else quoted
                if quoted is not None
                else plain
            )
            place = found.end()
        if place == len(text):
            return tuple(steps)
    raise InvalidInputError(
        f"{text[:60]!r} is no place in JSON", remedy="metadata ->> 'page', or '$.lines[0]'"
    )
