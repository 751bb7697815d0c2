"""Parts of a write of a run: each says what it rests on, and falls with that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from .. import labels
from ..errors import LabelError
from ..kv import Entry, label_ref
from ..model import Edge, Entity, Moment, Record, Resource
from ..store.rules.references import referred_ids


class WritePart(Struct, frozen=True):
    """What is written together, or left out together if something that it rests on is gone.

    Args:
        rests_on: ids of the records that it was made of, or that a model was shown for it, and refs
            of labels. What its records and entries refer to, and every label that it names, count
            as well.
        records, edges, entries: to be written.
        deleted: (namespace, key) of entries to be deleted.
        superseded: see `Writer.write`.
        counts: added to those of the run in the same transaction.
    """

    rests_on: Iterable[str]
    records: tuple[Record, ...] = ()
    edges: tuple[Edge, ...] = ()
    entries: tuple[Entry, ...] = ()
    deleted: tuple[tuple[str, str], ...] = ()
    superseded: Mapping[str, str] = {}
    counts: Mapping[str, int] = {}

    @property
    def names(self) -> set[str]:
        """Ids of records and refs of labels: if one of them was forgotten, it does not stand."""
        names = {*self.rests_on, *self.superseded, *self.superseded.values()}
        names.update(ref for entry in self.entries for ref in entry.refs)
        for record in self.records:
            names.update((record.id, *referred_ids(record)))
            names.update(_label_refs(_labels_of(record)))
            if isinstance(record, Resource):
                names.update(record.parents or ())
        names.update(_label_refs(end for edge in self.edges for end in (edge.src, edge.dst)))
        return names - {""}


def _labels_of(record: Record) -> Iterator[str]:
    yield record.name
    if isinstance(record, Resource):
        yield from record.related_entities
    elif isinstance(record, Moment):
        yield from record.entity_refs
        yield from record.topic_tags
        yield from (person.name for person in record.present_persons)
    elif isinstance(record, Entity):
        yield from record.aliases


def _label_refs(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        try:
            yield label_ref(labels.key(name))
        except LabelError:
            continue  # the check of what is written says so, if it must not be
