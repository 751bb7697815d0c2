"""Searching items: the newest, or those that answer a question best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from langgraph.store.base import Item, SearchItem, SearchOp

from ...errors import InvalidInputError, NotFoundError
from ...memory import Memory
from ...model import Hit, Resource
from ...predicates import MOST_RESULTS, And, Predicate, Query
from .address import id_of, namespace_range
from .filters import Filter
from .items import item_of, scored

_GLANCE = 2  # times as many items as wanted are looked at before the store is asked to filter
_GROWTH = 4  # times as many are fetched next, where too few of those fetched fit


class Searcher:
    """Searches the items of a memory."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def newest(self, op: SearchOp) -> list[SearchItem]:
        """List the items that fit, the latest put first."""
        wanted = _wanted(op)
        found = islice(self._listed(op), op.offset, wanted)
        return [scored(item) for item in found]

    def by_vector(self, op: SearchOp, vector: Sequence[float]) -> list[SearchItem]:
        """Find the items with a text most like a vector; those without vectors come behind."""

        def fetch(count: int) -> Sequence[Hit]:
            where = _condition(op)
            return self._memory.search(vector=vector, where=where, limit=count).records

        return self._ranked(op, fetch)

    def by_question(self, op: SearchOp) -> list[SearchItem]:
        """Find the items that answer best by words and meaning; the others come behind."""
        question = op.query or ""

        def fetch(count: int) -> Sequence[Hit]:
            where = _condition(op)
            recalled = self._memory.recall(
                question, where=where, limit=count, neighbours=0, abstain=False
            )
            return recalled.hits

        return self._ranked(op, fetch)

    def _ranked(self, op: SearchOp, fetch: Callable[[int], Sequence[Hit]]) -> list[SearchItem]:
        """The items of a window: first those that were found, by score, then the others."""
        wanted, count = _wanted(op), max(1, _wanted(op))
        filter = Filter(op.filter)
        while True:
            hits = fetch(min(count, MOST_RESULTS))
            found = [one for one in self._items_of(hits) if filter.matches(one.value)]
            if len(found) >= wanted or len(hits) < count:
                break
            count *= _GROWTH
        if len(found) < wanted:
            seen = {(one.namespace, one.key) for one in found}
            others = (one for one in self._listed(op) if (one.namespace, one.key) not in seen)
            found += [scored(one) for one in islice(others, wanted - len(found))]
        return found[op.offset : wanted]

    def _items_of(self, hits: Iterable[Hit]) -> Iterator[SearchItem]:
        for hit in hits:
            item = item_of(hit.record)
            if item is not None:
                yield scored(item, hit.score)
            # items of the same text are shown as one, but are not one
            for name in hit.copies:
                if (copy := self._at(name)) is not None:
                    yield scored(copy, hit.score)

    def _at(self, name: str) -> Item | None:
        try:
            return item_of(self._memory.get_resource(id_of(name)))
        except NotFoundError:
            return None

    # -- the newest --------------------------------------------------------------------------------

    def _listed(self, op: SearchOp) -> Iterator[Item]:
        """Yield all items that fit, the latest put first."""
        filter = Filter(op.filter)
        if not filter:
            for page in self._pages(_scope(op), _wanted(op)):
                yield from _items(page)
            return
        # most filters let enough of the newest through, and of few items it is quicker to look at
        # each than to ask for those that fit
        glance = _GLANCE * _wanted(op) + 1
        where = _scope(op)
        newest = self._page(where, glance, 0)
        if len(newest) < glance:
            yield from _fitting(newest, filter)
            return
        fitting = list(_fitting(newest, filter))
        if len(fitting) >= _wanted(op):
            yield from fitting
            where, skip = _scope(op), len(newest)
        else:
            where, skip = _condition(op), 0
        for page in self._pages(where, glance, skip):
            yield from _fitting(page, filter)

    def _pages(self, where: Predicate, size: int, skip: int = 0) -> Iterator[Sequence[Resource]]:
        size = max(1, size)
        while True:
            page = self._page(where, size, skip)
            yield page
            if len(page) < size:
                return
            skip += len(page)
            size *= _GROWTH

    def _page(self, where: Predicate, size: int, skip: int) -> Sequence[Resource]:
        query = Query().filter(where).order_by("updated_at", "desc")
        return self._memory.query_resources(query.limit(size).offset(skip))


def _wanted(op: SearchOp) -> int:
    for name, number in (("limit", op.limit), ("offset", op.offset)):
        if not isinstance(number, int) or number < 0:
            raise InvalidInputError(f"a {name} is a whole number from 0, not {number!r}")
    return op.offset + op.limit


def _scope(op: SearchOp) -> Predicate:
    """Items whose namespace begins as asked."""
    return namespace_range(op.namespace_prefix).predicate


def _condition(op: SearchOp) -> Predicate:
    """What a store can decide of an operation."""
    return And((_scope(op), *Filter(op.filter).predicates()))


def _items(records: Iterable[Resource]) -> Iterator[Item]:
    for record in records:
        if (item := item_of(record)) is not None:
            yield item


def _fitting(records: Iterable[Resource], filter: Filter) -> Iterator[Item]:
    return (item for item in _items(records) if filter.matches(item.value))
