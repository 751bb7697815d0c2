"""The writer of a run: its only way to the store, so that what it writes can be taken back."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from msgspec.structs import replace

from ..errors import BudgetError, ConflictError, GoneError
from ..kv import Entry, is_other_ref
from ..model import Edge, Moment, Record, Resource
from ..store.batch import Batch, BatchRecord, Vector
from ..store.contract import Store
from ..store.encoding import embedded_text
from ..store.forgetting.watch import ForgettingWatch
from ..store.premises import STALE_SHOWN
from ..store.results import Written
from ..store.rules.validation import build
from .before_images import BeforeImages
from .run import Diff, Run, Status, retry, run_entry
from .supersede import plan_supersede
from .write_plan import EntryKey, WritePart, WritePlan, find_changed, find_existing, plan_write

Embed = Callable[[Sequence[str]], list[tuple[Vector, ...]]]


class Writer:
    """Writes for one run; its methods may be called from several threads.

    What it looked up before a write must still be so inside the transaction. So what others change
    at the same moment is neither lost nor taken for something that the run did. Every write states
    what it rests on; nothing is written that rests on, or names, what was forgotten since the run
    began.

    Args:
        store, tenant: where.
        run: who.
        model: name of the embedder; empty: there is none.
        embed: makes the windows of texts, so that what is written can be found at once. None: they
            are queued.
        stamp: False leaves it as it is which run a record is of: the run only changes some, whose
            parents are then those that they are given, or none.
        dry_run: write nothing, and collect in `diff` what would be written.

    Attributes:
        id: of the run.
        is_dry: whether it writes nothing.
        diff: what a dry run would have written so far.
    """

    def __init__(
        self,
        store: Store,
        tenant: str,
        run: Run,
        *,
        model: str = "",
        embed: Embed | None = None,
        dry_run: bool = False,
        stamp: bool = True,
    ) -> None:
        self._store = store
        self._tenant = tenant
        self._model = model
        self._embed = embed
        self._writing = threading.RLock()  # one write at a time
        self._counting = threading.Lock()  # guards the two counters
        self._run = run
        self._counts = Counter(run.counts)
        self._receipt = Counter(run.receipt)
        self.id = run.id
        self.is_dry = dry_run
        self._stamps = stamp
        self.diff = Diff()
        self._images = BeforeImages(store, run.id)
        self._watch = ForgettingWatch(store.kv, run.id)

    @property
    def run(self) -> Run:
        """The run as it is now."""
        with self._counting:
            counts, receipt = dict(self._counts), dict(self._receipt)
        return replace(self._run, counts=counts, receipt=receipt, seen_at=datetime.now(UTC))

    def watch(self) -> ForgettingWatch:
        """A watch over what is forgotten since the run began, for others that write for it."""
        return ForgettingWatch(self._store.kv, self.id)

    def count(self, **numbers: int) -> None:
        """Add to the run's counts; stored with the next write."""
        with self._counting:
            self._counts.update(numbers)

    def count_calls(self, replies: Iterable[object]) -> None:
        """Count the calls of a model that gave these replies, but those beyond the budget."""
        self.count(calls=sum(not isinstance(reply, BudgetError) for reply in replies))

    def write(
        self,
        rests_on: Iterable[str],
        records: Iterable[Record] = (),
        edges: Iterable[Edge] = (),
        *,
        superseded: Mapping[str, str] = {},
        outdated: Mapping[str, str] = {},
        entries: Iterable[Entry] = (),
        deleted: Iterable[EntryKey] = (),
        expected_entries: Mapping[EntryKey, int] = {},
        expected_records: Mapping[str, int | None] = {},
        counts: Mapping[str, int] = {},
    ) -> list[str]:
        """Write a `WritePart`, but for what is stored just so already, as one batch that can be
        taken back; returns the ids of the records, in order.

        Args:
            expected_entries: the versions that entries must still have; 0: not stored.
            expected_records: the revisions of records that it rests on, by id.

        Raises:
            GoneError: something that it rests on or names was forgotten; the field `names` has
                the ids and the refs of labels.
            ChangedError: an entry has another version than expected, or a record was updated.
            InvalidInputError: as `Memory.write`; also a source that would be superseded.
        """
        part = WritePart(
            tuple(rests_on),
            tuple(records),
            tuple(edges),
            tuple(entries),
            tuple(deleted),
            superseded,
            outdated,
            counts,
        )
        return self._write_part(part, expected_entries, expected_records)

    def write_each(
        self,
        parts: Iterable[WritePart],
        *,
        entries: Iterable[Entry] = (),
        expected_records: Mapping[str, int | None] = {},
    ) -> list[WritePart]:
        """Write parts, and entries, as one batch, without those parts that rest on what was
        forgotten meanwhile, which are counted as `forgotten`; returns what was written.

        Args:
            expected_records: as `write`.

        Raises:
            ChangedError: a record has another revision than expected.
        """
        left, common = list(parts), tuple(entries)
        while True:
            whole = WritePart(
                {name for part in left for name in part.rests_on},
                tuple(record for part in left for record in part.records),
                tuple(edge for part in left for edge in part.edges),
                (*common, *(entry for part in left for entry in part.entries)),
                tuple(key for part in left for key in part.deleted),
                {old: new for part in left for old, new in part.superseded.items()},
                {old: new for part in left for old, new in part.outdated.items()},
                _sum(*(part.counts for part in left)),
            )
            try:
                self._write_part(whole, expected_records=expected_records)
            except GoneError as error:
                gone = set(error.fields["names"])
                valid = [part for part in left if gone.isdisjoint(part.names)]
                if len(valid) == len(left):
                    raise
                self.count(forgotten=len(left) - len(valid))
                left = valid
            else:
                return left

    def save(self) -> None:
        """Store the run's counts, as a sign of life."""
        if not self.is_dry:
            with self._writing:
                self._watch.put(self._store.kv, [run_entry(self.run)])

    def finish(self, status: Status = "done", reason: str = "") -> Run:
        """End the run, unless another process goes on with it; returns it as it ended here."""
        run = replace(self.run, status=status, reason=reason, finished_at=datetime.now(UTC))
        if not self.is_dry:
            with self._writing:
                self._watch.put(self._store.kv, [run_entry(run)], ends=True)
        self._run = run
        return run

    def _write_part(
        self,
        part: WritePart,
        expected_entries: Mapping[EntryKey, int] = {},
        expected_records: Mapping[str, int | None] = {},
    ) -> list[str]:
        part = replace(part, records=tuple(map(self._stamp, part.records)))
        names = part.names
        with self._writing:
            return retry(
                lambda: self._try_to_write(part, names, expected_entries, expected_records)
            )

    def _try_to_write(
        self,
        part: WritePart,
        names: Collection[str],
        expected_entries: Mapping[EntryKey, int],
        expected_records: Mapping[str, int | None],
    ) -> list[str]:
        items = (*part.records, *part.edges)
        batch = build(items, tenant=self._tenant, model=self._model)
        if not self._stamps:
            anew = (replace(item, parents=item.parents or ()) for item in batch.records)
            batch = replace(batch, records=tuple(anew))
        existing = find_existing(self._store, batch)
        changed = find_changed(self._store, batch, existing)
        # embedding takes long: what others may change is looked up after it
        embedded = batch if self.is_dry else self._embed_changed(batch, changed)
        self._refuse_forgotten(names)
        plan = plan_write(self._store, batch, existing, changed, part.entries, part.deleted)
        failed = plan.failed_items(self.id)
        counts = _sum(part.counts, {"parked": failed} if failed else {})
        if self.is_dry:
            self.count(**counts)
            self._collect(plan, {**part.superseded, **part.outdated})
            return plan.ids
        hiding = plan_supersede(self._store, part, embedded, self._images, self.id)
        images = plan.images(self._images, self.id)
        whole = plan.to_batch(
            embedded,
            images,
            self.id,
            [name for name in part.rests_on if not is_other_ref(name)],
            {**expected_entries, **self._watch.expected},
            expected_records,
        )
        try:
            written = self._commit(
                hiding.added_to(whole), _sum(plan.receipt, hiding.receipt), counts
            )
        except GoneError as error:
            raise _gone(error.fields["ids"]) from error
        # an entity whose name is stored already joins its namesake, under that one's id
        stored_ids = {
            item.record.id: id for item, id in zip(plan.changed, written.ids, strict=False)
        }
        return [stored_ids.get(id, id) for id in plan.ids]

    def _refuse_forgotten(self, names: Collection[str]) -> None:
        """Refuse what rests on, or names, what was forgotten since the run began."""
        forgotten = self._watch.forgotten(names)
        if forgotten is None:
            raise ConflictError(
                f"run {self.id} is no longer this process's: another goes on with it",
                remedy="look at its runs; what is missing is done there",
                id=self.id,
            )
        if forgotten:
            raise _gone(forgotten)

    def _commit(
        self,
        batch: Batch,
        receipt: Mapping[str, int],
        counts: Mapping[str, int],
    ) -> Written:
        """Write a batch, and with it the run with this receipt and these counts added."""
        run = self.run
        # in one transaction: what is written is in the receipt, whenever the process is killed
        entry = run_entry(run, receipt=_sum(run.receipt, receipt), counts=_sum(run.counts, counts))
        written = self._store.write(replace(batch, entries=(*batch.entries, entry)))
        # only now: an attempt that failed adds nothing
        self._add_to_receipt(receipt)
        if written.stale:
            self._add_to_receipt({"stale": written.stale})
            stale_ids = (*self._run.stale_ids, *written.stale_ids)[:STALE_SHOWN]
            self._run = replace(self._run, stale_ids=stale_ids)
        self.count(**counts)
        return written

    def _add_to_receipt(self, receipt: Mapping[str, int]) -> None:
        with self._counting:
            self._receipt.update(receipt)

    def _collect(self, plan: WritePlan, superseded: Mapping[str, str]) -> None:
        records = [_with_parents(item) for item in plan.changed]
        edges = [(change.before, change.edge) for change in plan.edges]
        self.diff = Diff(
            records=(*self.diff.records, *records),
            edges=(*self.diff.edges, *edges),
            superseded=(*self.diff.superseded, *superseded.items()),
        )
        self._add_to_receipt(plan.receipt)

    def _stamp(self, record: Record) -> Record:
        if self._stamps and isinstance(record, Resource | Moment):
            return replace(record, metadata={**record.metadata, "run": self.id})
        return record

    def _embed_changed(self, batch: Batch, changed: Sequence[BatchRecord]) -> Batch:
        """The batch of the changed records, with the vectors of their texts."""
        records = list(changed)
        dims = batch.dims
        waiting = [n for n, item in enumerate(records) if item.embed]
        if self._embed is not None and waiting:
            windows = self._embed([embedded_text(records[n].record) for n in waiting])
            # what was changed while it was embedded is found out when it is written
            for n, vectors in zip(waiting, windows, strict=True):
                records[n] = replace(records[n], vectors=vectors, embed=False)
                dims = dims or len(vectors[0].data) // 4
        return replace(batch, records=tuple(records), dims=dims)


def _gone(names: Iterable[str]) -> GoneError:
    all_names = tuple(names)
    return GoneError(
        "what this was to rest on was forgotten meanwhile",
        remedy="start it again: it goes on without",
        ids=tuple(name for name in all_names if not is_other_ref(name)),
        names=all_names,
    )


def _sum(*counts: Mapping[str, int]) -> dict[str, int]:
    numbers: Counter[str] = Counter()
    for some in counts:
        numbers.update(some)
    return dict(numbers)


def _with_parents(item: BatchRecord) -> Record:
    if isinstance(item.record, Resource):
        return replace(item.record, parents=item.parents or ())
    return item.record
