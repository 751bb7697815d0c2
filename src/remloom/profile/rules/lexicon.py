"""Words that say by themselves what they are about: "Postgres" is a database, "ramen" is food."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import msgspec
from msgspec import Struct

from .phrases import alternatives

__all__ = [
    "Meaning",
    "WordClass",
    "is_known",
    "lists",
    "lookup_words",
    "read_items",
    "split_version",
    "word_classes",
]

_SEPARATOR = re.compile(
    r",?\s+and,\s+(?:\w+,\s+)?|,\s*(?:and\s+|or\s+)?"
    r"|\s+(?:and|or|with|plus|as well as|along with|und|n)\s+|\s*[&/+]\s+"
)
_LEAD = re.compile(rf"^(?:{alternatives('articles')}\s+)+", re.IGNORECASE)
_TAIL = re.compile(rf"(?:\s+|^){alternatives('tails')}\b.*|[.!?)\s]+$", re.IGNORECASE | re.DOTALL)
_LONGEST = 60  # characters of an item
_NAME = re.compile(r"[A-Z][\w.-]{1,20}")
_VERSION = re.compile(
    r"(?P<name>.+?)[ -]v?(?P<version>\d[\w.]*|Sonoma|Sequoia|Ventura|Tahoe|Monterey|LTS)(?: LTS)?"
)


class WordClass(Struct, frozen=True, forbid_unknown_fields=True):
    """A class of words that tell the slot; the head of lexicon.toml says what its fields are."""

    id: str
    words: str
    cased: str = ""
    heads: tuple[str, ...] = ()
    versioned: bool = False
    version: str = ""
    const: dict[str, str] = {}


class Meaning(NamedTuple):
    """What a word stands for."""

    of: WordClass
    value: str


@cache
def lists() -> dict[str, frozenset[str]]:
    """The closed lists of words.toml, in small letters."""
    text = files(__package__).joinpath("words.toml").read_text("utf-8")
    return {name: _split(words) for name, words in msgspec.toml.decode(text).items()}


def read_items(text: str) -> list[str]:
    """The items of a list in words, without articles and what only surrounds them.

    >>> read_items("Rust, Go and a bit of Zig these days")
    ['Rust', 'Go', 'Zig']
    """
    things = (_LEAD.sub("", item, count=1) for item in _SEPARATOR.split(text))
    return [_TAIL.sub("", thing).strip(' .!?,"“”') for thing in things]


def lookup_words(words: str) -> list[Meaning]:
    """What the items of a list mean; none if the first is neither known nor a name.

    >>> [(one.of.id, one.value) for one in lookup_words("Fedora and fish")]
    [('environment.os', 'Fedora'), ('environment.shell', 'fish')]
    """
    items = read_items(words)
    found = [_meaning(item) for item in items]
    if not found or (found[0] is None and not _NAME.fullmatch(items[0])):
        return []
    return [one for one in found if one is not None]


def is_known(item: str) -> bool:
    """Whether it is a word of any class."""
    return _meaning(item) is not None


def _meaning(item: str) -> Meaning | None:
    if not item or len(item) > _LONGEST:
        return None
    found = ((entry.word_class, entry.find(item)) for entry in _classes())
    return next((Meaning(of, value) for of, value in found if value), None)


class _Entry:
    """A class with its words in sets."""

    def __init__(self, word_class: WordClass) -> None:
        self.word_class = word_class
        self._words = _split(word_class.words)
        self._cased = frozenset(word.strip() for word in word_class.cased.split(","))

    def find(self, item: str) -> str:
        """The value that an item stands for; empty if it is none of this class."""
        one = self.word_class
        plain = item.casefold()
        if plain in one.const:
            return one.const[plain]
        if plain in self._words or item in self._cased:
            return item
        if one.versioned and (found := _VERSION.fullmatch(item)):
            return item if found["name"].casefold() in self._words else ""
        for word in one.heads:
            bare = item[: -len(word)].strip() if plain.endswith(f" {word}") else ""
            if bare and (bare.casefold() in self._words or bare in self._cased):
                return bare
        return ""


def word_classes() -> tuple[WordClass, ...]:
    """Every class, in the order in which they are tried."""
    return tuple(entry.word_class for entry in _classes())


@cache
def _classes() -> tuple[_Entry, ...]:
    text = files(__package__).joinpath("lexicon.toml").read_text("utf-8")
    rows = msgspec.toml.decode(text, type=dict[str, list[WordClass]])
    return tuple(_Entry(row) for row in rows["class"])


def split_version(text: str) -> tuple[str, str]:
    """A name and its version, if there is one: "Ubuntu 22.04" is ("Ubuntu", "22.04")."""
    found = _VERSION.fullmatch(text)
    return (found["name"], found["version"]) if found else (text, "")


def _split(words: str) -> frozenset[str]:
    return frozenset(word.strip().casefold() for word in words.split(",") if word.strip())
