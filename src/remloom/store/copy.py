"""Copying a tenant from one store into another, whatever the two are.

What arrives is what was there: ids and times, texts, vectors, keys, edges with their validity,
provenance, the queue, the key-value entries, and the indexes that `create_index` made; token
vectors too, as far as they are made. While it is under way the target has an entry that names the
source. A copy that was broken off finds it and goes on: what is there already is compared, not
written again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..errors import ConflictError, InvalidInputError, StoreError
from ..kv import Entry, KeyRange
from ..model import Copied, Edge, Moment, Record, Resource
from ..model.premises import canonical
from ..settings import Settings
from .batch import Batch, BatchRecord, TokenVectorBatch, Vector
from .changes import RENAMED
from .contract import ERASURES, INDEXES, TEXT_NUMBERS, Store
from .definitions import DEFINITIONS, as_stored
from .encoding import searchable_text
from .forgetting.watch import LAST_FORGETTING
from .rules.merge import keys_of
from .rules.provenance import premises_in
from .stats import Stats
from .tenants.backends import backend_for

# namespace of the mark in a target that is not complete; the key is the source
_UNDER_WAY = "copy"
# namespaces of what concerns one store alone
_OWN = frozenset((_UNDER_WAY, ERASURES, RENAMED, TEXT_NUMBERS, LAST_FORGETTING[0]))
_AT_ONCE = 1_000  # records or edges in one transaction
_TEXTS_AT_ONCE = 1_000_000_000  # of the queue: all

_SQLITE = "sqlite:"

Progress = Callable[[int, int], None]
_T = TypeVar("_T")
_encode = msgspec.json.Encoder(order="deterministic").encode


class _Sums(Struct):
    """What a store holds, as numbers: equal for equal contents, in whatever order."""

    records: int = 0
    edges: int = 0
    vectors: int = 0
    entries: int = 0
    sum: int = 0

    def add(self, digest: bytes) -> None:
        self.sum = (self.sum + int.from_bytes(digest)) % 2**128

    def __str__(self) -> str:
        parts = ("records", "edges", "vectors", "entries")
        counts = (self.records, self.edges, self.vectors, self.entries)
        return ", ".join(f"{count:,} {part}" for count, part in zip(counts, parts, strict=True))


def copy_tenant(
    source: Settings, target: Settings, *, plain: bool, progress: Progress | None
) -> Copied:
    """Copy the tenant that one value of settings names to where the other does, and make that if
    need be. A home may be written `sqlite:FOLDER`. A key is that of a folder; a database has none.

    Raises:
        InvalidInputError: the two are the same; or an encrypted tenant would be plain, and `plain`
            is not set.
        TenantNotFoundError, WrongKeyError, StoreError: it cannot be opened; see `copy`.
    """
    source, target = _without_scheme(source), _without_scheme(target)
    if (source.home, source.tenant) == (target.home, target.tenant):
        raise InvalidInputError(
            "source and target are the same tenant", remedy="name another home, or --as NAME"
        )
    with closing(backend_for(source).open(source, create=False)) as source_store:
        if source_store.capabilities.encrypted and not target.key and not plain:
            raise InvalidInputError(
                f"tenant {source.tenant!r} is encrypted, and its copy would not be",
                remedy="add --plain if that is meant, and let the server encrypt its disks",
            )
        with closing(backend_for(target).open(target, create=True)) as target_store:
            return copy(
                source_store,
                target_store,
                origin=f"{source.shown_home} {source.tenant}",
                progress=progress,
            )


def _without_scheme(settings: Settings) -> Settings:
    home = settings.home
    if "://" in home and not home.startswith(_SQLITE):
        return replace(settings, key="")
    folder = home.removeprefix(_SQLITE)
    folder = folder.removeprefix("//") if home.startswith(_SQLITE) else folder
    return replace(settings, home=str(Path(folder).expanduser().absolute()))


def copy(source: Store, target: Store, *, origin: str, progress: Progress | None = None) -> Copied:
    """Make the target what the source is.

    Args:
        origin: names the source, the same at every attempt.
        progress: called as `progress(done, total)`, of records and edges.

    Raises:
        ConflictError: the target has memories of its own.
        StoreError: the two differ afterwards, because the source was written to meanwhile.
    """
    source_stats, target_stats = source.admin.stats(), target.admin.stats()
    resumed = target.kv.get(_UNDER_WAY, origin) is not None
    empty = not (
        any(target_stats.records.values()) or target_stats.entries.keys() - (_OWN - {_UNDER_WAY})
    )
    if not resumed and not empty:
        source_sums = _sums(source)
        if _totals(source_stats) == _totals(target_stats) and source_sums == _sums(target):
            return _copied(source_sums, written=0, resumed=False)
        raise ConflictError(
            "the target has memories of its own, and they would be mixed",
            remedy="copy into a new tenant (--as NAME), or delete this one first",
        )
    target.kv.put([Entry(_UNDER_WAY, origin, b"{}")])
    copying = _Copying(
        source, target, resumed, sum(source_stats.records.values()) + source_stats.edges, progress
    )
    written = copying.run()
    source_sums, target_sums = _sums(source), _sums(target)
    if source_sums != target_sums:
        raise StoreError(
            f"source and target differ: {source_sums}; and {target_sums}",
            remedy="the source was written to meanwhile: run the same command again, and it"
            " goes on",
        )
    target.kv.put([], deleted=[(_UNDER_WAY, origin)])
    return _copied(target_sums, written=written, resumed=resumed)


def unfinished(store: Store) -> list[str]:
    """The copy into this store that was broken off; a line, or none."""
    return [
        f"not all of {entry.key} was copied here: the same `remloom copy` goes on"
        for entry in store.kv.list(_UNDER_WAY, KeyRange(limit=1))
    ]


class _Copying:
    def __init__(
        self, source: Store, target: Store, resumed: bool, total: int, progress: Progress | None
    ) -> None:
        self._source, self._target = source, target
        self._resumed = resumed
        self._model, self._dims = source.vectors.model() or ("", 0)
        self._token_models = source.token_vectors.models()
        self._total, self._done, self._progress = total, 0, progress
        self._written = 0

    def run(self) -> int:
        """Returns how many records and edges were written; the others were there already."""
        # an index may be of a field that only a definition knows
        for kind in sorted(self._source.admin.stats().entries, key=DEFINITIONS.__ne__):
            self._copy_entries(kind)
        self._copy_records()
        self._copy_edges()
        return self._written

    def _copy_entries(self, kind: str) -> None:
        if kind in _OWN:
            return
        for entries in _batches(_entries(self._source, kind)):
            if kind == INDEXES:
                for entry in entries:
                    schema, _, field = entry.key.partition(".")
                    self._target.sql.create_index(schema, field)
            else:
                self._target.kv.put(entries)

    def _copy_records(self) -> None:
        present = self._target.records.all(expired=True) if self._resumed else ()
        stored = {
            record.id: _digest(record, windows)
            for record, windows in _with_vectors(self._target, present)
        }
        waiting = {pending.id for pending in self._source.vectors.pending(_TEXTS_AT_ONCE)}
        schemas = self._source.schemas()
        parked = self._source.vectors.queue_lengths()[1] > 0
        ordered = _parents_first(self._source.records.all(expired=True))
        for records in _batches(_with_vectors(self._source, ordered)):
            batch = []
            for record, windows in records:
                if stored.pop(record.id, b"") == _digest(record, windows):
                    continue
                item = _item(as_stored(record, schemas), tuple(windows))
                queued = record.id in waiting or (
                    parked and not windows and bool(item.text.strip())
                )
                batch.append(replace(item, embed=queued))
            if batch:
                dims = self._dims if any(item.vectors for item in batch) else 0
                self._target.write(Batch(tuple(batch), dims=dims, model=self._model, exact=True))
            self._copy_token_vectors([record.id for record, _ in records])
            self._advance(len(records), len(batch))
        # written by an earlier attempt, and gone from the source since
        if stored:
            self._target.delete(stored, derived=False, erase=False)

    def _copy_token_vectors(self, ids: list[str]) -> None:
        for model, dims in self._token_models:
            stored = self._target.token_vectors.of(ids, model=model) if self._resumed else {}
            missing = [id for id in ids if id not in stored]
            found = self._source.token_vectors.of(missing, model=model)
            # those that are damaged are made again there
            vectors = {id: data for id, data in found.items() if len(data) % dims == 0}
            if vectors:
                self._target.token_vectors.put(TokenVectorBatch(vectors, model, dims))

    def _copy_edges(self) -> None:
        edges_there = self._target.graph.all_edges() if self._resumed else ()
        stored = {edge.key: _edge_digest(edge) for edge in edges_there}
        for edges in _batches(self._source.graph.all_edges()):
            changed = [edge for edge in edges if stored.get(edge.key) != _edge_digest(edge)]
            # a merge would keep parts of it
            stale = tuple(edge.key for edge in changed if edge.key in stored)
            if changed:
                self._target.write(Batch(edges=tuple(changed), deleted_edges=stale, exact=True))
            for edge in edges:
                stored.pop(edge.key, None)
            self._advance(len(edges), len(changed))
        for gone in _batches(stored):
            self._target.write(Batch(deleted_edges=tuple(gone)))

    def _advance(self, count: int, written: int) -> None:
        self._done += count
        self._written += written
        if self._progress is not None:
            self._progress(self._done, max(self._total, self._done))


def _item(record: Record, vectors: tuple[Vector, ...]) -> BatchRecord:
    parents = record.parents if isinstance(record, Resource) else ()
    premises = premises_in(record)
    return BatchRecord(record, keys_of(record), searchable_text(record), vectors, parents, premises)


def _referred(record: Record) -> tuple[str, ...]:
    if isinstance(record, Moment):
        return record.resource_refs
    return record.parents if isinstance(record, Resource) else ()


def _parents_first(records: Iterable[Record]) -> Iterator[Record]:
    """Each record behind those it refers to, so that the reference finds them; else in order."""
    known: set[str] = set()
    while True:
        later: list[Record] = []
        before = len(known)
        for record in records:
            if known.issuperset(_referred(record)):
                known.add(record.id)
                yield record
            else:
                later.append(record)
        if len(known) == before:  # what they refer to is not there
            yield from later
            return
        records = later


def _with_vectors(store: Store, records: Iterable[Record]) -> Iterator[tuple[Record, list[Vector]]]:
    for batch in _batches(records):
        windows = store.vectors.of([record.id for record in batch])
        yield from ((record, windows.get(record.id, [])) for record in batch)


def _batches(items: Iterable[_T]) -> Iterator[list[_T]]:
    source = iter(items)
    while batch := list(islice(source, _AT_ONCE)):
        yield batch


def _entries(store: Store, kind: str) -> Iterator[Entry]:
    after = ""
    while page := store.kv.list(kind, KeyRange(after=after, limit=_AT_ONCE)):
        yield from page
        after = page[-1].key


# -- what tells one content from another -----------------------------------------------------------


def _sums(store: Store) -> _Sums:
    sums = _Sums()
    for record, windows in _with_vectors(store, store.records.all(expired=True)):
        sums.add(_digest(record, windows))
        sums.records += 1
        sums.vectors += len(windows)
    for edge in store.graph.all_edges():
        sums.add(_edge_digest(edge))
        sums.edges += 1
    for kind in store.admin.stats().entries:
        if kind not in _OWN:
            for entry in _entries(store, kind):
                sums.add(_hash(_encode([entry.namespace, entry.key, entry.value, entry.refs])))
                sums.entries += 1
    return sums


def _digest(record: Record, windows: Iterable[Vector]) -> bytes:
    # one from before there were revisions gets one where it is copied to
    record = replace(record, revision=0)
    if isinstance(record, Resource) and len(record.parents) > 1:
        record = replace(record, parents=tuple(sorted(record.parents)))
    shown = [[window.start, window.end, window.digest, window.data] for window in windows]
    return _hash(_encode([record.schema, canonical(msgspec.to_builtins(record)), shown]))


def _edge_digest(edge: Edge) -> bytes:
    return _hash(_encode(canonical(msgspec.to_builtins(edge))))


def _hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def _copied(sums: _Sums, *, written: int, resumed: bool) -> Copied:
    return Copied(
        records=sums.records,
        edges=sums.edges,
        vectors=sums.vectors,
        entries=sums.entries,
        written=written,
        resumed=resumed,
        checksum=f"{sums.sum:032x}",
    )


def _totals(stats: Stats) -> tuple[Any, ...]:
    return stats.records, stats.edges, stats.vectors.count
