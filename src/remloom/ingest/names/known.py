"""What a text names that the memory knows already, however it is written: "a call with acme" after
Entity("acme").

Each word is asked whether a name begins with it, and the runs of up to four words that begin with
such a word are looked up by their keys, many in one call: the work grows with the text, not with
the memory.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice

from msgspec.structs import replace

from ... import labels
from ...model import EXTRACTED, Entity
from ...store.contract import Store
from . import lists
from .phrases import masked
from .rules import Extractor, Name

__all__ = ["KnownNames"]

MOST_WORDS = 4  # of a name that is looked for
_AT_ONCE = 10_000  # keys looked up in one call
# entities that stand for a source, whose titles are no names in others
_WHOLE = frozenset(("document", "chat"))
_CASED = frozenset(("person", "place"))  # types whose names are capitalised wherever they stand
_WORD = re.compile(r"[\w@.&+/-]*\w")
_MARKS = re.compile(r"[,;:!?()\[\]{}<>|\"“”…]|\.(?!\w)|\n\s*\n")  # no name goes on behind one

Span = tuple[int, int]


class KnownNames:
    """An extractor that adds what a memory knows to what another one finds.

    A name of several words is found in any spelling that has its key. One word is less: that of a
    person or place, or of what is known only from other texts, must be written as there, and what
    mostly means something else ("may", "it", "target") is not looked for.
    """

    def __init__(self, extractor: Extractor, store: Store) -> None:
        self._extractor = extractor
        self._store = store

    def extract(self, text: str, known: Mapping[str, str] = {}) -> list[Name]:
        found = self._extractor.extract(text, known)
        entities = self._entities(text)
        if not entities:
            return found
        clean = masked(text)
        covered = bytearray(len(text))
        for name in found:
            for start, end in name.spans:
                covered[start:end] = b"\1" * (end - start)
        spans: dict[str, list[Span]] = {}
        for key, start, end in sorted(
            _places(clean, entities), key=lambda place: place[1] - place[2]
        ):
            if not any(covered[start:end]) and _meant(entities[key], key, clean[start:end]):
                covered[start:end] = b"\1" * (end - start)
                spans.setdefault(entities[key].id, []).append((start, end))
        by_id = {record.id: record for record in entities.values()}
        added = [_named(by_id[id], places) for id, places in spans.items()]
        return sorted(
            _joined([*(_as_known(name, entities) for name in found), *added]),
            key=lambda name: name.spans[0],
        )

    def _entities(self, text: str) -> dict[str, Entity]:
        """The entities whose keys are those of runs of words in the text."""
        found: dict[str, Entity] = {}
        plain = text.isascii()
        parts = [_WORD.findall(part) for part in _MARKS.split(text.lower() if plain else text)]
        keys_of = {
            word: word if plain and "-" not in word and "_" not in word else labels.key(word)
            for word in set(chain.from_iterable(parts))
        }
        first = self._store.records.first_words(list(set(keys_of.values())))
        keys = _runs(([keys_of[word] for word in part] for part in parts), first)
        while some := list(islice(keys, _AT_ONCE)):
            for key, records in self._store.records.lookup(some, edges=0).items():
                for record in records:
                    if isinstance(record, Entity) and record.type not in _WHOLE:
                        found.setdefault(key, record)
        return found


def _runs(parts: Iterable[Sequence[str]], first: Collection[str]) -> Iterator[str]:
    """The keys of the runs of words that begin with one of these first words, none of which reaches
    from one part into the next, each once; of single words only those that may be a name."""
    seen: set[str] = set()
    for keys in parts:
        for start in [start for start, key in enumerate(keys) if key in first]:
            key = keys[start]
            runs = {
                "-".join(keys[start:end])
                for end in range(start + 2, min(start + MOST_WORDS, len(keys)) + 1)
            }
            if len(key) > 1 and key not in lists.ORDINARY:
                runs.add(key)
            yield from runs - seen
            seen |= runs


def _places(text: str, wanted: Collection[str]) -> Iterator[tuple[str, int, int]]:
    """Where the keys wanted stand in a text."""
    begins = {
        key[:at] for key in wanted for at in (*(m.start() for m in re.finditer("-", key)), len(key))
    }
    spans = [found.span() for found in _WORD.finditer(text)]
    keys = [labels.key(text[start:end]) for start, end in spans]
    for first, key in enumerate(keys):
        if key not in begins:
            continue
        for last in range(first, min(first + MOST_WORDS, len(keys))):
            if last > first and _MARKS.search(text, spans[last - 1][1], spans[last][0]):
                break
            run = "-".join(keys[first : last + 1])
            if run in wanted:
                yield run, spans[first][0], spans[last][1]


def _meant(record: Entity, key: str, written: str) -> bool:
    names = [name for name in (record.name, *record.aliases) if labels.key(name) == key]
    if len(written.split()) > 1:
        return not record.properties.get(EXTRACTED) or written in names or written[0].isupper()
    if key in lists.ORDINARY:
        return False
    strict = record.properties.get(EXTRACTED) or record.type.partition("/")[0] in _CASED
    return written in names if strict else True


def _as_known(name: Name, entities: Mapping[str, Entity]) -> Name:
    """A name as the entity is called that has it for an alias, unless it is one of another type."""
    record = entities.get(labels.key(name.name))
    if record is None or name.type not in ("", record.type, record.type.partition("/")[0]):
        return name
    return replace(name, name=record.name, type=record.type)


def _joined(names: Sequence[Name]) -> list[Name]:
    """The names, those of one thing as one."""
    joined: dict[tuple[str, str], Name] = {}
    for name in names:
        key = labels.key(name.name), name.type
        if (other := joined.get(key)) is not None:
            spans = tuple(sorted({*other.spans, *name.spans}))
            name = replace(
                other, aliases=tuple(dict.fromkeys((*other.aliases, *name.aliases))), spans=spans
            )
        joined[key] = name
    return list(joined.values())


def _named(record: Entity, spans: Sequence[Span]) -> Name:
    return Name(name=record.name, type=record.type, spans=tuple(sorted(spans)))
