"""The runs of a memory: what each made, what failed, and how one is taken back."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from ..engine.arguments import check_run_kind
from ..engine.engine import Engine
from ..model import Record

if TYPE_CHECKING:
    from .failures import FailedItem
    from .run import Run


class Runs:
    """Every time this memory learned, dreamt or was put in order. Reached as `memory.runs`."""

    def __init__(self, engine: Engine) -> None:
        # kept itself: while anybody has these runs, what was not closed stays open
        self._engine = engine
        self._store = engine.store

    def list(self, kind: str = "", *, limit: int | None = None) -> builtins.list[Run]:
        """List the runs, newest first.

        Args:
            kind: only these: "learn", "dream", "moments", "affinity", "consolidate", "refresh",
                "confirm", "observe", "normalise" or "profile".
            limit: of runs.

        Raises:
            UnknownNameError: there is no such kind of run.
        """
        from .run import list_runs

        return [*list_runs(self._store, check_run_kind(kind), limit=limit)]

    def records(self, run: str) -> builtins.list[Record]:
        """List the records that a run made and that are still there, in order.

        Args:
            run: its id, or one end of it that no other has.

        Raises:
            NotFoundError: there is no such run.
        """
        from .rollback import created_ids
        from .run import find_run

        ids = created_ids(self._store, find_run(self._store, run).id)
        records = (self._store.records.get(None, id) for id in ids)
        return [record for record in records if record is not None]

    def rollback(self, run: str) -> Run:
        """Take a run back: delete what it made, restore what it changed; all of it, or nothing.

        What you changed since stays, and is counted as `kept` in the receipt.

        Args:
            run: its id, or one end of it that no other has.

        Raises:
            NotFoundError: there is no such run.
            ConflictError: a run is going on, it was rolled back already, or something was built on
                it since; says what.
        """
        from .rollback import rollback

        return rollback(self._store, run)

    def failed(self, kind: str = "") -> builtins.list[FailedItem]:
        """List what failed because a call of the model did, with the reason.

        The next run tries it again.

        Args:
            kind: of run, as for `list`.

        Raises:
            UnknownNameError: there is no such kind of run.
        """
        from .failures import failed_items

        return failed_items(self._store, check_run_kind(kind))
