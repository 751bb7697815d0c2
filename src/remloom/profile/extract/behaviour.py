"""Behaviour: what the user did suggests something, without any words of theirs.

Which sites were visited, and under which words things were kept. It is weak, and never outweighs
what the user says: a day of browsing is a piece of evidence, and believed with the third; what is
kept under a word counts from three items on. Titles and marked words are somebody else's, and say
nothing of the user.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from typing import TypeAlias

import msgspec
from msgspec import Struct

from ..evidence.claim import Claim
from ..evidence.evidence import value_key
from ..evidence.passages import Passage

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
# a line, and where it begins in the passage
_Line: TypeAlias = tuple[str, int]


class _Meanings(Struct, frozen=True):
    sites: dict[str, _Meaning]
    topics: dict[str, _Meaning]


def claims_of(passage: Passage) -> list[Claim]:
    """Find what a day of browsing, a month of saved items or a list of feeds suggests."""
    lines = list(_lines(passage.record.content))
    if passage.record.category == "browsing":
        return _claims(lines, _of_site, enough=1)
    words = _of_folders if passage.record.category == "news" else _of_labels
    return _claims(lines, words, enough=_ENOUGH)


def _claims(
    lines: list[_Line], meanings: Callable[[str], set[_Meaning]], *, enough: int
) -> list[Claim]:
    """A claim for each meaning that so many lines have; it cites the first of them."""
    found: defaultdict[_Meaning, list[_Line]] = defaultdict(list)
    for line in lines:
        for meaning in sorted(meanings(line[0])):
            found[meaning].append(line)
    return [_claim(meaning, some[0]) for meaning, some in found.items() if len(some) >= enough]


def _claim(meaning: _Meaning, line: _Line) -> Claim:
    slot, value = meaning
    quote, start = line[0][:_LONGEST], line[1]
    return Claim(
        key=slot,
        value=value,
        signal="implicit_behavior",
        quote=quote,
        span=(start, start + len(quote)),
    )


def _of_site(line: str) -> set[_Meaning]:
    found = _SITE.match(line)
    if found is None:
        return set()
    site = found[1].removeprefix("www.")
    # of a site's own part, too: en.cppreference.com
    names = (site, site.partition(".")[2])
    return {meaning for name in names if (meaning := _meanings().sites.get(name))}


def _of_folders(line: str) -> set[_Meaning]:
    found = _FOLDERS.match(line)
    return _of_words(found[1].split(" > ")) if found else set()


def _of_labels(line: str) -> set[_Meaning]:
    labels = _LABELS.findall(_MARKED.split(line)[0])
    return _of_words(",".join(labels).split(","))


def _of_words(words: list[str]) -> set[_Meaning]:
    topics = _meanings().topics
    return {topics[word] for word in map(value_key, words) if word in topics}


def _lines(text: str) -> Iterator[_Line]:
    start = 0
    for line in text.splitlines(keepends=True):
        yield line.rstrip("\r\n"), start
        start += len(line)


@cache
def _meanings() -> _Meanings:
    text = files(__package__).joinpath("sites.toml").read_text("utf-8")
    return msgspec.toml.decode(text, type=_Meanings)
