"""Patterns of texts: LIKE, regular expressions and graph paths, each bounded before it runs."""

from __future__ import annotations

import re
import warnings

from .. import labels
from ..errors import InvalidInputError, LabelError
from .coercion import cast
from .values import Expression, InPath, Matches

MAX_LIKE = 200  # characters of a pattern of LIKE, and of a text that is looked for in others
MAX_REGEX = 500  # characters of a regular expression
_MAX_REPEATS = 1_000  # a repetition of a repetition counts as their product
_MAX_REPEAT = 255  # of one repetition
_POSIX_CLASS = re.compile(r"\[\^?\[[:.=]")  # each store reads it in another way
_BACK_REFERENCE = re.compile(r"\\[1-9]|\(\?P=")


def parse_like(pattern: str, escape: str = "") -> str:
    r"""Rewrite a pattern of LIKE so that a backslash escapes, whatever escaped in it.

    Raises:
        InvalidInputError: it is longer than `MAX_LIKE`, ends with its escape, or the escape is not
            one character.

    >>> parse_like("100!%_", "!"), parse_like("a\\%")
    ('100\\%_', 'a\\\\%')
    """
    if len(pattern) > MAX_LIKE:
        raise InvalidInputError(
            f"a pattern of LIKE may have {MAX_LIKE} characters, this has {len(pattern):,}",
            remedy="look for a part of it, or for words with search_text",
        )
    if len(escape) > 1:
        raise InvalidInputError("ESCAPE takes one character", remedy="LIKE '100!%' ESCAPE '!'")
    pieces: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if escape and character == escape:
            escaped = next(characters, None)
            if escaped is None:
                raise InvalidInputError(
                    "the escape character of a LIKE stands at its end", remedy="write it twice"
                )
            pieces.append(f"\\{escaped}" if escaped in "%_\\" else escaped)
        else:
            pieces.append("\\\\" if character == "\\" else character)
    rewritten = "".join(pieces)
    # Several % in a row mean one, but cost a matcher as much as each.
    if "\\" not in pattern + escape:
        return re.sub(r"(?<!\\)%%+", "%", rewritten)
    return rewritten


def match_regex(value: Expression, pattern: str, *, ignore_case: bool) -> Matches:
    """The condition that a regular expression matches somewhere in a text."""
    flagged = f"(?i){pattern}" if ignore_case else pattern
    return Matches(cast(value, "text"), check_regex(flagged))


def check_regex(pattern: str) -> str:
    """The pattern, if it is a regular expression that every store can run.

    Raises:
        InvalidInputError: it is not one, is longer than `MAX_REGEX`, repeats too much, or refers
            back to what it has matched.
    """
    if len(pattern) > MAX_REGEX:
        raise InvalidInputError(
            f"a regular expression may have {MAX_REGEX} characters, this has {len(pattern):,}",
            remedy="look for a part of it",
        )
    try:
        with warnings.catch_warnings():
            # Python warns of sets that may mean more in a later version.
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise InvalidInputError(f"{pattern!r} is not a regular expression: {error}") from None
    # What Python takes and PostgreSQL reads otherwise, or no engine bounds.
    if _POSIX_CLASS.search(pattern):
        raise InvalidInputError(
            "a regular expression may not hold a class such as [[:alpha:]]",
            remedy="write \\w, \\d or [a-z]",
        )
    if _BACK_REFERENCE.search(pattern.replace("\\\\", "")):
        raise InvalidInputError(
            "a regular expression may not refer back to what it has matched",
            remedy="write the pattern without \\1",
        )
    _check_repeats(pattern)
    return pattern


def _check_repeats(pattern: str) -> None:
    """Refuse counted repetitions inside each other: they make a machine of thousands of states."""
    product = 1
    for low, high in re.findall(r"\{(\d*)(?:,(\d*))?\}", pattern):
        repeats = max(int(low or 1), int(high or 1), 1)
        product *= repeats
        if product > _MAX_REPEATS or repeats > _MAX_REPEAT:
            raise InvalidInputError(
                f"a regular expression may repeat something {_MAX_REPEAT} times,"
                f" and all together {_MAX_REPEATS:,} times",
                remedy="use * or +",
            )


def parse_graph_path(path: str) -> InPath:
    """The condition that a graph path asks of a record's edges; `*` stands for any one step.

    Raises:
        InvalidInputError: it is not the path of an edge.

    >>> condition = parse_graph_path("/resources/Kick Off/related/*")
    >>> condition.source, condition.rel_type, condition.target
    ('kick-off', 'related', None)
    """
    try:
        match labels.split_path(path):
            case [schema, source, rel_type, target]:
                return InPath(
                    schema=_schema_or_any(schema),
                    source=_key_or_any(source),
                    rel_type=None if rel_type == "*" else rel_type,
                    entity=None,
                    target=_key_or_any(target),
                )
            case [schema, source, "entity", entity, target]:
                return InPath(
                    schema=_schema_or_any(schema),
                    source=_key_or_any(source),
                    rel_type="entity",
                    entity=_key_or_any(entity),
                    target=_key_or_any(target),
                    names_entity=True,
                )
    except LabelError:
        pass
    raise InvalidInputError(
        f"{path[:80]!r} is not a graph path",
        remedy="'/resources/<source>/related/<target>'"
        " or '/resources/<source>/entity/<label>/<target>'; * is any one",
    )


def _schema_or_any(step: str) -> str | None:
    return None if step == "*" else step.lower()


def _key_or_any(step: str) -> str | None:
    return None if step == "*" else labels.key(step)
