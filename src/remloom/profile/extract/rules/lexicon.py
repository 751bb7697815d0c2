"""Words that say by themselves what they are about: "Postgres" is a database, "ramen" is food."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import msgspec
from msgspec import Struct

from .phrases import alternatives

_SEPARATOR = re.compile(
    r",?\s+and,\s+(?:\w+,\s+)?|,\s*(?:and\s+|or\s+)?"
    r"|\s+(?:and|or|with|plus|as well as|along with|und|n)\s+|\s*[&/+]\s+"
)
_LEAD = re.compile(rf"(?:{alternatives('articles')}\s+)+", re.IGNORECASE)
_TAIL = re.compile(rf"(?:\s+|^){alternatives('tails')}\b.*|[.!?)\s]+$", re.IGNORECASE | re.DOTALL)
_VERB = re.compile(r"\b(?:is|are|was|were|has|makes?)\b", re.IGNORECASE)
# what has an article behind its first word is no thing, but for "playing the piano", "out of the
# blue", and what is written like a title
_VERB_FIRST = re.compile(
    r"(?:got|have|had|went|need|want)\b"
    r"|(?!(?:\w+ing|play|of|in|at|to|on|for|with|by|from|into|over|under|around|about|as|than)\b)"
    r"[a-z]\w* (?:an?|the|my|our|your|his|her|their|some|it|me)\b"
)
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

    def find(self, item: str) -> str:
        """The value that an item stands for; empty if it is none of this class."""
        plain = item.casefold()
        if plain in self.const:
            return self.const[plain]
        if self._has(item):
            return item
        if self.versioned and (found := _VERSION.fullmatch(item)):
            return item if found["name"].casefold() in _folded(self.words) else ""
        for word in self.heads:
            bare = item[: -len(word)].strip() if plain.endswith(f" {word}") else ""
            if bare and self._has(bare):
                return bare
        return ""

    def _has(self, item: str) -> bool:
        return item.casefold() in _folded(self.words) or item in _parted(self.cased)


class Meaning(NamedTuple):
    """What a word stands for."""

    of: WordClass
    value: str


@cache
def lists() -> dict[str, frozenset[str]]:
    """The closed lists of words.toml, in small letters."""
    text = files(__package__).joinpath("words.toml").read_text("utf-8")
    return {name: _folded(words) for name, words in msgspec.toml.decode(text).items()}


def read_items(text: str) -> list[str]:
    """The items of a list in words, without articles and what only surrounds them.

    >>> read_items("Rust, Go and a bit of Zig these days")
    ['Rust', 'Go', 'Zig']
    """
    items: list[str] = []
    for item in _SEPARATOR.split(text):
        lead = _LEAD.match(item)
        thing = item[lead.end() :] if lead else item
        # "…, the effects are great", "got a wheel": the list is over, a clause began
        if items and (_VERB.search(item) or _VERB_FIRST.match(thing)):
            break
        # "allergic to who, …": all of it only surrounds a thing
        if named := _TAIL.sub("", thing).strip(' .!?,"“”'):
            items.append(named)
    return items


def item_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the items of a list stand, as they are written.

    >>> list(item_spans("nuts, and asthmatic"))
    [(0, 4), (10, 19)]
    """
    start = 0
    for found in _SEPARATOR.finditer(text):
        yield start, found.start()
        start = found.end()
    yield start, len(text)


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
    found = ((one, one.find(item)) for one in word_classes())
    return next((Meaning(of, value) for of, value in found if value), None)


@cache
def word_classes() -> tuple[WordClass, ...]:
    """Every class, in the order in which they are tried."""
    text = files(__package__).joinpath("lexicon.toml").read_text("utf-8")
    rows = msgspec.toml.decode(text, type=dict[str, list[WordClass]])
    return tuple(rows["class"])


def split_version(text: str) -> tuple[str, str]:
    """A name and its version, if there is one: "Ubuntu 22.04" is ("Ubuntu", "22.04")."""
    found = _VERSION.fullmatch(text)
    return (found["name"], found["version"]) if found else (text, "")


@cache
def _parted(words: str) -> frozenset[str]:
    return frozenset(word.strip() for word in words.split(",") if word.strip())


@cache
def _folded(words: str) -> frozenset[str]:
    return frozenset(map(str.casefold, _parted(words)))
