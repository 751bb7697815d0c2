"""The writer of a sync, and its lease: of any number of syncs of a source, one writes.

The lease is an entry that each page writes again, in its transaction. A sync that takes it over
from a dead or silent process gives it another version, so that the other can no longer write.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...errors import ChangedError, ConflictError, LeaseLostError, RemloomError, RowError
from ...kv import Entry
from ...model import Edge, EdgeKey, Field, Row
from ...runs.run import Run, is_alive, new_owner
from ...store.batch import Batch, Preconditions
from ...store.contract import Store
from ...store.definitions import CHANGES, DEFINITIONS
from ...store.forgetting.watch import ForgottenRows
from ...store.premises import STALE_SHOWN
from ...store.rules.record_ids import new_id
from ...store.rules.row_rules import value_fault
from ...store.rules.validation import build
from .report import TableReport
from .rows import LEFT_OUT
from .uniting import Uniter

SYNCS = "syncs"  # namespace of the entries; the key is the name of the source
_SILENCE = 20.0  # seconds without a write after which a sign of life is written
_ATTEMPTS = 20  # at a page, while rows are forgotten or schemas changed


class Lease:
    """The right to sync one source, until `end`."""

    def __init__(self, store: Store, run: Run, version: int, *, resumed: bool) -> None:
        self._store = store
        self._run = run
        self._version = version
        self._written_at = time.monotonic()
        self.resumed = resumed  # the sync before was broken off

    @property
    def expected(self) -> dict[tuple[str, str], int]:
        """The version that the entry must still have, for a batch that goes with `entry`."""
        return {(SYNCS, self._key): self._version}

    def entry(self, counts: Mapping[str, int]) -> Entry:
        """Make the entry to be written with a page; see `renewed`."""
        now = datetime.now(UTC)
        return self._entry(replace(self._run, counts=dict(counts), seen_at=now))

    def renewed(self) -> None:
        """Note that the entry was written."""
        self._version += 1
        self._written_at = time.monotonic()

    def keep(self, counts: Mapping[str, int]) -> None:
        """Write a sign of life, if none was written for a while.

        Raises:
            LeaseLostError: another sync has taken over.
        """
        if time.monotonic() - self._written_at > _SILENCE:
            self._put(self.entry(counts))

    def check(self) -> None:
        """Raise LeaseLostError if another sync has taken over."""
        stored = self._store.kv.get(SYNCS, self._key)
        if stored is None or stored.version != self._version:
            raise self._lost()

    def end(self, counts: Mapping[str, int], reason: str = "") -> None:
        """Release it: the sync is done, or was broken off for a reason."""
        status = "stopped" if reason else "done"
        now = datetime.now(UTC)
        run = replace(self._run, status=status, reason=reason, counts=dict(counts), finished_at=now)
        self._put(self._entry(run))

    @property
    def _key(self) -> str:
        return str(self._run.settings["source"])

    def _entry(self, run: Run) -> Entry:
        return Entry(SYNCS, self._key, msgspec.json.encode(run))

    def _put(self, entry: Entry) -> None:
        try:
            self._store.kv.put([entry], expected_version=self._version)
        except ConflictError:
            raise self._lost() from None
        self.renewed()

    def _lost(self) -> LeaseLostError:
        return LeaseLostError(
            f"another sync of {self._key!r} has begun meanwhile",
            remedy="let one sync of a source be done at a time",
            id=self._run.id,
        )


def begin(store: Store, source: str) -> Lease:
    """Begin to sync a source, or raise ConflictError if it is being synced, in any process."""
    stored = store.kv.get(SYNCS, source)
    last = None if stored is None else msgspec.json.decode(stored.value, type=Run)
    if last is not None and last.status == "running" and is_alive(last):
        raise _busy(source, last)
    now = datetime.now(UTC)
    run = Run(
        id=new_id(), kind="sync", started_at=now, settings={"source": source}, **new_owner(now)
    )
    version = stored.version if stored else 0
    entry = Entry(SYNCS, source, msgspec.json.encode(run))
    try:
        store.kv.put([entry], expected_version=version)
    except ConflictError:
        raise _busy(source, run) from None
    broken_off = last is not None and last.status != "done"
    return Lease(store, run, version + 1, resumed=broken_off)


def _busy(source: str, run: Run) -> ConflictError:
    return ConflictError(
        f"{source!r} is being synced ({run.owner}, since {run.started_at:%Y-%m-%d %H:%M} UTC)",
        remedy="wait until that is done",
        id=run.id,
    )


# -- pages -----------------------------------------------------------------------------------------


class PageChangedError(RemloomError):
    """Rows were forgotten, or schemas changed, while a page was made: it is made again."""


class PageItem(Struct, frozen=True):
    """A row or edge that is written, and what goes with it."""

    item: Row | Edge
    unlinked: tuple[EdgeKey, ...] = ()  # edges that are deleted with it
    edges: tuple[Edge, ...] = ()  # further ones that are written with it

    @property
    def handle(self) -> str:
        return self.item.handle if isinstance(self.item, Row) else self.item.src


class Target(Struct, frozen=True):
    """The memory that is written to."""

    store: Store
    tenant: str
    model: str = ""  # name of the embedder; empty: there is none


class SyncWriter:
    """Writes the pages of one sync; in a dry run, without a lease, it writes nothing.

    Args:
        on_page: called after each page, with the number of rows read until then.
    """

    def __init__(self, target: Target, lease: Lease | None, on_page: Callable[[int], None]) -> None:
        self.store = target.store
        self._tenant = target.tenant
        self._model = target.model
        self._lease = lease
        self._on_page = on_page
        self.forgotten = ForgottenRows(target.store.kv)
        self.counts: dict[str, int] = {"read": 0, "written": 0}
        self.stale = 0  # records that its pages made stale, and the ids of the first
        self.stale_ids: tuple[str, ...] = ()
        self.uniter: Uniter | None = None  # None: nothing is united

    def look_again(self, rows: Iterable[Row]) -> None:
        """See what rows are one with that came, changed or went, once that is written."""
        if self.uniter is not None and self._lease is not None:
            self.uniter.look_at(rows)

    def page(self, rows: int, work: Callable[[], None]) -> None:
        """Make and write a page of so many rows that were read; see `repeat`."""
        self.counts["read"] += rows
        self.repeat(work)
        if self._lease is not None:
            self._lease.keep(self.counts)
        self._on_page(self.counts["read"])

    def repeat(self, work: Callable[[], None]) -> None:
        """Make and write a page, again if rows were forgotten or schemas changed meanwhile."""
        for _ in range(_ATTEMPTS):
            try:
                return work()
            except PageChangedError:
                continue
        raise ConflictError(
            "rows were forgotten, or schemas changed, again and again while a page was written",
            remedy="sync again",
        )

    def write(self, items: Sequence[PageItem], report: TableReport) -> list[PageItem]:
        """Write a page; items that are refused are left out and counted. Returns what was written.

        Raises:
            PageChangedError: rows were forgotten, or schemas changed, meanwhile.
        """
        refused: list[tuple[str, str]] = []
        # before the schemas are read: rows are written as they are now, or not at all
        changes = self.store.kv.get(DEFINITIONS, CHANGES)
        schemas = {(DEFINITIONS, CHANGES): changes.version if changes else 0}
        batch, taken = self._build(items, refused)
        if taken:
            unlinked = tuple(key for item in taken for key in item.unlinked)
            self._commit(replace(batch, deleted_edges=unlinked), schemas)
        # once the page is written: it may be made more than once
        for handle, reason in refused:
            report.refuse(handle, reason)
        for item in taken:
            if isinstance(item.item, Row):
                report.leave_out(item.item)
        return taken

    def delete(
        self, ids: Sequence[str], edges: Sequence[Edge], unlinked: Sequence[EdgeKey]
    ) -> None:
        """Delete records and edges, and write other edges in the same transaction."""
        batch = build(
            edges, tenant=self._tenant, model=self._model, withdrawn=ids, deleted_edges=unlinked
        )
        self._commit(batch)

    def put(self, entry: Entry) -> None:
        """Write an entry, unless nothing is written."""
        if self._lease is not None:
            self.store.kv.put([entry])

    def _build(
        self, items: Sequence[PageItem], refused: list[tuple[str, str]]
    ) -> tuple[Batch, list[PageItem]]:
        """Build the batch of the items that can be written; the others go to `refused`."""
        left = list(items)
        is_checked = False
        while True:
            try:
                return self._batch(left), left
            except RemloomError as error:
                if not is_checked:
                    # one by one at once: each attempt at a whole page takes as long as the page
                    tried = (self._valid(item, refused) for item in left)
                    left = [item for item in tried if item is not None]
                    is_checked = True
                    continue
                # a conflict with the other items
                position = error.fields.get("position")
                if position is None:
                    raise
                item = left.pop(_owner_of(left, position))
                refused.append((item.handle, error.message))

    def _valid(self, item: PageItem, refused: list[tuple[str, str]]) -> PageItem | None:
        """The item without the values that do not fit their fields; None: it cannot be written."""
        while True:
            try:
                self._batch([item])
            except RemloomError as error:
                smaller = self._without_odd_values(item, error)
                if smaller is None:
                    refused.append((item.handle, error.message))
                    return None
                item = smaller
            else:
                return item

    def _without_odd_values(self, item: PageItem, error: RemloomError) -> PageItem | None:
        """An item without the values, or items of lists, that an error names, which its row notes;
        None if it names none."""
        row = item.item
        if not isinstance(error, RowError) or not isinstance(row, Row):
            return None
        faults = {
            fault["path"].removeprefix("fields."): fault["why"] for fault in error.fields["faults"]
        }
        known = self.store.schemas()[row.schema].base_fields
        fields, odd = {}, []
        for name, value in row.fields.items():
            if name not in faults:
                fields[name] = value
                continue
            kept, why = _fitting(value, known[name], faults[name]) if name in known else (None, "")
            if kept is not None:
                fields[name] = kept
            odd.append(f"{name} {why or faults[name]}")
        if not odd:
            return None
        metadata = {**row.metadata, LEFT_OUT: [*row.metadata.get(LEFT_OUT, ()), *odd]}
        return replace(item, item=replace(row, fields=fields, metadata=metadata))

    def _batch(self, items: Sequence[PageItem]) -> Batch:
        written = [part for item in items for part in (item.item, *item.edges)]
        schemas = self.store.schemas()
        return build(written, tenant=self._tenant, model=self._model, schemas=lambda: schemas)

    def _commit(self, batch: Batch, schemas: Mapping[tuple[str, str], int] | None = None) -> None:
        lease = self._lease
        if lease is None:
            return
        self.counts["written"] += len(batch.records)
        entries = {**lease.expected, **self.forgotten.expected, **(schemas or {})}
        expected = Preconditions(entries=entries)
        entry = lease.entry(self.counts)
        try:
            written = self.store.write(replace(batch, entries=(entry,), expected=expected))
        except ChangedError:
            lease.check()
            self.forgotten.reload()
            raise PageChangedError("rows were forgotten, or schemas changed, meanwhile") from None
        lease.renewed()
        self.stale += written.stale
        self.stale_ids = (*self.stale_ids, *written.stale_ids)[:STALE_SHOWN]


def _fitting(value: Any, field: Field, why: str) -> tuple[list[Any] | None, str]:
    """The items of a list that fit its field, and why others do not; None if it is not a list."""
    if not (field.list and isinstance(value, list)):
        return None, why
    single = replace(field, list=False)
    faults = ["is NULL" if one is None else value_fault(one, single) for one in value]
    kept = [one for one, fault in zip(value, faults, strict=True) if not fault]
    odd = len(value) - len(kept)
    if not odd:
        return None, why
    return kept, f"{next(filter(None, faults))} ({odd} of {len(value)} items)"


def _owner_of(items: Sequence[PageItem], position: int) -> int:
    """The position of the item that has the part at this position."""
    for number, item in enumerate(items):
        position -= 1 + len(item.edges)
        if position < 0:
            return number
    return len(items) - 1
