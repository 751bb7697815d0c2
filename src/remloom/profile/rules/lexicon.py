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
    "lists",
    "lookup",
    "lookup_words",
    "read_items",
    "split_version",
    "word_classes",
]

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
_NAME = re.compile(r"[A-Z][\w.-]{1,20}")
_VERSION = re.compile(
    r"(?P<name>.+?)[ -]v?(?P<version>\d[\w.]*|Sonoma|Sequoia|Ventura|Tahoe|Monterey|LTS)(?: LTS)?"
)


class WordClass(Struct, frozen=True, forbid_unknown_fields=True):
    """A class of words that tell the slot; the head of lexicon.toml says what its fields are."""

    name: str
    id: str
    verbs: tuple[str, ...]
    words: str = ""
    cased: str = ""
    headed: str = ""
    heads: tuple[str, ...] = ()
    only: dict[str, str] = {}
    dislike: str = ""
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
    items: list[str] = []
    for item in _SEPARATOR.split(text):
        lead = _LEAD.match(item)
        thing = item[lead.end() :] if lead else item
        # "…, the effects are great", "got a wheel": the list is over, a clause began
        if items and (_VERB.search(item) or _VERB_FIRST.match(thing)):
            break
        plain = _TAIL.sub("", thing).strip(' .!?,"“”')
        items.append(plain)
    return items


def lookup(items: list[str], verb: str) -> list[Meaning]:
    """What items of one list mean behind a verb; none if the first is neither known nor a name.

    The head of the last item is that of all: "Thai and Lao food".

    >>> [(one.of.name, one.value) for one in lookup(["Rust", "Go"], "use")]
    [('language', 'Rust'), ('language', 'Go')]
    """
    head = items[-1].rpartition(" ")[2].casefold() if items else ""
    found = [_meaning(item, verb, head) for item in items]
    if not found or (found[0] is None and not (verb == "use" and _NAME.fullmatch(items[0]))):
        return []
    return [one for one in found if one is not None]


def lookup_words(words: str, verb: str) -> list[Meaning]:
    """What words mean behind a verb: all of them as one thing ("pineapple on pizza"), or a list."""
    lead = _LEAD.match(words)
    whole = words[lead.end() :] if lead else words
    return lookup([whole.strip(" .!")], verb) or lookup(read_items(words), verb)


def _meaning(item: str, verb: str, head: str) -> Meaning | None:
    if not item or len(item) > 60:
        return None
    for entry in _classes():
        if verb in entry.word_class.verbs or verb in entry.word_class.only:
            value = entry.find(item, verb, head)
            if value:
                return Meaning(entry.word_class, value)
    return None


class _Entry:
    """A class with its words in sets."""

    def __init__(self, word_class: WordClass) -> None:
        self.word_class = word_class
        self._words = _split(word_class.words)
        self._headed = _split(word_class.headed)
        self._cased = frozenset(word.strip() for word in word_class.cased.split(","))
        self._only = {verb: _split(words) for verb, words in word_class.only.items()}

    def find(self, item: str, verb: str, head: str) -> str:
        """The value that an item stands for; empty if it is none of this class."""
        one = self.word_class
        plain = item.casefold()
        if plain in one.const:
            return one.const[plain]
        if verb in one.verbs and (plain in self._words or item in self._cased):
            return item
        if plain in self._only.get(verb, ()):
            return item
        if verb not in one.verbs:
            return ""
        if one.versioned and (found := _VERSION.fullmatch(item)):
            return item if found["name"].casefold() in self._words else ""
        for word in one.heads:
            bare = item[: -len(word)].strip() if plain.endswith(f" {word}") else ""
            if not bare and head == word:
                bare = item
            key = bare.casefold()
            if key and (key in self._headed or key in self._words or bare in self._cased):
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
