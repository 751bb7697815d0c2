"""Forgetting: what a name, id or source stands for, removed with everything that hangs on it, and looked for again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime

from .. import labels
from ..errors import InvalidInputError, LabelError, NotFoundError
from ..model import Entity, Receipt, Record
from ..predicates import Eq, Query
from .batch import EXTRACTED
from .contract import Store

__all__ = ["forget", "orphans", "targets"]


def targets(store: Store, wanted: Sequence[str]) -> dict[str, list[Record]]:
    """The records each of the wanted ids, source uris or labels stands for.

    Raises:
        NotFoundError: one of them stands for nothing; the remedy names what is most like it.
        InvalidInputError: one of them is no text, or a blank one.
    """
    for name in wanted:
        # Whatever was not read has "" for its uri: a variable left empty must not stand for all of that.
        if not isinstance(name, str) or not name.strip():
            raise InvalidInputError(
                f"{name!r} names nothing", remedy="give an id, a label, or the uri that something was read from"
            )
    return {name: _records(store, name) for name in wanted}


def forget(store: Store, wanted: Sequence[str], *, dry_run: bool = False) -> Receipt:
    """Remove what the wanted names stand for, what was derived from it, and entities known from nowhere else.

    The receipt says what went, and whether a sweep afterwards found anything left. With `dry_run` it says what
    would go.

    Raises:
        NotFoundError: see `targets`. Nothing was removed.
    """
    asked = {record.id: record for found in targets(store, wanted).values() for record in found}
    doomed = _with_derived(store, asked)
    held = store.lookup(sorted({key for record in doomed.values() for key in _keys(record)}), edges=0)
    going = {key for key, records in held.items() if all(record.id in doomed for record in records)}
    named = {edge.dst for edge in store.edges(list(going), direction="out", rel_types=None, limit=None)} - going
    left = orphans(store, named, without=going)
    derived = len(doomed) - len(asked) + len(left)
    if dry_run:
        doomed |= {record.id: record for record in left}
        going |= {key for record in left for key in _keys(record)}
        return Receipt(
            records=len(doomed),
            vectors=sum(len(store.vectors(id)) for id in doomed),
            keys=sum(len(_keys(record)) for record in doomed.values()),
            edges=store.degrees(list(going), direction="both"),
            derived=derived,
            ids=tuple(doomed),
        )
    deletion = store.delete([*asked, *(record.id for record in left)])
    return Receipt(
        records=len(deletion.ids),
        vectors=deletion.vectors,
        keys=deletion.keys,
        edges=deletion.edges,
        derived=derived,
        ids=deletion.ids,
        verified=not (deletion.remaining or deletion.pending),
        remaining=deletion.remaining,
        pending=deletion.pending,
        at=datetime.now(UTC),
    )


def orphans(store: Store, keys: Iterable[str], *, without: Collection[str] = ()) -> list[Entity]:
    """The entities at these keys that are known only from reading, and that no edge leads to any more.

    Edges at the keys `without` do not count: as if they were gone.
    """
    leaving = store.edges(list(without), direction="both", rel_types=None, limit=None)
    lost = Counter(edge.dst if edge.src in without else edge.src for edge in leaving)
    return [
        record
        for records in store.lookup(sorted(keys), edges=0).values()
        for record in records
        if isinstance(record, Entity)
        and record.properties.get(EXTRACTED)
        and store.degrees(_keys(record), direction="both") <= sum(lost[key] for key in _keys(record))
    ]


def _with_derived(store: Store, records: dict[str, Record]) -> dict[str, Record]:
    """These records and all that was derived from them, by id."""
    found = dict(records)
    queue = list(records)
    while queue:
        for child in store.children(queue.pop()):
            if child not in found and (record := store.get(None, child)) is not None:
                found[child] = record
                queue.append(child)
    return found


def _keys(record: Record) -> list[str]:
    """Every key that a record has."""
    return list(dict.fromkeys(labels.key(label) for label in (record.name, *getattr(record, "aliases", ()))))


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
    near = dict.fromkeys(match.record.name for match in store.fuzzy(name, type=None, threshold=0.5, limit=3))
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
