"""Looking after a memory: its contents counted, checked, exported, copied, and what it all cost."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from msgspec.structs import asdict

from .. import labels
from ..engine import lineage
from ..engine.arguments import Progress, check_aware, check_ids, check_limit
from ..engine.engine import Engine
from ..engine.private_files import create_private
from ..engine.writing import Writing
from ..errors import InvalidInputError
from ..model import Exported, Imported, Receipt, Record
from ..store.stats import MoveStats, Stats, TokenVectorStats
from ..store.tenants.backends import backend_for
from ..tenancy.audit import AuditEntry, AuditLog

if TYPE_CHECKING:
    from ..embed.contract import Embedder, TokenEncoder
    from ..llm import LLM, UsageReport
    from ..settings import Settings
    from ..store.contract import Store


class Admin:
    """Chores, and what the memory was opened with. Reached as `memory.admin`."""

    def __init__(self, engine: Engine, writing: Writing) -> None:
        self._engine = engine
        self._writing = writing

    # -- what it was opened with -------------------------------------------------------------------

    @property
    def tenant(self) -> str:
        """The tenant's name."""
        return self._engine.tenant

    @property
    def settings(self) -> Settings:
        """The settings the memory was opened with."""
        return self._engine.settings

    @property
    def embedder(self) -> Embedder | None:
        """The embedder, loaded if it was not yet; None when there is none.

        Raises:
            EmbedderError, MissingExtraError, UnknownNameError: it cannot be loaded.
        """
        return self._engine.embedder

    @property
    def token_encoder(self) -> TokenEncoder | None:
        """The token encoder of late interaction, loaded if it was not yet; None when there is
        none."""
        return self._engine.token_encoder

    @property
    def llm(self) -> LLM | None:
        """The language model, opened if it was not yet; None when none is set. Its calls block.

        Raises:
            SettingsError, MissingExtraError: it cannot be opened.
        """
        return self._engine.llm

    @property
    def store(self) -> Store:
        """The store underneath, for tools that look at what is stored as it is stored.

        Use it to read: what is written past `Memory` is neither validated nor embedded.
        """
        return self._engine.store

    # -- contents ----------------------------------------------------------------------------------

    def stats(self) -> MemoryStats:
        """Count records by schema and type, edges by type, vectors, queued texts, and bytes.

        Its `moves` say how far a move to another embedder or token encoder is, also where another
        process is at it.
        """
        counted = asdict(self.store.admin.stats())
        encoder = self._engine.token_encoder_name
        if encoder and encoder not in counted["token_vectors"]:
            # as after an import: it has made none of them yet
            waiting, parked = self.store.token_vectors.queue_lengths(encoder)
            if waiting or parked:
                counted["token_vectors"][encoder] = TokenVectorStats(0, 0, waiting, parked)
        counted["moves"] += moves_to(encoder, counted["token_vectors"])
        # a registered schema is told before it has rows
        counted["types"] = {name: {} for name in self.store.schemas()} | counted["types"]
        return MemoryStats(
            **counted,
            tenant=self.tenant,
            token_encoder=encoder,
            unlinked=self._engine.linker.waiting(),
            embedding_error=self._engine.embedding_error,
        )

    def records(self, schema: str | None = None) -> Iterator[Record]:
        """Yield the records of a schema, or of all schemas, in the order they were written.

        Raises:
            UnknownNameError: there is no such schema.
        """
        if schema is not None:
            from ..query.statements import known_schema

            schema = known_schema(schema, self.store.schemas)
        return _while_open(self._engine, self.store.records.all(schema))

    def describe(self, id_or_label: str, *, as_of: datetime | None = None) -> lineage.RecordView:
        """Describe one thing: its records, edges in and out, what it came from, what came of it.

        With `as_of`, what had that label then: entities as they were, and edges in force then.

        Raises:
            NotFoundError: nothing has this id or label; the remedy names what is most like it.
            InvalidInputError: `as_of` has no time zone.
        """
        return lineage.describe(self.store, id_or_label, as_of)

    def complete(self, prefix: str, limit: int = 10) -> list[str]:
        """List names and aliases that begin with a prefix, in order of their keys."""
        if not isinstance(prefix, str):
            raise InvalidInputError(f"a prefix is text, not {type(prefix).__name__}")
        if not prefix.strip(" \t\n\"'"):
            return []
        return self.store.records.complete(labels.key(prefix), check_limit(limit))

    def delete_edge(self, src: str, rel_type: str, dst: str) -> None:
        """Delete an edge between two labels, or the records with these ids.

        It is then as if it had never been made. What was true once is better ended than deleted:
        write the edge with `valid_to`, and `AS OF` still finds it.

        Raises:
            NotFoundError: there is no such edge.
        """
        self._writing.delete_edge(src, rel_type, dst)

    # -- expiry ------------------------------------------------------------------------------------

    def set_expiry(self, ids: Iterable[str], at: datetime | None) -> int:
        """Let records expire at a time, or never (None); nothing else of them changes.

        Returns: how many of the ids are those of records, without what has expired already.

        Raises:
            InvalidInputError: `at` has no time zone, or `ids` are not texts.
        """
        if at is not None:
            check_aware(at)
            at = at.astimezone(UTC)
        return self.store.set_expiry(check_ids(ids), at)

    def sweep(self, *, limit: int | None = None) -> Receipt:
        """Forget the records that have expired, with all that was made of them.

        It does what `Memory.forget` does, some hundred records at a time. What was swept stays
        swept if it is broken off, and the next call goes on.

        Args:
            limit: records that expired, at most; None: all.
        """
        return self._writing.sweep(None if limit is None else check_limit(limit))

    # -- health ------------------------------------------------------------------------------------

    def check(self) -> list[str]:
        """Verify the files, and every index against its table.

        Returns: a line for each disagreement; none when all is well.
        """
        from ..store.copy import unfinished

        store = self.store
        leftovers = backend_for(self.settings).unfinished()
        return [*store.admin.check(), *unfinished(store), *leftovers]

    def optimize(self) -> None:
        """Finish background work on indexes now; may take minutes. Answers are right without.

        Texts that were read before what they name was known are linked to it first.
        """
        self._engine.linker.run()
        self.store.admin.optimize()

    def reembed(
        self, embedder: Embedder | str | None = None, progress: Progress | None = None
    ) -> int:
        """Move this memory to another embedder; returns how many texts were embedded.

        The old vectors serve until the last new one is there. An interrupted move goes on where it
        was. A text that the new embedder refuses is tried as often as any, then parked: `stats()`
        counts it, and it is found by its words.

        Args:
            embedder: default the one in use: what lacks its vectors gets them.
        """
        if embedder is None:
            return self._engine.embedding_queue.move(progress)
        return self._engine.move_to(embedder, progress)

    def usage(self, *, run: str | None = None, since: datetime | None = None) -> UsageReport:
        """Report what the language model was used for: calls, tokens, US dollars and time.

        The report counts by task and by run.

        Args:
            run: of one run only: its id, or one end of it that no other has.
            since: calls that began then or later.

        Raises:
            NotFoundError: there is no such run.
        """
        from ..llm import ledger
        from ..runs.run import find_run

        if since is not None:
            check_aware(since)
        calls = ledger.rows(self.store.kv, since=since)
        if run is not None:
            ids = {call.run for call in calls if run and _is_end_of(run, call.run)}
            # a run that is not in the ledger may have made no call
            run_id = ids.pop() if len(ids) == 1 else find_run(self.store, run).id
            calls = [call for call in calls if call.run == run_id]
        return ledger.report(calls)

    def audit(self, limit: int = 100, *, before: datetime | None = None) -> list[AuditEntry]:
        """List what was asked of this memory over a server, newest first.

        Each entry says who asked (the id of their key), what, which records it concerned, and how
        it ended.

        Args:
            before: only calls that ended earlier, for the next page.
        """
        if before is not None:
            check_aware(before)
        return AuditLog(self.store.kv).calls(check_limit(limit), before=before)

    # -- moving ------------------------------------------------------------------------------------

    def export(self, path: str | os.PathLike[str] | IO[bytes], *, vectors: bool = True) -> Exported:
        """Write everything as JSON lines into a new file, or into an open stream; returns counts.

        What has expired is swept first, unless the memory cannot be written.

        Raises:
            ConflictError: the file exists already.
        """
        from ..store.jsonl import export

        options: dict[str, Any] = {
            "tenant": self.tenant,
            "vectors": vectors,
            "namespaces": _exported_namespaces(),
        }
        if self.store.capabilities.writable:
            self.sweep()
        if not isinstance(path, str | os.PathLike):
            return export(self.store, path, **options)
        with create_private(path) as stream:
            return export(self.store, stream, **options)

    def import_(
        self, path: str | os.PathLike[str] | IO[bytes], *, incomplete: bool = False
    ) -> Imported:
        """Write an export into this memory, by id: all of it, or nothing; returns counts.

        The export is a file or an open stream. Writes of others wait meanwhile.

        Args:
            incomplete: take what there is of an export that was cut off, or that an older Remloom
                wrote.

        Raises:
            InvalidInputError: a line is wrong, or the export is not whole or was changed. Nothing
                was written.
        """
        from ..store.jsonl import import_

        options: dict[str, Any] = {
            "model": self._engine.embedder_name,
            "incomplete": incomplete,
            "namespaces": _exported_namespaces(),
        }
        if not isinstance(path, str | os.PathLike):
            return import_(self.store, path, **options)
        try:
            with Path(path).open("rb") as stream:
                return import_(self.store, stream, **options)
        except OSError as error:
            raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from error

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy this tenant, as encrypted as it is, into a new folder.

        The copy can stand in for the tenant's own folder.

        Raises:
            InvalidInputError: it is kept in PostgreSQL, which has its own way to back up.
        """
        backend_for(self.settings).backup(self.store, self.tenant, Path(path))


def _exported_namespaces() -> tuple[str, ...]:
    """Give the namespaces of the entries that an export has, and an import takes."""
    from ..profile.beliefs.exchange import NAMESPACES
    from ..store.definitions import TAXONOMY
    from ..store.forgetting.watch import FORGOTTEN_ROWS
    from ..store.rules.premise_entries import PREMISE
    from ..store.rules.replaced_entries import REPLACED

    return (*NAMESPACES, TAXONOMY, FORGOTTEN_ROWS, PREMISE, REPLACED)


def _while_open(engine: Engine, records: Iterator[Record]) -> Iterator[Record]:
    """Yield the records, and hold the engine meanwhile: what is dropped is closed."""
    yield from records


def _is_end_of(part: str, id: str) -> bool:
    return id.startswith(part) or id.endswith(part)


class MemoryStats(Stats, frozen=True, kw_only=True):
    """What a tenant's store holds, whose it is, and whether embedding goes on."""

    tenant: str
    token_encoder: str = ""  # of late interaction; "" when there is none
    # entities that earlier texts are still to be linked to, up to a thousand; `embed_pending()` and
    # `optimize()` do that
    unlinked: int = 0
    # why embedding in the background stopped, or what it has long waited for; else ""
    embedding_error: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Give the same as a dictionary, as `remloom stats --json` prints it."""
        shown = {
            "tenant": self.tenant,
            **super().as_dict(),
            "token_encoder": self.token_encoder,
            "unlinked": self.unlinked,
        }
        # the key is there only when there is something to say
        return shown | {"embedding_error": self.embedding_error} if self.embedding_error else shown


def moves_to(encoder: str, made: Mapping[str, TokenVectorStats]) -> tuple[MoveStats, ...]:
    """The move to a token encoder, while texts with the token vectors of others wait for its own.

    Args:
        made: the token vectors that there are, by the encoder that made them.
    """
    others = [name for name in made if name != encoder]
    if encoder not in made or not made[encoder].pending or not others:
        return ()
    own = made[encoder]
    total = own.count + own.pending + own.parked
    return (MoveStats("token vectors", ", ".join(others), encoder, own.count, total),)
