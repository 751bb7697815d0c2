"""The sweep: whether the words of what was forgotten can still be found, in texts and fields that
were made of others.

What somebody wrote or what was read, and stays, may say the same words: they are its own.
Everything else that the system keeps (contexts, tags, summaries, names it found) must not hold
words that no such source has. Looked at is what lay beside the forgotten, and what an index finds
by its words: that costs by what was forgotten, not by the store.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from unicodedata import normalize

import msgspec

from ..model import Edge, Entity, Record, Resource, edge_types
from ..text.analysis import STOP_WORDS
from .contract import Store
from .merge import keys_of
from .specs import EdgeSpec, SearchSpec

__all__ = ["Trace", "sweep", "tokens"]

_LEAST = 3  # characters of a word that tells anything
_PHRASE = 4  # words in a row that tell, wherever else each of them is said
_PROBES = 48  # texts of what was forgotten that the index is asked for
_WORDS = 12  # of each
_HITS = 8  # looked at for each
_BESIDE = 400  # records beside what was forgotten that are looked at
_EDGES = 1_000  # at their labels that are looked at
_MOST = 50_000  # words remembered
_TOKEN = re.compile(r"[^\W_]+")
_DATES = frozenset(
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)


class Trace:
    """The words of what was forgotten."""

    def __init__(self) -> None:
        self.words: set[str] = set()
        self.phrases: set[tuple[str, ...]] = set()
        self.texts: list[str] = []
        self.keys: set[str] = set()

    def add(self, record: Record) -> None:
        """Remember what a record said."""
        self.keys.update(keys_of(record))
        for text in _own_texts(record):
            words = tokens(text)
            if len(self.words) < _MOST:
                self.words.update(word for word in words if _is_telling(word))
                self.phrases.update(_phrases(words))
            if words:
                self.texts.append(text)


def sweep(store: Store, trace: Trace, ids: Iterable[str], keys: Sequence[str]) -> tuple[str, ...]:
    """Where words of what was forgotten are still found, a line each.

    Args:
        trace: these words.
        ids, keys: records that were made of what was forgotten, and labels that lay beside it.
    """
    by_key = store.records.lookup(sorted(trace.keys)[:_BESIDE], edges=0) if trace.keys else {}
    # what leads on from them was perhaps theirs
    shared = [key for key, records in by_key.items() if records]
    edges_from_shared = (
        store.graph.edges(EdgeSpec(shared, direction="out", limit=_BESIDE)) if shared else ()
    )
    near = _records_near(
        store, trace, ids, list(dict.fromkeys((*keys, *(edge.dst for edge in edges_from_shared))))
    )
    own_words: set[str] = set()  # words of sources that stay
    phrases: set[tuple[str, ...]] = set()
    for record in near.values():
        for text in _own_texts(record):
            words = tokens(text)
            own_words.update(words)
            phrases.update(_phrases(words))
    remaining: dict[str, str] = {}  # where, and a word
    for record in near.values():
        for field, text in _derived_texts(record):
            _look(
                store,
                trace,
                own_words,
                phrases,
                f"{record.schema} {record.id}, {field}",
                text,
                remaining,
            )
    for edge in _edges_near(store, keys):
        if edge.rel_type in edge_types.MADE:
            for text in _edge_texts(edge):
                location = f"edge {edge.src} {edge.rel_type} {edge.dst}, properties"
                _look(store, trace, own_words, phrases, location, text, remaining)
    for key, records in by_key.items():
        for record in records:
            if (
                isinstance(record, Entity)
                and record.thin
                and not store.graph.count([key], direction="both")
            ):
                remaining[f"label {key}"] = key
    return tuple(f"{location}: {word!r}" for location, word in remaining.items())


def tokens(text: str) -> list[str]:
    """The words of a text as they are compared: folded, without marks."""
    return _TOKEN.findall(normalize("NFKC", text).casefold())


def _is_telling(word: str) -> bool:
    return (
        len(word) >= _LEAST and not word.isdigit() and word not in _DATES and word not in STOP_WORDS
    )


def _phrases(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for start in range(len(words) - _PHRASE + 1):
        yield tuple(words[start : start + _PHRASE])


def _records_near(
    store: Store, trace: Trace, ids: Iterable[str], keys: Sequence[str]
) -> dict[str, Record]:
    """The records that are looked at."""
    near = {
        id: record
        for id in list(ids)[:_BESIDE]
        if (record := store.records.get(None, id)) is not None
    }
    for records in store.records.lookup(list(keys)[:_BESIDE], edges=0).values() if keys else ():
        near.update((record.id, record) for record in records)
    step = max(1, len(trace.texts) // _PROBES)
    for text in trace.texts[::step][:_PROBES]:
        if words := _rarest(text):
            for match in store.search.text(words, SearchSpec(limit=_HITS)):
                near[match.record.id] = match.record
    return near


def _edges_near(store: Store, keys: Sequence[str]) -> Sequence[Edge]:
    """The edges that are looked at: all that lay beside, or the newest where a hub has more."""
    some = list(keys)[:_BESIDE]
    if not some:
        return ()
    if store.graph.count(some, direction="both") > _EDGES:
        return store.graph.edges(EdgeSpec(some, direction="both", limit=_EDGES))
    return store.graph.stored_edges(some, direction="both")


def _rarest(text: str) -> str:
    """The words of a text that few others will have: long ones."""
    words = dict.fromkeys(word for word in tokens(text[:20_000]) if _is_telling(word))
    return " ".join(sorted(words, key=len, reverse=True)[:_WORDS])


def _own_texts(record: Record) -> Iterator[str]:
    """What a record says of its own: what was read, what somebody wrote, what a model made of
    sources it names."""
    if isinstance(record, Resource):
        metadata = {
            name: value
            for name, value in record.metadata.items()
            if name not in ("heading", "superseded")
        }
        yield from (record.name, record.content, record.uri, *_texts(metadata))
        if not record.is_chunk:
            yield from (record.context, *record.related_entities)
    elif isinstance(record, Entity):
        if not record.is_extracted:
            yield from (record.name, *record.aliases, record.summary, *_texts(record.properties))
    elif not record.is_made:
        tags = record.topic_tags + record.emotion_tags + record.classifications + record.entity_refs
        yield from (record.name, record.summary, *tags, *_texts(record.metadata))
    elif record.uri:
        yield from (record.uri, str(record.metadata.get("session", "")))


def _derived_texts(record: Record) -> Iterator[tuple[str, str]]:
    """What was made of other records: field and text."""
    if isinstance(record, Resource):
        if record.is_chunk:
            yield "context", record.context
            yield from (("related_entities", name) for name in record.related_entities)
        yield "heading", str(record.metadata.get("heading", ""))
    elif isinstance(record, Entity):
        if record.is_extracted:
            yield "name", record.name
            yield from (("aliases", alias) for alias in record.aliases)
    elif record.is_made:
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
    """Every text in a JSON value."""
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


def _look(
    store: Store,
    trace: Trace,
    own_words: set[str],
    phrases: set[tuple[str, ...]],
    location: str,
    text: str,
    remaining: dict[str, str],
) -> None:
    words = tokens(text)
    for phrase in _phrases(words):
        if phrase in trace.phrases and phrase not in phrases:
            remaining[location] = " ".join(phrase)
            return
    for word in words:
        if _is_telling(word) and word in trace.words and word not in own_words:
            if _is_said(store, word):
                own_words.add(word)
            else:
                remaining[location] = word
                return


def _is_said(store: Store, word: str) -> bool:
    """Whether a source that stays says a word."""
    matches = store.search.text(word, SearchSpec(limit=_HITS))
    return any(word in tokens(text) for match in matches for text in _own_texts(match.record))
