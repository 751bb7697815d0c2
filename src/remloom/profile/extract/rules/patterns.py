"""The rules of the folder `topics`: what a clause may say, and what it then claims."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec
from msgspec import Struct

from ...evidence.claim import Signal
from .phrases import alternatives

_TOPICS = ("identity", "home", "tools", "food")
_MACRO = re.compile(r"\{([a-z]\w*)\}")


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """The ways to say one thing; the head of macros.toml says what the fields are."""

    patterns: tuple[str, ...]
    key: str = ""
    parse: str = "words"
    polarity: Literal["for", "against", "retire"] = "for"
    other: Literal["", "against", "retire"] = ""
    signal: Signal = "explicit_preference"
    dated: bool = False
    again: bool = False
    alone: bool = False


class _File(Struct, forbid_unknown_fields=True):
    macros: dict[str, str] = {}
    rule: list[Rule] = []


@cache
def patterns() -> tuple[tuple[re.Pattern[str], Rule], ...]:
    """Every pattern with its rule, in the order in which they are tried."""
    macros = dict(_read("macros").macros)
    macros["holds"] = rf"(?=[^\w\s-]|\s*$|\s+{alternatives('behind_states')}\b)"
    rules = [rule for topic in _TOPICS for rule in _read(topic).rule]
    return tuple((_expand(one, macros), rule) for rule in rules for one in rule.patterns)


def _read(name: str) -> _File:
    text = files(__package__).joinpath("topics", f"{name}.toml").read_text("utf-8")
    return msgspec.toml.decode(text, type=_File)


def _expand(pattern: str, macros: Mapping[str, str]) -> re.Pattern[str]:
    """Put the macros in, which hold macros themselves; braces with digits are counts."""
    while (short := _MACRO.sub(lambda found: macros[found[1]], pattern)) != pattern:
        pattern = short
    return re.compile(pattern, re.IGNORECASE)
