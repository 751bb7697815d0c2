"""Wording: what the checks of an answer know of words, read once from `wording.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from msgspec import Struct

__all__ = ["Unit", "Wording", "wording"]


class Unit(Struct, frozen=True):
    """A unit as a multiple of another: a week is seven days."""

    of: str
    factor: int


class Wording(Struct, frozen=True):
    """Words by what they do in a sentence; all in lower case."""

    ignorable: frozenset[str]
    negators: frozenset[str]
    generic: frozenset[str]
    sections: frozenset[str]
    between: frozenset[str]
    places: frozenset[str]
    numbers: dict[str, int]
    units: dict[str, Unit]
    months: dict[str, int]


@cache
def wording() -> Wording:
    """Read the file."""
    text = (files(__package__) / "wording.toml").read_text(encoding="utf-8")
    lists: dict[str, str] = tomllib.loads(text)
    words = {name: frozenset(listed.replace("-", " ").split()) for name, listed in lists.items()}
    return Wording(
        ignorable=words["ignorable"],
        negators=words["negators"],
        generic=words["generic"],
        sections=words["sections"],
        between=words["between"],
        places=words["places"],
        numbers={word: int(value) for word, value in _rows(lists["numbers"])},
        units=dict(_units(lists["units"])),
        months=dict(_months(lists["months"])),
    )


def _rows(listed: str) -> Iterator[list[str]]:
    return (line.split() for line in listed.strip().splitlines())


def _units(listed: str) -> Iterator[tuple[str, Unit]]:
    for of, *names, factor in _rows(listed):
        for name in (of, *names) if factor == "1" else names:
            yield name, Unit(of, int(factor))


def _months(listed: str) -> Iterator[tuple[str, int]]:
    for number, names in enumerate(_rows(listed), 1):
        for name in names:
            yield name, number
