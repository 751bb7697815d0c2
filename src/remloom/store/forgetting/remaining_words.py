"""What still says words or names of what was forgotten.

What somebody wrote or what was read, and stays, may say the same words: they are its own, and the
receipt names the records. Everything else that the system keeps (contexts, tags, summaries, names
it found) must not hold words that no such source has. Records related to the forgotten are
searched, and those that an index finds by its words: it costs by what was forgotten, not by the
store.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any
from unicodedata import normalize

import msgspec

from ...kv import rests_ref
from ...labels import key as label_key
from ...model import Edge, Entity, Moment, Record, Resource, Row, edge_types
from ...model.reports import MOST_MENTIONS
from ...text.analysis import STOP_WORDS
from ..as_of import former
from ..contract import Reads, Store
from ..rules.merge import keys_of
from ..rules.premise_entries import PREMISE, child_of
from ..specs import ChunkRange, EdgeSpec, SearchSpec

_NAMES = 48  # looked for, of all that is forgotten at once
_LEAST = 3  # characters of a word that tells anything
_PHRASE = 4  # words in a row that identify a text, even if each word is common
_PROBES = 48  # texts of what was forgotten whose words are searched
_PROBE_WORDS = 12  # of each
_HITS = 8  # looked at for each
# texts searched for a word, in steps: the next only if none of the last has it
_SEARCH_LIMITS = (8, 64, 512, 4_096)
_TURN_CONTEXT = 4  # turns on each side, of which what a turn is understood by was made
_MOST_RELATED = 400  # related records that are looked at
_EDGES = 1_000  # at their labels that are looked at
_MOST = 50_000  # words remembered
_WORD = re.compile(r"[^\W_]+")
_DATES = frozenset(
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)


class ForgottenWords:
    """The words of what was forgotten."""

    def __init__(self) -> None:
        self.words: set[str] = set()
        self.phrases: set[tuple[str, ...]] = set()
        self.texts: list[str] = []
        self.keys: set[str] = set()

    def add(self, record: Record) -> None:
        self.keys.update(keys_of(record))
        for text in own_texts(record):
            words = comparable_words(text)
            if len(self.words) < _MOST:
                self.words.update(word for word in words if _is_distinctive(word))
                self.phrases.update(_phrases(words))
            if words:
                self.texts.append(text)


def find_remaining_words(
    store: Store, forgotten: ForgottenWords, ids: Iterable[str], keys: Sequence[str]
) -> tuple[str, ...]:
    """List where words of what was forgotten are still found, a line each; empty is right.

    Args:
        ids, keys: records that were made of what was forgotten, and labels that its edges had.
    """
    labels = sorted(forgotten.keys)[:_MOST_RELATED]
    namesakes = store.records.lookup(labels, edges=0) if labels else {}
    looked_up = dict.fromkeys((*keys, *_keys_behind(store, namesakes)))
    records = _related_records(store, forgotten, ids, list(looked_up))
    check = _Check(store, forgotten)
    for record in records:
        check.add_source(record)
    for record in records:
        for field, text in derived_texts(record):
            check.look(f"{record.schema} {record.id}, {field}", text, made_for=record)
        if isinstance(record, Moment) and record.is_made:
            for _, before in former(store, record):
                for field, text in derived_texts(before):
                    check.look(f"what {record.id} was, {field}", text, made_for=before)
    for edge in _related_edges(store, keys):
        if edge.rel_type in edge_types.MADE:
            for text in _edge_texts(edge):
                check.look(f"edge {edge.src} {edge.rel_type} {edge.dst}, properties", text)
    for key in _edgeless_labels(store, namesakes):
        check.remaining[f"label {key}"] = key
    return tuple(f"{location}: {word!r}" for location, word in check.remaining.items())


def comparable_words(text: str) -> list[str]:
    """Split a text into words as they are compared: folded, without marks."""
    return _WORD.findall(normalize("NFKC", text).casefold())


class _Check:
    """Looks for words of the forgotten that no source says that stays."""

    def __init__(self, store: Store, forgotten: ForgottenWords) -> None:
        self._store = store
        self._forgotten = forgotten
        # said by sources that stay
        self._words: set[str] = set()
        self._phrases: set[tuple[str, ...]] = set()
        self.remaining: dict[str, str] = {}  # where, and a word

    def add_source(self, record: Record) -> None:
        """Let pass what a record that stays says of its own."""
        for text in own_texts(record):
            words = comparable_words(text)
            self._words.update(words)
            self._phrases.update(_phrases(words))

    def look(self, location: str, text: str, *, made_for: Record | None = None) -> None:
        """Look for forgotten words in a text made of others, which may be a field of a record."""
        left = self._find_left(text)
        if left and made_for is not None:
            for source in _made_of(self._store, made_for):
                self.add_source(source)
            left = self._find_left(text)
        if left:
            self.remaining[location] = left

    def _find_left(self, text: str) -> str:
        words = comparable_words(text)
        for phrase in _phrases(words):
            if phrase in self._forgotten.phrases and phrase not in self._phrases:
                return " ".join(phrase)
        return next(filter(self._is_left, words), "")

    def _is_left(self, word: str) -> bool:
        if not _is_distinctive(word) or word not in self._forgotten.words or word in self._words:
            return False
        if _is_in_sources(self._store, word):
            self._words.add(word)
            return False
        return True


def _is_distinctive(word: str) -> bool:
    return (
        len(word) >= _LEAST and not word.isdigit() and word not in _DATES and word not in STOP_WORDS
    )


def _phrases(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for start in range(len(words) - _PHRASE + 1):
        yield tuple(words[start : start + _PHRASE])


def _keys_behind(store: Store, namesakes: Mapping[str, Sequence[Record]]) -> Iterator[str]:
    """The labels that edges of these labels lead to: they were perhaps the forgotten's."""
    shared = [key for key, records in namesakes.items() if records]
    if shared:
        for edge in store.graph.edges(EdgeSpec(shared, direction="out", limit=_MOST_RELATED)):
            yield edge.dst


def _related_records(
    store: Store, forgotten: ForgottenWords, ids: Iterable[str], keys: Sequence[str]
) -> list[Record]:
    related: dict[str, Record] = {}
    for id in list(ids)[:_MOST_RELATED]:
        record = store.records.get(None, id)
        if record is not None:
            related[id] = record
    if keys:
        for records in store.records.lookup(list(keys)[:_MOST_RELATED], edges=0).values():
            related.update((record.id, record) for record in records)
    step = max(1, len(forgotten.texts) // _PROBES)
    for text in forgotten.texts[::step][:_PROBES]:
        if words := _rarest(text):
            for match in store.search.text(words, SearchSpec(limit=_HITS)):
                related[match.record.id] = match.record
    return list(related.values())


def _edgeless_labels(store: Store, namesakes: Mapping[str, Sequence[Record]]) -> Iterator[str]:
    for key, records in namesakes.items():
        is_thin = any(isinstance(record, Entity) and record.thin for record in records)
        if is_thin and not store.graph.count([key], direction="both"):
            yield key


def _related_edges(store: Store, keys: Sequence[str]) -> Sequence[Edge]:
    """The edges that are looked at: all of them, or a hub's newest."""
    some = list(keys)[:_MOST_RELATED]
    if not some:
        return ()
    if store.graph.count(some, direction="both") > _EDGES:
        return store.graph.edges(EdgeSpec(some, direction="both", limit=_EDGES))
    return store.graph.stored_edges(some, direction="both")


def _rarest(text: str) -> str:
    """The words of a text that few others will have: long ones."""
    words = dict.fromkeys(word for word in comparable_words(text[:20_000]) if _is_distinctive(word))
    return " ".join(sorted(words, key=len, reverse=True)[:_PROBE_WORDS])


def own_texts(record: Record) -> Iterator[str]:
    """Yield what a record says of its own: what was read, what somebody wrote, what a model made of
    sources it names."""
    if isinstance(record, Resource):
        metadata = {
            name: value
            for name, value in record.metadata.items()
            if name not in ("heading", "superseded")
        }
        yield from (record.name, record.content, record.uri, record.origin, *_texts(metadata))
        yield from record.rests_on
        if not record.is_chunk:
            yield from (record.context, *record.related_entities)
    elif isinstance(record, Entity):
        if not record.is_extracted:
            yield from (record.name, *record.aliases, record.summary, *_texts(record.properties))
    elif isinstance(record, Row):
        yield from (record.handle, record.name, *record.aliases, record.summary, record.uri)
        yield from (*_texts(record.fields), *_texts(record.metadata))
    elif not record.is_made:
        tags = record.topic_tags + record.emotion_tags + record.classifications + record.entity_refs
        yield from (record.name, record.summary, *tags, *_texts(record.metadata))
    elif record.uri:
        yield from (record.uri, str(record.metadata.get("session", "")))


def derived_texts(record: Record) -> Iterator[tuple[str, str]]:
    """Yield what was made of other records: field and text."""
    if isinstance(record, Resource):
        if record.is_chunk:
            # a line a turn: what one ends with and the next begins with, nobody said in a row
            yield from (("context", line) for line in record.context.splitlines())
            yield from (("related_entities", name) for name in record.related_entities)
        yield "heading", str(record.metadata.get("heading", ""))
    elif isinstance(record, Entity):
        if record.is_extracted:
            yield "name", record.name
            yield from (("aliases", alias) for alias in record.aliases)
    elif isinstance(record, Moment) and record.is_made:
        yield "name", record.name
        yield "summary", record.summary
        for field in ("topic_tags", "entity_refs", "emotion_tags", "classifications"):
            yield from ((field, text) for text in getattr(record, field))
        for person in record.present_persons:
            yield "present_persons", f"{person.name} {person.role}"
        yield from (("speakers", speaker.name) for speaker in record.speakers)
        yield from (("metadata", text) for text in _texts(record.metadata))


def _edge_texts(edge: Edge) -> Iterator[str]:
    yield from (name.partition("/")[2] for name in edge.properties if "/" in name)
    yield from _texts(
        {name: value for name, value in edge.properties.items() if name != "dst_entity_type"}
    )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, msgspec.Struct):
        yield from _texts(msgspec.to_builtins(value))


def _made_of(store: Store, record: Record) -> Iterator[Record]:
    """The sources that texts of a record were made of, as far as the record itself tells."""
    if isinstance(record, Moment):
        refs = (store.records.get(None, id) for id in record.resource_refs[:_MOST_RELATED])
        yield from (source for source in refs if source is not None)
    elif isinstance(record, Resource) and record.uri:
        before = ChunkRange(before=record.ordinal, limit=_TURN_CONTEXT, last=True)
        yield from store.records.chunks(record.uri, before)
        after = ChunkRange(after=record.ordinal, limit=_TURN_CONTEXT)
        yield from store.records.chunks(record.uri, after)


def _is_in_sources(store: Store, word: str) -> bool:
    """Whether a source that stays says a word, and not only the context of one."""
    for limit in _SEARCH_LIMITS:
        matches = store.search.text(word, SearchSpec(limit=limit))
        texts = (text for match in matches for text in own_texts(match.record))
        if any(word in comparable_words(text) for text in texts):
            return True
        if len(matches) < limit:
            break
    return False


# -- names -----------------------------------------------------------------------------------------


def names_of(records: Iterable[Record]) -> tuple[str, ...]:
    """The names of things; what a text or a document is called, others do not mean by its words."""
    things = (
        record
        for record in records
        if isinstance(record, Row) or (isinstance(record, Entity) and not record.uri)
    )
    return tuple(dict.fromkeys(name for one in things for name in (one.name, *one.aliases)))


def find_mentions(
    store: Store,
    names: Sequence[str],
    *,
    labels: Iterable[str] = (),
    will_be: Mapping[str, Record | None] | None = None,
) -> tuple[str, ...]:
    """List the ids of up to `MOST_MENTIONS` records that say one of these names, texts first.

    Args:
        labels: labels whose records are looked at too: edges led from them to the names.
        will_be: records as they will be, None for those that go.
    """
    searched = [name for name in names[:_NAMES] if comparable_words(name)]
    if not searched:
        return ()
    known = will_be or {}
    found: dict[str, bool] = {}  # whether it is not a text
    found_by = (_matching(store, searched), _at(store, labels), _resting_on(store, searched))
    for record in chain(*found_by):
        later = known.get(record.id, record)
        if later is not None and record.id not in found and _mentions(later, searched):
            found[record.id] = not isinstance(record, Resource)
            if len(found) == MOST_MENTIONS:
                break
    return tuple(sorted(found, key=found.__getitem__))


def _resting_on(store: Store, names: Iterable[str]) -> Iterator[Record]:
    """Yield what states that it rests on one of these names."""
    refs = [rests_ref(label_key(name)) for name in names]
    children = map(child_of, store.kv.about(PREMISE, refs))
    records = (store.records.get(None, id) for id in dict.fromkeys(children))
    yield from (record for record in records if record is not None)


def names_in(texts: Iterable[str], names: Iterable[str]) -> set[str]:
    """Of these names, those whose words stand in one of the texts, in a row. It costs by the length
    of the texts, however many names there are."""
    names_by_words: dict[tuple[str, ...], list[str]] = {}
    sizes: dict[str, set[int]] = {}  # of names, by their first word
    for name in dict.fromkeys(names):
        words = tuple(comparable_words(name))
        names_by_words.setdefault(words, []).append(name)
        sizes.setdefault(words[0] if words else "", set()).add(len(words))
    found: set[str] = set()
    for text in texts:
        found.update(names_by_words.get((), ()))  # of no words: every text says them
        text_words = comparable_words(text)
        for start, word in enumerate(text_words):
            for size in sizes.get(word, ()):
                found.update(names_by_words.get(tuple(text_words[start : start + size]), ()))
    return found


def _matching(store: Store, names: Iterable[str]) -> Iterator[Record]:
    for name in names:
        for match in store.search.text(name, SearchSpec(limit=MOST_MENTIONS)):
            yield match.record


def _at(reads: Reads, keys: Iterable[str]) -> Iterator[Record]:
    for records in reads.records.lookup(list(islice(keys, MOST_MENTIONS)), edges=0).values():
        yield from records


def _mentions(record: Record, names: Sequence[str]) -> bool:
    return bool(names_in(_texts_of(record), names))


def _texts_of(record: Record) -> Iterator[str]:
    if isinstance(record, Entity):
        # another's name is its own, whatever words it has
        yield record.summary
        return
    yield from own_texts(record)
    if isinstance(record, Moment):
        yield from (text for _, text in derived_texts(record))
        yield from (person.name for person in record.present_persons)
        yield from (speaker.name for speaker in record.speakers)
