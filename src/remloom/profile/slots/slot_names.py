"""Names of slots: what each is called, and which one a name in anyone's words means."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import TypeAlias

from ...errors import ConflictError, InvalidInputError
from ...labels import key, try_key
from .slot import Slot

_MAX_LENGTH = 80  # characters of an identifier
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NO_WORD = re.compile(r"[\W_]+")

# words that say nothing of what a key is about
_EMPTY = frozenset((
    "a", "am", "an", "are", "for", "her", "his", "i", "im", "in", "is", "m", "my", "of", "s", "the",
    "their", "user", "users", "your",
))  # fmt: skip
# words that may be left away where the rest is a name as it stands
_QUALIFIERS = frozenset(("preferred", "current", "usual", "typical"))
_SPELLINGS = {
    "favourite": "favorite",
    "fav": "favorite",
    "fave": "favorite",
    "humour": "humor",
    "colour": "color",
    "behaviour": "behavior",
    "programme": "program",
}
# ends of paths that are too general to be meant where only they are said
_GENERAL = frozenset(
    ("default_language", "allowed_when", "disallowed_when", "allowed_in", "never_affects")
)
_SHORTEST_TO_MEND = 6  # letters of a word in which a slip is mended
_MOST_NAMED = 6  # slots of a group in a suggestion
_ALIKE = 70  # of 100: as like as this to be a suggestion

# the words of a name, plain and sorted: "Names of pets" and "pet_name" are alike
_Words: TypeAlias = tuple[str, ...]


def identifier(text: str) -> str:
    """Return a key in anyone's words as an identifier: words in lower case, joined by "_".

    Raises:
        InvalidInputError: it has no letter or digit, or is longer than 80 characters.

    >>> identifier("Fav team"), identifier("bloodType"), identifier("Höhe (cm)")
    ('fav_team', 'blood_type', 'höhe_cm')
    """
    # as long a text as this is not a key, and may be of any length
    words = _split(text) if 0 < len(text) <= 2 * _MAX_LENGTH else []
    name = "_".join(words)
    if not name or len(name) > _MAX_LENGTH:
        raise InvalidInputError(
            f"{text[:_MAX_LENGTH]!r} cannot name what is known of somebody",
            remedy=f"give a few words, of {_MAX_LENGTH} characters at most",
        )
    return name


class SlotNames:
    """What slots are called: by id, alias and label, which are unique, and by the ends of paths."""

    def __init__(self, slots: Iterable[Slot]) -> None:
        self._names: dict[str, str] = {}
        self._written: dict[str, None] = {}
        self._ends: defaultdict[str, list[str]] = defaultdict(list)
        self._words: dict[_Words, str] = {}
        slots = list(slots)
        self._ids = [slot.id for slot in slots]
        for slot in slots:
            for name in (slot.id, slot.label, *slot.aliases):
                self._add(name, slot)
        for slot in slots:
            parts = slot.id.split(".")
            for start in range(1, len(parts)):
                end = ".".join(parts[start:])
                self._ends[key(end)].append(slot.id)
                self._written[end] = None
            self._add_end(slot)

    def exact(self, name: str) -> str | None:
        """The id of the slot with this name, in any order and form, or of the only one that ends
        so."""
        form = try_key(name)
        ids = self._ends.get(form, ())
        found = self._names.get(form) or (ids[0] if len(ids) == 1 else None)
        return found or self.meaning(name)

    def sharing(self, name: str) -> list[str]:
        """The ids of the slots whose paths end so."""
        return self._ends.get(try_key(name), [])

    def find(self, text: str) -> str | None:
        """The id of the slot that a key in anyone's words is about; None if it is not clear."""
        # no key is as long as this
        if not 0 < len(text) <= _MAX_LENGTH:
            return None
        plain = tuple(word for word in _plain(text) if word not in _QUALIFIERS)
        return self.meaning(text) or self._words.get(plain) or self._mend(_plain(text))

    def meaning(self, name: str) -> str | None:
        """The id of the slot that has these words for a name, in any order and form."""
        return self._words.get(_plain(name))

    def has_one_within(self, key: str) -> bool:
        """Whether all words of a name are in a key, in any order and form."""
        words = frozenset(_plain(key))
        return any(words.issuperset(name) for name in self._words)

    def within(self, group: str) -> list[str]:
        """The first ids of slots that lie under this part of a path, such as autonomy."""
        part = try_key(group)
        parents = ((id, id.split(".")[:-1]) for id in self._ids)
        return [id for id, path in parents if part in path][:_MOST_NAMED]

    def nearest(self, name: str) -> list[str]:
        """The names that are most like this one, best first."""
        from rapidfuzz import fuzz, process

        form = _NO_WORD.sub(" ", name.casefold())[:_MAX_LENGTH]
        candidates = {each: _NO_WORD.sub(" ", each.casefold()) for each in self._written}
        found = process.extract(form, candidates, scorer=fuzz.ratio, limit=3, score_cutoff=_ALIKE)
        return [each for _, _, each in found]

    def _add(self, name: str, slot: Slot) -> None:
        self._written[name] = None
        others = {
            self._names.setdefault(key(name), slot.id),
            self._words.setdefault(_plain(name), slot.id),
        } - {slot.id}
        if others:
            raise ConflictError(
                f"{name!r} is a name of both {min(others)} and {slot.id}",
                remedy="give the slots different labels and aliases",
            )

    def _add_end(self, slot: Slot) -> None:
        """Let free words mean a slot by the end of its path, where that is clear by itself."""
        end = slot.id.rpartition(".")[2]
        if "_" in end and end not in _GENERAL and len(self._ends[key(end)]) == 1:
            self._words.setdefault(_plain(end), slot.id)

    def _mend(self, words: _Words) -> str | None:
        found = {id for known, id in self._words.items() if _nearly(words, known)}
        return found.pop() if len(found) == 1 else None


def _split(text: str) -> list[str]:
    # among other words "JavaScript" is one
    parted = text if " " in text.strip() else _CAMEL.sub(" ", text)
    return [word for word in _NO_WORD.split(parted.casefold()) if word]


def _plain(text: str) -> _Words:
    words = [singular(word) for word in _split(text) if word not in _EMPTY]
    # "is_a" has no other words than empty ones
    return tuple(sorted(_SPELLINGS.get(word, word) for word in words or _split(text)))


def singular(word: str) -> str:
    """A word in small letters, without the ending of an English plural.

    >>> singular("allergies"), singular("cats"), singular("glass")
    ('allergy', 'cat', 'glass')
    """
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] not in "sui" else word


def _nearly(words: _Words, known: _Words) -> bool:
    """Whether the same words stand in both, one of them with a slip of the pen."""
    if len(words) != len(known):
        return False
    others = [(one, two) for one, two in zip(words, known, strict=True) if one != two]
    return len(others) == 1 and _slip(*others[0])


def _slip(one: str, two: str) -> bool:
    """Whether a letter is missing, too many, or has changed places.

    A letter in place of another makes a word of its own too often: "employer" and "employee",
    "medication" and "meditation". So does a slip at either end.
    """
    if (
        min(len(one), len(two)) < _SHORTEST_TO_MEND - 1
        or max(len(one), len(two)) < _SHORTEST_TO_MEND
    ):
        return False
    if one[0] != two[0] or one[-1] != two[-1] or not (one + two).isalpha():
        return False
    from rapidfuzz.distance import OSA

    changes_places = sorted(one) == sorted(two)
    return (changes_places or len(one) != len(two)) and OSA.distance(one, two) == 1
