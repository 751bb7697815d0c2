"""`RemloomStore`: LangGraph's `BaseStore` over a tenant's memory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Self, cast

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)

from ...embed import Embedder
from ...errors import InvalidInputError, NotFoundError
from ...memory import Memory
from ...predicates import Query
from .indexing import Indexing, Vectors, embedder_of
from .items import (
    CATEGORY,
    MARK,
    Namespace,
    Sweeper,
    address_of,
    id_of,
    item_of,
    items_range,
    namespace_of,
    namespace_range,
    refresh,
    resource_of,
)
from .searching import Filter, Searcher


class RemloomStore(BaseStore):
    """LangGraph's long-term memory, kept in a tenant's memory. See docs/langgraph.md.

    Each item is a resource of the memory: `recall` finds it, `forget` forgets it, `export` has it.
    Its id comes from namespace and key, which are exact to the letter.

    Args:
        memory: stays open when the store is closed.
        index: LangGraph's configuration of a search by meaning: `dims`, `embed`, `fields`. The
            memory needs an embedder of the same dimensions, as `RemloomStore.open` gives it, or
            none. Without, a search with a query is a `recall`: words and meaning, by the memory's
            own embedder.
        ttl: LangGraph's configuration of expiry: `default_ttl` in minutes, `refresh_on_read`
            (default False) and `sweep_interval_minutes`. What has expired is returned by nothing,
            swept or not.

    Raises:
        InvalidInputError: an index without embedder or dimensions.
    """

    supports_ttl = True

    def __init__(
        self, memory: Memory, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None
    ) -> None:
        self.memory = memory
        self.index_config = index
        self.ttl_config = ttl
        self._sweeper: Sweeper | None = None
        self._indexing = Indexing(index)
        self.embeddings = self._indexing.embeddings
        self._searcher = Searcher(memory)
        self._is_owner = False
        self._has_index = False

    @classmethod
    def open(
        cls,
        home_or_url: str | os.PathLike[str] | None = None,
        *,
        tenant: str | None = None,
        key: str | None = None,
        embedder: Embedder | str | None = None,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> Self:
        """Open a tenant's memory as a store, which closes it; use it as a context manager.

        Args:
            index, ttl: see the class; the memory's embedder is that of the index, unless `embedder`
                is given.
            home_or_url, tenant, key, embedder: as for `Memory.open`, which says what is raised.
        """
        memory = open_memory(home_or_url, tenant=tenant, key=key, index=index, embedder=embedder)
        try:
            store = cls(memory, index=index, ttl=ttl)
        except BaseException:
            memory.close()
            raise
        store._is_owner = True
        return store

    def close(self) -> None:
        """Stop the sweeper, and close the memory if the store opened it."""
        self.stop_ttl_sweeper()
        if self._is_owner:
            self.memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # -- operations --------------------------------------------------------------------------------

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several operations: what reads sees what was there before; of the writes to one item
        the last counts.

        What is put is written as a whole or not at all; then what is deleted is forgotten, with all
        that was made of it.

        Raises:
            InvalidNamespaceError: a label is empty, no text, or has a period in it.
            InvalidInputError: a value is not JSON, or a key or filter cannot be taken. Nothing was
                written.
        """
        batch = _Batch(ops)
        vectors, query_vectors = self._indexing.embed(*self._to_embed(batch))
        return self._do(batch, vectors, query_vectors)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        batch = _Batch(ops)
        vectors, query_vectors = await self._indexing.aembed(*self._to_embed(batch))
        return await asyncio.to_thread(self._do, batch, vectors, query_vectors)

    def _to_embed(self, batch: _Batch) -> tuple[list[str], list[str]]:
        texts = [text for op in batch.puts for text in self._indexing.texts(op)]
        return texts, [op.query for op in batch.searches if op.query]

    def _do(self, batch: _Batch, vectors: Vectors, query_vectors: Vectors) -> list[Result]:
        results = [self._read(op, query_vectors) for op in batch.ops]
        if self.ttl_config and self.ttl_config.get("refresh_on_read"):
            refresh(self.memory, _ids_to_refresh(batch.ops, results))
        self._write([op for op in batch.puts if op.value is not None], vectors)
        self._forget([op for op in batch.puts if op.value is None])
        return results

    def _read(self, op: Op, query_vectors: Vectors) -> Result:
        if isinstance(op, GetOp):
            return self._get(op.namespace, op.key)
        if isinstance(op, SearchOp):
            return self._search(op, query_vectors)
        if isinstance(op, ListNamespacesOp):
            return list_namespaces(self.memory, op)
        return None

    def _get(self, namespace: tuple[str, ...], key: str) -> Item | None:
        try:
            return item_of(self.memory.get_resource(id_of(address_of(namespace, key))))
        except NotFoundError:
            return None

    def _search(self, op: SearchOp, query_vectors: Vectors) -> Result:
        if not op.query or not op.query.strip():
            return cast("Result", self._searcher.newest(op))
        if self.embeddings is None:
            return cast("Result", self._searcher.by_question(op))
        return cast("Result", self._searcher.by_vector(op, query_vectors[op.query]))

    # -- writing -----------------------------------------------------------------------------------

    def _write(self, puts: list[PutOp], vectors: Vectors) -> None:
        if not puts:
            return
        if not self._has_index:
            self.memory.create_index("resources", "name")
            self._has_index = True
        records = []
        for op in puts:
            embedding: list[Any] = [vectors[text] for text in self._indexing.texts(op)]
            content = self._indexing.content(op)
            records.append(
                resource_of(
                    op.namespace,
                    op.key,
                    cast("dict[str, Any]", op.value),
                    content=content,
                    embedding=embedding,
                    ttl=op.ttl,
                )
            )
        self.memory.write(records)

    def _forget(self, deletes: list[PutOp]) -> None:
        ids = [id_of(address_of(op.namespace, op.key)) for op in deletes]
        for op, id in zip(deletes, ids, strict=True):
            if self._get(op.namespace, op.key) is None:
                continue
            try:
                self.memory.forget(id, by="id")
            except NotFoundError:
                # somebody else was quicker
                continue

    # -- expiry ------------------------------------------------------------------------------------

    def sweep_ttl(self) -> int:
        """Erase what has expired, whoever wrote it into the memory; returns how many records."""
        return self.memory.admin.sweep().records

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Sweep in a thread from now on, until the store is closed.

        Args:
            sweep_interval_minutes: default that of `ttl`, or 5.
        """
        if self._sweeper is None or not self._sweeper.is_running:
            self._sweeper = Sweeper(self.memory, self.ttl_config, sweep_interval_minutes)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the thread that sweeps; whether there is none any more after so many seconds."""
        sweeper = self._sweeper
        return sweeper is None or sweeper.stop(timeout)


def _ids_to_refresh(ops: Sequence[Op], results: Sequence[Result]) -> Iterator[str]:
    """Yield the ids of the items that were read, where this lets their time begin again."""
    for op, result in zip(ops, results, strict=True):
        if not isinstance(op, GetOp | SearchOp) or not op.refresh_ttl:
            continue
        found = [result] if isinstance(op, GetOp) else result
        for item in cast("list[Item | None]", found):
            if item is not None:
                yield id_of(address_of(item.namespace, item.key))


class _Batch:
    """Operations that were checked, and what of them writes: the last to each item."""

    def __init__(self, ops: Iterable[Op]) -> None:
        self.ops = list(ops)
        self.searches = []
        puts: dict[tuple[tuple[str, ...], str], PutOp] = {}
        for op in self.ops:
            validate_op_namespace(op)
            if isinstance(op, PutOp):
                puts[op.namespace, op.key] = op
            elif isinstance(op, SearchOp):
                Filter(op.filter)
                self.searches.append(op)
            elif not isinstance(op, GetOp | ListNamespacesOp):
                raise InvalidInputError(f"a {type(op).__name__} is no operation of a store")
        self.puts = list(puts.values())


def open_memory(
    home_or_url: str | os.PathLike[str] | None = None,
    *,
    tenant: str | None = None,
    key: str | None = None,
    index: IndexConfig | None = None,
    embedder: Embedder | str | None = None,
) -> Memory:
    """Open a memory whose embedder is that of `index`, if it is given and `embedder` is not.

    So what is read into the memory, and what is asked of it, has vectors of the same model. The
    other arguments, and what is raised, are those of `Memory.open`.
    """
    if embedder is None and index is not None:
        embedder = embedder_of(index)
    return Memory.open(home_or_url, tenant=tenant, key=key, embedder=embedder)


_PAGE = 128  # namespaces that are asked for at once
_ANY = "*"


def list_namespaces(memory: Memory, op: ListNamespacesOp) -> list[Namespace]:
    """List the namespaces that match, in the order of their paths, each once."""
    found = _distinct(memory, op)
    return list(islice(found, op.offset, op.offset + op.limit))


def _distinct(memory: Memory, op: ListNamespacesOp) -> Iterator[Namespace]:
    conditions = op.match_conditions or ()
    seen: set[Namespace] = set()
    for namespace in _walk(memory, _common_prefix(conditions)):
        if not all(_matches(condition, namespace) for condition in conditions):
            continue
        shown = namespace[: op.max_depth]
        if shown not in seen:
            seen.add(shown)
            yield shown


def _walk(memory: Memory, prefix: Namespace) -> Iterator[Namespace]:
    """Yield each namespace that begins so and has items: the first item of each tells."""
    rest = namespace_range(prefix)
    while True:
        first_names = memory.admin.store.records.first_names(
            CATEGORY, first=rest.first, end=rest.end, mark=MARK, limit=_PAGE
        )
        for name, id in first_names:
            of_one = namespace_of(name)
            # a caller that writes a resource of such a name has another id for it
            if of_one is not None and (id == id_of(name) or _has_items(memory, of_one)):
                yield of_one
        if len(first_names) < _PAGE:
            return
        rest = rest.behind(first_names[-1][0])


def _has_items(memory: Memory, namespace: Namespace) -> bool:
    """Whether a namespace has items among other resources."""
    query = Query().filter(items_range(namespace).predicate).order_by("name").limit(_PAGE)
    skip = 0
    while page := memory.query_resources(query.offset(skip)):
        if any(item_of(record) for record in page):
            return True
        skip += len(page)
    return False


def _common_prefix(conditions: tuple[MatchCondition, ...]) -> Namespace:
    """The longest beginning without a wildcard that all that is asked for has."""
    prefixes: list[Namespace] = [()]
    for condition in conditions:
        if condition.match_type == "prefix":
            path = tuple(condition.path)
            prefixes.append(path[: path.index(_ANY)] if _ANY in path else path)
    return max(prefixes, key=len)


def _matches(condition: MatchCondition, namespace: Namespace) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)]
    if condition.match_type == "suffix":
        part = namespace[len(namespace) - len(path) :]
    return all(expected in (_ANY, label) for expected, label in zip(path, part, strict=True))
