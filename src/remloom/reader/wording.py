"""Wording: what the checks of an answer know of words, read once from `wording.toml`."""

from __future__ import annotations

import re
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
    negative: frozenset[str]
    exceptions: frozenset[str]
    conditions: frozenset[str]
    requirements: frozenset[str]
    sole: frozenset[str]
    several: frozenset[str]
    adjective_negators: frozenset[str]
    neutral: tuple[tuple[re.Pattern[str], str], ...]
    opposites: dict[str, frozenset[str]]
    duties: frozenset[str]
    permissions: frozenset[str]
    modals: frozenset[str]
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
        negative=words["negative"],
        exceptions=words["exceptions"],
        conditions=words["conditions"],
        requirements=words["requirements"],
        sole=words["sole"],
        several=words["several"],
        adjective_negators=words["adjective_negators"],
        neutral=tuple(_neutral(lists["neutral"])),
        opposites=_opposites(lists["opposites"]),
        duties=words["duties"] - {"has", "have", "to"},
        permissions=words["permissions"],
        modals=words["modals"],
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


def _neutral(listed: str) -> Iterator[tuple[re.Pattern[str], str]]:
    for line in listed.strip().splitlines():
        phrase, _, instead = line.partition("=")
        blanks = r"\s+".join(map(re.escape, phrase.split()))
        yield re.compile(rf"\b{blanks}\b"), instead.strip()


def _opposites(listed: str) -> dict[str, frozenset[str]]:
    pairs: dict[str, set[str]] = {}
    for one, other in _rows(listed):
        pairs.setdefault(one, set()).add(other)
        pairs.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in pairs.items()}


def _units(listed: str) -> Iterator[tuple[str, Unit]]:
    for of, *names, factor in _rows(listed):
        for name in (of, *names) if factor == "1" else names:
            yield name, Unit(of, int(factor))


def _months(listed: str) -> Iterator[tuple[str, int]]:
    for number, names in enumerate(_rows(listed), 1):
        for name in names:
            yield name, number
