"""Searching items: the newest, or those that answer a question best."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from langgraph.store.base import Item, SearchItem, SearchOp

from ...errors import InvalidInputError, NotFoundError, UnknownNameError
from ...labels import storable
from ...memory import Memory
from ...model import Hit, Resource
from ...predicates import MOST_RESULTS, And, Eq, Gt, Gte, Lt, Lte, Predicate, Query
from .items import id_of, item_of, namespace_range, scored

_GLANCE = 2  # times as many items as wanted are looked at before the store is asked to filter
_GROWTH = 4  # times as many are fetched next, where too few of those fetched fit


_COMPARISONS: dict[str, tuple[Callable[[Any, Any], bool], type[Gt | Gte | Lt | Lte]]] = {
    "$gt": (operator.gt, Gt),
    "$gte": (operator.ge, Gte),
    "$lt": (operator.lt, Lt),
    "$lte": (operator.le, Lte),
}
_OPERATORS = ("$eq", "$ne", *_COMPARISONS)
_REFUSED = re.compile(r"""["'`\\\x00-\x1f\x7f]""")
# a name that a predicate can say: see `Conditions.field`
_PLAIN = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


class Searcher:
    """Searches the items of a memory."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def newest(self, op: SearchOp) -> list[SearchItem]:
        limit = _limit_of(op)
        found = islice(self._listed(op), op.offset, limit)
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
        limit, count = _limit_of(op), max(1, _limit_of(op))
        filter = Filter(op.filter)
        while True:
            hits = fetch(min(count, MOST_RESULTS))
            found = [one for one in self._items_of(hits) if filter.matches(one.value)]
            if len(found) >= limit or len(hits) < count:
                break
            count *= _GROWTH
        if len(found) < limit:
            seen = {(one.namespace, one.key) for one in found}
            others = (one for one in self._listed(op) if (one.namespace, one.key) not in seen)
            found += [scored(one) for one in islice(others, limit - len(found))]
        return found[op.offset : limit]

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
            for page in self._pages(_scope(op), _limit_of(op)):
                yield from _items(page)
            return
        # most filters let enough of the newest through, and of few items it is quicker to look at
        # each than to ask for those that fit
        glance = _GLANCE * _limit_of(op) + 1
        where = _scope(op)
        newest = self._page(where, glance, 0)
        if len(newest) < glance:
            yield from _fitting(newest, filter)
            return
        fitting = list(_fitting(newest, filter))
        if len(fitting) >= _limit_of(op):
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


def _limit_of(op: SearchOp) -> int:
    for name, number in (("limit", op.limit), ("offset", op.offset)):
        if not isinstance(number, int) or number < 0:
            raise InvalidInputError(f"a {name} is a whole number from 0, not {number!r}")
    return op.offset + op.limit


def _scope(op: SearchOp) -> Predicate:
    return namespace_range(op.namespace_prefix).predicate


def _condition(op: SearchOp) -> Predicate:
    return And((_scope(op), *Filter(op.filter).predicates()))


def _items(records: Iterable[Resource]) -> Iterator[Item]:
    for record in records:
        if (item := item_of(record)) is not None:
            yield item


def _fitting(records: Iterable[Resource], filter: Filter) -> Iterator[Item]:
    return (item for item in _items(records) if filter.matches(item.value))


class Filter:
    """Which values are wanted.

    A key is a name of the value, or else a path of names with dots between; a name that is not
    there has the value None. An object whose names begin with `$` holds operators; any other is
    compared name by name, a list part by part. Numbers compare with numbers, texts with texts; what
    else is put before or behind each other does not match.

    Raises:
        InvalidInputError: a key has a quote, a backslash or a control character in it.
        UnknownNameError: an operator that there is not.
    """

    def __init__(self, conditions: Mapping[str, Any] | None) -> None:
        self._wanted = dict(conditions or {})
        _check_keys(self._wanted, is_value=True)

    def __bool__(self) -> bool:
        return bool(self._wanted)

    def matches(self, value: Mapping[str, Any]) -> bool:
        return all(_fits(_find(value, key), condition) for key, condition in self._wanted.items())

    def predicates(self) -> Iterator[Predicate]:
        """Yield what a store can decide: each holds wherever the filter matches."""
        for key, condition in self._wanted.items():
            if not _PLAIN.fullmatch(key):
                continue
            field = f"metadata.value.{key}"
            operators = condition if _is_operators(condition) else {"$eq": condition}
            for name, operand in operators.items():
                if not _is_comparable(operand):
                    continue
                if name == "$eq":
                    yield Eq(field, operand)
                elif name in _COMPARISONS and not isinstance(operand, bool):
                    yield _COMPARISONS[name][1](field, operand)


def _check_keys(condition: Any, *, is_value: bool = False) -> None:
    """Check the keys of a filter, or of a part of it; a whole value holds no operators."""
    if isinstance(condition, list | tuple):
        for part in condition:
            _check_keys(part)
    if not isinstance(condition, Mapping):
        return
    for key, part in condition.items():
        if not isinstance(key, str) or not key or _REFUSED.search(key):
            raise InvalidInputError(
                f"Invalid filter key {key!r:.100}",
                remedy="a key is text without quotes, backslashes and control characters",
            )
        _check_keys(part)
    if not is_value and _is_operators(condition):
        for key in condition:
            if key not in _OPERATORS:
                raise UnknownNameError("operator", key, _OPERATORS)


def _is_operators(condition: Any) -> bool:
    return isinstance(condition, Mapping) and any(key.startswith("$") for key in condition)


def _is_comparable(operand: Any) -> bool:
    if isinstance(operand, float):
        return math.isfinite(operand)
    return isinstance(operand, int) or (isinstance(operand, str) and storable(operand))


def _find(value: Mapping[str, Any], key: str) -> Any:
    if key in value or "." not in key:
        return value.get(key)
    found: Any = value
    for name in key.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return None
        found = found[name]
    return found


def _fits(value: Any, condition: Any) -> bool:
    if _is_operators(condition):
        return all(_holds(value, name, operand) for name, operand in condition.items())
    if isinstance(condition, Mapping):
        if not isinstance(value, Mapping):
            return False
        return all(_fits(_find(value, key), part) for key, part in condition.items())
    if isinstance(condition, list | tuple):
        if not isinstance(value, list | tuple) or len(value) != len(condition):
            return False
        return all(map(_fits, value, condition))
    return _equal(value, condition)


def _holds(value: Any, name: str, operand: Any) -> bool:
    if name == "$eq":
        return _equal(value, operand)
    if name == "$ne":
        return not _equal(value, operand)
    if not (_are_numbers(value, operand) or _are_texts(value, operand)):
        return False
    return _COMPARISONS[name][0](value, operand)


def _equal(value: Any, other: Any) -> bool:
    """Whether two values are the same in JSON, where true is not 1."""
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    return bool(value == other)


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(one, int | float) and not isinstance(one, bool) for one in values)


def _are_texts(*values: Any) -> bool:
    return all(isinstance(one, str) for one in values)
