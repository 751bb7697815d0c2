"""The store contract as tests: what a closed store answers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from ...errors import StoreClosedError
from ...model import Edge, Entity, Moment, Resource
from ...predicates import All, Query
from ...store.contract import Batch, EdgeOrder, Store
from .opening import DAY, T0, Opened, put

__all__ = ["Closing"]

_AT: dict[str, Any] = {"direction": "out"}
_ALL: dict[str, Any] = {**_AT, "rel_types": None, "limit": None}
CALLS: dict[str, Callable[[Store], object]] = {
    "write": lambda store: store.write(Batch()),
    "update": lambda store: store.update(lambda _: Batch()),
    "write_all": lambda store: store.write_all(lambda: [Batch()]),
    "delete": lambda store: store.delete(["x"]),
    "erase": lambda store: store.erase(lambda _: Batch()),
    "get": lambda store: store.get(None, "x"),
    "lookup": lambda store: (store.lookup(["a"]), store.lookup(["a", "b"])),
    "first_words": lambda store: store.first_words(["a"]),
    "complete": lambda store: store.complete("a", 3),
    "children": lambda store: store.children("x"),
    "parents": lambda store: store.parents("x"),
    "chunks": lambda store: store.chunks("a.md"),
    "messages": lambda store: store.messages("a.md", ["1"]),
    "referring": lambda store: store.referring(["x"]),
    "fuzzy": lambda store: store.fuzzy("ann", type=None, threshold=0.5, limit=3),
    "search_vector": lambda store: store.search_vector(
        [1.0, 0.0], schema="resources", where=None, limit=3, min_score=None
    ),
    "search_text": lambda store: store.search_text("tea", schema=None, where=None, limit=3),
    "edges": lambda store: store.edges(["a"], **_ALL),
    "stored_edges": lambda store: store.stored_edges(["a"], **_AT),
    "edge_keys": lambda store: store.edge_keys(["a"], **{**_ALL, "limit": 3}),
    "count_edges": lambda store: store.count_edges(["a"], **_AT),
    "walk": lambda store: store.walk(["a"], **_ALL, depth=2, breadth=None, order=EdgeOrder()),
    "degrees": lambda store: store.degrees(["a"], **_AT),
    "degrees_by": lambda store: store.degrees_by([["a"]], **_AT),
    "rel_types": lambda store: store.rel_types(),
    "query": lambda store: store.query("entities", Query().filter(All())),
    "create_index": lambda store: store.create_index("entities", "type"),
    "moments_between": lambda store: store.moments_between(T0, T0 + DAY),
    "pending": lambda store: store.pending(3),
    "queued": lambda store: store.queued(),
    "embed": lambda store: store.embed({}, model="m", dims=2),
    "model": lambda store: store.model(),
    "vectors": lambda store: store.vectors("x"),
    "vectors_of": lambda store: store.vectors_of(["x"]),
    "unembedded": lambda store: store.unembedded("m", 3),
    "adopt": lambda store: store.adopt("m"),
    "park": lambda store: store.park("x", "why"),
    "unpark": lambda store: store.unpark(),
    "cached": lambda store: store.cached([b"0" * 16], model="m"),
    "snapshot": lambda store: _entered(store.snapshot()),
    "records": lambda store: list(store.records()),
    "all_edges": lambda store: list(store.all_edges()),
    "stats": lambda store: store.stats(),
    "check": lambda store: store.check(),
    "settle": lambda store: store.settle(),
    "note": lambda store: store.note([]),
    "journal": lambda store: store.journal("run"),
    "journal_entry": lambda store: store.journal_entry("run", "1"),
}
# What tells of the provider and not of what is stored, and what needs a statement or a file;
# `close` and `look` may be called of what is closed.
APART = {"close", "look", "columns", "select", "explain", "backup"}


class Closing(Opened):
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
        methods = {
            name
            for name, _ in inspect.getmembers(Store, inspect.isfunction)
            if not name.startswith("_")
        }
        assert methods - APART ^ set(CALLS) == set(), (
            "a method that is new in the contract needs a call above"
        )

    def test_a_store_that_another_one_of_the_tenant_closed_is_open(
        self, store: Store, reopen: Any
    ) -> None:
        reopen().close()
        put(store, Entity(name="a"))
        assert len(store.lookup(["a"])["a"]) == 1
        closed = reopen()
        closed.close()
        with pytest.raises(StoreClosedError):
            closed.get(None, "a")


def _entered(context: AbstractContextManager[object]) -> None:
    with context:
        pass
