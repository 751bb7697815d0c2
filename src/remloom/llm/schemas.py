"""What a reply must look like: the JSON schema of a type, the words that ask for it, and the reply
read back.

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

__all__ = ["asked", "bounded", "read", "schema"]

_T = TypeVar("_T")
_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)
_ITEMS = "items"  # endpoints want an object: a list is the only member of one
_MOST, _MOST_NUMBERS = 12, 50  # items of a list that sets no limit of its own
_LONGEST = 300  # characters of a text that sets none
_SHORTEST = 48  # characters that every text may have
_CHARS = 3  # of a token, rather too few
_PUNCTUATION = 6  # characters around a member of an object or a list
_SCALAR = 12  # characters of a number
_DEEPEST = 8  # parts within each other


@cache
def schema(shape: Any) -> dict[str, Any] | None:
    """The JSON schema of an object that holds a value of this type; None for plain text."""
    if shape is str:
        return None
    (found,), parts = msgspec.json.schema_components([shape], ref_template="#/$defs/{name}")
    if "$ref" in found:
        found = parts[found["$ref"].rpartition("/")[2]]
    if _wrapped(shape):
        found = {"type": "object", "properties": {_ITEMS: found}, "required": [_ITEMS]}
    return {**found, "$defs": parts} if "#/$defs/" in msgspec.json.encode(found).decode() else found


@cache
def bounded(shape: Any, tokens: int) -> dict[str, Any] | None:
    """The schema of a reply of this type that takes so many tokens at most: see the module."""
    whole = schema(shape)
    if whole is None:
        return None
    share = 1.0
    found = _held(whole, share)
    while _size(found, found) > tokens * _CHARS and share > 0.001:
        share *= 0.8
        found = _held(whole, share)
    return cast("dict[str, Any]", found)


def _held(part: Any, share: float) -> Any:
    """A part of a schema with limits, of which each text has this share, and each list its root."""
    if isinstance(part, list):
        return [_held(one, share) for one in part]
    if not isinstance(part, dict):
        return part
    found = {name: _held(one, share) for name, one in part.items()}
    if found.get("type") == "array":
        numbers = found.get("items", {}).get("type") in ("integer", "number")
        most = found.get("maxItems", _MOST_NUMBERS if numbers else _MOST)
        found["maxItems"] = max(1, found.get("minItems", 0), int(most * share**0.5))
    if found.get("type") == "string" and not {"enum", "const", "format", "pattern"} & set(found):
        longest = found.get("maxLength", _LONGEST)
        found["maxLength"] = max(
            min(longest, _SHORTEST), found.get("minLength", 0), int(longest * share)
        )
    return found


def _size(part: dict[str, Any], whole: dict[str, Any], depth: int = 0) -> int:
    """Characters that a value of this part takes at most, as far as can be told."""
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        return _size(whole["$defs"][name], whole, depth + 1) if depth < _DEEPEST else 0
    match part.get("type"):
        case "object":
            members = part.get("properties", {}).items()
            return sum(
                len(name) + _PUNCTUATION + _size(member, whole, depth) for name, member in members
            )
        case "array":
            return int(part["maxItems"]) * (
                _PUNCTUATION + _size(part.get("items", {}), whole, depth)
            )
        case "string":
            return int(part.get("maxLength", _SCALAR))
        case _:
            return max((_size(one, whole, depth) for one in part.get("anyOf", ())), default=_SCALAR)


@cache
def _wrapped(shape: Any) -> bool:
    """Whether a value of this type is no object, so that it goes into one."""
    (found,), parts = msgspec.json.schema_components([shape], ref_template="{name}")
    return bool(parts.get(found.get("$ref", ""), found).get("type") != "object")


def asked(wanted: dict[str, Any]) -> str:
    """The words that ask for a reply of this schema."""
    return (
        "Reply with one JSON object and nothing else: no explanation, no code fence. It must match this JSON schema:\n"
        + msgspec.json.encode(wanted).decode()
    )


def read(text: str, shape: type[_T]) -> _T:
    """A reply as a value of this type. Thoughts, code fences and words around the JSON are passed
    over; numbers in quotes are numbers.

    Raises:
        ValidationError: it is none; the message says where.
    """
    text = _THOUGHT.sub("", text).strip()
    if not text:
        raise ValidationError("the reply is empty")
    if shape is str:
        return cast("_T", text)
    value = _json(text)
    if _wrapped(cast("Any", shape)) and isinstance(value, dict) and set(value) == {_ITEMS}:
        try:
            return msgspec.convert(value[_ITEMS], shape, strict=False)
        except ValidationError as error:
            raise ValidationError(str(error).replace("`$", f"`$.{_ITEMS}")) from None
    return msgspec.convert(value, shape, strict=False)


def _json(text: str) -> Any:
    """The JSON in a text: the whole, a fenced block, or from the first bracket to the last that
    matches it."""
    candidates = [text, *_FENCE.findall(text)]
    for opening, closing in sorted(
        (("{", "}"), ("[", "]")), key=lambda pair: text.find(pair[0]) % (len(text) + 1)
    ):
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
