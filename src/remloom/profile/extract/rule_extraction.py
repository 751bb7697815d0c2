"""Extraction without a model: what the rules find in words, and what behaviour suggests.

Which sites were visited, and under which words things were kept, is weak evidence: a day of
browsing is a piece, and believed with the third; what is kept under a word counts from three items
on. Titles and marked words are somebody else's, and say nothing of the user.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import TypeAlias

import msgspec
from msgspec import Struct

from ..evidence.claim import Claim
from ..evidence.evidence import value_key
from ..evidence.passages import Passage
from .rules import extract
from .scan import Extracted, FoundClaim

RULES = "rules"  # the name of this extractor
_ENOUGH = 3  # items kept under a word
_LONGEST = 300  # characters of a quote

# - crumb.example: Rye bread, Butter (3 visits, 1 typed)
_SITE = re.compile(r"- ([a-z0-9.-]+\.[a-z]{2,})(?::| \()")
# - Food > Bread: The Crumb (crumb.example)
_FOLDERS = re.compile(r"- ([^:]+): .+")
# - 2026-03-02: Rye bread (crumb.example), by Ann Baker; tags: bread; list: archive; note: …
_LABELS = re.compile(r"; (?:tags|list): ([^;]+)")
_MARKED = re.compile(r"; (?:marked|note): ")

# a slot and a value
_Meaning: TypeAlias = tuple[str, str]


class _Meanings(Struct, frozen=True):
    sites: dict[str, _Meaning]
    topics: dict[str, _Meaning]


@cache
def _meanings() -> _Meanings:
    return msgspec.toml.decode(
        files(__package__).joinpath("sites.toml").read_bytes(), type=_Meanings
    )


def extract_by_rules(passages: Sequence[Passage]) -> Extracted:
    found = [FoundClaim(passage, claim) for passage in passages for claim in _claims_of(passage)]
    return Extracted(tuple(found))


def _claims_of(passage: Passage) -> list[Claim]:
    if passage.is_behaviour:
        return claims_of_behaviour(passage)
    return extract(passage.record.content, at=passage.record.starts_at)


def claims_of_behaviour(passage: Passage) -> list[Claim]:
    """Find what a day of browsing, a month of saved items or a list of feeds suggests.

    There is a claim for each meaning that enough lines have, which cites the first of them.
    """
    category = passage.record.category
    found: defaultdict[_Meaning, list[tuple[int, str]]] = defaultdict(list)
    start = 0
    for line in passage.record.content.splitlines(keepends=True):
        for meaning in sorted(set(_meanings_of(line.rstrip("\r\n"), category))):
            found[meaning].append((start, line.rstrip("\r\n")))
        start += len(line)
    enough = 1 if category == "browsing" else _ENOUGH
    return [_claim(meaning, *some[0]) for meaning, some in found.items() if len(some) >= enough]


def _claim(meaning: _Meaning, start: int, line: str) -> Claim:
    slot, value = meaning
    quote = line[:_LONGEST]
    return Claim(
        key=slot,
        value=value,
        signal="implicit_behavior",
        quote=quote,
        span=(start, start + len(quote)),
    )


def _meanings_of(line: str, category: str) -> Iterator[_Meaning]:
    """What the site, the folders or the labels of a line stand for."""
    if category == "browsing":
        known = _meanings().sites
        found = _SITE.match(line)
        site = found[1].removeprefix("www.") if found else ""
        # of a site's own part, too: en.cppreference.com
        words = [site, site.partition(".")[2]]
    else:
        known = _meanings().topics
        if category == "news":
            found = _FOLDERS.match(line)
            words = found[1].split(" > ") if found else []
        else:
            words = ",".join(_LABELS.findall(_MARKED.split(line)[0])).split(",")
        words = list(map(value_key, words))
    yield from (known[word] for word in words if word in known)
