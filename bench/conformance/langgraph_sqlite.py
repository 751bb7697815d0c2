"""Points LangGraph's tests of its SQLite store at `RemloomStore`."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import langgraph.store.sqlite
import langgraph.store.sqlite.aio

from remloom.adapters.langgraph import RemloomStore


def _open(conn_string: str, index: Any, ttl: Any) -> RemloomStore:
    """Open a store for what theirs would open: a file, or a database in memory."""
    file = tempfile.mkdtemp(prefix="conformance-") if conn_string == ":memory:" else conn_string
    if index and index.get("text_fields"):
        # their own configuration calls the fields so
        index = {**index, "fields": index["text_fields"]}
    embedder = None if index else "none"
    return RemloomStore.open(f"{file}-home", index=index, ttl=ttl, embedder=embedder)


class SyncStore:
    """`SqliteStore.from_conn_string`, and what theirs has besides."""

    @classmethod
    @contextmanager
    def from_conn_string(cls, conn: str, *, index: Any = None, ttl: Any = None) -> Iterator[Any]:
        with _open(conn, index, ttl) as store:
            store.setup = lambda: None  # type: ignore[attr-defined]
            yield store


class AsyncStore:
    """`AsyncSqliteStore.from_conn_string`; what is not async of ours is made so."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls, conn: str, *, index: Any = None, ttl: Any = None
    ) -> AsyncIterator[Any]:
        with _open(conn, index, ttl) as store:
            for name in ("sweep_ttl", "start_ttl_sweeper", "stop_ttl_sweeper"):
                setattr(store, name, _as_coroutine(getattr(store, name)))
            store.setup = _as_coroutine(lambda: None)  # type: ignore[attr-defined]
            yield store


def _as_coroutine(method: Any) -> Any:
    async def call(*arguments: Any) -> Any:
        return method(*arguments)

    return call


langgraph.store.sqlite.SqliteStore = SyncStore  # type: ignore[misc, assignment]
langgraph.store.sqlite.AsyncSqliteStore = AsyncStore  # type: ignore[misc, assignment]
langgraph.store.sqlite.aio.AsyncSqliteStore = AsyncStore  # type: ignore[misc, assignment]
