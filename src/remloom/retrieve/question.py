"""What a question is made of: the names in it, and what is left of it without them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from .. import labels
from ..errors import InvalidInputError, LabelError
from ..model import Entity, Record, Resource
from ..store.contract import Store
from ..text.analysis import STOP_WORDS, term_set

__all__ = ["LONGEST", "Named", "bare", "checked", "names_in", "subjects"]

LONGEST = 8_000  # characters of a question
_MOST_WORDS = 4  # of a name looked up
_MOST_LOOKED_AT = 60  # words of a question in which names are looked for
_SIMILAR = 0.8  # from which a misspelt name is taken for one that is known
_OWNS = re.compile(r"^[’']s\b")
_AND = re.compile(r"[\s,&]*(?:and|or)?\s*")  # all that stands between two who are asked about alike
_BOTH = re.compile(r"\b(?:both|each other)\b", re.IGNORECASE)
_WORD = re.compile(r"[\w@.&+/-]*\w(?:[’'](?!s\b)\w+)*")


class Named(Struct, frozen=True):
    """Something known by name that the question names."""

    key: str
    record: Entity | Resource
    start: int  # characters of the question
    end: int
    speaks: bool = False  # turns of chats are spoken by it

    @property
    def keys(self) -> frozenset[str]:
        """Every key it goes by."""
        aliases = self.record.aliases if isinstance(self.record, Entity) else ()
        return frozenset((self.key, labels.key(self.record.name), *map(labels.key, aliases)))


def checked(question: str) -> str:
    """The question, trimmed.

    Raises:
        InvalidInputError: it is no text, empty, or longer than `LONGEST`.
    """
    if not isinstance(question, str) or not question.strip():
        raise InvalidInputError(
            "the question is empty", remedy='ask something, for example "What did we decide?"'
        )
    if len(question) > LONGEST:
        raise InvalidInputError(
            f"a question may have {LONGEST:,} characters, this one has {len(question):,}",
            remedy="read the text into the memory and ask something about it",
        )
    return question.strip()


def names_in(store: Store, text: str) -> list[Named]:
    """The entities and resources whose labels stand in the text, in order; of those that overlap,
    the longest.

    Typos in capitalised words are forgiven.
    """
    words = list(_WORD.finditer(text))[:_MOST_LOOKED_AT]
    phrases: dict[tuple[int, int], str] = {}
    for size in range(_MOST_WORDS, 0, -1):
        for first in range(len(words) - size + 1):
            span = words[first].start(), words[first + size - 1].end()
            phrase = text[slice(*span)]
            if not all(word[0].casefold() in STOP_WORDS for word in words[first : first + size]):
                try:
                    phrases[span] = labels.key(phrase)
                except LabelError:
                    continue
    known = store.lookup(list(dict.fromkeys(phrases.values())), edges=0)
    found: list[Named] = []
    for (start, end), key in phrases.items():
        if any(start < other.end and other.start < end for other in found):
            continue
        records = known.get(key, [])
        if not records and _capital(text, start, end):
            records = _misspelt(store, text[start:end])
        found += [_named(store, key, record, start, end) for record in records if _tells(record)]  # type: ignore[arg-type]
    return sorted(found, key=lambda named: named.start)


def _capital(text: str, start: int, end: int) -> bool:
    """One capitalised word of some length that does not begin the sentence: a name, if anything is."""
    return start > 0 and end - start > 4 and text[start].isupper() and " " not in text[start:end]


def _misspelt(store: Store, name: str) -> list[Record]:
    return [
        match.record for match in store.fuzzy(name, type="entities", threshold=_SIMILAR, limit=1)
    ]


def _tells(record: Record) -> bool:
    return isinstance(record, Resource) or (isinstance(record, Entity) and record.type != "chat")


def _named(store: Store, key: str, record: Entity | Resource, start: int, end: int) -> Named:
    speaks = False
    if isinstance(record, Entity) and "spoken_by" in store.rel_types():
        own = [labels.key(record.name)]
        speaks = bool(store.edge_keys(own, direction="in", rel_types=["spoken_by"], limit=1))
    return Named(key, record, start, end, speaks)


def subjects(text: str, names: Sequence[Named]) -> list[Named]:
    """Of the speakers whom a question names, those it is about: "What did Nate do for Joanna?" is
    about Nate.

    The first that is no owner ("Joanna's turtles"), else the first, with whoever is named in one
    breath with it; all when it says "both".
    """
    speaking = [named for named in names if named.speaks]
    if len(speaking) < 2 or _BOTH.search(text):
        return speaking
    first = next(
        (place for place, named in enumerate(speaking) if not _OWNS.match(text[named.end :])), 0
    )
    found = [speaking[first]]
    for before, named in pairwise(speaking):
        if before in found and _AND.fullmatch(text[before.end : named.start]):
            found.append(named)
    return found


def bare(text: str, names: Sequence[Named]) -> str:
    """The text without the people who speak in chats: a turn says "I", not its speaker's name, and
    an embedder would find the turns that greet them. The whole text if nothing else is in it."""
    left = text
    for named in sorted((named for named in names if named.speaks), key=lambda named: -named.start):
        left = f"{left[: named.start]} {_OWNS.sub('', left[named.end :])}"
    left = " ".join(left.split())
    return left if term_set(left) else text
