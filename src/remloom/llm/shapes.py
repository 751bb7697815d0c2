"""What a reply must look like: the JSON schema of a type, the words that ask for it, and the reply read back."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, TypeVar, cast

import msgspec
from msgspec import ValidationError

__all__ = ["asked", "read", "schema"]

_T = TypeVar("_T")
_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)
_ITEMS = "items"  # endpoints want an object: a list is the only member of one


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
    """A reply as a value of this type. Thoughts, code fences and words around the JSON are passed over; numbers in
    quotes are numbers.

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
    """The JSON in a text: the whole, a fenced block, or from the first bracket to the last that matches it."""
    candidates = [text, *_FENCE.findall(text)]
    for opening, closing in sorted((("{", "}"), ("[", "]")), key=lambda pair: text.find(pair[0]) % (len(text) + 1)):
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
