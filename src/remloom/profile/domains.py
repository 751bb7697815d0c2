"""Domains: what everyday words and slots are about, such as food or health."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib.resources import files

import msgspec

from .slot import Slot

__all__ = ["domain_words", "domains_of", "domains_of_slot", "without_material"]

# some text to work on
_GIVEN = re.compile(
    r"(\b(?:translate|proofread|spell-?check|correct|edit|rephrase|rewrite|paraphrase|summari[sz]e"
    r"|shorten|polish|convert|sort|format|turn|count|classify)\b[^:.?!\n]{0,80}:).*",
    re.IGNORECASE | re.DOTALL,
)
# some words between quotation marks: 'The meeting is moved.'
_QUOTED = re.compile(r"(?<!\w)(['\"`])(?=\S)[^'\"`]*\s[^'\"`]*\1(?!\w)|[“„«][^”“»]*[”“»]")


def domains_of(text: str) -> frozenset[str]:
    """The domains that a text has words of.

    >>> sorted(domains_of("Something to eat near here"))
    ['food', 'place']
    """
    folded = " ".join(text.split()).casefold().replace("’", "'")
    return frozenset(name for name, words in _domains() if words.search(folded))


def domain_words(name: str) -> re.Pattern[str]:
    """The pattern of the words of a domain, for folded text."""
    return dict(_domains())[name]


def without_material(text: str) -> str:
    """A request without what it is to be done to: what is quoted, or given behind a colon.

    >>> without_material("Translate 'We moved to Rome.' into Dutch")
    'Translate   into Dutch'
    >>> without_material("proofread: I like chess")
    'proofread:'
    """
    return _GIVEN.sub(r"\1", _QUOTED.sub(" ", text))


@lru_cache(maxsize=4096)
def _domains_of_name(name: str) -> frozenset[str]:
    return domains_of(name)


def domains_of_slot(slot: Slot) -> frozenset[str]:
    """What a slot is about by its names; how agents are to behave is about nothing else."""
    if slot.usage == "behaviour":
        return frozenset()
    end = slot.id.rpartition(".")[2].replace("_", " ")
    return frozenset().union(*map(_domains_of_name, (slot.label, *slot.aliases, end)))


@cache
def _domains() -> tuple[tuple[str, re.Pattern[str]], ...]:
    text = files(__package__).joinpath("domains.toml").read_text("utf-8")
    words: dict[str, list[str]] = msgspec.toml.decode(text)
    return tuple(
        (name, re.compile(rf"(?<!\w)(?:{'|'.join(each)})(?!\w)")) for name, each in words.items()
    )
