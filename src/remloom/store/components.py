"""The components of a store, each for one kind of data.

See `store.contract` for what every method guarantees. `RecordReads`, `GraphReads` and `VectorReads`
are the parts that can also be read inside `Store.update`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Protocol

from ..model import Direction, Edge, EdgeKey, Entity, Moment, Record, Resource, TypeCount
from ..predicates import Query
from ..sql.answers import ResultSet
from ..sql.values import Select
from .batch import TokenVectorBatch, Vector, VectorBatch
from .results import Match, Pending, Premise, Walk
from .specs import ALL_CHUNKS, LOOKUP_EDGES, ChunkRange, EdgeSpec, NameSpec, SearchSpec, WalkSpec
from .stats import Stats


class RecordReads(Protocol):
    """Records by id, key, document, provenance, field and time."""

    def get(self, schema: str | None, id: str) -> Record | None:
        """Return the record with this id, or None; None too when it is of another schema. One index
        probe; the record comes without `graph_paths`."""

    def of(self, ids: Sequence[str]) -> dict[str, Record]:
        """Return the records of these ids that there are, as `get` does, by id. One statement."""

    def lookup(
        self,
        keys: Sequence[str],
        *,
        edges: int = LOOKUP_EDGES,
        as_of: datetime | None = None,
        limit: int | None = None,
        own: bool = False,
    ) -> dict[str, list[Record]]:
        """Return records of every schema by key (names and aliases), in the order of `keys`, each
        with its newest `edges` outgoing edges in force at `as_of` (now when None) as `graph_paths`.
        A key that is a row's handle is also the name of others: with `own`, only the records whose
        edges are at the key are given.
        Of each key `limit` records at most: of more, the same ones each time, which are the store's
        choice. O(1) probes a key, and one for each record given; no others are read."""

    def children(self, id: str) -> list[str]:
        """List the ids of the records derived directly from this one."""

    def parents(self, id: str) -> list[str]:
        """List the ids of the records this one was derived from."""

    def premises(self, ids: Sequence[str]) -> list[Premise]:
        """List what these records rest on: what they were derived from, and what moments were made
        of; but not what says what it said, has not expired, and rests on nothing itself. Index
        probes for each; no record is read."""

    def resting(
        self, ids: Sequence[str], keys: Sequence[str], *, category: str | None = None
    ) -> list[str]:
        """List the ids of what rests directly on records with these ids or keys: what was derived
        from them, and moments that were made of them; of one category of resources, or of any.
        Index probes for each; no record is read."""

    def chunks(self, uri: str, within: ChunkRange = ALL_CHUNKS) -> list[Resource]:
        """List the resources with this uri in the order of their ordinals. One range of an index:
        it costs what it returns."""

    def originating(self, source: str) -> list[Record]:
        """List what came from a source besides its chunks: the resources whose origin it
        is, the entities and moments whose own uri it is. One range of an index."""

    def messages(self, uri: str, ids: Sequence[str]) -> list[Resource]:
        """List the turns of the chat with this uri whose message had one of these ids. An index
        probe for each."""

    def referring(self, ids: Sequence[str]) -> list[Moment]:
        """List the moments that refer to one of these records, each once, in the order written. An
        index range for each."""

    def query(self, schema: str, query: Query) -> list[Record]:
        """List records of one schema by predicate. Uses what `Sql.create_index` made;
        `VectorSimilar` uses the vector index, and not inside an update. Raises UnknownNameError for
        a field the schema does not have."""

    def moments_between(self, start: datetime, end: datetime) -> list[Moment]:
        """List the moments that overlap [start, end), in order of their start. Time index."""

    def expired(self, limit: int) -> list[Record]:
        """List the records that have expired and are not erased yet, those of the earliest time
        first. One range of an index."""


class Records(RecordReads, Protocol):
    """The records of a store."""

    def complete(self, prefix: str, limit: int) -> list[str]:
        """List names whose key starts with this key prefix, in key order. One range of an index."""

    def first_words(self, words: Sequence[str]) -> set[str]:
        """Return those of these words that are the key of a name or alias, or what one begins with
        before its first hyphen (a few more may be among them). One range of an index a word."""

    def first_names(
        self, category: str, *, first: str, end: str, mark: str, limit: int
    ) -> list[tuple[str, str]]:
        """List names from `first` up to, but without, `end`, of resources of a category, in the
        order of code points, each with its id: of those that are alike up to and with this mark,
        the first alone. A name without the mark is by itself. What lies between is not read where
        `create_index` has made an index of the names: a step in it for each name returned."""

    def texts_after(self, number: int, limit: int) -> list[tuple[int, Record]]:
        """List the first `limit` records whose text has a number above this one, each with its
        number, the lowest first.

        A text gets a number above all others when it is written first, when it changes, and when a
        resource gets another category or speaker; whatever else changes, it stays. No number is
        given twice. They are numbers of this store: a copy has others. One range of an index; the
        records come without `parents`."""

    def entities_after(self, number: int, limit: int) -> tuple[list[Entity], int]:
        """List the first `limit` entities, thin ones too, that were made after the record with this
        number (0: all), in the order of making; and the number of the last one that was looked at,
        behind which the next are. Of those, what has expired is not listed.

        No number is given twice. They are numbers of this store: a copy has others. It costs what
        it lists, and a step for each type of entities there is: other records cost nothing."""

    def all(self, schema: str | None = None, *, expired: bool = False) -> Iterator[Record]:
        """Yield every record, with `parents`; a consistent snapshot. In the order written, and
        behind them the thin entities, which go and come back with their edges, in the order of
        their ids. With `expired` also those that have expired and are not erased yet."""


class GraphReads(Protocol):
    """Edges at keys."""

    def edges(self, spec: EdgeSpec) -> list[Edge]:
        """List edges at the keys of `spec`, in force at its time, whole, each once: key by key, and
        behind these keys the others of their records in key order. The limit is for each key.

        Raises: UnknownNameError (an order by a field that edges do not have, or an edge type that
            was never used)."""

    def stored_edges(self, keys: Sequence[str], *, direction: Direction) -> list[Edge]:
        """List every edge at these very keys (no others of their records), whatever its validity.
        Index ranges."""

    def count(
        self, keys: Sequence[str], *, direction: Direction, as_of: datetime | None = None
    ) -> int:
        """Count the edges at these keys, each once, in force at `as_of` (now when None). Cheaper
        than `count_by_type`."""


class Graph(GraphReads, Protocol):
    """The edges of a store."""

    def edge_keys(self, spec: EdgeSpec) -> list[EdgeKey]:
        """List edges as (src, rel_type, dst), newest first, key by key as `edges` does, but the
        limit is for all of them together."""

    def count_by_type(
        self, keys: Sequence[str], *, direction: Direction, as_of: datetime | None = None
    ) -> list[TypeCount]:
        """Count the edges at these keys, completely, by type and direction."""

    def count_by_group(
        self,
        groups: Sequence[Sequence[str]],
        *,
        direction: Direction,
        as_of: datetime | None = None,
    ) -> list[int]:
        """`count` the keys of the first group, of the first two together, and so on."""

    def walk(self, spec: WalkSpec) -> Walk:
        """Go breadth-first from the keys: follow each node's edges, in order, up to `breadth`,
        `depth` levels deep, no key twice; then keep the first `limit` in that order. Keys of one
        record are one node. Cost O(keys visited); loads no record. Raises UnknownNameError for an
        edge type that was never used."""

    def edge_types(self) -> list[str]:
        """List every edge type in use, by name."""

    def all_edges(self) -> Iterator[Edge]:
        """Yield every edge, whatever its validity, in key order."""


class SearchIndex(Protocol):
    """Records by likeness."""

    def names(self, text: str, spec: NameSpec) -> list[Match]:
        """Find names and aliases of every schema like the text, best first. Inverted index, never a
        scan.

        Scores are 0..1: 1.0 for the same key, edit similarity otherwise, of the whole name or of
        the words that the text has. A record comes once, with its best name.
        """

    def vector(self, vector: Sequence[float], spec: SearchSpec) -> list[Match]:
        """Find the records whose best window has the highest cosine with the vector. ANN index plus
        the exact tail; exact wherever the filter keeps at most a tenth, so that filters lose no
        recall. The spec names a schema.

        Raises: VectorError (dimension differs from the store's).
        """

    def begin_vector(self, vector: Sequence[float], spec: SearchSpec) -> Callable[[], list[Match]]:
        """Begin what `vector` does, in another thread where it can; what is returned ends
        it, and is called by the same thread.

        What is found is as the caller's snapshot has it when it ends. Raises as `vector`.
        """

    def text(self, text: str, spec: SearchSpec) -> list[Match]:
        """Find the records with the highest BM25 (k1 1.2, b 0.75; stop words out, stemmed).
        Inverted index."""

    def having_all(self, text: str, limit: int) -> list[Resource]:
        """List the first `limit` resources, in the order in which their texts were written, whose
        texts have every word of this text (stop words out, stemmed); none for a text that has no
        others. Inverted index; the resources come without `parents`."""


class SqlQueries(Protocol):
    """SELECTs, and the indexes they use."""

    def select(self, select: Select, *, limit: int, timeout: float) -> ResultSet:
        """Run a SELECT over this tenant's schemas in a read-only transaction. It means the same in
        every store.

        At most `limit` rows are returned. Raises StoreBusyError after `timeout` seconds,
        InvalidInputError for rows beyond `sql.answers.MAX_FETCHED`."""

    def explain(self, select: Select, *, limit: int) -> list[str]:
        """Return the query plan of a SELECT of at most `limit` rows, a line a step."""

    def columns(self, schema: str) -> list[str]:
        """List the columns that `select` knows for a schema."""

    def create_index(self, schema: str, field: str) -> None:
        """Index one field (or JSON path) of a schema, and record that in an entry; does nothing
        when it is there."""


class VectorReads(Protocol):
    """The vectors of records, and the model that made them."""

    def get(self, id: str) -> list[Vector]:
        """List the windows of a record that serve, in order."""

    def of(self, ids: Sequence[str]) -> dict[str, list[Vector]]:
        """Return the windows of several records, as `get` gives them; those without any are left
        out."""

    def model(self) -> tuple[str, int] | None:
        """Return name and dimensions of the model in use; None while there are no vectors."""


class Vectors(VectorReads, Protocol):
    """The vectors of a store, and the queue of texts that wait for theirs."""

    def pending(self, limit: int, *, ids: Sequence[str] | None = None) -> list[Pending]:
        """List texts waiting for their embedding, oldest first; parked ones (see `park`) are left
        out, and what has expired. With `ids`, only those of these records: an index probe for
        each."""

    def queue_lengths(self) -> tuple[int, int]:
        """Count the texts that wait for their embedding, and those that are parked. It costs what
        it counts, whatever else the store holds."""

    def put(self, batch: VectorBatch) -> None:
        """Store the vectors of records and take them off the queue. A record that is gone is
        ignored; so is one whose text no longer has the version given: it stays in the queue, and
        its vectors stay as they are."""

    def unembedded(self, model: str, limit: int, *, after: int = 0) -> list[Pending]:
        """List records with text and no vectors of this model yet, for moving to it: those whose
        text has a higher version than `after`, the lowest first."""

    def adopt(self, model: str) -> None:
        """Make this model the current one and drop the vectors of every other."""

    def park(self, id: str, error: str) -> None:
        """Count a failed attempt; the third parks the text, with its reason, until `unpark`."""

    def unpark(self) -> int:
        """Put every parked text back in the queue; returns how many."""

    def cached(self, digests: Sequence[bytes], *, model: str) -> dict[bytes, bytes]:
        """Return vectors (float32) of texts embedded before by this model, by `Vector.digest`."""


class TokenVectors(Protocol):
    """A vector for every token of a text: what late interaction compares with a question's.

    They are derived: a text that changes loses them in the transaction that changes it. A text has
    those of each model that made some, until they are dropped."""

    def of(self, ids: Sequence[str], *, model: str) -> dict[str, bytes]:
        """Return the token vectors that a model made of these records, as `TokenVectorBatch` has
        them; those that have none (yet) are left out. Index probes for each."""

    def pending(self, model: str, limit: int, *, ids: Sequence[str] | None = None) -> list[Pending]:
        """List texts that have no token vectors of this model yet: the oldest first, and behind
        them those that failed (see `park`). Parked ones are left out, and what has expired. With
        `ids`, only those of these records. One range of an index."""

    def queue_lengths(self, model: str) -> tuple[int, int]:
        """Count the texts that wait for their token vectors of this model, and those that are
        parked. It costs what it counts."""

    def put(self, batch: TokenVectorBatch) -> None:
        """Store the token vectors of records in place of those that they have of this model. A
        record that is gone is ignored; so is one whose text no longer has the version given.

        Raises: VectorError (no whole number of tokens, or other dimensions than the model's).
        """

    def park(self, id: str, error: str, *, model: str) -> None:
        """Count a failed attempt; the third parks the text for this model, with its reason, until
        `unpark`, or until it changes."""

    def unpark(self, model: str) -> int:
        """Put every text that is parked for this model back in the queue; returns how many."""

    def discard_damaged(self, model: str, *, ids: Sequence[str] | None = None) -> int:
        """Delete the token vectors of a model that are not a whole number of tokens, of these
        records or (None) of all, and let their texts wait again; returns how many. Without `ids` it
        looks at the length of every one."""

    def models(self) -> list[tuple[str, int]]:
        """List the models that made token vectors, with their dimensions, in the order in which
        they came."""

    def drop(self, *, keep: str | None = None) -> None:
        """Delete the token vectors of every model but this one; of every model when None. It costs
        what it deletes."""


class StoreAdmin(Protocol):
    """The care of a store as a whole."""

    def stats(self) -> Stats:
        """Count what the store holds. It costs what it counts."""

    def check(self) -> list[str]:
        """Verify the files and that every index agrees with its table; a line a disagreement."""

    def optimize(self) -> None:
        """Finish the background work on derived indexes now. May take minutes; never needed for
        right answers."""

    def backup(self, path: str) -> None:
        """Write a consistent copy of the store, encrypted as the store is. Refuses an existing
        path."""

    def detect_deletion(self) -> None:
        """Notice that somebody deleted the tenant, so that later calls raise StoreClosedError.
        Called once a second."""
