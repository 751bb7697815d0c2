"""`Client`: the methods of `Memory`, done by a server."""

from __future__ import annotations

import os
from collections.abc import Iterator
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
from .connection import TIMEOUT, Connection
from .methods import Over, planned, sent
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
from .reader import ClientReader
from .transfers import BackupFolder, ExportFile, pieces_of

if TYPE_CHECKING:
    import httpx

    from ..profile.beliefs.exchange import Imported as ImportedProfile
    from ..reader.loop.events import Told


class ClientRuns(Over[Connection]):
    """`Runs` over a server."""

    list = sent(Runs.list)
    records = sent(Runs.records)
    rollback = sent(Runs.rollback)
    failed = sent(Runs.failed)


class ClientJobs(Over[Connection]):
    """`Jobs` over a server."""

    add = sent(Jobs.add)
    get = sent(Jobs.get)
    list = sent(Jobs.list)
    retry = sent(Jobs.retry)
    remove = sent(Jobs.remove)


class ClientDreams(Over[Connection]):
    """`Dreams` over a server."""

    moments = sent(Dreams.moments)
    affinity = sent(Dreams.affinity)
    consolidate = sent(Dreams.consolidate)
    metrics = sent(Dreams.metrics)


class ClientProfiles(Over[Connection]):
    """`Profiles` over a server."""

    show = sent(Profiles.show)
    beliefs = sent(Profiles.beliefs)
    get = sent(Profiles.get)
    history = sent(Profiles.history)
    context = sent(Profiles.context)
    get_remme_context = sent(Profiles.get_remme_context)
    subjects = sent(Profiles.subjects)
    slots = sent(Profiles.slots)
    slot = sent(Profiles.slot)
    why = sent(Profiles.why)
    changes = sent(Profiles.changes)
    set = sent(Profiles.set)
    confirm = sent(Profiles.confirm)
    reject = sent(Profiles.reject)
    correct = sent(Profiles.correct)
    retire = sent(Profiles.retire)
    pin = sent(Profiles.pin)
    hide = sent(Profiles.hide)
    forget = sent(Profiles.forget)
    define_slot = sent(Profiles.define_slot)
    remove_slot = sent(Profiles.remove_slot)
    candidates = sent(Profiles.candidates)
    promote = sent(Profiles.promote)  # type: ignore[arg-type]  # **fields could hold "self"
    export = sent(Profiles.export)

    def import_(self, path: str | os.PathLike[str]) -> ImportedProfile:
        """Send what `export` wrote as JSON, which is taken in: all of it, or nothing."""
        with pieces_of(path) as pieces:
            call = Call(name="profile_import")
            done: ImportedProfile = self._connection.upload(call, {}, pieces)
            return done

    observe = sent(Profiles.observe)
    bootstrap = sent(Profiles.bootstrap)
    staged = sent(Profiles.staged)
    normalise = sent(Profiles.normalise)
    learned = sent(Profiles.learned)


class ClientSchemas(Over[Connection]):
    """`Schemas` over a server."""

    list = sent(Schemas.list)
    get = sent(Schemas.get)
    register = planned(Schemas.register, register_schema)
    drop = sent(Schemas.drop)
    migrate = sent(Schemas.migrate)
    taxonomy = sent(Schemas.taxonomy)
    set_taxonomy = sent(Schemas.set_taxonomy)
    create_row = sent(Schemas.create_row)
    get_row = sent(Schemas.get_row)
    query_rows = planned(Schemas.query_rows, query_rows)
    sync = planned(Schemas.sync, sync_source)
    drift = planned(Schemas.drift, source_drift)


class ClientAdmin(Over[Connection]):
    """`Admin` over a server."""

    stats = sent(Admin.stats)
    describe = sent(Admin.describe)

    def records(self, schema: str | None = None) -> Iterator[Record]:
        """Iterate over the records of one schema, or of all; pages are asked for as needed."""
        call = Call(name="list_records")
        cursor = ""
        while True:
            fields = {"schema": schema, "cursor": cursor, "limit": PAGE}
            page = self._connection.ask(call, call.request_of(fields))
            yield from page.records
            cursor = page.cursor
            if not cursor:
                return

    complete = sent(Admin.complete)
    delete_edge = sent(Admin.delete_edge)
    set_expiry = sent(Admin.set_expiry)
    sweep = sent(Admin.sweep)
    check = sent(Admin.check)
    optimize = sent(Admin.optimize)
    reembed = sent(Admin.reembed)
    usage = sent(Admin.usage)

    def export(self, path: str | os.PathLike[str] | IO[bytes], *, vectors: bool = True) -> Exported:
        """Write everything as JSON lines into a new file here, or into an open stream.

        Raises:
            ConflictError: the file exists already.
        """
        with ExportFile(path) as file:
            self._connection.download(Call(name="export"), {"vectors": vectors}, file.write)
            return file.counts()

    def import_(
        self, path: str | os.PathLike[str] | IO[bytes], *, incomplete: bool = False
    ) -> Imported:
        """Send an export, which is written by id: all of it, or nothing."""
        call = Call(name="import")
        with pieces_of(path) as pieces:
            done: Imported = self._connection.upload(call, {"incomplete": incomplete}, pieces)
            return done

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy this tenant, as encrypted as it is, into a new folder here."""
        with BackupFolder(path) as folder:
            self._connection.download(Call(name="backup"), {}, folder.write)
            folder.unpack()

    audit = sent(Admin.audit)


class Client(Over[Connection]):
    """A tenant's memory at a server: what `Memory` does, under the same names.

    Values, errors and documentation are `Memory`'s. What means something only in the process that
    holds the memory (callables, models, paths of its disk) is refused. What writes carries a key of
    its own, so that a request whose reply was lost is sent again and writes nothing twice.

    Args:
        url: of the server: "http://127.0.0.1:8765".
        key: "rlm_…"; default the variable REMLOOM_API_KEY. The tenant is the key's.
        tenant: with a key for all tenants, which one.
        timeout: seconds for a reply, but for calls that may take minutes.
        http: an `httpx.Client` to send with, for proxies and tests; its timeouts hold.

    Raises:
        AuthenticationError: there is no key.
        ServerError: by any method: nobody answers, though it was tried several times.

    Example:
        with Client("http://127.0.0.1:8765", key="rlm_…") as memory:
            memory.read_text("Sarah drinks green tea.", uri="notes/sarah")
            memory.recall("What does Sarah drink?")
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        tenant: str | None = None,
        timeout: float = TIMEOUT,
        http: httpx.Client | None = None,
    ) -> None:
        super().__init__(Connection(url, key, tenant, timeout, http))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._connection.target.shown}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. The memory stays open at the server."""
        self._connection.close()

    write = sent(Memory.write)
    create_resource = sent(Memory.create_resource)
    create_entity = sent(Memory.create_entity)
    create_moment = sent(Memory.create_moment)
    create_edge = sent(Memory.create_edge)
    update_entity = sent(Memory.update_entity)  # type: ignore[arg-type]  # its **changes could hold "self"
    delete_resource = sent(Memory.delete_resource)
    forget = sent(Memory.forget)
    get_resource = sent(Memory.get_resource)
    get_entity = sent(Memory.get_entity)
    get_moment = sent(Memory.get_moment)
    get_edges = sent(Memory.get_edges)
    get_moments_by_time = planned(Memory.get_moments_by_time, moments_by_time)
    get_moments_by_type = planned(Memory.get_moments_by_type, moments_by_type)
    query_resources = planned(Memory.query_resources, partial(query_records, Resource))
    query_entities = planned(Memory.query_entities, partial(query_records, Entity))
    query_moments = planned(Memory.query_moments, partial(query_records, Moment))
    create_index = sent(Memory.create_index)
    history = sent(Memory.history)
    query = sent(Memory.query)
    rem_query = sent(Memory.rem_query)
    lookup = sent(Memory.lookup)
    fuzzy = sent(Memory.fuzzy)
    search = sent(Memory.search)
    search_text = sent(Memory.search_text)
    search_resources = sent(Memory.search_resources)
    search_entities = sent(Memory.search_entities)
    traverse = sent(Memory.traverse)
    sql = sent(Memory.sql)
    ask = sent(Memory.ask)
    recall = sent(Memory.recall)
    context = sent(Memory.context)
    read = planned(Memory.read, read_files)
    read_text = sent(Memory.read_text)
    read_chat = sent(Memory.read_chat)
    embed_pending = sent(Memory.embed_pending)
    learn = sent(Memory.learn)
    dream = sent(Memory.dream)

    def reader(self, *documents: str, told: Told | None = None) -> ClientReader:
        """Open long documents that the server has, by uri, title or label.

        What is not there yet is read in first: `read`. What they are called is looked at by the
        first call, which raises NotFoundError if there is none.

        Args:
            told: called with each `ReadEvent` of an `ask` as it happens.
        """
        return ClientReader(self._connection, list(documents), told)

    @property
    def runs(self) -> ClientRuns:
        """What learning, dreaming and its chores did."""
        return ClientRuns(self._connection)

    @property
    def jobs(self) -> ClientJobs:
        """Work for later."""
        return ClientJobs(self._connection)

    @property
    def dreams(self) -> ClientDreams:
        """Dreaming besides `learn` and `dream`."""
        return ClientDreams(self._connection)

    @property
    def profile(self) -> ClientProfiles:
        """What is known of the user and others."""
        return ClientProfiles(self._connection)

    @property
    def schemas(self) -> ClientSchemas:
        """Schemas of the tenant's own, and rows of them."""
        return ClientSchemas(self._connection)

    @property
    def admin(self) -> ClientAdmin:
        """Chores."""
        return ClientAdmin(self._connection)
