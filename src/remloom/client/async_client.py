"""`AsyncClient`: the methods of `Memory`, done by a server, for asyncio."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from functools import partial
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

from ..dream.service import Dreams
from ..jobs.service import Jobs
from ..memory.admin import Admin
from ..memory.memory import Memory
from ..model import Entity, Exported, Imported, Moment, Record, Resource
from ..profile.service import Profiles
from ..runs.service import Runs
from ..schema.service import Schemas
from .call import Call
from .connection import TIMEOUT, AsyncConnection
from .methods import Over, awaited, planned_async
from .plans import (
    PAGE,
    moments_by_time,
    moments_by_type,
    query_records,
    query_rows,
    read_files,
    register_schema,
    source_drift,
    sync_source,
)
from .reader import AsyncClientReader
from .transfers import BackupFolder, ExportFile, pieces_of

if TYPE_CHECKING:
    import httpx

    from ..profile.beliefs.exchange import Imported as ImportedProfile
    from ..reader.loop.events import Told


class AsyncClientRuns(Over[AsyncConnection]):
    """`Runs` over a server, for asyncio."""

    list = awaited(Runs.list)
    records = awaited(Runs.records)
    rollback = awaited(Runs.rollback)
    failed = awaited(Runs.failed)


class AsyncClientJobs(Over[AsyncConnection]):
    """`Jobs` over a server, for asyncio."""

    add = awaited(Jobs.add)
    get = awaited(Jobs.get)
    list = awaited(Jobs.list)
    retry = awaited(Jobs.retry)
    remove = awaited(Jobs.remove)


class AsyncClientDreams(Over[AsyncConnection]):
    """`Dreams` over a server, for asyncio."""

    moments = awaited(Dreams.moments)
    affinity = awaited(Dreams.affinity)
    consolidate = awaited(Dreams.consolidate)
    metrics = awaited(Dreams.metrics)


class AsyncClientProfiles(Over[AsyncConnection]):
    """`Profiles` over a server, for asyncio."""

    show = awaited(Profiles.show)
    beliefs = awaited(Profiles.beliefs)
    get = awaited(Profiles.get)
    history = awaited(Profiles.history)
    context = awaited(Profiles.context)
    get_remme_context = awaited(Profiles.get_remme_context)
    subjects = awaited(Profiles.subjects)
    slots = awaited(Profiles.slots)
    slot = awaited(Profiles.slot)
    why = awaited(Profiles.why)
    changes = awaited(Profiles.changes)
    set = awaited(Profiles.set)
    confirm = awaited(Profiles.confirm)
    reject = awaited(Profiles.reject)
    correct = awaited(Profiles.correct)
    retire = awaited(Profiles.retire)
    pin = awaited(Profiles.pin)
    hide = awaited(Profiles.hide)
    forget = awaited(Profiles.forget)
    define_slot = awaited(Profiles.define_slot)
    remove_slot = awaited(Profiles.remove_slot)
    candidates = awaited(Profiles.candidates)
    promote = awaited(Profiles.promote)  # type: ignore[arg-type]  # its **fields could hold "self"
    export = awaited(Profiles.export)

    async def import_(self, path: str | os.PathLike[str]) -> ImportedProfile:
        """Send what `export` wrote as JSON, which is taken in: all of it, or nothing."""
        with pieces_of(path) as pieces:
            call = Call(name="profile_import")
            done: ImportedProfile = await self._connection.upload(call, {}, pieces)
            return done

    observe = awaited(Profiles.observe)
    bootstrap = awaited(Profiles.bootstrap)
    staged = awaited(Profiles.staged)
    normalise = awaited(Profiles.normalise)
    learned = awaited(Profiles.learned)


class AsyncClientSchemas(Over[AsyncConnection]):
    """`Schemas` over a server, for asyncio."""

    list = awaited(Schemas.list)
    get = awaited(Schemas.get)
    register = planned_async(Schemas.register, register_schema)
    drop = awaited(Schemas.drop)
    migrate = awaited(Schemas.migrate)
    taxonomy = awaited(Schemas.taxonomy)
    set_taxonomy = awaited(Schemas.set_taxonomy)
    create_row = awaited(Schemas.create_row)
    get_row = awaited(Schemas.get_row)
    query_rows = planned_async(Schemas.query_rows, query_rows)
    sync = planned_async(Schemas.sync, sync_source)
    drift = planned_async(Schemas.drift, source_drift)


class AsyncClientAdmin(Over[AsyncConnection]):
    """`Admin` over a server, for asyncio."""

    stats = awaited(Admin.stats)
    describe = awaited(Admin.describe)

    async def records(self, schema: str | None = None) -> AsyncIterator[Record]:
        """Iterate over the records of one schema, or of all; pages are asked for as needed."""
        call = Call(name="list_records")
        cursor = ""
        while True:
            fields = {"schema": schema, "cursor": cursor, "limit": PAGE}
            page = await self._connection.ask(call, call.request_of(fields))
            for record in page.records:
                yield record
            cursor = page.cursor
            if not cursor:
                return

    complete = awaited(Admin.complete)
    delete_edge = awaited(Admin.delete_edge)
    set_expiry = awaited(Admin.set_expiry)
    sweep = awaited(Admin.sweep)
    check = awaited(Admin.check)
    optimize = awaited(Admin.optimize)
    reembed = awaited(Admin.reembed)
    usage = awaited(Admin.usage)

    async def export(
        self, path: str | os.PathLike[str] | IO[bytes], *, vectors: bool = True
    ) -> Exported:
        """Write everything as JSON lines into a new file here, or into an open stream.

        Raises:
            ConflictError: the file exists already.
        """
        with ExportFile(path) as file:
            await self._connection.download(Call(name="export"), {"vectors": vectors}, file.write)
            return file.counts()

    async def import_(
        self, path: str | os.PathLike[str] | IO[bytes], *, incomplete: bool = False
    ) -> Imported:
        """Send an export, which is written by id: all of it, or nothing."""
        call = Call(name="import")
        with pieces_of(path) as pieces:
            done: Imported = await self._connection.upload(call, {"incomplete": incomplete}, pieces)
            return done

    async def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy this tenant, as encrypted as it is, into a new folder here."""
        with BackupFolder(path) as folder:
            await self._connection.download(Call(name="backup"), {}, folder.write)
            folder.unpack()

    audit = awaited(Admin.audit)


class AsyncClient(Over[AsyncConnection]):
    """`Client` for asyncio: `async with AsyncClient(url) as memory`."""

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        tenant: str | None = None,
        timeout: float = TIMEOUT,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        super().__init__(AsyncConnection(url, key, tenant, timeout, http))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._connection.target.shown}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. The memory stays open at the server."""
        await self._connection.close()

    write = awaited(Memory.write)
    create_resource = awaited(Memory.create_resource)
    create_entity = awaited(Memory.create_entity)
    create_moment = awaited(Memory.create_moment)
    create_edge = awaited(Memory.create_edge)
    update_entity = awaited(Memory.update_entity)  # type: ignore[arg-type]  # its **changes could hold "self"
    delete_resource = awaited(Memory.delete_resource)
    forget = awaited(Memory.forget)
    get_resource = awaited(Memory.get_resource)
    get_entity = awaited(Memory.get_entity)
    get_moment = awaited(Memory.get_moment)
    get_edges = awaited(Memory.get_edges)
    get_moments_by_time = planned_async(Memory.get_moments_by_time, moments_by_time)
    get_moments_by_type = planned_async(Memory.get_moments_by_type, moments_by_type)
    query_resources = planned_async(Memory.query_resources, partial(query_records, Resource))
    query_entities = planned_async(Memory.query_entities, partial(query_records, Entity))
    query_moments = planned_async(Memory.query_moments, partial(query_records, Moment))
    create_index = awaited(Memory.create_index)
    history = awaited(Memory.history)
    query = awaited(Memory.query)
    rem_query = awaited(Memory.rem_query)
    lookup = awaited(Memory.lookup)
    fuzzy = awaited(Memory.fuzzy)
    search = awaited(Memory.search)
    search_text = awaited(Memory.search_text)
    search_resources = awaited(Memory.search_resources)
    search_entities = awaited(Memory.search_entities)
    traverse = awaited(Memory.traverse)
    sql = awaited(Memory.sql)
    ask = awaited(Memory.ask)
    recall = awaited(Memory.recall)
    context = awaited(Memory.context)
    read = planned_async(Memory.read, read_files)
    read_text = awaited(Memory.read_text)
    read_chat = awaited(Memory.read_chat)
    embed_pending = awaited(Memory.embed_pending)
    learn = awaited(Memory.learn)
    dream = awaited(Memory.dream)

    def reader(self, *documents: str, told: Told | None = None) -> AsyncClientReader:
        """Open long documents that the server has, by uri, title or label.

        What is not there yet is read in first: `read`. What they are called is looked at by the
        first call, which raises NotFoundError if there is none.

        Args:
            told: called with each `ReadEvent` of an `ask` as it happens.
        """
        return AsyncClientReader(self._connection, list(documents), told)

    @property
    def runs(self) -> AsyncClientRuns:
        """What learning, dreaming and its chores did."""
        return AsyncClientRuns(self._connection)

    @property
    def jobs(self) -> AsyncClientJobs:
        """Work for later."""
        return AsyncClientJobs(self._connection)

    @property
    def dreams(self) -> AsyncClientDreams:
        """Dreaming besides `learn` and `dream`."""
        return AsyncClientDreams(self._connection)

    @property
    def profile(self) -> AsyncClientProfiles:
        """What is known of the user and others."""
        return AsyncClientProfiles(self._connection)

    @property
    def schemas(self) -> AsyncClientSchemas:
        """Schemas of the tenant's own, and rows of them."""
        return AsyncClientSchemas(self._connection)

    @property
    def admin(self) -> AsyncClientAdmin:
        """Chores."""
        return AsyncClientAdmin(self._connection)
