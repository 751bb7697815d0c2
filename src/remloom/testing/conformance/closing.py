"""The store contract as tests: what a closed store answers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, get_type_hints

import pytest

from ...errors import StoreClosedError
from ...model import Edge, Entity, Moment, Resource
from ...predicates import All, Query
from ...sql.compile import compile_select
from ...store.batch import Batch, TokenVectorBatch, VectorBatch
from ...store.contract import Store
from ...store.specs import EdgeOrder, EdgeSpec, NameSpec, SearchSpec, WalkSpec
from .opening import DAY, T0, Opened, put

_STATEMENT = compile_select("SELECT name FROM entities")
_AT: dict[str, Any] = {"direction": "out"}
_ALL: dict[str, Any] = {**_AT, "rel_types": None, "limit": None}
_SOME = EdgeSpec(["a"], direction="out", limit=3)
CALLS: dict[str, Callable[[Store], object]] = {
    "schemas": lambda store: store.schemas(),
    "write": lambda store: store.write(Batch()),
    "update": lambda store: store.update(lambda _: Batch()),
    "write_all": lambda store: store.write_all(lambda: [Batch()]),
    "delete": lambda store: store.delete(["x"]),
    "erase": lambda store: store.erase(lambda _: Batch()),
    "set_expiry": lambda store: store.set_expiry(["x"], T0),
    "records.get": lambda store: store.records.get(None, "x"),
    # one key and several go different ways in some providers
    "records.lookup": lambda store: [store.records.lookup(keys) for keys in (["a"], ["a", "b"])],
    "records.first_words": lambda store: store.records.first_words(["a"]),
    "records.complete": lambda store: store.records.complete("a", 3),
    "records.first_names": lambda store: store.records.first_names(
        "note", first="a", end="b", mark="/", limit=3
    ),
    "records.texts_after": lambda store: store.records.texts_after(0, 3),
    "records.entities_after": lambda store: store.records.entities_after(0, 3),
    "records.expired": lambda store: store.records.expired(3),
    "records.children": lambda store: store.records.children("x"),
    "records.parents": lambda store: store.records.parents("x"),
    "records.chunks": lambda store: store.records.chunks("a.md"),
    "records.originating": lambda store: store.records.originating("a"),
    "records.messages": lambda store: store.records.messages("a.md", ["1"]),
    "records.referring": lambda store: store.records.referring(["x"]),
    "search.names": lambda store: store.search.names("ann", NameSpec(threshold=0.5, limit=3)),
    "search.vector": lambda store: store.search.vector(
        [1.0, 0.0], SearchSpec(schema="resources", limit=3)
    ),
    "search.begin_vector": lambda store: store.search.begin_vector(
        [1.0, 0.0], SearchSpec(schema="resources", limit=3)
    )(),
    "search.text": lambda store: store.search.text("tea", SearchSpec(limit=3)),
    "search.having_all": lambda store: store.search.having_all("tea", 3),
    "graph.edges": lambda store: store.graph.edges(EdgeSpec(["a"], **_ALL)),
    "graph.stored_edges": lambda store: store.graph.stored_edges(["a"], **_AT),
    "graph.edge_keys": lambda store: store.graph.edge_keys(_SOME),
    "graph.count_by_type": lambda store: store.graph.count_by_type(["a"], **_AT),
    "graph.walk": lambda store: store.graph.walk(
        WalkSpec(["a"], **_ALL, depth=2, order=EdgeOrder())
    ),
    "graph.count": lambda store: store.graph.count(["a"], **_AT),
    "graph.count_by_group": lambda store: store.graph.count_by_group([["a"]], **_AT),
    "graph.edge_types": lambda store: store.graph.edge_types(),
    "records.query": lambda store: store.records.query("entities", Query().filter(All())),
    "sql.create_index": lambda store: store.sql.create_index("entities", "type"),
    "records.moments_between": lambda store: store.records.moments_between(T0, T0 + DAY),
    "vectors.pending": lambda store: store.vectors.pending(3),
    "vectors.queue_lengths": lambda store: store.vectors.queue_lengths(),
    "vectors.put": lambda store: store.vectors.put(VectorBatch({}, model="m", dims=2)),
    "vectors.model": lambda store: store.vectors.model(),
    "vectors.get": lambda store: store.vectors.get("x"),
    "vectors.of": lambda store: store.vectors.of(["x"]),
    "vectors.unembedded": lambda store: store.vectors.unembedded("m", 3),
    "vectors.adopt": lambda store: store.vectors.adopt("m"),
    "vectors.park": lambda store: store.vectors.park("x", "why"),
    "vectors.unpark": lambda store: store.vectors.unpark(),
    "vectors.cached": lambda store: store.vectors.cached([b"0" * 16], model="m"),
    "token_vectors.of": lambda store: store.token_vectors.of(["x"], model="m"),
    "token_vectors.pending": lambda store: [
        store.token_vectors.pending("m", 3, ids=ids) for ids in (None, ["x"])
    ],
    "token_vectors.queue_lengths": lambda store: store.token_vectors.queue_lengths("m"),
    "token_vectors.put": lambda store: store.token_vectors.put(
        TokenVectorBatch({}, model="m", dims=2)
    ),
    "token_vectors.park": lambda store: store.token_vectors.park("x", "why", model="m"),
    "token_vectors.unpark": lambda store: store.token_vectors.unpark("m"),
    "token_vectors.discard_damaged": lambda store: [
        store.token_vectors.discard_damaged("m", ids=ids) for ids in (None, ["x"])
    ],
    "token_vectors.models": lambda store: store.token_vectors.models(),
    "token_vectors.drop": lambda store: store.token_vectors.drop(),
    "snapshot": lambda store: _entered(store.snapshot()),
    "records.all": lambda store: list(store.records.all()),
    "graph.all_edges": lambda store: list(store.graph.all_edges()),
    "admin.stats": lambda store: store.admin.stats(),
    "admin.check": lambda store: store.admin.check(),
    "admin.optimize": lambda store: store.admin.optimize(),
    "kv.put": lambda store: store.kv.put([]),
    "kv.list": lambda store: store.kv.list("run"),
    "kv.count": lambda store: store.kv.count("run"),
    "kv.get": lambda store: store.kv.get("run", "1"),
    "sql.select": lambda store: store.sql.select(_STATEMENT, limit=1, timeout=5.0),
    "sql.explain": lambda store: store.sql.explain(_STATEMENT, limit=1),
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
        put(store, Edge(src="a", rel_type="r", dst="b"))
        # what was loaded by then must not answer either
        for call in CALLS.values():
            call(store)
        store.close()
        answered = []
        for name, call in CALLS.items():
            try:
                call(store)
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


def _entered(context: AbstractContextManager[object]) -> None:
    with context:
        pass
