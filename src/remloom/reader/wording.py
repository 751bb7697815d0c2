"""Wording: what the comparison of quotes and of items knows of words, from `wording.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from msgspec import Struct

__all__ = ["Wording", "wording"]


class Wording(Struct, frozen=True):
    """Words by what they do in a sentence; all in lower case."""

    ignorable: frozenset[str]
    negators: frozenset[str]


@cache
def wording() -> Wording:
    """Read the file."""
    text = (files(__package__) / "wording.toml").read_text(encoding="utf-8")
    lists: dict[str, str] = tomllib.loads(text)
    return Wording(**{name: frozenset(listed.split()) for name, listed in lists.items()})
