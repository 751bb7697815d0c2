"""Names in a text by rule, without a model: capitalised ones by the conventions of English, e-mail
addresses and @handles. The whole document is looked at together, because how a name is written in
one place tells what it is in another: "Washington" after "George Washington"."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from ... import labels
from . import Name
from .phrases import NamePhrase, mask, phrases
from .word_lists import (
    ACRONYM,
    MIXED_CASE,
    ROMAN,
    english,
    has_common_word,
    has_connector,
    head_kind,
    is_head,
    kind_of,
    split_words,
)

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}\b")
_HANDLE = re.compile(r"(?<![\w@./])@[A-Za-z_][\w-]{2,}(?![\w@]|\.\w)")
_SMALL_WORD = re.compile(r"\b[a-zß-öø-ÿ]\w+")
_DEFINED = re.compile(r"\s?\(([A-Z][A-Za-z.&]{1,9})\)")
_LONGEST = 120  # characters of a name; a longer run of capitals is a heading or shouting


_PREFIXES = split_words("Anglo Sino Franco Russo Afro Euro Indo Anti Pro Non Pre Post")
_INFLECTED = re.compile(r"(?:ing|ly|ed)$")


class CapitalizedNames:
    """The extractor that needs no model and no extra; see `Extractor`."""

    def extract(self, text: str, known: Mapping[str, str] = {}) -> list[Name]:
        masked = mask(text)
        document = _Document(masked, known)
        for phrase in phrases(masked):
            document.add(phrase)
        names = [*document.names(), *_addresses(text)]
        return sorted(names, key=lambda name: name.spans[0])


class _Document:
    def __init__(self, text: str, known: Mapping[str, str]) -> None:
        self._text = text
        self._lower = Counter(_SMALL_WORD.findall(text))
        self._acronyms: dict[str, str] = {}  # short form: key of the long one
        names = {name.strip(): kind for name, kind in known.items() if labels.is_label(name)}
        self._known = {labels.key(name): kind for name, kind in names.items()}
        self._candidates: dict[str, _NameCandidate] = {}
        for name, kind in names.items():
            self._candidate(name).type = kind

    def add(self, phrase: NamePhrase) -> None:
        if len(phrase.name) > _LONGEST or not labels.is_label(phrase.name):
            return
        candidate = self._candidate(phrase.name)
        candidate.spans.append((phrase.start, phrase.end))
        candidate.inside += not phrase.begins_sentence and not phrase.in_heading
        candidate.titled += bool(phrase.title)
        candidate.located += phrase.located
        candidate.headed += phrase.in_heading
        for alias in phrase.aliases:
            candidate.aliases[alias] = None
        # "the World Trade Organization (WTO)"
        defined = _DEFINED.match(self._text, phrase.end)
        if defined and _abbreviates(defined[1], phrase.name):
            self._acronyms[defined[1]] = labels.key(phrase.name)

    def names(self) -> Iterator[Name]:
        """The names among the candidates; each step needs what the one before it made of them."""
        self._merge_acronyms()
        self._strip_first_words()
        self._merge_variants()
        self._set_types()
        self._merge_short_names()
        # speakers and authors that the text does not mention have no spans
        for candidate in self._candidates.values():
            if candidate.spans and _is_name(candidate):
                yield Name(
                    name=candidate.name,
                    type=candidate.type,
                    aliases=tuple(candidate.aliases),
                    spans=tuple(sorted(set(candidate.spans))),
                )

    def _candidate(self, name: str) -> _NameCandidate:
        key = labels.key(name)
        candidate = self._candidates.get(key)
        if candidate is None:
            candidate = self._candidates[key] = _NameCandidate(name, self._lower)
            candidate.is_known = key in self._known
        return candidate

    def _merge(self, key: str, into: str) -> None:
        if key != into and key in self._candidates and into in self._candidates:
            self._candidates[into].absorb(self._candidates.pop(key))

    def _merge_acronyms(self) -> None:
        for short, key in self._acronyms.items():
            if key in self._candidates:
                self._candidates[key].aliases[short] = None
                self._merge(labels.key(short), key)

    def _strip_first_words(self) -> None:
        """Take a first word off that is small elsewhere: "Imperial Britain" is Britain."""
        inside = {one.name for one in self._candidates.values() if one.inside}
        for key, candidate in list(self._candidates.items()):
            first, _, rest = candidate.name.partition(" ")
            stands_alone = candidate.inside or candidate.titled or candidate.headed
            if not rest or stands_alone or candidate.is_known:
                continue
            rest_is_known = labels.try_key(rest) in self._known
            if not rest_is_known and rest not in inside:
                continue
            is_clear = rest_is_known or kind_of(rest) in ("place", "technology", "project")
            is_plain = first not in english().given_names and not head_kind(candidate.parts)
            if self._lower[first.lower()] or (is_clear and is_plain):
                spans = [(end - len(rest), end) for _, end in candidate.spans]
                self._candidate(rest).spans += spans
                del self._candidates[key]

    def _merge_variants(self) -> None:
        """Make one person of a name with and without a middle name; the form used most stays."""
        variants: dict[tuple[str, str], list[str]] = {}
        for key, candidate in self._candidates.items():
            parts = candidate.parts
            if 2 <= len(parts) <= 4 and not head_kind(parts) and not has_connector(parts):
                variants.setdefault((parts[0], parts[-1]), []).append(key)
        for keys in variants.values():
            middles = [self._candidates[key].parts[1:-1] for key in keys]
            if len(keys) > 1 and _are_compatible(middles):
                best = max(keys, key=lambda key: (len(self._candidates[key].spans), len(key)))
                for key in keys:
                    self._merge(key, best)

    def _set_types(self) -> None:
        mentioned = [one.name for one in self._candidates.values() if one.spans]
        words = {name for name in mentioned if " " not in name}
        for key, candidate in self._candidates.items():
            kind = candidate.type or self._known.get(key, "") or kind_of(candidate.name)
            parts = candidate.parts
            # nothing tells what it is, but the text goes on with its last word, as with people
            goes_on = 2 <= len(parts) <= 3 and parts[-1] in words and not candidate.located
            if not kind and candidate.titled:
                kind = "person"
            if not kind and goes_on and not candidate.has_ordinary_word():
                kind = "person"
            # it is mostly after "in", "at" or "near", and more than once
            is_located = candidate.located >= 2 and candidate.located * 2 > len(candidate.spans)
            if not kind and len(parts) == 1 and is_located:
                kind = "place"
            candidate.type = kind

    def _merge_short_names(self) -> None:
        """Take a first or last name alone for the one person of that name, unless a place is
        meant."""
        for short, owners in self._people_by_part().items():
            candidate = self._candidates.get(short)
            if candidate is None or len(owners) != 1 or candidate.is_known or not candidate.spans:
                continue
            (full,) = owners
            owner = self._candidates[full]
            # a text names somebody in full first: later, it is somebody else of that name
            is_surname = candidate.name == owner.parts[-1]
            named_later = owner.spans and min(owner.spans) > min(candidate.spans)
            if is_surname and not owner.is_known and named_later:
                continue
            could_be_place = candidate.type == "place" and not candidate.located
            if candidate.type in ("", "person") or could_be_place:
                self._merge(short, full)

    def _people_by_part(self) -> dict[str, set[str]]:
        """The keys of people, by the keys of their first and last names."""
        people: dict[str, set[str]] = {}
        for key, candidate in self._candidates.items():
            parts = candidate.parts
            if candidate.type != "person" or len(parts) < 2:
                continue
            # "Elizabeth Windsor II"
            plain = [part for part in parts if not ROMAN.fullmatch(part)]
            last = plain[-1] if plain else parts[-1]
            for part in dict.fromkeys((parts[0], last)):
                # a part of an author's name may be no label: "Anna ''"
                part_key = labels.try_key(part)
                if part_key and part.lower().rstrip(".") not in english().noble_titles:
                    people.setdefault(part_key, set()).add(key)
        return people


def _are_compatible(middles: list[list[str]]) -> bool:
    """Whether middle names can be of one person: none, or with one initial."""
    initials = {middle[0][0] for middle in middles if middle}
    return len(initials) <= 1 and all(len(middle) <= 2 for middle in middles)


def _abbreviates(short: str, name: str) -> bool:
    """Whether the letters of a short form begin the words of a name, in order."""
    letters = [letter for letter in short if letter.isupper()]
    matched = 0
    for word in re.findall(r"\w+", name):
        if matched < len(letters) and word[0].upper() == letters[matched]:
            matched += 1
    return len(letters) > 1 and matched == len(letters)


def _addresses(text: str) -> Iterator[Name]:
    """E-mail addresses and @handles, each as its own name."""
    if "@" not in text:
        return
    for pattern in (_EMAIL, _HANDLE):
        spans: dict[str, list[tuple[int, int]]] = {}
        for match in pattern.finditer(text):
            spans.setdefault(match[0].rstrip("."), []).append(match.span())
        for name, places in spans.items():
            yield Name(name=name, type="person", spans=tuple(places))


class _NameCandidate:
    """What may be a name. `lower` says how often the document writes each word small."""

    def __init__(self, name: str, lower: Mapping[str, int]) -> None:
        self.name = name
        self.type = ""
        self.aliases: dict[str, None] = {}
        self.spans: list[tuple[int, int]] = []
        self.inside = 0  # mentions that do not begin a sentence
        self.titled = 0  # mentions after a person's title
        self.located = 0  # mentions after "in", "at", "near"
        # mentions in headings, where everything may be capitalised
        self.headed = 0
        self.is_known = False  # speakers, authors
        self._lower = lower

    @property
    def parts(self) -> list[str]:
        return self.name.split()

    @property
    def small(self) -> str:
        return self.name.lower()

    @property
    def lower_count(self) -> int:
        return self._lower.get(self.small, 0)

    def absorb(self, other: _NameCandidate) -> None:
        """Take over what was said of another form of the same name."""
        self.spans += other.spans
        self.inside += other.inside
        self.titled += other.titled
        self.headed += other.headed
        self.aliases |= {other.name: None, **other.aliases}
        self.aliases.pop(self.name, None)

    def has_ordinary_word(self, parts: list[str] | None = None) -> bool:
        """Whether a word of the name is an ordinary word, in this document or in general."""
        parts = self.parts if parts is None else parts
        if any(ACRONYM.fullmatch(part) or MIXED_CASE.fullmatch(part) for part in parts):
            return True
        if has_connector(parts) or has_common_word(parts):
            return True
        return any(self._lower.get(part.lower(), 0) for part in parts)


def _is_name(candidate: _NameCandidate) -> bool:
    if candidate.is_known:
        return True
    if candidate.headed and candidate.headed == len(candidate.spans):
        return False
    return _is_phrase(candidate) if " " in candidate.name else _is_word(candidate)


def _is_phrase(candidate: _NameCandidate) -> bool:
    parts = candidate.parts
    words = [part.lower() for part in parts]
    is_shouted = len(parts) > 3 or candidate.has_ordinary_word([part.title() for part in parts])
    if candidate.name.isupper() and is_shouted:
        return False
    # "North American", but not "American Samoa"
    is_known = candidate.name in english().places or candidate.type == "person"
    if words[-1] in english().demonyms and not is_known:
        return False
    return not all(word in english().stop_words or word in english().demonyms for word in words)


def _is_word(candidate: _NameCandidate) -> bool:
    name, word = candidate.name, candidate.small
    # "XII", "Treaty"
    is_other = ROMAN.fullmatch(name) or is_head(word) or _is_compound_adjective(name)
    if is_other or _is_common(word):
        return False
    if candidate.type == "place" and name in english().places:
        return True
    if candidate.aliases or candidate.titled or MIXED_CASE.fullmatch(name):
        return True
    if ACRONYM.fullmatch(name):
        return not candidate.lower_count and (len(name) > 2 or candidate.inside > 0)
    if candidate.inside:
        return candidate.lower_count * 2 <= candidate.inside
    # too often at the start of a sentence, and too unusual, for a word
    is_often = len(candidate.spans) - candidate.headed > 1
    is_unusual = len(word) > 4 and not _INFLECTED.search(word)
    return is_often and is_unusual and not candidate.lower_count


def _is_common(word: str) -> bool:
    lists = (english().stop_words, english().calendar, english().demonyms)
    return (
        len(word) < 2 or any(word in one for one in lists) or word.rstrip(".") in english().titles
    )


def _is_compound_adjective(name: str) -> bool:
    """ "Spanish-controlled", "Anglo-French"."""
    parts = [part for part in name.split("-") if part]
    return "-" in name and all(
        part[0].islower() or part in _PREFIXES or part.lower() in english().demonyms
        for part in parts
    )
