"""Signs: the words by which a request is read, from purposes.toml, as patterns for folded text."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

__all__ = [
    "name_patterns",
    "no_names",
    "relation",
    "relation_first",
    "sign",
    "subject",
    "talk",
    "with_somebody",
    "words",
]

# a capital within a sentence begins a name; capitals alone are an abbreviation
_NAME = r"(?<!\w)(?![^\W\d_a-z]{2,}\b)[^\W\d_a-z][\w'’-]{0,40}"


@cache
def no_names() -> frozenset[str]:
    """What has a capital and is no name: what begins sentences, days, languages."""
    return frozenset(words("somebody_else", "no_names"))


@cache
def relation() -> re.Pattern[str]:
    """ "my brother", "our boss's": who stands for themselves."""
    relations = "|".join(words("somebody_else", "relations"))
    return re.compile(rf"\b(?:my|our|the user's) (?:[\w-]+ )?(?P<who>{relations})(?:'s|s')?(?!\w)")


@cache
def with_somebody() -> re.Pattern[str]:
    """ "with my brother": who does it together with the user."""
    relations = "|".join(words("somebody_else", "relations"))
    return re.compile(
        rf"\bwith (?:(?:my|our|some|a) )?(?!his|her|their)(?:[\w-]+ )?(?:{relations})(?!['\w])"
    )


@cache
def relation_first() -> re.Pattern[str]:
    """Somebody who stands for themselves, with or without "my"."""
    relations = "|".join(words("somebody_else", "relations"))
    return re.compile(rf"(?:(?:my|our|the|a) )?(?:[\w-]+ )?(?:{relations})(?!\w)")


@cache
def name_patterns() -> tuple[re.Pattern[str], ...]:
    """Where names of people stand, for text as it is written; each has the group `name`."""
    acts = "|".join(words("somebody_else", "acts"))
    asks = r"(?i:does|did|is|was|has|would|could|can|will|should|do|are)"
    return (
        re.compile(rf"\b{asks} (?P<name>{_NAME})(?: {_NAME})? (?i:{acts})\b"),
        re.compile(rf"\b(?i:did|does|has) (?P<name>{_NAME})"),
        # "find Anna a recipe"
        re.compile(rf"(?i:[a-z]+) (?P<name>{_NAME}) (?:an?|some|something|the)\b"),
        re.compile(rf"(?P<name>{_NAME})(?: {_NAME})? (?i:{acts})\b"),
        re.compile(
            r"(?i:who|how|how old|how tall|where|when) (?i:is|was|are|does|did|has) "
            rf"(?P<name>{_NAME})(?: {_NAME})?(?=\W*$)"
        ),
        re.compile(rf"(?P<name>{_NAME})(?<=['’]s)(?!\w)"),
        re.compile(rf"\b(?i:about|of|for|with|and|know) (?P<name>{_NAME})"),
        # "the wedding of the Kellers", "who is older, Pedro or Rita"
        re.compile(
            rf"\b(?i:wedding|birthday|party|house|family|kids) of (?:the )?(?P<name>{_NAME})"
        ),
        re.compile(rf"\b(?i:who)\b.{{1,60}}?(?P<name>{_NAME}) or {_NAME}"),
    )


@cache
def subject() -> re.Pattern[str]:
    """Others who do what people do: "do vegans eat"."""
    asks = "do|does|did|can|could|would|should|might|will"
    acts = "|".join(words("somebody_else", "acts"))
    others = r"(?!(?:i|we|you|me|us|my|our|this|that|it|there|not)\b)[\w-]+"
    return re.compile(rf"\b(?:{asks}) (?:{others} ){{1,3}}?(?:{acts})\b")


@cache
def talk() -> re.Pattern[str]:
    """The beginning of a sentence of small talk."""
    greetings, statements = ("|".join(words("talk", name)) for name in ("greetings", "statements"))
    return re.compile(rf"(?:(?:{greetings})\b[\s,!.-]*)+(?:$|(?:{statements}))|(?:{statements})")


@cache
def sign(kind: str, name: str) -> re.Pattern[str]:
    """The pattern of the words of a kind, such as the documents of letters."""
    some = "|".join(words(kind, name))
    return re.compile(rf"(?<!\w)(?:{some})(?!\w)")


def words(kind: str, name: str) -> list[str]:
    """The words of a sign, as the file has them."""
    found: list[str] = _data()[kind][name]
    return found


@cache
def _data() -> dict[str, Any]:
    text = files(__package__).joinpath("purposes.toml").read_text("utf-8")
    data: dict[str, Any] = msgspec.toml.decode(text)
    return data
