"""Names in a text that the memory knows already: "a call with acme" names Acme after
Entity("acme").

The runs of up to four words that begin with the first word of a name are looked up by their keys,
many in one call: the work grows with the text, not with the memory.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import TypeGuard

from msgspec.structs import replace

from ... import labels
from ...model import EXTRACTED, Entity, Record
from ...store.contract import Store
from ...store.rules.merge import keys_of
from ...store.specs import MOST_WORDS
from . import Extractor, Name, with_labels
from .phrases import mask
from .word_lists import english

_LONGEST_WORD = 1_000  # characters of a word that a name may have
_AT_ONCE = 10_000  # keys looked up in one call
# entities of sources, whose titles are not names in others
_SOURCE_TYPES = frozenset(("document", "chat"))
# types whose names are capitalised everywhere
_CAPITALISED_TYPES = frozenset(("person", "place"))
_WORD = re.compile(r"[\w@.&+/-]*\w")
# no name goes on behind one of these
_MARKS = re.compile(r"[,;:!?()\[\]{}<>|\"“”…]|\.(?!\w)|\n\s*\n")

Span = tuple[int, int]
_Mention = tuple[str, int, int]  # the key of an entity, and where words of a text have it


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
        names = with_labels(self._extractor.extract(text, known))
        entities = self.entities(text)
        if not entities:
            return names
        masked = mask(text)
        spans = chain.from_iterable(name.spans for name in names)
        added = _find_known(masked, entities, spans)
        renamed = [_as_known(name, entities) for name in names]
        joined = _join([*renamed, *added])
        return sorted(joined, key=lambda name: name.spans[0])

    def named_besides(
        self, text: str, entities: Mapping[str, Entity], found: Collection[str]
    ) -> list[Name]:
        """The entities of `entities` that a part of a text names, besides what was found in it
        without knowing them: `found`, names as they may be written."""
        masked = mask(text)
        keys = {key for key in map(labels.try_key, found) if key}
        spans = [(start, end) for _, start, end in _find_keys(masked, keys)]
        spans += [one.span() for name in found for one in re.finditer(re.escape(name), masked)]
        # they were found by their capitals, if the script has some
        named = (span for span in spans if not masked[slice(*span)].islower())
        return _find_known(masked, entities, named)

    def entities(self, text: str) -> dict[str, Entity]:
        """The entities whose keys are those of runs of words in the text, by key."""
        entities: dict[str, Entity] = {}
        plain = text.isascii()
        lowered = text.lower() if plain else text
        parts = [_WORD.findall(part) for part in _MARKS.split(lowered)]
        # most words are their own key, which saves the time to make it
        keys_of = {word: _key_of(word, plain) for word in set(chain.from_iterable(parts))}
        first_words = self._store.records.first_words(list({*keys_of.values()} - {""}))
        keyed_parts = ([keys_of[word] for word in part] for part in parts)
        keys = _keys_of_runs(keyed_parts, first_words)
        while batch := list(islice(keys, _AT_ONCE)):
            records_by_key = self._store.records.lookup(batch, edges=0)
            for key, records in records_by_key.items():
                called = [record for record in records if is_nameable(record)]
                if called:
                    entities[key] = min(called, key=partial(_rank, key))
        return entities


def is_nameable(record: Record) -> TypeGuard[Entity]:
    """Whether a record is looked for by its names in texts."""
    return isinstance(record, Entity) and record.type not in _SOURCE_TYPES


def may_name(key: str) -> bool:
    """Whether words with this key may name an entity everywhere."""
    return "-" in key or (len(key) > 1 and key not in english().ordinary)


def says(text: str, entity: Entity) -> bool:
    """Whether a text has words that name an entity, if they name nothing else there."""
    keys = set(keys_of(entity))
    return any(
        _is_meant(entity, key, text[start:end]) for key, start, end in _find_keys(mask(text), keys)
    )


def _rank(key: str, entity: Entity) -> tuple[object, ...]:
    """Which of several entities of a key is named: it does not hang on which came first."""
    return entity.is_extracted, labels.key(entity.name) != key, entity.name, entity.type


def _find_known(masked: str, entities: Mapping[str, Entity], named: Iterable[Span]) -> list[Name]:
    """The entities that a text names outside of the spans `named`; the longest name first."""
    covered = bytearray(len(masked))
    for start, end in named:
        covered[start:end] = b"\1" * (end - start)
    spans_by_id: dict[str, list[Span]] = {}
    mentions = sorted(_find_keys(masked, entities), key=lambda mention: mention[1] - mention[2])
    for key, start, end in mentions:
        entity = entities[key]
        if any(covered[start:end]) or not _is_meant(entity, key, masked[start:end]):
            continue
        covered[start:end] = b"\1" * (end - start)
        spans_by_id.setdefault(entity.id, []).append((start, end))
    by_id = {entity.id: entity for entity in entities.values()}
    found = []
    for id, spans in spans_by_id.items():
        entity = by_id[id]
        spans = sorted(spans)
        found.append(Name(name=entity.name, type=entity.type, spans=tuple(spans), known=True))
    return found


def _key_of(word: str, plain: bool) -> str:
    """The key of a word; empty where it has none, as a line of base64 is too long for one."""
    if len(word) > _LONGEST_WORD:
        return ""
    return word if plain and "-" not in word and "_" not in word else labels.try_key(word)


def _keys_of_runs(parts: Iterable[Sequence[str]], first_words: Collection[str]) -> Iterator[str]:
    """The keys of the runs of words, within a part, that begin with one of these words, each
    once."""
    seen: set[str] = set()
    for keys in parts:
        for start, key in enumerate(keys):
            if key not in first_words:
                continue
            last = min(start + MOST_WORDS, len(keys))
            runs = {"-".join(keys[start:end]) for end in range(start + 2, last + 1)}
            if len(key) > 1 and key not in english().ordinary:
                runs.add(key)
            yield from runs - seen
            seen |= runs


def _find_keys(text: str, keys: Collection[str]) -> Iterator[_Mention]:
    longest = max((key.count("-") + 1 for key in keys), default=0)
    beginnings = set(keys)
    for key in keys:
        beginnings.update(key[: hyphen.start()] for hyphen in re.finditer("-", key))
    spans = [match.span() for match in _WORD.finditer(text)]
    word_keys = [_key_of(text[start:end], False) for start, end in spans]
    for first, key in enumerate(word_keys):
        if key not in beginnings:
            continue
        begin, previous_end = spans[first]
        for last in range(first, min(first + longest, len(word_keys))):
            start, end = spans[last]
            if last > first and _MARKS.search(text, previous_end, start):
                break
            previous_end = end
            run = "-".join(word_keys[first : last + 1])
            if run in keys:
                yield run, begin, end


def _is_meant(entity: Entity, key: str, written: str) -> bool:
    names = [name for name in (entity.name, *entity.aliases) if labels.key(name) == key]
    extracted = bool(entity.properties.get(EXTRACTED))
    if len(written.split()) > 1:
        return not extracted or written in names or written[0].isupper()
    if key in english().ordinary:
        return False
    is_strict = extracted or entity.type.partition("/")[0] in _CAPITALISED_TYPES
    return written in names if is_strict else True


def _as_known(name: Name, entities: Mapping[str, Entity]) -> Name:
    """A name as the entity is called that has it for an alias, unless that is of another type."""
    entity = entities.get(labels.key(name.name))
    if entity is None:
        return name
    main_type = entity.type.partition("/")[0]
    if name.type not in ("", entity.type, main_type):
        return name
    return replace(name, name=entity.name, type=entity.type)


def _join(names: Sequence[Name]) -> list[Name]:
    joined: dict[tuple[str, str], Name] = {}
    for name in names:
        key = labels.key(name.name), name.type
        other = joined.get(key)
        if other is not None:
            spans = sorted({*other.spans, *name.spans})
            aliases = dict.fromkeys((*other.aliases, *name.aliases))
            name = replace(other, aliases=tuple(aliases), spans=tuple(spans))
        joined[key] = name
    return list(joined.values())
