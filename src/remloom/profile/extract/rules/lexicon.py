"""The words and phrases that rules know. Some say by themselves what they are about: "Postgres" is
a database, "ramen" is food. Others are parsed into values as the pattern that caught them says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from typing import TypeVar

import msgspec
from msgspec import Struct

from ....ingest.names.word_lists import english

_T = TypeVar("_T")


def read_table(name: str, type: type[_T]) -> _T:
    return msgspec.toml.decode(files(__package__).joinpath(name).read_bytes(), type=type)


_PHRASES = read_table("phrases.toml", dict[str, str])


def alternatives(name: str) -> str:
    """The phrases of this name as one group, for a larger expression."""
    return f"(?:{'|'.join(_PHRASES[name].strip().splitlines())})"


def words(name: str) -> re.Pattern[str]:
    """An expression that finds any of the phrases of this name, as whole words.

    >>> [bool(words("hedges").search(text)) for text in ("I’m probably right", "improbably")]
    [True, False]
    """
    return re.compile(rf"\b{alternatives(name)}\b", re.IGNORECASE)


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
# the last: who eats none
_DIETS = {"veggie": "vegetarian", "pescetarian": "pescatarian", "meat": "vegetarian"}
# "St.", and no "Berlin.js"
_CAPITAL = r"[A-ZÀ-Þ](?:[\w’'-]|\.(?![a-z]))+"
_INNER = r"[ -](?:(?:de|del|la|le|am|an der|upon|of|do|da) )?"
# "Toronto, Ontario, Canada"
_PLACE = re.compile(
    rf"(?:the )?(?P<place>{_CAPITAL}(?:{_INNER}{_CAPITAL}){{0,3}}"
    rf"(?:,\s(?:the )?{_CAPITAL}(?:\s{_CAPITAL}){{0,2}}){{0,2}})"
)
# what may stand behind a place, beside the end
_BEHIND_PLACE = re.compile(rf"\s*(?:[!,]|\.(?!\w)|$|\s{alternatives('behind_places')}\b)")
_BEHIND_STATE = re.compile(rf"[^\w\s-]|\s*$|\s+{alternatives('behind_states')}\b", re.IGNORECASE)
_DEGREE = re.compile(r"(?:severe|bad|mild|terrible|chronic|slight|awful) ", re.IGNORECASE)
_FLUENCY = re.compile(
    r"(?:fluent|some|basic|broken|native|little|conversational)\s+|\s+speaker$", re.IGNORECASE
)
GIVEN_NAMES = frozenset(map(str.casefold, english().given_names))
_PLACES = {place.casefold(): place for place in english().places}


@cache
def _parted(words: str) -> frozenset[str]:
    return frozenset(word.strip() for word in words.split(",") if word.strip())


@cache
def _folded(words: str) -> frozenset[str]:
    return frozenset(map(str.casefold, _parted(words)))


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


# in the order in which they are tried
WORD_CLASSES = read_table("lexicon.toml", dict[str, tuple[WordClass, ...]])["class"]
# the closed lists, in small letters
_LISTS = {name: _folded(text) for name, text in read_table("words.toml", dict[str, str]).items()}


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


def lookup_words(words: str) -> list[tuple[str, str]]:
    """The slots and values that the items of a list name; none if the first is neither known nor a
    name.

    >>> lookup_words("Fedora and fish")
    [('environment.os', 'Fedora'), ('environment.shell', 'fish')]
    """
    items = read_items(words)
    if not items or not (_find_class(items[0]) or _NAME.fullmatch(items[0])):
        return []
    pairs = []
    for found in filter(None, map(_find_class, items)):
        of, value = found
        versioned = _VERSION.fullmatch(value) if of.versioned else None
        pairs.append((of.id, versioned["name"] if versioned else value))
        if versioned and of.version:
            pairs.append((of.version, versioned["version"]))
    return pairs


def _find_class(item: str) -> tuple[WordClass, str] | None:
    """The first class that knows an item, and the value that it stands for there."""
    if not item or len(item) > _LONGEST:
        return None
    found = ((one, one.find(item)) for one in WORD_CLASSES)
    return next(((of, value) for of, value in found if value), None)


def _words(text: str) -> list[str]:
    return [text.strip(" .,!")]


def _name(text: str) -> list[str]:
    name = text.strip(" .,!")
    plain = name.casefold()
    if plain in _LISTS["not_names"] or plain.split()[0] in _LISTS["not_names"]:
        return []
    if name[0].islower() and plain not in GIVEN_NAMES:
        return []
    return [name]


def _known_name(text: str) -> list[str]:
    """A name behind "I'm", where any word may stand: one that begins with a given name."""
    first = text.split()[0].strip(".,!")
    if first[0].islower() or first.casefold() not in GIVEN_NAMES:
        return []
    return _name(text)


def _names(text: str) -> list[str]:
    return [name for name in read_items(text) if name and name[0].isupper()]


def _place(text: str) -> list[str]:
    found = _PLACE.match(text)
    if found and _BEHIND_PLACE.match(text, found.end()):
        place = found["place"].rstrip(".")
        other = place.casefold() in _LISTS["not_places"] or _find_class(place) is not None
        return [] if other else [place]
    plain = " ".join(read_items(text)[:1]).casefold()
    known_place = _PLACES.get(plain)
    return [known_place] if known_place else []


def is_known_place(name: str) -> bool:
    return name.partition(",")[0].casefold() in _PLACES


def _land(text: str) -> list[str]:
    """A place where somebody is: well known, as "I'm now in" takes a team or a shop too."""
    return [place for place in _place(text) if is_known_place(place)]


def _organisation(text: str) -> list[str]:
    name = text.strip(" .,!")
    if name.endswith("'s"):
        return []
    first = name.split()[0].casefold()
    other = first in _LISTS["not_names"] or first in english().days or first in english().stop_words
    return [] if other else [name]


def _spoken(text: str) -> list[str]:
    languages: list[str] = []
    for item in read_items(text):
        plain = _FLUENCY.sub("", item)
        if plain.casefold() not in _LISTS["spoken"]:
            break
        languages.append(plain)
    return languages


def _diet(text: str) -> list[str]:
    return [_DIETS.get(text.casefold(), text.casefold())]


def _allergens(text: str) -> list[str]:
    known = _LISTS["allergens"]
    kinds = _LISTS["allergen_kinds"]
    allergens: list[str] = []
    for item in read_items(text):
        plain = item.casefold()
        forms = {plain, f"{plain[:-3]}y", *map(plain.removesuffix, ("s", "es", "e"))}
        *others, last = plain.split()
        of_a_kind = len(others) in (1, 2) and {last, last.removesuffix("s")} & kinds
        # "a few other nuts" says not which
        if not (forms & known or of_a_kind) or "other" in others:
            break
        allergens.append(item)
    return allergens


def _condition(text: str) -> list[str]:
    item = _DEGREE.sub("", " ".join(read_items(text)[:1]))
    return [item] if item.casefold() in _LISTS["conditions"] else []


def _condition_of_person(text: str) -> list[str]:
    """What somebody is: "diabetic", and not "blind to the difference"."""
    return [item for item in _condition(text) if _holds(item, text)]


def _religion(text: str) -> list[str]:
    item = " ".join(read_items(text)[:1])
    known = item.casefold() in _LISTS["religions"]
    return [item] if known and _holds(item, text) else []


def _holds(item: str, text: str) -> bool:
    """Whether what stands behind a state leaves it what it is."""
    return bool(_BEHIND_STATE.match(text, text.find(item) + len(item)))


def _family(text: str) -> list[str]:
    return [text.replace(",", "")]


PARSERS: dict[str, Callable[[str], list[str]]] = {
    "allergens": _allergens,
    "condition": _condition,
    "condition of a person": _condition_of_person,
    "diet": _diet,
    "family": _family,
    "known name": _known_name,
    "land": _land,
    "name": _name,
    "names": _names,
    "organisation": _organisation,
    "place": _place,
    "religion": _religion,
    "spoken": _spoken,
    "words": _words,
}
