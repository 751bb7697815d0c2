"""JSON schemas of replies: made of a type, put in words, and the reply read back.

A schema that goes out gives every list and text an end, so short that the whole reply fits into the
tokens it may take: a small model that has begun a list or a text often does not find its end. A
reply that goes beyond is read all the same.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, TypeVar, cast

import msgspec
from msgspec import ValidationError

_T = TypeVar("_T")
_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)
_ITEMS = "items"  # endpoints want an object: a list is the only member of one
# items of a list that sets no limit of its own
_MOST = 12
_MOST_NUMBERS = 50
_LONGEST = 300  # characters of a text that sets none
_SHORTEST = 48  # characters that every text may have
_CHARS = 3  # of a token, rather too few
_PUNCTUATION = 6  # characters around a member of an object or a list
_SCALAR = 12  # characters of a number
_DEEPEST = 8  # parts within each other
_FIXED = ("enum", "const", "format", "pattern")  # what says how long a text is by itself


@cache
def schema(shape: Any) -> dict[str, Any] | None:
    """Make the JSON schema of an object that holds a value of this type; None for plain text."""
    if shape is str:
        return None
    (whole,), parts = msgspec.json.schema_components([shape], ref_template="#/$defs/{name}")
    if "$ref" in whole:
        # beside the reference stands what is asked for besides, such as members that may be missing
        # when the reply is read
        whole = parts[_name(whole)] | {name: whole[name] for name in whole if name != "$ref"}
    if _is_wrapped(shape):
        whole = {"type": "object", "properties": {_ITEMS: whole}, "required": [_ITEMS]}
    if "#/$defs/" in msgspec.json.encode(whole).decode():
        return {**whole, "$defs": parts}
    return whole


@cache
def bounded(shape: Any, tokens: int) -> dict[str, Any] | None:
    """Make the schema of a reply of this type that takes at most so many tokens: see the module."""
    whole = schema(shape)
    if whole is None:
        return None
    share = 1.0
    limited = _limited(whole, share)
    # Shorter and shorter, until it fits; what never does is left as short as it gets.
    while _size(limited, limited) > tokens * _CHARS and share > 0.001:
        share *= 0.8
        limited = _limited(whole, share)
    return cast("dict[str, Any]", limited)


def _limited(part: Any, share: float) -> Any:
    """A part of a schema with limits: each text has this share of its own, each list its root."""
    if isinstance(part, list):
        return [_limited(one, share) for one in part]
    if not isinstance(part, dict):
        return part
    limited = {name: _limited(one, share) for name, one in part.items()}
    if limited.get("type") == "array":
        of_numbers = limited.get("items", {}).get("type") in ("integer", "number")
        most = limited.get("maxItems", _MOST_NUMBERS if of_numbers else _MOST)
        limited["maxItems"] = max(1, limited.get("minItems", 0), int(most * share**0.5))
    free_text = limited.get("type") == "string" and limited.keys().isdisjoint(_FIXED)
    if free_text:
        longest = limited.get("maxLength", _LONGEST)
        shortest = max(min(longest, _SHORTEST), limited.get("minLength", 0))
        limited["maxLength"] = max(shortest, int(longest * share))
    return limited


def _size(part: dict[str, Any], whole: dict[str, Any], depth: int = 0) -> int:
    """Characters that a value of this part takes at most, as far as can be told."""
    if "$ref" in part:
        # what refers to itself has no end
        return _size(whole["$defs"][_name(part)], whole, depth + 1) if depth < _DEEPEST else 0
    match part.get("type"):
        case "object":
            members = part.get("properties", {})
            values = sum(_size(member, whole, depth) for member in members.values())
            return values + sum(len(name) + _PUNCTUATION for name in members)
        case "array":
            item = _PUNCTUATION + _size(part.get("items", {}), whole, depth)
            return int(part["maxItems"]) * item
        case "string":
            return int(part.get("maxLength", _SCALAR))
        case _:
            choices = (_size(one, whole, depth) for one in part.get("anyOf", ()))
            return max(choices, default=_SCALAR)


def _name(reference: dict[str, Any]) -> str:
    name: str = reference["$ref"].rpartition("/")[2]
    return name


@cache
def _is_wrapped(shape: Any) -> bool:
    """Whether a value of this type is not an object, so that it goes into one."""
    (whole,), parts = msgspec.json.schema_components([shape], ref_template="{name}")
    return bool(parts.get(whole.get("$ref", ""), whole).get("type") != "object")


def is_full(value: Any, schema: dict[str, Any] | None) -> bool:
    """Whether a list has as many items as the schema that it was asked for by allows."""
    if not isinstance(value, list) or schema is None:
        return False
    most: int = schema["properties"][_ITEMS]["maxItems"]
    return len(value) >= most


def instruction(schema: dict[str, Any]) -> str:
    """The words that ask for a reply of this schema."""
    return (
        "Reply with one JSON object and nothing else: no explanation, no code fence. "
        f"It must match this JSON schema:\n{msgspec.json.encode(schema).decode()}"
    )


def read(text: str, shape: type[_T]) -> _T:
    """Read a reply as a value of this type; a ValidationError says where it is none. Thoughts, code
    fences and words around the JSON are passed over; numbers in quotes are numbers."""
    text = _THOUGHT.sub("", text).strip()
    if not text:
        raise ValidationError("the reply is empty")
    if shape is str:
        return cast("_T", text)
    value = _json(text)
    if _is_wrapped(cast("Any", shape)) and isinstance(value, dict) and set(value) == {_ITEMS}:
        try:
            return msgspec.convert(value[_ITEMS], shape, strict=False)
        except ValidationError as error:
            # the model is to read where in its own reply the problem is
            raise ValidationError(str(error).replace("`$", f"`$.{_ITEMS}")) from None
    return msgspec.convert(value, shape, strict=False)


def _json(text: str) -> Any:
    """Find the JSON in a text: the whole, a fenced block, or from a first bracket to its last."""
    candidates = [text, *_FENCE.findall(text)]
    brackets = [("{", "}"), ("[", "]")]
    # the one that comes first; a missing one (-1) is the last
    brackets.sort(key=lambda pair: text.find(pair[0]) % (len(text) + 1))
    for opening, closing in brackets:
        start, end = text.find(opening), text.rfind(closing)
        if 0 <= start < end:
            candidates.append(text[start : end + 1])
    problem: Exception | None = None
    for candidate in candidates:
        try:
            return msgspec.json.decode(candidate)
        except (msgspec.DecodeError, UnicodeEncodeError) as error:
            problem = problem or error
    raise ValidationError(f"the reply is not JSON: {problem}")
