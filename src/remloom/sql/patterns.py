"""Patterns of texts: of LIKE, regular expressions, and graph paths. Each is bounded before anything
runs it."""

from __future__ import annotations

import re
import warnings

from .. import labels
from ..errors import InvalidInputError, LabelError
from .values import InPath

__all__ = ["MAX_LIKE", "MAX_REGEX", "graph_path", "like", "regular_expression"]

MAX_LIKE = 200  # characters of a pattern of LIKE, and of a text that is looked for in others
MAX_REGEX = 500  # characters of a regular expression
_MAX_REPEATS = 1_000  # a repetition of a repetition counts as their product
_POSIX = re.compile(r"\[\^?\[[:.=]")  # each store reads it in another way
_BACK = re.compile(r"\\[1-9]|\(\?P=")


def like(pattern: str, escape: str = "") -> str:
    r"""A pattern of LIKE in which a backslash escapes, whatever escaped in it.

    Raises:
        InvalidInputError: it is longer than `MAX_LIKE`, or its escape ends it or is no character.

    >>> like("100!%_", "!"), like("a\\%")
    ('100\\%_', 'a\\\\%')
    """
    if len(pattern) > MAX_LIKE:
        raise InvalidInputError(
            f"a pattern of LIKE may have {MAX_LIKE} characters, this has {len(pattern):,}",
            remedy="look for a part of it, or for words with search_text",
        )
    if len(escape) > 1:
        raise InvalidInputError("ESCAPE takes one character", remedy="LIKE '100!%' ESCAPE '!'")
    found, place = [], 0
    while place < len(pattern):
        character = pattern[place]
        if escape and character == escape:
            place += 1
            if place == len(pattern):
                raise InvalidInputError(
                    "the escape character of a LIKE stands at its end", remedy="write it twice"
                )
            character = pattern[place]
            found.append(f"\\{character}" if character in "%_\\" else character)
        else:
            found.append("\\\\" if character == "\\" else character)
        place += 1
    return (
        re.sub(r"(?<!\\)%%+", "%", "".join(found))
        if "\\" not in pattern + escape
        else "".join(found)
    )


def regular_expression(pattern: str) -> str:
    """A regular expression, if it is one.

    Raises:
        InvalidInputError: it is none, is longer than `MAX_REGEX`, or refers back to what it has
            matched.
    """
    if len(pattern) > MAX_REGEX:
        raise InvalidInputError(
            f"a regular expression may have {MAX_REGEX} characters, this has {len(pattern):,}",
            remedy="look for a part of it",
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of sets that may mean more some day
            re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise InvalidInputError(f"{pattern!r} is no regular expression: {error}") from None
    if _POSIX.search(pattern):
        raise InvalidInputError(
            "a regular expression may not hold a class such as [[:alpha:]]",
            remedy="write \\w, \\d or [a-z]",
        )
    if _BACK.search(pattern.replace("\\\\", "")):
        raise InvalidInputError(
            "a regular expression may not refer back to what it has matched",
            remedy="write the pattern without \\1",
        )
    _check_repeats(pattern)
    return pattern


def _check_repeats(pattern: str) -> None:
    """Refuse counted repetitions inside each other that make a machine of thousands of states."""
    total = 1
    for low, high in re.findall(r"\{(\d*)(?:,(\d*))?\}", pattern):
        most = max(int(low or 1), int(high or 1), 1)
        total *= most
        if total > _MAX_REPEATS or most > 255:
            raise InvalidInputError(
                f"a regular expression may repeat something 255 times, and all together {_MAX_REPEATS:,} times",
                remedy="use * or +",
            )


def graph_path(path: str) -> InPath:
    """What a path asks of the edges of a record; `*` stands for any one part.

    Raises:
        InvalidInputError: it is no path of an edge.

    >>> graph_path("/resources/Kick Off/related/*")
    InPath(schema='resources', source='kick-off', rel_type='related', shared=None, target=None,
    tells=False)
    """
    try:
        match labels.split_path(path):
            case [schema, source, rel_type, target]:
                rel = None if rel_type == "*" else rel_type
                return InPath(_any(schema, raw=True), _any(source), rel, None, _any(target))
            case [schema, source, "entity", shared, target]:
                return InPath(
                    _any(schema, raw=True),
                    _any(source),
                    "entity",
                    _any(shared),
                    _any(target),
                    tells=True,
                )
    except LabelError:
        pass
    raise InvalidInputError(
        f"{path[:80]!r} is no graph path",
        remedy="'/resources/<source>/related/<target>' or '/resources/<source>/entity/<label>/<target>'; * is any one",
    )


def _any(part: str, *, raw: bool = False) -> str | None:
    if part == "*":
        return None
    return part.lower() if raw else labels.key(part)
