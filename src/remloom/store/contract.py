"""What a store must do, for those who write one and those who use one.

Everything here is below `Memory`: values are already validated (`store.rules.validation`), labels
are already keys, SQL is already compiled. A provider implements `Store` with its components
(`store.components`) and nothing else, and passes all of `remloom.testing.conformance`, which is the
definition where prose is not enough.

Guarantees every provider gives:

* **Sealed.** A store object is one tenant. No argument reaches another tenant's rows.
* **Atomic and durable.** `write` and `delete` happen wholly or not at all; once they return, the
  effect is on disk and every later read of any kind sees it, in this process and every other.
* **Nothing lost between.** What is written because of what was read is written by `update`, or by a
  `write` whose `expected` says what was read: nowhere is something read, changed, and then written
  over what others wrote meanwhile.
* **Expired is gone.** A record whose `expires_at` has come is returned by nothing, but for
  `records.expired`, `records.all` when it is asked to, and reads inside `erase`. It and what hangs
  on it stay stored, and are counted, until somebody erases them; a write that meets it, by its id
  or by one of its keys, deletes it first, as `delete(derived=True, erase=False)` does.
* **Indexed.** No operation may scan, but for those that are asked for everything: `sql.select`,
  `records.all`, `graph.all_edges` and what `admin` counts and checks. Costs are stated for each.
* **Thread-safe.** Any method may be called from any thread.
* **Closed is closed.** After `close` every method of the store and of its components raises
  StoreClosedError, but for `close` itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from ..kv import EntryReads, KeyValue
from .batch import Batch
from .components import (
    Graph,
    GraphReads,
    RecordReads,
    Records,
    SearchIndex,
    SqlQueries,
    StoreAdmin,
    TokenVectors,
    VectorReads,
    Vectors,
)
from .definitions import Schemas
from .results import Capabilities, Deletion, Written

# Namespaces of entries that a store writes itself.
ERASURES = "erasing"  # what is still to be erased: of one store alone, not copied
INDEXES = "index"  # what `sql.create_index` made; the key is `<schema>.<path>`
# Of entries that say something of texts by their numbers (see `Records.texts_after`): those are one
# store's own, so they are not copied.
TEXT_NUMBERS = "texts"


class Reads(Protocol):
    """What can be read inside `Store.update`, as its transaction sees it; of the whole store, as it
    is on disk."""

    def schemas(self) -> Schemas:
        """Return the definitions of the registered schemas, by name, as they are now.

        It is the same value until one of them changes, in any process; the definitions that did
        not are the same values even then. One index probe."""

    @property
    def records(self) -> RecordReads: ...
    @property
    def graph(self) -> GraphReads: ...
    @property
    def vectors(self) -> VectorReads: ...
    @property
    def kv(self) -> EntryReads: ...


class Store(Reads, Protocol):
    """One tenant's memory on disk. See the module for what every method guarantees."""

    @property
    def capabilities(self) -> Capabilities: ...
    @property
    def records(self) -> Records: ...
    @property
    def graph(self) -> Graph: ...
    @property
    def search(self) -> SearchIndex: ...
    @property
    def sql(self) -> SqlQueries: ...
    @property
    def vectors(self) -> Vectors: ...
    @property
    def token_vectors(self) -> TokenVectors: ...
    @property
    def kv(self) -> KeyValue: ...
    @property
    def admin(self) -> StoreAdmin: ...

    def write(self, batch: Batch) -> Written:
        """Upsert records, vectors, text, keys, edges, provenance and key-value entries in one
        transaction.

        A record whose id is stored replaces it; one that equals what is stored (times apart) is
        `unchanged` and writes nothing. A `merge` entity joins the one of that key and type, or a
        thin one of that key, or, without a type of its own, the only one of that key, and takes its
        id. Edges merge as `model.Edge` says. A label at either end of an edge that no record has
        becomes a thin entity, and one that `deleted_edges` leaves without edges goes. When a stored
        record gets a name of another key, the edges at the key of the old one are its, and follow,
        unless another record was called so too. Cost: a transaction, never an index build.

        Raises: ConflictError (an id that a record of another schema has), GoneError (of
            `expected.existing`), ChangedError (of what else is expected), EmbedderMismatchError,
            VectorError (dimension), StoreFullError, ReadOnlyStoreError, StoreBusyError.
        """

    def write_all(self, batches: Callable[[], Iterable[Batch]]) -> Written:
        """Write batches one after another in one transaction: all, or, when one fails or `batches`
        raises, none.

        They are taken as they come, so any number of them needs little memory; others' writes wait
        until the last. `batches` is called again when the store has to begin again. Returns the
        sum, without `ids`.

        Raises: what `write` raises, and what `batches` raises.
        """

    def update(self, work: Callable[[Reads], Batch]) -> Written:
        """Write what `work` makes of what it reads, in the transaction that it reads in.

        Nobody writes between what `work` reads and what is written: of any number of updates at
        once, from any number of threads and processes, each sees what those before it wrote. So
        every read-modify-write is one of these, or a `write` that says what it `expected` to find.
        `work` reads only through the `Reads` that it is given; it may run in another thread, and
        more than once, so it does nothing but read and return; nobody else writes while it runs, so
        it is short: what is slow (a model, a file) is done before. What it raises is raised, and
        nothing is written.

        Raises: what `write` raises; InvalidInputError (`work` writes, or searches by vector).
        """

    def erase(self, work: Callable[[Reads], Batch]) -> Deletion:
        """Do what `update` does, and with what the batch has `deleted` what `delete` with `erase`
        does: what is looked up, what is deleted and what is written without it are of one state.
        `work` sees what has expired as well."""

    def set_expiry(self, ids: Iterable[str], at: datetime | None) -> int:
        """Let records expire at a time, or never (None), and change nothing else of them, not even
        `updated_at`. Returns how many there are: ids that are not stored, or that have expired
        already, are passed over. One transaction; a few index entries a record."""

    def delete(self, ids: Iterable[str], *, derived: bool = True, erase: bool = True) -> Deletion:
        """Remove records with their vectors, text, keys, queue entries, references from moments,
        the key-value entries that have one of them (or of `ids`, stored or not) among their refs,
        and, when `derived`, every record that has one of them among its parents, transitively. A
        key that no other record has goes with all its edges, and a thin entity that is left without
        edges goes too. With `erase`, nothing of them remains in any file: snapshots are dropped and
        freed pages zeroed. What cannot be emptied yet because somebody reads it is `pending`: it is
        emptied once it can be, and `admin.check` says if not."""

    def snapshot(self) -> AbstractContextManager[object]:
        """Let this thread's reads inside the context see one state of the store. Nests; keep it
        short."""

    def close(self) -> None:
        """Finish background work and release everything; later calls raise StoreClosedError."""
