"""English word lists: they tell names from other capitalised words, and kinds of names apart.

The lists are the files in `words/`, read once, when they are first asked for.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

__all__ = ["ENGLISH", "WordLists", "split_words"]

_FOLDER = Path(__file__).with_name("words")


class WordLists:
    """The word lists of a language. Lower case and without dots, but for names."""

    @cached_property
    def stop_words(self) -> frozenset[str]:
        """Words that begin sentences, or are capitalised for other reasons than being a name."""
        return _read_words("stop_words")

    @cached_property
    def days(self) -> frozenset[str]:
        """Days of the week and months, in the singular and in the plural."""
        return _with_plurals(_read_words("days"))

    @cached_property
    def calendar(self) -> frozenset[str]:
        """Days, seasons, feasts and times of day, in the singular and in the plural."""
        return self.days | _with_plurals(_read_words("times"))

    @cached_property
    def ordinary(self) -> frozenset[str]:
        """Words that are names of people or companies, too, and mostly none; and stop words."""
        return self.stop_words | _read_words("ordinary")

    @cached_property
    def connectors(self) -> frozenset[str]:
        """Words between the words of a name. "of" and "and" have rules of their own."""
        return _read_words("connectors")

    @cached_property
    def titles(self) -> frozenset[str]:
        """Words before a person's name that are not part of it."""
        return _read_words("titles")

    @cached_property
    def noble_titles(self) -> frozenset[str]:
        """Words before a name that are felt to be part of it."""
        return _read_words("noble_titles")

    @cached_property
    def all_titles(self) -> frozenset[str]:
        """Titles of both kinds."""
        return self.titles | self.noble_titles

    @cached_property
    def offices(self) -> frozenset[str]:
        """Words that follow "of" after a title and are not a place: "Secretary of State"."""
        return _read_words("offices")

    @cached_property
    def plural_owners(self) -> frozenset[str]:
        """Possessives that begin names: "People's Republic"."""
        return _read_words("plural_owners")

    @cached_property
    def organization_heads(self) -> frozenset[str]:
        """Words that say that a name is that of an organisation."""
        return _read_words("organization_heads")

    @cached_property
    def place_heads(self) -> frozenset[str]:
        """Words that say that a name is that of a place."""
        return _read_words("place_heads")

    @cached_property
    def event_heads(self) -> frozenset[str]:
        """Words that say that a name is that of an event, a law or a work."""
        return _read_words("event_heads")

    @cached_property
    def joining_heads(self) -> frozenset[str]:
        """Heads of names that go on with "and", "for" or "on"."""
        return self.organization_heads | self.event_heads

    @cached_property
    def heads(self) -> frozenset[str]:
        """Heads of names of every kind."""
        return self.joining_heads | self.place_heads

    @cached_property
    def demonyms(self) -> frozenset[str]:
        """Nationalities, faiths and parties: capitalised adjectives, and their plurals."""
        return _read_words("demonyms")

    @cached_property
    def places(self) -> frozenset[str]:
        """Names of well-known places, as they are written."""
        return frozenset(_read_lines("places"))

    @cached_property
    def given_names(self) -> frozenset[str]:
        """First names, as they are written."""
        return _read_words("given_names")


ENGLISH = WordLists()


def split_words(text: str) -> frozenset[str]:
    """The words of a list written as one text."""
    return frozenset(text.split())


def _with_plurals(words: frozenset[str]) -> frozenset[str]:
    return words | {f"{word}s" for word in words}


def _read_words(name: str) -> frozenset[str]:
    return split_words(" ".join(_read_lines(name)))


def _read_lines(name: str) -> list[str]:
    """The lines of a file, but for blank ones and comments."""
    text = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]
