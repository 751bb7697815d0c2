"""The records that a TRAVERSE starts from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from .. import labels
from ..errors import InvalidInputError
from ..model import Hit, Meaning, Record, ResolvedLabel, United, label_of_record
from ..store.contract import Store
from ..store.meanings import own_keys, several_meanings, without_united
from ..store.premises import FindStale
from ..store.results import Match
from ..store.united import find_united, together, told
from .label_resolution import only_shown, resolve_labels
from .select import Selection, run_select
from .statements import Fuzzy, Lookup, Search, Start

# of a SELECT, in the order in which they are looked for
_NAMING_COLUMNS = ("id", "key", "handle", "name")


class Starts(Struct, frozen=True):
    """The records that a TRAVERSE starts from, with their edges."""

    records: Sequence[Record]
    keys: Sequence[str]  # of each, that it is left at; empty: it has no edges of its own
    suggestions: Sequence[Hit] = ()  # for labels that mean nothing
    resolved: Sequence[ResolvedLabel] = ()
    truncated: bool = False  # a SELECT had more rows than are read
    # by the key of a label that means several things: each of them is started from
    meanings: Mapping[str, tuple[Meaning, ...]] = {}
    united: Sequence[United] = ()


class Finder(Protocol):
    """Finds the records that the first query of a TRAVERSE is about."""

    store: Store
    find_stale: FindStale

    def fuzzy_matches(self, query: Fuzzy) -> list[Match]: ...

    def search_matches(self, query: Search) -> list[Match]: ...

    def suggest(self, missing: Sequence[str]) -> list[Hit]: ...


def find_starts(
    finder: Finder,
    query: Start,
    *,
    edges: int,
    as_of: datetime | None,
) -> Starts:
    """Find the records of the first query, each with at most so many of its edges."""
    starts = _find(finder, query, edges=edges, as_of=as_of)
    things = find_united(finder.store, starts.records, as_of, edges=edges)
    if not things:
        return starts
    # what is one thing is walked from at once
    pairs = [*zip(starts.records, starts.keys, strict=True)]
    pairs = together(
        things, pairs, lambda pair: pair[0], lambda row, _: (row, labels.key(row.handle))
    )
    return replace(
        starts,
        records=[record for record, _ in pairs],
        keys=[key for _, key in pairs],
        united=[told(finder.store, thing) for thing in things],
        meanings=without_united(starts.meanings, things),
    )


def _find(finder: Finder, query: Start, *, edges: int, as_of: datetime | None) -> Starts:
    if isinstance(query, Lookup):
        return _find_by_labels(finder, query, edges=edges, as_of=as_of)
    truncated = False
    if isinstance(query, Fuzzy):
        records = [match.record for match in finder.fuzzy_matches(query)]
    elif isinstance(query, Search):
        records = [match.record for match in finder.search_matches(query)]
    else:
        selection = run_select(finder.store, query.text)
        records, truncated = _find_selected(finder, selection), selection.truncated
    # loaded again, with their edges
    keys = list(dict.fromkeys(labels.key(label_of_record(record)) for record in records))
    by_key = finder.store.records.lookup(keys, edges=edges, as_of=as_of)
    by_id = {record.id: record for record in _distinct(by_key.values())}
    loaded = [by_id[record.id] for record in records if record.id in by_id]
    return Starts(loaded, own_keys(finder.store, loaded, by_key), truncated=truncated)


def _find_by_labels(
    finder: Finder,
    query: Lookup,
    *,
    edges: int,
    as_of: datetime | None,
) -> Starts:
    store = finder.store
    label_of = {labels.key(label): label for label in query.labels}
    by_key = only_shown(store.records.lookup(list(label_of), edges=edges, as_of=as_of), as_of)
    missing = [label for key, label in label_of.items() if not by_key[key]]
    if not missing:
        found = _distinct(by_key.values())
        return Starts(
            found,
            own_keys(store, found, by_key, by_key),
            meanings=several_meanings(by_key) if len(found) > 1 else {},
        )
    resolved = resolve_labels(store, missing)
    missing = [label for label in missing if label not in resolved]
    resolutions = list(resolved.values())
    # A key may name further records, which the label does not mean.
    ids = {resolution.record.id for resolution in resolutions}
    namesakes = store.records.lookup(
        [resolution.key for resolution in resolutions], edges=edges, as_of=as_of
    )
    similar = [record for record in _distinct(namesakes.values()) if record.id in ids]
    found = _distinct([*by_key.values(), similar])
    return Starts(
        found,
        own_keys(store, found, by_key, by_key),
        suggestions=finder.suggest(missing) if missing else (),
        resolved=[resolution.summary for resolution in resolutions],
        meanings=several_meanings(by_key),
    )


def _find_selected(finder: Finder, selection: Selection) -> list[Record]:
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
        fetched = [finder.store.records.get(schema, id) for id in texts]
        return [record for record in fetched if record is not None]
    keys = [labels.key(text) for text in texts]
    by_key = only_shown(finder.store.records.lookup(keys, edges=0))
    return [record for record in _distinct(by_key.values()) if record.schema == schema]


def _distinct(groups: Iterable[Sequence[Record]]) -> list[Record]:
    by_id = {record.id: record for group in groups for record in group}
    return list(by_id.values())
