"""The records that a TRAVERSE starts from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from .. import labels
from ..errors import InvalidInputError
from ..model import Hit, Record, ResolvedLabel, label_of_record
from ..store.contract import Store
from ..store.merge import keys_of
from .label_resolution import resolve_labels
from .select import Selection, run_select
from .statements import Fuzzy, Lookup, Search, Start

if TYPE_CHECKING:
    from .executor import Executor

__all__ = ["Starts", "find_starts"]

# of a SELECT, in the order in which they are looked for
_NAMING_COLUMNS = ("id", "key", "handle", "name")


class Starts(Struct, frozen=True):
    """The records that a TRAVERSE starts from, with their edges."""

    records: Sequence[Record]
    keys: Sequence[str]  # of each, that it is left at
    suggestions: Sequence[Hit] = ()  # for labels that mean nothing
    resolved: Sequence[ResolvedLabel] = ()
    truncated: bool = False  # a SELECT had more rows than are read


def find_starts(
    executor: Executor,
    query: Start,
    *,
    edges: int,
    as_of: datetime | None,
) -> Starts:
    """Find the records of the first query, each with at most so many of its edges."""
    if isinstance(query, Lookup):
        return _find_by_labels(executor, query, edges=edges, as_of=as_of)
    truncated = False
    if isinstance(query, Fuzzy):
        records = [match.record for match in executor.fuzzy_matches(query)]
    elif isinstance(query, Search):
        records = [match.record for match in executor.search_matches(query)]
    else:
        selection = run_select(executor.store, query.text)
        records, truncated = _find_selected(executor, selection), selection.truncated
    # loaded again, with their edges
    keys = list(dict.fromkeys(labels.key(label_of_record(record)) for record in records))
    by_key = executor.store.records.lookup(keys, edges=edges, as_of=as_of)
    by_id = {record.id: record for record in _distinct(by_key.values())}
    loaded = [by_id[record.id] for record in records if record.id in by_id]
    return Starts(loaded, _start_keys(executor.store, loaded, {}), truncated=truncated)


def _find_by_labels(
    executor: Executor,
    query: Lookup,
    *,
    edges: int,
    as_of: datetime | None,
) -> Starts:
    store = executor.store
    label_of = {labels.key(label): label for label in query.labels}
    by_key = store.records.lookup(list(label_of), edges=edges, as_of=as_of)
    missing = [label for key, label in label_of.items() if not by_key[key]]
    if not missing:
        found = _distinct(by_key.values())
        return Starts(found, _start_keys(store, found, by_key))
    resolved = resolve_labels(store, missing)
    missing = [label for label in missing if label not in resolved]
    resolutions = list(resolved.values())
    # A key may name further records, which the label does not mean.
    ids = {resolution.record.id for resolution in resolutions}
    namesakes = store.records.lookup(
        [resolution.key for resolution in resolutions], edges=edges, as_of=as_of
    )
    meant = [record for record in _distinct(namesakes.values()) if record.id in ids]
    found = _distinct([*by_key.values(), meant])
    return Starts(
        found,
        _start_keys(store, found, by_key),
        suggestions=executor.suggest(missing) if missing else (),
        resolved=[resolution.summary for resolution in resolutions],
    )


def _find_selected(executor: Executor, selection: Selection) -> list[Record]:
    """The records whose id, key or name a SELECT returns."""
    schema = selection.schema
    columns = [column.lower() for column in selection.columns]
    column = next((name for name in _NAMING_COLUMNS if name in columns), None)
    if column is None:
        raise InvalidInputError(
            "a SELECT that starts a TRAVERSE must return the id, key or name of its records",
            remedy=f"TRAVERSE WITH SELECT id FROM {schema}",
        )
    position = columns.index(column)
    values = [row[position] for row in selection.rows]
    texts = list(dict.fromkeys(str(value) for value in values if value))
    if column == "id":
        fetched = [executor.store.records.get(schema, id) for id in texts]
        return [record for record in fetched if record is not None]
    keys = [labels.key(text) for text in texts]
    by_key = executor.store.records.lookup(keys, edges=0)
    return [record for record in _distinct(by_key.values()) if record.schema == schema]


def _start_keys(
    store: Store, records: Sequence[Record], found_by: Mapping[str, Sequence[Record]]
) -> list[str]:
    """Return the key at which the walk leaves each record: that of its own label, or, where other
    records have that too and nobody asked for it, another that it has.

    `found_by` has the records by the keys that were asked for.
    """
    keys = {record.id: keys_of(record) for record in records}
    doubtful = {own[0]: None for own in keys.values() if len(own) > 1 and own[0] not in found_by}
    namesakes = store.records.lookup(list(doubtful), edges=0) if doubtful else {}
    starts = []
    for own, *others in keys.values():
        is_shared = len(namesakes.get(own, ())) > 1
        asked = [key for key in others if key in found_by]
        starts.append([*asked, *others][0] if is_shared else own)
    return starts


def _distinct(groups: Iterable[Sequence[Record]]) -> list[Record]:
    by_id = {record.id: record for group in groups for record in group}
    return list(by_id.values())
