"""Domains: what everyday words and slots are about, such as food or health."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib.resources import files

import msgspec

from .slot import Slot

__all__ = ["domain_words", "domains_of", "domains_of_slot", "without_quotes"]

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


def without_quotes(text: str) -> str:
    """A text without what it quotes: that is worked on, and not asked about.

    >>> without_quotes("Translate 'We moved to Rome.' into Dutch")
    'Translate   into Dutch'
    """
    return _QUOTED.sub(" ", text)


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
