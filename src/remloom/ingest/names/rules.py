"""Finding who and what a text is about, without a model: capitalised names, e-mail addresses,
@handles.

English conventions of capitalisation are assumed; texts in scripts without capitals yield known
names, addresses and handles only. The whole document is looked at together, because how a name is
written in one place tells what it is in another: "Washington" after "George Washington", a word
that is a name in mid-sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Protocol

from msgspec import Struct

from ... import labels
from . import lists
from .phrases import Phrase, masked, phrases

__all__ = ["CapitalizedNames", "Extractor", "Name", "kind_of"]

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}\b")
_HANDLE = re.compile(r"(?<![\w@./])@[A-Za-z_][\w-]{2,}(?![\w@]|\.\w)")
_ROMAN = re.compile(r"[IVXLC]+")
_ACRONYM = re.compile(r"[A-Z][A-Z0-9&-]{1,7}s?|(?:[A-Z]\.){2,}")
_MIXED = re.compile(
    r"(?!Mc[A-Z]|Mac[A-Z]|De[A-Z]|L[ae][A-Z]|D[iu][A-Z]|Van[A-Z]|Fitz[A-Z])(?:[A-Z]?[a-z]+[A-Z]\w*|[A-Z]{2,}[a-z]+[A-Z]\w*|\w*[A-Z]\w*\d\w*)"
)
_INITIALS = re.compile(r"(?!U\.[SKN])(?:[A-Z]\.)+")
_PREFIXES = frozenset(
    (
        "Anglo",
        "Sino",
        "Franco",
        "Russo",
        "Afro",
        "Euro",
        "Indo",
        "Anti",
        "Pro",
        "Non",
        "Pre",
        "Post",
    )
)
# in the names of people more than of things
_PARTICLES = frozenset(("von", "van", "bin", "ibn", "al", "de"))
_SMALL_WORD = re.compile(r"\b[a-zß-öø-ÿ]\w+")
_INFLECTED = re.compile(r"(?:ing|ly|ed)$")
_DEFINED = re.compile(r"\s?\(([A-Z][A-Za-z.&]{1,9})\)")
_SENSE = frozenset(
    ("congress", "parliament", "senate", "kremlin", "politburo", "vatican")
)  # heads that are names alone
_LONGEST = 120  # characters of a name; a longer run of capitals is a heading or shouting


class Name(Struct, frozen=True, kw_only=True):
    """Somebody or something that a text names, with where."""

    name: str
    type: str = ""  # person | organization | place | concept | project | technology; empty: unknown
    aliases: tuple[str, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()  # character offsets of each mention, in order


class Extractor(Protocol):
    """Finds names in a text."""

    def extract(self, text: str, known: Mapping[str, str] = {}) -> list[Name]:
        """The names in a text, in the order of their first mention.

        Args:
            text: the whole document: offsets in `Name.spans` refer to it.
            known: names that are known to be such, with their types: speakers, authors.
        """
        ...


class CapitalizedNames:
    """The extractor that needs no model and no extra; see `Extractor`."""

    def extract(self, text: str, known: Mapping[str, str] = {}) -> list[Name]:
        clean = masked(text)
        people = _Book(clean, known)
        for phrase in phrases(clean):
            people.add(phrase)
        return sorted([*people.names(), *_addresses(text)], key=lambda name: name.spans[0])


class _Entry:
    """A name while the document is read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.type = ""
        self.aliases: dict[str, None] = {}
        self.spans: list[tuple[int, int]] = []
        self.inside = 0  # mentions that do not begin a sentence
        self.titled = 0  # mentions after a person's title
        self.located = 0  # mentions after "in", "at", "near"
        # mentions in headings, where everything may be capitalised
        self.headed = 0

    def absorb(self, other: _Entry) -> None:
        self.spans += other.spans
        self.inside += other.inside
        self.titled += other.titled
        self.headed += other.headed
        self.aliases |= {other.name: None, **other.aliases}
        self.aliases.pop(self.name, None)


class _Book:
    """Every name of a document, sorted out once all of it is read."""

    def __init__(self, text: str, known: Mapping[str, str]) -> None:
        self._text = text
        self._entries: dict[str, _Entry] = {}
        self._known = {labels.key(name): kind for name, kind in known.items() if name.strip()}
        self._lower = Counter(_SMALL_WORD.findall(text))  # words that are written small
        self._acronyms: dict[str, str] = {}  # short form: key of the long one
        for name, kind in known.items():
            if name.strip():
                self._entry(name.strip()).type = kind

    def add(self, phrase: Phrase) -> None:
        if len(phrase.name) > _LONGEST:
            return
        entry = self._entry(phrase.name)
        entry.spans.append((phrase.start, phrase.end))
        entry.inside += not phrase.begins_sentence and not phrase.in_heading
        entry.titled += bool(phrase.title)
        entry.located += phrase.located
        entry.headed += phrase.in_heading
        for alias in phrase.aliases:
            entry.aliases[alias] = None
        defined = _DEFINED.match(self._text, phrase.end)
        if defined and _abbreviates(defined[1], phrase.name):
            self._acronyms[defined[1]] = labels.key(phrase.name)

    def names(self) -> Iterator[Name]:
        self._merge_acronyms()
        self._strip_first_words()
        self._merge_variants()
        self._type()
        self._merge_short_names()
        for entry in self._entries.values():
            if entry.spans and self._is_name(entry):
                aliases = tuple(entry.aliases)
                yield Name(
                    name=entry.name,
                    type=entry.type,
                    aliases=aliases,
                    spans=tuple(sorted(set(entry.spans))),
                )

    def _entry(self, name: str) -> _Entry:
        key = labels.key(name)
        if key not in self._entries:
            self._entries[key] = _Entry(name)
        return self._entries[key]

    def _merge(self, key: str, into: str) -> None:
        if key != into and key in self._entries and into in self._entries:
            self._entries[into].absorb(self._entries.pop(key))

    def _merge_acronyms(self) -> None:
        for short, key in self._acronyms.items():
            if key in self._entries:
                self._entries[key].aliases[short] = None
                self._merge(labels.key(short), key)

    def _strip_first_words(self) -> None:
        """ "Imperial Britain" is Britain at the start of a sentence, where "imperial" is a word in
        the text."""
        inside = {entry.name for entry in self._entries.values() if entry.inside}
        for key, entry in list(self._entries.items()):
            first, _, rest = entry.name.partition(" ")
            if not rest or entry.inside or entry.titled or entry.headed or key in self._known:
                continue
            known = labels.key(rest) in self._known
            if not known and rest not in inside:
                continue
            clear = known or kind_of(rest) in ("place", "technology", "project")
            if self._lower[first.lower()] or (
                clear and first not in lists.GIVEN_NAMES and _head_kind(entry.name.split()) == ""
            ):
                self._entry(rest).spans += [(end - len(rest), end) for _, end in entry.spans]
                del self._entries[key]

    def _merge_variants(self) -> None:
        """One person with and without a middle name: the form used most, the longer one of two."""
        variants: dict[tuple[str, str], list[str]] = {}
        for key, entry in self._entries.items():
            parts = entry.name.split()
            if 2 <= len(parts) <= 4 and not _head_kind(parts) and not _has_connector(parts):
                variants.setdefault((parts[0], parts[-1]), []).append(key)
        for keys in variants.values():
            middles = [self._entries[key].name.split()[1:-1] for key in keys]
            if len(keys) > 1 and _compatible(middles):
                best = max(keys, key=lambda key: (len(self._entries[key].spans), len(key)))
                for key in keys:
                    self._merge(key, best)

    def _type(self) -> None:
        alone = {
            entry.name for entry in self._entries.values() if " " not in entry.name and entry.spans
        }
        for key, entry in self._entries.items():
            entry.type = entry.type or self._known.get(key, "") or kind_of(entry.name)
            if not entry.type and entry.titled:
                entry.type = "person"
            parts = entry.name.split()
            # Nothing tells what it is, but the text goes on with its last word, as one does with
            # people.
            taken_up = 2 <= len(parts) <= 3 and parts[-1] in alone and not entry.located
            if not entry.type and taken_up and not self._ordinary(parts):
                entry.type = "person"
            if (
                not entry.type
                and len(parts) == 1
                and entry.located >= 2
                and entry.located * 2 > len(entry.spans)
            ):
                entry.type = "place"

    def _ordinary(self, parts: list[str]) -> bool:
        """Whether a word of the name is an ordinary word, in this text or in general."""
        coded = any(_ACRONYM.fullmatch(part) or _MIXED.fullmatch(part) for part in parts)
        return (
            coded
            or _has_connector(parts)
            or _common(parts)
            or any(self._lower[part.lower()] for part in parts)
        )

    def _merge_short_names(self) -> None:
        """ "Washington" is George Washington where the document knows one such person, and no place
        is meant."""
        owners: dict[str, set[str]] = {}
        for key, entry in self._entries.items():
            parts = entry.name.split()
            if entry.type == "person" and len(parts) > 1:
                last = next(
                    (part for part in reversed(parts) if not _ROMAN.fullmatch(part)), parts[-1]
                )
                for part in {parts[0], last}:
                    if part.lower().rstrip(".") not in lists.NOBLE_TITLES:
                        owners.setdefault(labels.key(part), set()).add(key)
        for short, keys in owners.items():
            if short not in self._entries or len(keys) != 1 or short in self._known:
                continue
            entry = self._entries[short]
            if not entry.spans:
                continue
            full = keys.pop()
            owner = self._entries[full]
            surname = entry.name == owner.name.split()[-1]
            if (
                surname
                and full not in self._known
                and owner.spans
                and min(owner.spans) > min(entry.spans)
            ):
                # a text names somebody in full first: this is somebody else of that name
                continue
            if entry.type in ("", "person") or (entry.type == "place" and not entry.located):
                self._merge(short, full)

    def _is_name(self, entry: _Entry) -> bool:
        if labels.key(entry.name) in self._known:
            return True
        if entry.headed and entry.headed == len(entry.spans):
            return False
        parts = entry.name.split()
        if len(parts) > 1:
            if entry.name.isupper() and (
                len(parts) > 3 or self._ordinary([part.title() for part in parts])
            ):
                return False  # shouting
            if (
                parts[-1].lower() in lists.DEMONYMS
                and entry.name not in lists.PLACES
                and entry.type != "person"
            ):
                return False  # "North American": an adjective
            return not all(
                part.lower() in lists.STOP_WORDS or part.lower() in lists.DEMONYMS for part in parts
            )
        word = entry.name
        low = word.lower()
        if (
            low in lists.STOP_WORDS
            or low in lists.DEMONYMS
            or low.rstrip(".") in lists.TITLES
            or len(word) < 2
        ):
            return False
        if "-" in word and all(
            part[0].islower() or part in _PREFIXES or part.lower() in lists.DEMONYMS
            for part in filter(None, word.split("-"))
        ):
            return False  # "Spanish-controlled", "Anglo-French"
        if _ROMAN.fullmatch(word) or (_is_head(low) and low not in _SENSE):
            return False
        if entry.type == "place" and word in lists.PLACES:
            return True
        if entry.aliases or entry.titled or _MIXED.fullmatch(word):
            return True
        if _ACRONYM.fullmatch(word):
            return (len(word) > 2 or entry.inside > 0) and not self._lower[low]
        if not entry.inside:  # only ever at the start of sentences
            often = len(entry.spans) - entry.headed > 1
            return often and len(word) > 4 and not self._lower[low] and not _INFLECTED.search(low)
        return self._lower[low] * 2 <= entry.inside


def kind_of(name: str) -> str:
    """What a name is by its words alone; empty when they do not tell.

    >>> [kind_of(name) for name in ("Treaty of Paris", "Sarah Chen", "Lake Erie", "World Bank", "TiDB", "Quayline")]
    ['concept', 'person', 'place', 'organization', 'technology', '']
    """
    parts = name.split()
    if name in lists.PLACES:
        return "place"
    if parts[0] == "Project" and len(parts) > 1:
        return "project"
    kind = _head_kind(parts)
    if kind:
        return kind
    first = parts[0].lower().rstrip(".")
    if len(parts) > 1 and not _common(parts):
        if first in lists.NOBLE_TITLES or parts[0] in lists.GIVEN_NAMES:
            return "person"
        if any(len(part) == 2 and part[1] == "." for part in parts[:-1]) or _INITIALS.fullmatch(
            parts[0]
        ):
            return "person"
        if any(part in _PARTICLES for part in parts[1:-1]) and len(parts) <= 5:
            return "person"
        if parts[-1] in ("Jr.", "Sr.") or (
            len(parts) == 2 and re.fullmatch(r"I{1,3}|I?V|VI{0,3}|IX|X[IVX]*", parts[1])
        ):
            return "person"
    if len(parts) == 1 and name in lists.GIVEN_NAMES:
        return "person"
    if len(parts) == 1 and _MIXED.fullmatch(name):
        return "technology"
    if len(parts) > 1 and parts[0] in (
        "North",
        "South",
        "East",
        "West",
        "Northern",
        "Southern",
        "Eastern",
        "Western",
    ):
        return "place"
    return ""


def _head_kind(parts: list[str]) -> str:
    """The kind that the head of a name tells: its last word, or the one before "of", "for", "on"."""
    while len(parts) > 2 and _ROMAN.fullmatch(parts[-1]):
        parts = parts[:-1]
    head = parts[-1]
    for number, part in enumerate(parts[1:], 1):
        if part in ("of", "for", "on"):
            head = parts[number - 1]
            break
    low = head.lower().rstrip(".,")
    if len(parts) < 2:
        return "organization" if low in _SENSE else ""
    if low in lists.ORGANIZATION_HEADS:
        return "organization"
    if low in lists.EVENT_HEADS:
        return "concept"
    if low in lists.PLACE_HEADS or parts[0].lower().rstrip(".") in (
        "lake",
        "mount",
        "mt",
        "fort",
        "cape",
        "port",
        "gulf",
    ):
        return "place"
    return ""


def _is_head(low: str) -> bool:
    return low in lists.ORGANIZATION_HEADS or low in lists.EVENT_HEADS or low in lists.PLACE_HEADS


def _has_connector(parts: list[str]) -> bool:
    return any(part in ("of", "and", "for", "on", "the", "&") for part in parts)


def _common(parts: list[str]) -> bool:
    """Whether a nationality or a word of the language is in it: then it is no person's name."""
    return any(
        part.lower() in lists.DEMONYMS or (part.lower() in lists.STOP_WORDS and part != "Will")
        for part in parts
    )


def _compatible(middles: list[list[str]]) -> bool:
    """Whether middle names can be of one person: none, or with one initial."""
    initials = {middle[0][0] for middle in middles if middle}
    return len(initials) <= 1 and all(len(middle) <= 2 for middle in middles)


def _abbreviates(short: str, name: str) -> bool:
    """Whether the letters of a short form begin the words of a name, in order."""
    wanted = [letter for letter in short if letter.isupper()]
    position = 0
    for word in re.findall(r"\w+", name):
        if position < len(wanted) and word[0].upper() == wanted[position]:
            position += 1
    return len(wanted) > 1 and position == len(wanted)


def _addresses(text: str) -> Iterator[Name]:
    """E-mail addresses and @handles, each as its own name."""
    for pattern in (_EMAIL, _HANDLE):
        spans: dict[str, list[tuple[int, int]]] = {}
        if "@" in text:
            for found in pattern.finditer(text):
                spans.setdefault(found[0].rstrip("."), []).append(found.span())
        for name, places in spans.items():
            yield Name(name=name, type="person", spans=tuple(places))
