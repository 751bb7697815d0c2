"""Kinds of columns, out of the types that databases declare."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import cast

from msgspec import Struct

from ...model import Kind

_NAME = re.compile(r"[a-z_][a-z0-9_ ]*")
_QUOTED = re.compile(r"'((?:[^']|'')*)'")
_SCALE = re.compile(r"\(\s*\d+\s*,\s*(\d+)\s*\)")
_LENGTH = re.compile(r"\(\s*(\d+)\s*\)")
_LONGEST_KEY = 64  # bytes of a binary column that may be a key, as a UUID's 16 are


class DeclaredType(Struct, frozen=True):
    """What a declared type comes to; `kind` is None for what cannot be a field (a blob)."""

    kind: Kind | None
    list: bool = False
    values: tuple[str, ...] = ()


def read_type(declared: str, *, is_key: bool = False) -> DeclaredType:
    """Read a type in the words of a database.

    A type that is not known is text. Short binary columns of keys (`is_key`) are text too, in
    hexadecimal digits.

    >>> read_type("NUMERIC(10, 2)").kind, read_type("tinyint(1)").kind, read_type("BLOB").kind
    ('decimal', 'boolean', None)
    >>> read_type("integer[]")
    DeclaredType(kind='integer', list=True, values=())
    >>> read_type("ENUM('new','won''t')").values
    ('new', "won't")
    """
    text = declared.strip()
    if text.endswith("]"):
        of = read_type(text[: text.rindex("[")])
        # lists of lists, and of structures, are JSON
        if of.list or of.kind == "json":
            return DeclaredType("json")
        return DeclaredType(of.kind, list=of.kind is not None)
    lowered = text.lower()
    if lowered.startswith("enum"):
        values = tuple(value.replace("''", "'") for value in _QUOTED.findall(text))
        return DeclaredType("enum" if values else "string", values=values)
    if lowered.startswith(("tinyint(1)", "bit(1)")):
        return DeclaredType("boolean")
    name = _NAME.match(lowered)
    word = name[0].split()[0] if name and name[0].strip() else ""
    kind = _kinds().get(word, "string")
    if kind == "decimal" and word == "number" and (scale := _SCALE.search(text)):
        kind = "integer" if scale[1] == "0" else "decimal"
    if kind is None and is_key:
        length = _LENGTH.search(text)
        kind = "string" if not length or int(length[1]) <= _LONGEST_KEY else None
    return DeclaredType(kind)


@cache
def _kinds() -> Mapping[str, Kind | None]:
    text = files(__package__).joinpath("types.toml").read_text(encoding="utf-8")
    return {
        name: None if kind == "blob" else cast("Kind", kind)
        for kind, names in tomllib.loads(text).items()
        for name in names
    }
