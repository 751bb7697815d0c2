"""Names in a question: what they name, and who of them it is about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from .. import labels
from ..model import Entity, Record, Resource, Row, edge_types, label_of_record
from ..store.contract import Store
from ..store.specs import MOST_NAMESAKES, EdgeSpec, NameSpec
from ..text.analysis import STOP_WORDS, term_set

_MOST_WORDS = 4  # of a name looked up
_MOST_LOOKED_AT = 60  # words of a question in which names are looked for
_SIMILAR = 0.8  # from which a misspelt name is taken for one that is known
_LEAST_MISSPELT = 5  # characters of a name that may be misspelt
_OWNS = re.compile(r"^[’']s\b")
_AND = re.compile(r"[\s,&]*(?:and|or)?\s*")  # all that stands between two who are asked about alike
_BOTH = re.compile(r"\b(?:both|each other)\b", re.IGNORECASE)
_WORD = re.compile(r"[\w@.&+/-]*\w(?:[’'](?!s\b)\w+)*")


class NamedRecord(Struct, frozen=True):
    """A record whose label stands in a question."""

    key: str
    record: Entity | Resource | Row
    start: int  # characters of the question
    end: int
    speaks: bool = False  # turns of chats are spoken by it

    @property
    def keys(self) -> frozenset[str]:
        """Every key it goes by."""
        aliases = () if isinstance(self.record, Resource) else self.record.aliases
        names = (label_of_record(self.record), self.record.name, *aliases)
        return frozenset((self.key, *map(labels.key, names)))


def lookup(store: Store, keys: Iterable[str], *, own: bool = False) -> dict[str, list[Record]]:
    """Look up the records that keys name, each key once; `own` those whose edges are there.

    A key that more than `MOST_NAMESAKES` share is a word, which names nothing: it is left out.
    """
    unique = list(dict.fromkeys(keys))
    found = store.records.lookup(unique, edges=0, limit=MOST_NAMESAKES + 1, own=own)
    return {key: records for key, records in found.items() if len(records) <= MOST_NAMESAKES}


def names_in(store: Store, text: str) -> list[NamedRecord]:
    """Find the entities and resources whose labels stand in the text, in order.

    Of labels that overlap, the longest counts. Typos in capitalised words are forgiven.
    """
    phrases = _phrases(text)
    records_by_key = lookup(store, phrases.values())
    names: list[NamedRecord] = []
    # The longest phrases come first, so what overlaps a name already taken is shorter.
    for (start, end), key in phrases.items():
        if any(start < other.end and other.start < end for other in names):
            continue
        records = records_by_key.get(key)
        if records is None:
            continue
        if not records and _may_be_misspelt(text, start, end):
            records = _similar(store, text[start:end])
        names += [
            NamedRecord(key, record, start, end, _speaks(store, record))
            for record in records
            if isinstance(record, Resource | Row)
            or (isinstance(record, Entity) and record.type != "chat")
        ]
    return sorted(names, key=lambda named: named.start)


def _phrases(text: str) -> dict[tuple[int, int], str]:
    """The keys of phrases that may be names, by their start and end; the longest first."""
    words = list(_WORD.finditer(text))[:_MOST_LOOKED_AT]
    spans = [word.span() for word in words]
    says_nothing = [word[0].casefold() in STOP_WORDS for word in words]
    phrases: dict[tuple[int, int], str] = {}
    for size in range(_MOST_WORDS, 0, -1):
        for first in range(len(words) - size + 1):
            if all(says_nothing[first : first + size]):
                continue
            start, end = spans[first][0], spans[first + size - 1][1]
            if key := labels.try_key(text[start:end]):
                phrases[start, end] = key
    return phrases


def _may_be_misspelt(text: str, start: int, end: int) -> bool:
    """Whether it is one capitalised word of some length that does not begin the sentence."""
    return (
        start > 0
        and end - start >= _LEAST_MISSPELT
        and text[start].isupper()
        and " " not in text[start:end]
    )


def _similar(store: Store, name: str) -> list[Record]:
    matches = store.search.names(name, NameSpec(type="entities", threshold=_SIMILAR, limit=1))
    return [match.record for match in matches]


def _speaks(store: Store, record: Entity | Resource | Row) -> bool:
    spoken_by = edge_types.SPOKEN_BY.name
    if not isinstance(record, Entity) or spoken_by not in store.graph.edge_types():
        return False
    keys = [labels.key(record.name)]
    return bool(
        store.graph.edge_keys(EdgeSpec(keys, direction="in", rel_types=[spoken_by], limit=1))
    )


def speaker_key(record: Record) -> str:
    """The key of who said it; empty where nobody is known."""
    speaker = record.speaker if isinstance(record, Resource) else ""
    return labels.key(speaker) if speaker else ""


def subjects(text: str, names: Sequence[NamedRecord]) -> list[NamedRecord]:
    """Choose the speakers a question is about: "What did Nate do for Joanna?" is about Nate.

    That is the first who is not an owner ("Joanna's turtles"), else the first, with those named in
    one breath with it; all when the question says "both".
    """
    speaking = [named for named in names if named.speaks]
    if len(speaking) < 2 or _BOTH.search(text):
        return speaking
    not_owners = (named for named in speaking if not _OWNS.match(text[named.end :]))
    chosen = [next(not_owners, speaking[0])]
    for before, named in pairwise(speaking):
        if before in chosen and _AND.fullmatch(text[before.end : named.start]):
            chosen.append(named)
    return chosen


def relocated(names: Sequence[NamedRecord], text: str, part: str) -> list[NamedRecord]:
    """The names of a text that still stand in a part of it, where they stand there."""
    moved: list[NamedRecord] = []
    position = 0
    starts: dict[tuple[int, int], int] = {}
    for named in names:
        span = (named.start, named.end)
        # namesakes stand at one place
        if span not in starts:
            starts[span] = part.find(text[named.start : named.end], position)
        start = starts[span]
        if start >= 0:
            position = start + named.end - named.start
            moved.append(replace(named, start=start, end=position))
    return moved


def without_speakers(text: str, names: Sequence[NamedRecord]) -> str:
    """Leave out the people who speak in chats; the whole text if nothing else is in it.

    A turn says "I", not its speaker's name, and an embedder would find the turns that greet them.
    """
    shortened = text
    # namesakes stand at one place, which is left out once
    spans = {(named.start, named.end) for named in names if named.speaks}
    # from the end, so that the positions of the others still hold
    for start, end in sorted(spans, reverse=True):
        shortened = f"{shortened[:start]} {_OWNS.sub('', shortened[end:])}"
    shortened = " ".join(shortened.split())
    return shortened if term_set(shortened) else text
