"""The store contract as tests: what a closed store answers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from operator import attrgetter
from typing import Any, get_type_hints

import pytest

from ...errors import StoreClosedError
from ...model import Entity, Moment, Resource
from ...predicates import All, Query
from ...sql.compile import compile_select
from ...store.batch import Batch, TokenVectorBatch, VectorBatch
from ...store.contract import Store
from ...store.specs import EdgeOrder, EdgeSpec, NameSpec, SearchSpec, WalkSpec
from .opening import DAY, T0, Opened, edge_between, put

_STATEMENT = compile_select("SELECT name FROM entities")
_AT: dict[str, Any] = {"direction": "out"}
_ALL: dict[str, Any] = {**_AT, "rel_types": None, "limit": None}
_SOME = EdgeSpec(["a"], direction="out", limit=3)


def _call(*args: Any, **options: Any) -> Callable[[Any], object]:
    """Call a method, and use what it returns as far as that does the work."""

    def call(method: Callable[..., object]) -> object:
        found = method(*args, **options)
        if isinstance(found, AbstractContextManager):
            with found:
                return None
        if isinstance(found, Iterator):
            return list(found)
        return found() if callable(found) else found

    return call


# the calls of the methods
CALLS: dict[str, Callable[[Any], object]] = {
    "schemas": _call(),
    "write": _call(Batch()),
    "update": _call(lambda _: Batch()),
    "write_all": _call(lambda: [Batch()]),
    "delete": _call(["x"]),
    "erase": _call(lambda _: Batch()),
    "set_expiry": _call(["x"], T0),
    "records.get": _call(None, "x"),
    "records.of": _call(["x"]),
    # one key and several go different ways in some providers
    "records.lookup": lambda method: [method(keys) for keys in (["a"], ["a", "b"])],
    "records.first_words": _call(["a"]),
    "records.complete": _call("a", 3),
    "records.first_names": _call("note", first="a", end="b", mark="/", limit=3),
    "records.texts_after": _call(0, 3),
    "records.entities_after": _call(0, 3),
    "records.expired": _call(3),
    "records.children": _call("x"),
    "records.parents": _call("x"),
    "records.premises": _call(["x"]),
    "records.resting": _call(["x"], ["x"]),
    "records.chunks": _call("a.md"),
    "records.originating": _call("a"),
    "records.messages": _call("a.md", ["1"]),
    "records.referring": _call(["x"]),
    "search.names": _call("ann", NameSpec(threshold=0.5, limit=3)),
    "search.vector": _call([1.0, 0.0], SearchSpec(schema="resources", limit=3)),
    "search.begin_vector": _call([1.0, 0.0], SearchSpec(schema="resources", limit=3)),
    "search.text": _call("tea", SearchSpec(limit=3)),
    "search.having_all": _call("tea", 3),
    "graph.edges": _call(EdgeSpec(["a"], **_ALL)),
    "graph.stored_edges": _call(["a"], **_AT),
    "graph.edge_keys": _call(_SOME),
    "graph.count_by_type": _call(["a"], **_AT),
    "graph.walk": _call(WalkSpec(["a"], **_ALL, depth=2, order=EdgeOrder())),
    "graph.count": _call(["a"], **_AT),
    "graph.count_by_group": _call([["a"]], **_AT),
    "graph.edge_types": _call(),
    "records.query": _call("entities", Query().filter(All())),
    "sql.create_index": _call("entities", "type"),
    "records.moments_between": _call(T0, T0 + DAY),
    "vectors.pending": _call(3),
    "vectors.queue_lengths": _call(),
    "vectors.put": _call(VectorBatch({}, model="m", dims=2)),
    "vectors.model": _call(),
    "vectors.get": _call("x"),
    "vectors.of": _call(["x"]),
    "vectors.unembedded": _call("m", 3),
    "vectors.adopt": _call("m"),
    "vectors.park": _call("x", "why"),
    "vectors.unpark": _call(),
    "vectors.cached": _call([b"0" * 16], model="m"),
    "token_vectors.of": _call(["x"], model="m"),
    "token_vectors.pending": lambda method: [method("m", 3, ids=ids) for ids in (None, ["x"])],
    "token_vectors.queue_lengths": _call("m"),
    "token_vectors.put": _call(TokenVectorBatch({}, model="m", dims=2)),
    "token_vectors.park": _call("x", "why", model="m"),
    "token_vectors.unpark": _call("m"),
    "token_vectors.discard_damaged": lambda method: [method("m", ids=ids) for ids in (None, ["x"])],
    "token_vectors.models": _call(),
    "token_vectors.drop": _call(),
    "snapshot": _call(),
    "records.all": _call(),
    "graph.all_edges": _call(),
    "admin.stats": _call(),
    "admin.check": _call(),
    "admin.optimize": _call(),
    "kv.put": _call([]),
    "kv.list": _call("run"),
    "kv.about": _call("run", ["x"]),
    "kv.count": _call("run"),
    "kv.get": _call("run", "1"),
    "sql.select": _call(_STATEMENT, limit=1, timeout=5.0),
    "sql.explain": _call(_STATEMENT, limit=1),
}
# `columns` tells of the provider and not of what is stored, `backup` needs a file; `close` and
# `detect_deletion` may be called of what is closed.
APART = {"close", "admin.detect_deletion", "sql.columns", "admin.backup"}


class ClosingCases(Opened):
    """What a closed store answers: that it is closed."""

    def test_every_method_of_a_closed_store_says_that_it_is_closed(self, store: Store) -> None:
        put(
            store,
            Entity(name="a"),
            Resource(name="b", content="tea", embedding=[1.0, 0.0]),
            Moment(name="m"),
        )
        put(store, edge_between("a", "b"))
        # what was loaded by then must not answer either
        for name, call in CALLS.items():
            call(attrgetter(name)(store))
        store.close()
        answered = []
        for name, call in CALLS.items():
            try:
                call(attrgetter(name)(store))
            except StoreClosedError:
                continue
            answered.append(name)
        assert answered == []
        store.close()

    def test_these_are_all_methods_of_the_contract(self) -> None:
        methods = set(_methods(Store))
        # the components of a store are its properties, each typed by its protocol
        for name, component in inspect.getmembers(
            Store, lambda member: isinstance(member, property)
        ):
            if name != "capabilities":
                protocol = get_type_hints(component.fget)["return"]
                methods |= {f"{name}.{method}" for method in _methods(protocol)}
        assert methods - APART ^ set(CALLS) == set(), (
            "a method that is new in the contract needs a call above"
        )

    def test_a_store_that_another_one_of_the_tenant_closed_is_open(
        self, store: Store, reopen: Any
    ) -> None:
        reopen().close()
        put(store, Entity(name="a"))
        assert len(store.records.lookup(["a"])["a"]) == 1
        closed = reopen()
        closed.close()
        with pytest.raises(StoreClosedError):
            closed.records.get(None, "a")


def _methods(protocol: type) -> list[str]:
    functions = inspect.getmembers(protocol, inspect.isfunction)
    return [name for name, _ in functions if not name.startswith("_")]
