"""The phrases of phrases.toml, as parts of regular expressions."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

import msgspec


def alternatives(name: str) -> str:
    """The phrases of this name as one group, for a larger expression."""
    lines = _phrases()[name].strip().splitlines()
    return f"(?:{'|'.join(lines)})"


def words(name: str) -> re.Pattern[str]:
    """An expression that finds any of the phrases of this name, as whole words.

    >>> [bool(words("hedges").search(said)) for said in ("I’m probably right", "improbably")]
    [True, False]
    """
    return re.compile(rf"\b{alternatives(name)}\b", re.IGNORECASE)


@cache
def _phrases() -> dict[str, str]:
    text = files(__package__).joinpath("phrases.toml").read_text("utf-8")
    return msgspec.toml.decode(text, type=dict[str, str])
