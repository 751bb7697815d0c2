"""English word lists, each a file in `words/` that says what is in it: they tell names from other
capitalised words, and kinds of names apart."""

from __future__ import annotations

from functools import cache, cached_property
from pathlib import Path

from msgspec import Struct


class WordLists(Struct, frozen=True, dict=True):
    """The word lists of a language, and what is made of them."""

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
        """Days, seasons, feasts and times of day."""
        return self.days | self.times

    @cached_property
    def all_titles(self) -> frozenset[str]:
        """Titles of both kinds."""
        return self.titles | self.noble_titles

    @cached_property
    def joining_heads(self) -> frozenset[str]:
        """Heads of names that go on with "and", "for" or "on"."""
        return self.organization_heads | self.event_heads

    @cached_property
    def heads(self) -> frozenset[str]:
        """Heads of names of every kind."""
        return self.joining_heads | self.place_heads


def split_words(text: str) -> frozenset[str]:
    """The words of a list written as one text."""
    return frozenset(text.split())


@cache
def english() -> WordLists:
    """Read the lists, once, when they are first asked for."""
    lists: dict[str, frozenset[str]] = {}
    for name in WordLists.__struct_fields__:
        text = Path(__file__).with_name("words").joinpath(f"{name}.txt").read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        lists[name] = frozenset(lines) if name == "places" else split_words(" ".join(lines))
    lists["ordinary"] |= lists["stop_words"]
    for name in ("days", "times"):
        lists[name] |= {f"{word}s" for word in lists[name]}
    return WordLists(**lists)
