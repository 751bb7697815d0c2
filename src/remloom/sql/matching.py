"""What is looked for in texts and JSON, each bounded before it runs: patterns, paths, contents."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from .. import labels
from ..errors import InvalidInputError, LabelError, SqlGuardError
from .coercion import cast, describe, literal
from .values import (
    And,
    Column,
    Compare,
    Contains,
    Expression,
    InPath,
    IsNull,
    Json,
    Matches,
    Or,
    Value,
)

Steps: TypeAlias = tuple[str | int, ...]  # keys of objects, positions in lists

MAX_LIKE = 200  # characters of a pattern of LIKE, and of a text that is looked for in others
MAX_REGEX = 500  # characters of a regular expression
_MAX_REPEATS = 1_000  # a repetition of a repetition counts as their product
_MAX_REPEAT = 255  # of one repetition
_POSIX_CLASS = re.compile(r"\[\^?\[[:.=]")  # each store reads it in another way
_BACK_REFERENCE = re.compile(r"\\[1-9]|\(\?P=")
_MAX_PATH = 500  # characters of a path within JSON
_MAX_STEPS = 32  # of a path
_MAX_INDEX = 9  # digits of a position in a list
_STEP = re.compile(r"""\.(?:"([^"]*)"|([^."\[\]]+))|\[(-?\d{1,6}|#-\d{1,6})\]""")
_MAX_PARTS = 100  # of an object or list that is looked for


# -- patterns of texts -----------------------------------------------------------------------------


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


# -- paths of edges --------------------------------------------------------------------------------


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


# -- paths within JSON -----------------------------------------------------------------------------


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
    if len(text) > _MAX_PATH:
        raise InvalidInputError(f"a place in JSON may be written in {_MAX_PATH} characters")
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
    if len(value.steps) + len(steps) > _MAX_STEPS:
        raise SqlGuardError(f"a place in JSON may be {_MAX_STEPS} keys deep")
    return replace(value, steps=value.steps + steps, is_list=False)


# -- contents of lists, objects and texts ----------------------------------------------------------


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
