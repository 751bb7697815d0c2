"""Forgetting, checking, exporting, and what it all cost."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ..errors import ConflictError, InvalidInputError, ReadOnlyStoreError
from ..model import Receipt
from ..store.backends import place
from .arguments import aware
from .records import Records

if TYPE_CHECKING:
    from ..ingest.embedding_worker import EmbeddingQueue
    from ..llm import UsageReport

__all__ = ["Care"]


class Care(Records):
    """What keeps a memory in order."""

    def forget(self, *targets: str, dry_run: bool = False) -> Receipt:
        """Forget records by id, sources by uri, or things by label, with all that hangs on them and
        all that was made of them. What quotes them beside others is made again without them. See
        docs/guarantees.md.

        Raises:
            NotFoundError: one of them is not known. Nothing was forgotten.
        """
        return self._forget(targets, dry_run=dry_run)

    def usage(self, *, run: str | None = None, since: datetime | None = None) -> UsageReport:
        """What the language model was used for: calls, tokens, US dollars and time, by task and by
        run.

        Args:
            run: of one run only: its id, or one end of it that no other has.
            since: calls that began then or later.

        Raises:
            NotFoundError: there is no such run.
        """
        from ..llm import ledger
        from ..runs.run import find_run

        if since is not None:
            aware(since)
        calls = ledger.rows(self._store.kv, since=since)
        if run is not None:
            within = {
                call.run
                for call in calls
                if run and (call.run.startswith(run) or call.run.endswith(run))
            }
            # which may have made no call
            one = within.pop() if len(within) == 1 else find_run(self._store, run).id
            calls = [call for call in calls if call.run == one]
        return ledger.report(calls)

    def stats(self) -> dict[str, Any]:
        """Counts by schema, type and edge type; vectors, their model and the share searched
        exactly; queue; bytes. `embedding_error` is there when embedding in the background stopped,
        and says why."""
        queue: EmbeddingQueue | None = self.__dict__.get("_queue")
        failed = {"embedding_error": str(queue.error)} if queue is not None and queue.error else {}
        return {"tenant": self.tenant, **self._store.admin.stats().as_dict(), **failed}

    def check(self) -> list[str]:
        """Verify the files and every index against its table; a line for each disagreement, none
        when all is well."""
        from ..store.copy import unfinished

        return [
            *self._store.admin.check(),
            *unfinished(self._store),
            *place(self._settings).unfinished(),
        ]

    def settle(self) -> None:
        """Finish background work on indexes now; may take minutes. Answers are right without."""
        self._store.admin.optimize()

    def export(
        self, path: str | os.PathLike[str] | IO[bytes], *, vectors: bool = True
    ) -> dict[str, int]:
        """Write everything as JSON lines into a new file, or into an open stream; returns counts.

        Raises:
            ConflictError: the file is there already.
        """
        from ..store.jsonl import export

        if not isinstance(path, str | os.PathLike):
            return export(self._store, path, tenant=self.tenant, vectors=vectors)
        try:
            with open(path, "xb", opener=_private) as stream:
                return export(self._store, stream, tenant=self.tenant, vectors=vectors)
        except FileExistsError:
            raise ConflictError(
                f"{path} is there already", remedy="choose a new file name"
            ) from None
        except BaseException as error:
            with suppress(OSError):
                # half an export must not be taken for a whole one
                os.unlink(path)
            if isinstance(error, OSError):
                raise ReadOnlyStoreError(f"{path} cannot be written: {error.strerror}") from error
            raise

    def import_(
        self, path: str | os.PathLike[str] | IO[bytes], *, incomplete: bool = False
    ) -> dict[str, int]:
        """Write an export (a file, or an open stream) into this memory, by id: all of it, or
        nothing; returns counts. Others' writes wait meanwhile.

        Args:
            incomplete: take what there is of an export that was cut off, or that an older Remloom
                wrote.

        Raises:
            InvalidInputError: a line is wrong, or the export is not whole or was changed. Nothing
                was written.
        """
        from ..store.jsonl import import_

        if not isinstance(path, str | os.PathLike):
            return import_(self._store, path, model=self._model_name, incomplete=incomplete)
        try:
            with Path(path).open("rb") as stream:
                return import_(self._store, stream, model=self._model_name, incomplete=incomplete)
        except OSError as error:
            raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from error

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy this tenant, as encrypted as it is, into a new folder that can stand in for the
        tenant's own.

        Raises:
            InvalidInputError: it is kept in PostgreSQL, which has its own way to back up.
        """
        place(self._settings).backup(self._store, self.tenant, Path(path))


def _private(path: str, flags: int) -> int:
    """An opener of files that only their owner may read: an export is plaintext, whatever the
    tenant is."""
    return os.open(path, flags, 0o600)
