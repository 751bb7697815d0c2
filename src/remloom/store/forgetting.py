"""Forgetting: what a name, id or source stands for, removed with everything that hangs on it, and looked for again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from .. import labels
from ..errors import LabelError, NotFoundError
from ..model import Entity, Receipt, Record
from ..predicates import Eq, Query
from .contract import Store

__all__ = ["forget", "targets"]


def targets(store: Store, wanted: Sequence[str]) -> dict[str, list[Record]]:
    """The records each of the wanted ids, source uris or labels stands for.

    Raises:
        NotFoundError: one of them stands for nothing; the remedy names what is most like it.
    """
    return {name: _records(store, name) for name in wanted}


def forget(store: Store, wanted: Sequence[str], *, dry_run: bool = False) -> Receipt:
    """Remove what the wanted names stand for, what was derived from it, and entities known from nowhere else.

    The receipt says what went, and whether a sweep afterwards found anything left. With `dry_run` it says what
    would go.

    Raises:
        NotFoundError: see `targets`. Nothing was removed.
    """
    doomed = {record.id: record for records in targets(store, wanted).values() for record in records}
    keys = {labels.key(record.name) for record in doomed.values()}
    neighbours = {edge.dst for edge in store.edges(list(keys), direction="out", rel_types=None, limit=None)} - keys
    if dry_run:
        return _foretold(store, doomed, keys)
    deletion = store.delete(doomed)
    orphans = [record.id for record in _orphans(store, neighbours)]
    more = store.delete(orphans) if orphans else None
    remaining = deletion.remaining + (more.remaining if more else ())
    return Receipt(
        records=len(deletion.ids) + (len(more.ids) if more else 0),
        vectors=deletion.vectors + (more.vectors if more else 0),
        keys=deletion.keys + (more.keys if more else 0),
        edges=deletion.edges + (more.edges if more else 0),
        derived=deletion.derived + (len(more.ids) if more else 0),
        ids=deletion.ids + (more.ids if more else ()),
        verified=not remaining,
        remaining=remaining,
        at=datetime.now(UTC),
    )


def _foretold(store: Store, doomed: dict[str, Record], keys: set[str]) -> Receipt:
    """What would go: the records, what was derived from them, and the edges at keys that no other record has."""
    ids = dict.fromkeys(doomed)
    queue = list(doomed)
    while queue:
        for child in store.children(queue.pop()):
            if child not in ids:
                ids[child] = None
                queue.append(child)
                record = store.get(None, child)
                keys |= {labels.key(record.name)} if record else set()
    held = store.lookup(sorted(keys), edges=0)
    going = [key for key, records in held.items() if all(record.id in ids for record in records)]
    return Receipt(
        records=len(ids),
        vectors=sum(len(store.vectors(id)) for id in ids),
        keys=len(going),
        edges=store.degrees(going, direction="both"),
        derived=len(ids) - len(doomed),
        ids=tuple(ids),
    )


def _records(store: Store, name: str) -> list[Record]:
    if (record := store.get(None, name)) is not None:
        return [record]
    if found := store.query("resources", Query().filter(Eq("uri", name))):
        return [*found, *_describing(store, name)]
    try:
        found = [record for records in store.lookup([labels.key(name)]).values() for record in records]
    except LabelError:
        found = []
    if found:
        return [record for part in found for record in (part, *_described(store, part))]
    near = [match.record.name for match in store.fuzzy(name, type=None, threshold=0.5, limit=3)]
    raise NotFoundError(
        f"nothing has the id, source or label {name!r}",
        remedy=f"did you mean {' or '.join(map(repr, near))}?" if near else "see what there is with `remloom stats`",
        id=name,
    )


def _describing(store: Store, uri: str) -> list[Record]:
    """The entities and moments that stand for a source as a whole."""
    entities = store.query("entities", Query().filter(Eq("properties.uri", uri)))
    return [*entities, *store.query("moments", Query().filter(Eq("metadata.uri", uri)))]


def _described(store: Store, record: Record) -> list[Record]:
    """The chunks and moments of the source that an entity stands for."""
    uri = record.properties.get("uri") if isinstance(record, Entity) else None
    if not uri:
        return []
    moments = store.query("moments", Query().filter(Eq("metadata.uri", uri)))
    return [*store.query("resources", Query().filter(Eq("uri", uri))), *moments]


def _orphans(store: Store, keys: set[str]) -> list[Record]:
    """Entities that were only read about, and that nothing mentions any more."""
    return [
        record
        for key, records in store.lookup(sorted(keys)).items()
        for record in records
        if isinstance(record, Entity)
        and record.properties.get("extracted")
        and not store.degrees([key], direction="both")
    ]
