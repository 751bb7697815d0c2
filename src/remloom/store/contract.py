"""What a store must do, for whoever writes one and whoever uses one.

Everything here is below `Memory`: values are already validated (`store.batch`), labels are already
keys, SQL is already compiled. A provider implements `Store` and nothing else, and passes all of
`remloom.testing.conformance`, which is the definition where prose is not enough.

Guarantees every provider gives:

* **Sealed.** A store object is one tenant. No argument reaches another tenant's rows.
* **Atomic and durable.** `write` and `delete` happen wholly or not at all; once they return, the
  effect is on disk and every later read of any kind sees it, in this process and every other.
* **Nothing lost between.** What is written because of what was read is written by `update`, or by a
  `write` whose `expected` says what was read: nowhere is something read, changed, and then written
  over what others wrote meanwhile.
* **Indexed.** No operation but `select` may scan. Costs are stated for each.
* **Thread-safe.** Any method may be called from any thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol

from msgspec import Struct

from ..kv import Journal, JournalEntry
from ..model import Direction, Edge, Entity, Moment, Order, Record, Resource
from ..predicates import Predicate, Query
from ..sql.answers import Rows
from ..sql.values import Select

__all__ = [
    "ERASING",
    "INDEX",
    "SCHEMAS",
    "TOP",
    "Batch",
    "BatchRecord",
    "Capabilities",
    "Deletion",
    "EdgeCount",
    "EdgeOrder",
    "JournalEntry",
    "Match",
    "Pending",
    "Preconditions",
    "Reads",
    "Step",
    "Store",
    "Vector",
    "Walk",
    "Written",
]

TOP = "\U0010ffff"  # sorts behind every character that an id continues with
# journal kind of what a store still has to erase: its own matter, which is not copied
ERASING = "erasing"
INDEX = "index"  # journal kind of what `create_index` made; the id is `<schema>.<path>`
SCHEMAS: dict[str, type[Resource | Entity | Moment]] = {
    "resources": Resource,
    "entities": Entity,
    "moments": Moment,
}


class Vector(Struct, frozen=True, gc=False):
    """One embedded window of a record: which characters of its text, and the unit vector of them."""

    # character offsets into what is embedded of the record (see `store.batch.embedded_text`)
    start: int
    end: int
    data: bytes  # float32, unit length
    # first 16 bytes of the sha256 of the embedded text; lets it be found again by `cached`
    digest: bytes = b""


class BatchRecord(Struct, frozen=True, gc=False):
    """A validated record on its way in."""

    # id, name, hash and times filled in; `graph_paths`, `parents` and `embedding` emptied
    record: Record
    keys: tuple[str, ...]  # the key of its name first, then those of its aliases; none twice
    # what text search indexes (see `store.batch.searchable_text`); empty: nothing, nor is anything
    # embedded
    text: str
    vectors: tuple[Vector, ...] = ()
    parents: tuple[str, ...] = ()
    embed: bool = False  # its text is to be embedded later: queue it
    fresh: bool = False  # its id was made just now: no record can have it
    # an entity found by name: what is stored of it is kept (`store.batch.merge`)
    merge: bool = False


class Preconditions(Struct, frozen=True):
    """What must be so for a batch to be written. It is looked at inside the transaction: nobody can
    come in between."""

    there: tuple[str, ...] = ()  # ids of records that must be there
    # id -> `updated_at` that the stored record must have; None: not there
    records: dict[str, datetime | None] = {}
    # (src, rel_type, dst) -> the edge as it must be; None: not
    edges: dict[tuple[str, str, str], Edge | None] = {}
    # (kind, id) -> version that the journal entry must have; 0: none
    notes: dict[tuple[str, str], int] = {}


class Batch(Struct, frozen=True):
    """What one `write` makes true, wholly or not at all."""

    records: tuple[BatchRecord, ...] = ()
    # src and dst are keys; created_at is set, of each later than of the one before
    edges: tuple[Edge, ...] = ()
    # key at an edge's end -> name and type of the thin entity, if it needs one
    names: dict[str, tuple[str, str]] = {}
    removed: tuple[str, ...] = ()  # ids to delete first, as `delete(derived=True)` does
    dims: int = 0  # of the vectors in it; 0 when there are none
    model: str = ""  # the embedder that made them
    # edges to delete first: (src, rel_type, dst), the ends as keys
    unlinked: tuple[tuple[str, str, str], ...] = ()
    # of each record handed in, its place in `records`; empty: they are the same
    places: tuple[int, ...] = ()
    struck: tuple[tuple[str, str], ...] = ()  # (kind, id) of journal entries to remove
    journal: tuple[JournalEntry, ...] = ()  # to write, after `removed` and `struck`
    expected: Preconditions | None = None  # else nothing is written
    # a copy: no edge follows a record whose name is another, and what it was is not noted
    exact: bool = False


class Written(Struct, frozen=True):
    """What a `write` did. `ids` are in the order of the batch's records, as stored."""

    ids: tuple[str, ...]
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    edges: int = 0
    thin: int = 0  # thin entities made for labels that no record had

    def plus(self, other: Written) -> Written:
        """The sum of two, without `ids`."""
        return Written(
            (),
            created=self.created + other.created,
            updated=self.updated + other.updated,
            unchanged=self.unchanged + other.unchanged,
            edges=self.edges + other.edges,
            thin=self.thin + other.thin,
        )


class Deletion(Struct, frozen=True):
    """What a `delete` removed."""

    ids: tuple[str, ...] = ()
    vectors: int = 0
    keys: int = 0
    edges: int = 0
    derived: int = 0
    # what a sweep of every table and index still found; empty is right
    remaining: tuple[str, ...] = ()
    # what still lies in a file that could not be emptied yet, and when it will be
    pending: tuple[str, ...] = ()
    # where a copy may lie that no part of the store can read, and when that goes
    traces: tuple[str, ...] = ()


class Match(Struct, frozen=True, gc=False):
    """A record found by likeness."""

    record: Record
    score: float
    matched: str = ""  # the key that matched (names), or "start:end" of the best window (vectors)


class EdgeOrder(Struct, frozen=True):
    """In which order a node's edges are given and followed: by a column of the edge, or the key at
    its far end.

    Unset values are lowest. Whichever way the order goes, equal edges come newest first; those of
    one time by their far key, by `rel_type`, those that leave before those that enter, and by their
    near key, each ascending, byte by byte. So every store has one order, for both directions and
    all keys of a node together.
    """

    field: str = "created_at"  # created_at | weight | rel_type | valid_from | valid_to | dst
    order: Order = "desc"


class Step(Struct, frozen=True, gc=False):
    """A key reached by a walk, by the first edge that reached it."""

    key: str  # the first key of the record(s) reached
    depth: int
    path: tuple[str, ...]  # keys from the start to this one


class EdgeCount(Struct, frozen=True):
    """How many edges of one type leave ("out") or enter ("in") a set of keys."""

    rel_type: str
    direction: Direction
    count: int


class Walk(Struct, frozen=True):
    """What a breadth-first walk over edges found.

    `steps` are in the order of the edges that reached them (ties: as reached, level by level and
    node by node), the first `limit`; no key twice, no start key.
    """

    steps: tuple[Step, ...] = ()
    reached: int = 0  # keys reached, those beyond the limit too
    unfollowed: int = 0  # edges passed over because a node had more than `breadth`
    depth: int = 0  # deepest level reached


class Pending(Struct, frozen=True):
    """A text waiting to be embedded."""

    id: str
    text: str
    attempts: int = 0
    error: str = ""  # of the last attempt
    version: int = 0  # of the text: another one has another


class Capabilities(Struct, frozen=True):
    """What a provider can promise beyond the contract."""

    name: str
    encrypted: bool = False
    # false: it is where nothing may be written, and every write raises ReadOnlyStoreError
    writable: bool = True
    # `delete` with `erase` leaves no byte in the files; else it is gone from every table and index
    erases: bool = True


class Reads(Protocol):
    """What can be read inside `Store.update`, as its transaction sees it; of the whole store, as it
    is on disk."""

    def get(self, schema: str | None, id: str) -> Record | None:
        """The record with this id, or None; None too when it is of another schema. One index probe;
        the record comes without `graph_paths`."""
        ...

    def lookup(
        self, keys: Sequence[str], *, edges: int = 100, as_of: datetime | None = None
    ) -> dict[str, list[Record]]:
        """Records of every schema by key (names and aliases), in the order of `keys`, each with its
        newest `edges` outgoing edges in force at `as_of` (now when None) as `graph_paths`. O(1)
        probes a key."""
        ...

    def children(self, id: str) -> list[str]:
        """Ids of the records derived directly from this one."""
        ...

    def parents(self, id: str) -> list[str]:
        """Ids of the records this one was derived from."""
        ...

    def chunks(
        self,
        uri: str,
        *,
        after: int = -1,
        before: int | None = None,
        limit: int | None = None,
        last: bool = False,
    ) -> list[Resource]:
        """The resources with this uri in the order of their ordinals, of those above `after` and
        below `before`; of more than `limit` the first, or the `last`. One range of an index: it
        costs what it returns."""
        ...

    def messages(self, uri: str, ids: Sequence[str]) -> list[Resource]:
        """The turns of the chat with this uri whose message had one of these ids. An index probe
        for each."""
        ...

    def referring(self, ids: Sequence[str]) -> list[Moment]:
        """The moments that refer to one of these records, each once, in the order written. An index
        range for each."""
        ...

    def edges(
        self,
        keys: Sequence[str],
        *,
        direction: Direction,
        rel_types: Sequence[str] | None,
        limit: int | None,
        order: EdgeOrder | None = None,
        as_of: datetime | None = None,
    ) -> list[Edge]:
        """Edges at these keys, in force at `as_of` (now when None), whole, each once: key by key,
        and behind these keys the others of their records in key order. `limit` is for each key."""
        ...

    def stored_edges(self, keys: Sequence[str], *, direction: Direction) -> list[Edge]:
        """Every edge at these very keys (no others of their records), whatever its validity. Index
        ranges."""
        ...

    def degrees(
        self, keys: Sequence[str], *, direction: Direction, as_of: datetime | None = None
    ) -> int:
        """How many edges there are at these keys, each counted once. Cheaper than `count_edges`."""
        ...

    def query(self, schema: str, query: Query) -> list[Record]:
        """Records of one schema by predicate. Uses what `create_index` made; `VectorSimilar` uses
        the vector index. Raises UnknownNameError for a field the schema does not have."""
        ...

    def moments_between(self, start: datetime, end: datetime) -> list[Moment]:
        """Moments that overlap [start, end), in order of their start. Time index."""
        ...

    def vectors(self, id: str) -> list[Vector]:
        """The windows of a record that serve, in order."""
        ...

    def vectors_of(self, ids: Sequence[str]) -> dict[str, list[Vector]]:
        """The windows of several records, as `vectors` gives them; those without any are left out."""
        ...

    def model(self) -> tuple[str, int] | None:
        """Name and dimensions of the model whose vectors serve; None while there are none."""
        ...

    def journal(
        self,
        kind: str,
        *,
        prefix: str = "",
        after: str = "",
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[JournalEntry]:
        """See `journal.Journal`."""
        ...

    def journal_entry(self, kind: str, id: str) -> JournalEntry | None:
        """See `journal.Journal`."""
        ...


class Store(Reads, Journal, Protocol):
    """One tenant's memory on disk. See the module for what every method guarantees, `Journal` for
    the journal."""

    capabilities: Capabilities

    # -- writing -----------------------------------------------------------------------------------

    def write(self, batch: Batch) -> Written:
        """Upsert records, vectors, text, keys, edges, provenance and journal entries in one
        transaction.

        A record whose id is stored replaces it; one that equals what is stored (times apart) is
        `unchanged` and writes nothing. A `merge` entity joins the one of that key and type, or a
        thin one of that key, or, without a type of its own, the only one of that key, and takes its
        id. Edges merge as `model.Edge` says. A label at either end of an edge that no record has
        becomes a thin entity, and one that `unlinked` leaves without edges goes. When a stored
        record gets a name of another key, the edges at the key of the old one are its, and follow,
        unless another record was called so too. Cost: a transaction, never an index build.

        Raises: ConflictError (an id that a record of another schema has), GoneError (of
            `expected.there`), ChangedError (of what else is expected), EmbedderMismatchError,
            VectorError (dimension), StoreFullError, ReadOnlyStoreError, StoreBusyError.
        """
        ...

    def write_all(self, batches: Callable[[], Iterable[Batch]]) -> Written:
        """Write batches one after another in one transaction: all, or, when one fails or `batches`
        raises, none.

        They are taken as they come, so any number of them needs little memory; others' writes wait
        until the last. `batches` is called again when the store has to begin anew. Returns the sum,
        without `ids`.

        Raises: what `write` raises, and what `batches` raises.
        """
        ...

    def update(self, work: Callable[[Reads], Batch]) -> Written:
        """Write what `work` makes of what it reads, in the transaction that it reads in.

        Nobody writes between what `work` reads and what is written: of any number of updates at
        once, from any number of threads and processes, each sees what those before it wrote. So
        every read-modify-write is one of these, or a `write` that says what it `expected` to find.
        `work` reads only through the `Reads` that it is given; it may run in another thread, and
        more than once, so it does nothing but read and return; nobody else writes while it runs, so
        it is short: what is slow (a model, a file) is done before. What it raises is raised, and
        nothing is written.

        Raises: what `write` raises; InvalidInputError (`work` writes, or searches by likeness).
        """
        ...

    def erase(self, work: Callable[[Reads], Batch]) -> Deletion:
        """What `update` does, and of what the batch has `removed` what `delete` with `erase` does:
        what is looked up, what is deleted and what is written without it are of one state."""
        ...

    def delete(self, ids: Iterable[str], *, derived: bool = True, erase: bool = True) -> Deletion:
        """Remove records with their vectors, text, keys, queue entries, references from moments,
        the journal entries that have one of them (or of `ids`, stored or not) among their subjects,
        and, when `derived`, every record that has one of them among its parents, transitively. A
        key that no other record has goes with all its edges, and a thin entity that is left without
        edges goes too. With `erase`, nothing of them remains in any file: snapshots are dropped and
        freed pages zeroed. What cannot be emptied yet because somebody reads it is `pending`: it is
        emptied once it can be, and `check` says if not."""
        ...

    # -- by id and key -----------------------------------------------------------------------------

    def complete(self, prefix: str, limit: int) -> list[str]:
        """Names whose key starts with this key prefix, in key order. One range of an index."""
        ...

    def first_words(self, words: Sequence[str]) -> set[str]:
        """Those of these words that are the key of a name or alias, or what one begins with before
        its first hyphen (a few more may be among them). One range of an index a word."""
        ...

    # -- by likeness -------------------------------------------------------------------------------

    def fuzzy(self, text: str, *, type: str | None, threshold: float, limit: int) -> list[Match]:
        """Names and aliases of every schema like the text, best first. Inverted index, never a
        scan. A `type` has those below it: "person" has "person/employee"; the name of a schema has
        all of its records.

        Scores are 0..1: 1.0 for the same key, edit similarity otherwise, of the whole name or of
        the words that the text has. A record comes once, with its best name.
        """
        ...

    def search_vector(
        self,
        vector: Sequence[float],
        *,
        schema: str,
        where: Predicate | None,
        limit: int,
        min_score: float | None,
    ) -> list[Match]:
        """The records whose best window has the highest cosine with the vector. ANN index plus the
        exact tail; exact wherever the filter keeps at most a tenth, so that filters lose no recall.

        Raises: VectorError (dimension differs from the store's).
        """
        ...

    def search_text(
        self, text: str, *, schema: str | None, where: Predicate | None, limit: int
    ) -> list[Match]:
        """The records with the highest BM25 (k1 1.2, b 0.75; stop words out, stemmed). Inverted
        index."""
        ...

    # -- edges -------------------------------------------------------------------------------------

    def edge_keys(
        self,
        keys: Sequence[str],
        *,
        direction: Direction,
        rel_types: Sequence[str] | None,
        limit: int,
        as_of: datetime | None = None,
    ) -> list[tuple[str, str, str]]:
        """Edges at these keys as (src, rel_type, dst), newest first, as `edges` gives them, but
        `limit` in all."""
        ...

    def count_edges(
        self, keys: Sequence[str], *, direction: Direction, as_of: datetime | None = None
    ) -> list[EdgeCount]:
        """Complete counts of the edges at these keys by type and direction."""
        ...

    def walk(
        self,
        starts: Sequence[str],
        *,
        rel_types: Sequence[str] | None,
        direction: Direction,
        depth: int,
        breadth: int | None,
        order: EdgeOrder,
        limit: int | None = None,
        as_of: datetime | None = None,
    ) -> Walk:
        """Breadth-first from the keys: follow each node's edges, in order, up to `breadth`, `depth`
        levels deep, no key twice; then keep the first `limit` in that order. Keys of one record are
        one node. Cost O(keys visited); loads no record. Raises UnknownNameError for an edge type
        that was never used."""
        ...

    def degrees_by(
        self,
        groups: Sequence[Sequence[str]],
        *,
        direction: Direction,
        as_of: datetime | None = None,
    ) -> list[int]:
        """`degrees` of the keys of the first group, of the first two together, and so on."""
        ...

    def rel_types(self) -> list[str]:
        """Every edge type in use."""
        ...

    # -- by field ----------------------------------------------------------------------------------

    def create_index(self, schema: str, field: str) -> None:
        """Index one field (or JSON path) of a schema, and note it in the journal; does nothing when
        it is there."""
        ...

    def select(self, select: Select, *, limit: int, timeout: float) -> Rows:
        """Run a SELECT over this tenant's schemas in a read-only transaction. It means the same in
        every store.

        Returns columns, at most `limit` rows, and whether there were more. Raises StoreBusyError
        after `timeout` seconds, InvalidInputError for rows beyond `sql.answers.MAX_FETCHED`."""
        ...

    def explain(self, select: Select, *, limit: int) -> list[str]:
        """The query plan of a SELECT of so many rows, a line a step."""
        ...

    def columns(self, schema: str) -> list[str]:
        """The columns `select` knows for a schema."""
        ...

    # -- embedding queue ---------------------------------------------------------------------------

    def pending(self, limit: int) -> list[Pending]:
        """Texts waiting for their embedding, oldest first; parked ones (see `park`) are left out."""
        ...

    def queued(self) -> tuple[int, int]:
        """How many texts wait for their embedding, and how many are parked. It costs what it
        counts, whatever else the store holds."""
        ...

    def embed(
        self,
        vectors: dict[str, tuple[Vector, ...]],
        *,
        model: str,
        dims: int,
        current: bool = True,
        versions: Mapping[str, int] = {},
    ) -> None:
        """Store the vectors of records and take them off the queue. A record that is gone is
        ignored; so is one whose text is no longer of this version (see `Pending`): it stays in the
        queue, and its vectors stay as they are. With `current` false they are of a model that is to
        follow the current one, and serve after `adopt`."""
        ...

    def unembedded(self, model: str, limit: int, *, after: int = 0) -> list[Pending]:
        """Records with text and no vectors of this model yet, for moving to it: those whose text
        has a higher version than `after`, the lowest first."""
        ...

    def adopt(self, model: str) -> None:
        """Make this model the current one and drop the vectors of every other."""
        ...

    def park(self, id: str, error: str) -> None:
        """Count a failed attempt; the third parks the text, with its reason, until `unpark`."""
        ...

    def unpark(self) -> int:
        """Put every parked text back in the queue; returns how many."""
        ...

    def cached(self, digests: Sequence[bytes], *, model: str) -> dict[bytes, bytes]:
        """Vectors (float32) of texts embedded before by this model, by `Vector.digest`."""
        ...

    # -- whole store -------------------------------------------------------------------------------

    def snapshot(self) -> AbstractContextManager[object]:
        """Reads of this thread inside the context see one state of the store. Nests; keep it short."""
        ...

    def records(self, schema: str | None = None) -> Iterator[Record]:
        """Every record, with `parents`; a consistent snapshot. In the order written, and behind
        them the thin entities, which go and come back with their edges, in the order of their ids.
        """
        ...

    def all_edges(self) -> Iterator[Edge]:
        """Every edge, whatever its validity, in key order."""
        ...

    def stats(self) -> dict[str, Any]:
        """Counts by schema and type, edges by type, vectors with model, dims and the share searched
        exactly, queue length, parked texts, journal entries by kind, bytes on disk."""
        ...

    def check(self) -> list[str]:
        """Verify the files and that every index agrees with its table; a line a disagreement."""
        ...

    def settle(self) -> None:
        """Finish the background work on derived indexes now. May take minutes; never needed for
        right answers."""
        ...

    def backup(self, path: str) -> None:
        """Write a consistent copy of the store, encrypted as the store is. Refuses an existing
        path."""
        ...

    def look(self) -> None:
        """Notice that somebody deleted the tenant, so that later calls raise StoreClosedError.
        Called once a second."""
        ...

    def close(self) -> None:
        """Finish background work and release everything; later calls raise StoreClosedError."""
        ...
