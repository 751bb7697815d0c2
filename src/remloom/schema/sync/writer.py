"""The writer of a sync: each page is one transaction, with a sign of life of the sync in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...errors import ChangedError, ConflictError, RemloomError, RowError
from ...kv import Entry
from ...model import Edge, EdgeKey, Field, Row
from ...store.batch import Batch, Preconditions
from ...store.contract import Store
from ...store.definitions import CHANGES, DEFINITIONS
from ...store.forgetting.forgotten_rows import ForgottenRows
from ...store.rules.row_validation import value_fault
from ...store.rules.validation import build
from .lease import Lease
from .report import TableReport
from .rows import LEFT_OUT

_ATTEMPTS = 20  # at a page, while rows are forgotten or schemas changed


class PageChangedError(RemloomError):
    """Rows were forgotten, or schemas changed, while a page was made: it is made again."""


class PageItem(Struct, frozen=True):
    """A row or edge that is written, and what goes with it."""

    item: Row | Edge
    unlinked: tuple[EdgeKey, ...] = ()  # edges that are deleted with it
    edges: tuple[Edge, ...] = ()  # further ones that are written with it

    @property
    def handle(self) -> str:
        """The handle of the row, or of that which the edge leaves."""
        return self.item.handle if isinstance(self.item, Row) else self.item.src


class SyncWriter:
    """Writes the pages of one sync.

    Args:
        lease: None in a dry run: nothing is written.
        model: name of the embedder; empty: there is none.
    """

    def __init__(self, store: Store, tenant: str, model: str, lease: Lease | None) -> None:
        self._store = store
        self._tenant = tenant
        self._model = model
        self._lease = lease
        self.forgotten = ForgottenRows(store.kv)
        self.counts: dict[str, int] = {"read": 0, "written": 0}

    @property
    def is_dry(self) -> bool:
        """Whether nothing is written."""
        return self._lease is None

    def repeat(self, work: Callable[[], None]) -> None:
        """Make and write a page, again if rows were forgotten or schemas changed meanwhile.

        Raises:
            ConflictError: they were each time.
        """
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
        """Write a page; what is refused alone is left out and counted. Returns what was written.

        Raises:
            PageChangedError: rows were forgotten, or schemas changed, meanwhile.
            LeaseLostError: another sync has taken over.
        """
        refused: list[tuple[str, str]] = []
        # before the schemas are read: rows are written as they are now, or not at all
        changes = self._store.kv.get(DEFINITIONS, CHANGES)
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
        """Delete records and edges, and write others in the same transaction."""
        batch = build(
            edges, tenant=self._tenant, model=self._model, deleted=ids, deleted_edges=unlinked
        )
        self._commit(batch)

    def put(self, entry: Entry) -> None:
        """Write an entry, unless nothing is written."""
        if self._lease is not None:
            self._store.kv.put([entry])

    def keep(self) -> None:
        """Give a sign of life while nothing is written."""
        if self._lease is not None:
            self._lease.keep(self.counts)

    def _build(
        self,
        items: Sequence[PageItem],
        refused: list[tuple[str, str]],
    ) -> tuple[Batch, list[PageItem]]:
        """Build the batch of the items that can be written; the others are refused, with why."""
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
                # what is wrong only beside the others
                position = error.fields.get("position")
                if position is None:
                    raise
                item = left.pop(_owner_of(left, position))
                refused.append((item.handle, error.message))

    def _valid(self, item: PageItem, refused: list[tuple[str, str]]) -> PageItem | None:
        """An item as it can be written: without the values that are not as their fields say; None
        where it cannot be."""
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
        """An item without the values that an error names, which its row notes; of a list only the
        items that are odd go. None: it names none."""
        row = item.item
        if not isinstance(error, RowError) or not isinstance(row, Row):
            return None
        faults = {
            fault["path"].removeprefix("fields."): fault["why"] for fault in error.fields["faults"]
        }
        known = self._store.schemas()[row.schema].base_fields
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
        schemas = self._store.schemas()
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
            self._store.write(replace(batch, entries=(entry,), expected=expected))
        except ChangedError:
            lease.check()
            self.forgotten.reload()
            raise PageChangedError("rows were forgotten, or schemas changed, meanwhile") from None
        lease.renewed()


def _fitting(value: Any, field: Field, why: str) -> tuple[list[Any] | None, str]:
    """The items of a list that its field takes, and why others are left out; None: not one."""
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
    """Give the position of the item that has the part at this position."""
    for number, item in enumerate(items):
        position -= 1 + len(item.edges)
        if position < 0:
            return number
    return len(items) - 1
