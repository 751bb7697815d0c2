"""Vectors and token vectors that both stores read and queue by statements of the same names.

The queue of token vectors is not a table: the texts of a model that wait are those whose number is
above the one up to which it is done. So a write costs nothing more, and what was written before the
first model came waits as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from ..model import Record
from .batch import Vector
from .encoding import embedded_text, now
from .results import Pending
from .sql_files import SqlFiles

ATTEMPTS = 3  # failures of a text before it is parked
UNKNOWN = (0, 0, 0)  # number, dimensions and progress of a model that made nothing yet
_LONGEST_ERROR = 2_000  # characters


class VectorStatements(ABC):
    """What both kinds of vectors ask of a store.

    Args:
        statements: those of the store.
        fetch: fetches the rows of a statement, which takes named values.
        snapshot: lets this thread's statements see one state.
    """

    def __init__(
        self,
        statements: SqlFiles,
        fetch: Callable[..., list[Any]],
        snapshot: Callable[[], AbstractContextManager[Any]],
    ) -> None:
        self.SQL = statements
        self._fetch = fetch
        self._snapshot = snapshot

    @abstractmethod
    def _ids(self, ids: Iterable[str]) -> Any:
        """Ids as a statement takes them, each once."""

    @abstractmethod
    def _decode(self, row: Any) -> Record:
        """The record of the columns `schema`, `body` and `content`."""

    @abstractmethod
    def _run(self, sql: str, **values: Any) -> int:
        """Run a statement in a transaction of its own; returns how many rows it touched."""

    def _waiting(self, rows: Iterable[Any]) -> list[Pending]:
        """The texts of rows: id, attempts, error, number, and the columns that `_decode` takes."""
        return [
            Pending(id, embedded_text(self._decode(record)), attempts, error or "", text_no or 0)
            for id, attempts, error, text_no, *record in rows
        ]


class StoredVectors(VectorStatements):
    """The vectors of one tenant. See `components.Vectors`."""

    def pending(self, limit: int, *, ids: Sequence[str] | None = None) -> list[Pending]:
        values = {"now": now(), "limit": limit}
        if ids is None:
            return self._waiting(self._fetch(self.SQL.next_pending, **values))
        return self._waiting(self._fetch(self.SQL.pending_among, ids=self._ids(ids), **values))

    def unembedded(self, model: str, limit: int, *, after: int = 0) -> list[Pending]:
        values = {"model": model, "limit": limit, "after": after, "now": now()}
        return self._waiting(self._fetch(self.SQL.unembedded_by_model, **values))

    def park(self, id: str, error: str) -> None:
        self._run(self.SQL.count_failure, id=id, error=_shown(error), most=ATTEMPTS)

    def unpark(self) -> int:
        return self._run(self.SQL.unpark)

    def get(self, id: str) -> list[Vector]:
        return self.of([id]).get(id, [])

    @abstractmethod
    def of(self, ids: Sequence[str]) -> dict[str, list[Vector]]: ...

    def model(self) -> tuple[str, int] | None:
        rows = self._fetch(self.SQL.current_model)
        return rows[0][1:] if rows else None

    def queue_lengths(self) -> tuple[int, int]:
        ((waiting, parked),) = self._fetch(self.SQL.count_pending)
        return waiting, parked


class StoredTokenVectors(VectorStatements):
    """The token vectors of one tenant. See `components.TokenVectors`."""

    def pending(self, model: str, limit: int, *, ids: Sequence[str] | None = None) -> list[Pending]:
        with self._snapshot():
            model_no, _, upto = self._model(model)
            values = {"name": model, "model": model_no, "now": now()}
            if ids is not None:
                sql = self.SQL.texts_without_tokens_among
                return self._waiting(self._fetch(sql, ids=self._ids(ids), limit=limit, **values))
            sql = self.SQL.texts_without_tokens
            found = self._fetch(sql, upto=upto, limit=limit, **values)
            left = limit - len(found)
            found += self._fetch(self.SQL.texts_to_try_again, limit=left, **values)
        return self._waiting(found)

    def queue_lengths(self, model: str) -> tuple[int, int]:
        with self._snapshot():
            number, _, upto = self._model(model)
            values = {"name": model, "model": number, "upto": upto, "now": now()}
            ((fresh,),) = self._fetch(self.SQL.count_texts_without_tokens, **values)
            ((failed, parked),) = self._fetch(self.SQL.count_token_failures, **values)
        return fresh + failed, parked

    def of(self, ids: Sequence[str], *, model: str) -> dict[str, bytes]:
        values = {"ids": self._ids(ids), "name": model, "now": now()}
        return dict(self._fetch(self.SQL.token_vectors_of_records, **values))

    def models(self) -> list[tuple[str, int]]:
        return self._fetch(self.SQL.token_models)

    def park(self, id: str, error: str, *, model: str) -> None:
        values = {"id": id, "error": _shown(error), "name": model, "most": ATTEMPTS}
        self._run(self.SQL.count_token_failure, **values)

    def unpark(self, model: str) -> int:
        return self._run(self.SQL.unpark_tokens, name=model)

    def _model(self, name: str) -> tuple[int, int, int]:
        rows = self._fetch(self.SQL.token_model, name=name)
        return rows[0] if rows else UNKNOWN


def _shown(error: str) -> str:
    # PostgreSQL has no texts with NUL characters
    return error.replace("\0", " ")[:_LONGEST_ERROR]
