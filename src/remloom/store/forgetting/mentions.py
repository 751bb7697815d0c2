"""Namings: records that say a name of what is forgotten, and stay, as they are somebody's words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice

from ...model import Entity, Moment, Record, Resource, Row
from ...model.reports import MOST_MENTIONS
from ..contract import Reads, Store
from ..specs import SearchSpec
from .remaining_words import comparable_words, derived_texts, own_texts

_NAMES = 48  # looked for, of all that is forgotten at once


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
    for record in chain(_matching(store, searched), _at(store, labels)):
        later = known.get(record.id, record)
        if later is not None and record.id not in found and _mentions(later, searched):
            found[record.id] = not isinstance(record, Resource)
            if len(found) == MOST_MENTIONS:
                break
    return tuple(sorted(found, key=found.__getitem__))


def names_in(texts: Iterable[str], names: Iterable[str]) -> set[str]:
    """Of these names, those whose words stand in one of the texts, in a row.

    It costs by the length of the texts, however many names there are.
    """
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
    """What an index finds by the words of the names."""
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
