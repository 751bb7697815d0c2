"""English word lists, each a file in `words/` that says what is in it: they tell names from other
capitalised words, and kinds of names apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path

from msgspec import Struct


class EnglishWords(Struct, frozen=True, dict=True):
    stop_words: frozenset[str]
    ordinary: frozenset[str]  # stop words, too
    days: frozenset[str]  # in the singular and in the plural, and so are times
    times: frozenset[str]
    connectors: frozenset[str]
    titles: frozenset[str]
    noble_titles: frozenset[str]
    offices: frozenset[str]
    plural_owners: frozenset[str]
    organization_heads: frozenset[str]
    place_heads: frozenset[str]
    event_heads: frozenset[str]
    demonyms: frozenset[str]
    given_names: frozenset[str]
    places: frozenset[str]  # a line each: some have several words

    @cached_property
    def calendar(self) -> frozenset[str]:
        return self.days | self.times

    @cached_property
    def all_titles(self) -> frozenset[str]:
        return self.titles | self.noble_titles

    @cached_property
    def joining_heads(self) -> frozenset[str]:
        """Heads of names that go on with "and", "for" or "on"."""
        return self.organization_heads | self.event_heads

    @cached_property
    def heads(self) -> frozenset[str]:
        return self.joining_heads | self.place_heads


def split_words(text: str) -> frozenset[str]:
    """The words of a list written as one text."""
    return frozenset(text.split())


@cache
def english() -> EnglishWords:
    """Read the lists, once, when they are first asked for."""
    lists: dict[str, frozenset[str]] = {}
    for name in EnglishWords.__struct_fields__:
        text = Path(__file__).with_name("words").joinpath(f"{name}.txt").read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        lists[name] = frozenset(lines) if name == "places" else split_words(" ".join(lines))
    lists["ordinary"] |= lists["stop_words"]
    for name in ("days", "times"):
        lists[name] |= {f"{word}s" for word in lists[name]}
    return EnglishWords(**lists)


ROMAN = re.compile(r"[IVXLC]+")
ACRONYM = re.compile(r"[A-Z][A-Z0-9&-]{1,7}s?|(?:[A-Z]\.){2,}")
MIXED_CASE = re.compile(
    # McGregor and LaSalle are people
    r"(?!Mc[A-Z]|Mac[A-Z]|De[A-Z]|L[ae][A-Z]|D[iu][A-Z]|Van[A-Z]|Fitz[A-Z])"
    r"(?:[A-Z]?[a-z]+[A-Z]\w*|[A-Z]{2,}[a-z]+[A-Z]\w*|\w*[A-Z]\w*\d\w*)"
)
_INITIALS = re.compile(r"(?!U\.[SKN])(?:[A-Z]\.)+")
_ORDINAL = re.compile(r"I{1,3}|I?V|VI{0,3}|IX|X[IVX]*")
_PARTICLES = split_words("von van bin ibn al de")  # in names of people more than of things
_CONNECTING = split_words("of and for on the &")
_PREPOSITIONS = split_words("of for on")
_DIRECTIONS = split_words("North South East West Northern Southern Eastern Western")
_FIRST_OF_PLACE = split_words("lake mount mt fort cape port gulf")
# heads that are names alone
_BODIES = split_words("congress parliament senate kremlin politburo vatican")
_LONGEST_PERSON = 5  # words, with a particle among them


def kind_of(name: str) -> str:
    """The kind of a name by its words alone; empty when they do not tell.

    >>> [kind_of(name) for name in ("Treaty of Paris", "Sarah Chen", "Lake Erie")]
    ['concept', 'person', 'place']
    >>> [kind_of(name) for name in ("World Bank", "TiDB", "Quayline")]
    ['organization', 'technology', '']
    """
    parts = name.split()
    if name in english().places:
        return "place"
    if parts[0] == "Project" and len(parts) > 1:
        return "project"
    kind = head_kind(parts)
    if kind:
        return kind
    if len(parts) == 1:
        is_mixed = MIXED_CASE.fullmatch(name)
        return "person" if name in english().given_names else "technology" if is_mixed else ""
    if not has_common_word(parts) and _looks_like_person(parts):
        return "person"
    return "place" if parts[0] in _DIRECTIONS else ""


def _looks_like_person(parts: Sequence[str]) -> bool:
    first, last = parts[0], parts[-1]
    return (
        first.lower().rstrip(".") in english().noble_titles
        or first in english().given_names
        or _INITIALS.fullmatch(first) is not None
        # an initial before the last word
        or any(len(part) == 2 and part[1] == "." for part in parts[:-1])
        or (len(parts) <= _LONGEST_PERSON and not _PARTICLES.isdisjoint(parts[1:-1]))
        or last in ("Jr.", "Sr.")
        or (len(parts) == 2 and _ORDINAL.fullmatch(last) is not None)
    )


def head_kind(parts: Sequence[str]) -> str:
    """The kind of a name by its head: its last word, or the one before "of", "for", "on"."""
    # "Commission II"
    while len(parts) > 2 and ROMAN.fullmatch(parts[-1]):
        parts = parts[:-1]
    head = parts[-1]
    for position, part in enumerate(parts[1:], 1):
        if part in _PREPOSITIONS:
            head = parts[position - 1]
            break
    word = head.lower().rstrip(".,")
    if len(parts) < 2:
        return "organization" if word in _BODIES else ""
    if word in english().organization_heads:
        return "organization"
    if word in english().event_heads:
        return "concept"
    if word in english().place_heads or parts[0].lower().rstrip(".") in _FIRST_OF_PLACE:
        return "place"
    return ""


def is_head(word: str) -> bool:
    """Whether a word in lower case is the head of names, and not a name alone."""
    return word in english().heads and word not in _BODIES


def has_connector(parts: Sequence[str]) -> bool:
    """Whether a name joins several things by a small word."""
    return not _CONNECTING.isdisjoint(parts)


def has_common_word(parts: Sequence[str]) -> bool:
    """Whether a nationality or a word of the language is in a name: then it is not a person's."""
    return any(
        part.lower() in english().demonyms
        or (part.lower() in english().stop_words and part != "Will")
        for part in parts
    )
