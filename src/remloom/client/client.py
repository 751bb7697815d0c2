"""`Client` and `AsyncClient`: the methods of `Memory`, done by a server."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from ..memory.admin import Admin
from ..memory.dreams import Dreams
from ..memory.jobs import Jobs
from ..memory.memory import Memory
from ..memory.profiles import Profiles
from ..memory.runs import Runs
from .call import Call
from .connection import TIMEOUT, AsyncConnection, Connection

if TYPE_CHECKING:
    import httpx

__all__ = ["AsyncClient", "Client"]

P = ParamSpec("P")
R = TypeVar("R")
Owner = TypeVar("Owner")
C = TypeVar("C", Connection, AsyncConnection)

_PREFIXES: dict[str, str] = {
    "Memory": "",
    "Runs": "runs.",
    "Jobs": "jobs.",
    "Dreams": "dreams.",
    "Profiles": "profile.",
    "Admin": "admin.",
}


def _call_of(function: Callable[..., Any]) -> Call:
    owner, _, name = function.__qualname__.rpartition(".")
    return Call(_PREFIXES[owner] + name, function)


def _sent(
    method: Callable[Concatenate[Owner, P], R],
) -> Callable[Concatenate[_Over[Connection], P], R]:
    """Make a method of a client from one of `Memory` or its nouns."""
    call = _call_of(method)

    @wraps(method)
    def send(self: _Over[Connection], /, *args: P.args, **kwargs: P.kwargs) -> R:
        value: R = self._connection.send(call, args, kwargs)
        return value

    return send


def _awaited(
    method: Callable[Concatenate[Owner, P], R],
) -> Callable[Concatenate[_Over[AsyncConnection], P], Coroutine[Any, Any, R]]:
    """Make a coroutine method of a client from one of `Memory` or its nouns."""
    call = _call_of(method)

    @wraps(method)
    async def send(self: _Over[AsyncConnection], /, *args: P.args, **kwargs: P.kwargs) -> R:
        value: R = await self._connection.send(call, args, kwargs)
        return value

    return send


class _Over(Generic[C]):
    """What is done over a connection."""

    def __init__(self, connection: C) -> None:
        self._connection: C = connection


class ClientRuns(_Over[Connection]):
    """`Runs` over a server."""

    list = _sent(Runs.list)
    records = _sent(Runs.records)
    rollback = _sent(Runs.rollback)
    failed = _sent(Runs.failed)


class ClientJobs(_Over[Connection]):
    """`Jobs` over a server."""

    list = _sent(Jobs.list)
    retry = _sent(Jobs.retry)
    remove = _sent(Jobs.remove)


class ClientDreams(_Over[Connection]):
    """`Dreams` over a server."""

    moments = _sent(Dreams.moments)
    affinity = _sent(Dreams.affinity)
    consolidate = _sent(Dreams.consolidate)
    metrics = _sent(Dreams.metrics)


class ClientProfiles(_Over[Connection]):
    """`Profiles` over a server."""

    show = _sent(Profiles.show)
    beliefs = _sent(Profiles.beliefs)
    get = _sent(Profiles.get)
    history = _sent(Profiles.history)
    context = _sent(Profiles.context)
    get_remme_context = _sent(Profiles.get_remme_context)
    subjects = _sent(Profiles.subjects)
    slots = _sent(Profiles.slots)
    slot = _sent(Profiles.slot)
    why = _sent(Profiles.why)
    changes = _sent(Profiles.changes)
    set = _sent(Profiles.set)
    confirm = _sent(Profiles.confirm)
    reject = _sent(Profiles.reject)
    correct = _sent(Profiles.correct)
    retire = _sent(Profiles.retire)
    pin = _sent(Profiles.pin)
    hide = _sent(Profiles.hide)
    forget = _sent(Profiles.forget)
    define_slot = _sent(Profiles.define_slot)
    remove_slot = _sent(Profiles.remove_slot)
    candidates = _sent(Profiles.candidates)
    promote = _sent(Profiles.promote)  # type: ignore[arg-type]  # its **fields could hold "self"
    export = _sent(Profiles.export)
    observe = _sent(Profiles.observe)
    bootstrap = _sent(Profiles.bootstrap)
    staged = _sent(Profiles.staged)
    normalise = _sent(Profiles.normalise)
    learned = _sent(Profiles.learned)


class ClientAdmin(_Over[Connection]):
    """`Admin` over a server."""

    stats = _sent(Admin.stats)
    describe = _sent(Admin.describe)
    complete = _sent(Admin.complete)
    delete_edge = _sent(Admin.delete_edge)
    check = _sent(Admin.check)
    optimize = _sent(Admin.optimize)
    set_expiry = _sent(Admin.set_expiry)
    sweep = _sent(Admin.sweep)
    reembed = _sent(Admin.reembed)
    usage = _sent(Admin.usage)
    audit = _sent(Admin.audit)


class Client(_Over[Connection]):
    """A tenant's memory at a server: what `Memory` does, under the same names.

    Values, errors and documentation are `Memory`'s. What means something only in the process that
    holds the memory (callables, models, paths of its disk) is refused. What writes carries a key of
    its own, so that a request whose reply was lost is sent again and writes nothing twice.

    Args:
        url: of the server: "http://127.0.0.1:8765".
        key: "rlm_…"; default the variable REMLOOM_API_KEY. The tenant is the key's.
        tenant: with a key for all tenants, which one.
        timeout: seconds for a reply, but for calls that may take minutes.
        http: an `httpx.Client` to send with, for proxies, certificates and tests.

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
        return f"<{type(self).__name__} of {self._connection.target.url}>"

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

    write = _sent(Memory.write)
    create_resource = _sent(Memory.create_resource)
    create_entity = _sent(Memory.create_entity)
    create_moment = _sent(Memory.create_moment)
    create_edge = _sent(Memory.create_edge)
    update_entity = _sent(Memory.update_entity)  # type: ignore[arg-type]  # its **changes could hold "self"
    delete_resource = _sent(Memory.delete_resource)
    forget = _sent(Memory.forget)
    get_resource = _sent(Memory.get_resource)
    get_entity = _sent(Memory.get_entity)
    get_moment = _sent(Memory.get_moment)
    get_edges = _sent(Memory.get_edges)
    get_moments_by_time = _sent(Memory.get_moments_by_time)
    get_moments_by_type = _sent(Memory.get_moments_by_type)
    create_index = _sent(Memory.create_index)
    history = _sent(Memory.history)
    query = _sent(Memory.query)
    rem_query = _sent(Memory.rem_query)
    lookup = _sent(Memory.lookup)
    fuzzy = _sent(Memory.fuzzy)
    search = _sent(Memory.search)
    search_text = _sent(Memory.search_text)
    search_resources = _sent(Memory.search_resources)
    search_entities = _sent(Memory.search_entities)
    traverse = _sent(Memory.traverse)
    sql = _sent(Memory.sql)
    ask = _sent(Memory.ask)
    recall = _sent(Memory.recall)
    context = _sent(Memory.context)
    read_text = _sent(Memory.read_text)
    read_chat = _sent(Memory.read_chat)
    embed_pending = _sent(Memory.embed_pending)
    learn = _sent(Memory.learn)
    dream = _sent(Memory.dream)

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
    def admin(self) -> ClientAdmin:
        """Chores."""
        return ClientAdmin(self._connection)


class AsyncClientRuns(_Over[AsyncConnection]):
    """`Runs` over a server, for asyncio."""

    list = _awaited(Runs.list)
    records = _awaited(Runs.records)
    rollback = _awaited(Runs.rollback)
    failed = _awaited(Runs.failed)


class AsyncClientJobs(_Over[AsyncConnection]):
    """`Jobs` over a server, for asyncio."""

    list = _awaited(Jobs.list)
    retry = _awaited(Jobs.retry)
    remove = _awaited(Jobs.remove)


class AsyncClientDreams(_Over[AsyncConnection]):
    """`Dreams` over a server, for asyncio."""

    moments = _awaited(Dreams.moments)
    affinity = _awaited(Dreams.affinity)
    consolidate = _awaited(Dreams.consolidate)
    metrics = _awaited(Dreams.metrics)


class AsyncClientProfiles(_Over[AsyncConnection]):
    """`Profiles` over a server, for asyncio."""

    show = _awaited(Profiles.show)
    beliefs = _awaited(Profiles.beliefs)
    get = _awaited(Profiles.get)
    history = _awaited(Profiles.history)
    context = _awaited(Profiles.context)
    get_remme_context = _awaited(Profiles.get_remme_context)
    subjects = _awaited(Profiles.subjects)
    slots = _awaited(Profiles.slots)
    slot = _awaited(Profiles.slot)
    why = _awaited(Profiles.why)
    changes = _awaited(Profiles.changes)
    set = _awaited(Profiles.set)
    confirm = _awaited(Profiles.confirm)
    reject = _awaited(Profiles.reject)
    correct = _awaited(Profiles.correct)
    retire = _awaited(Profiles.retire)
    pin = _awaited(Profiles.pin)
    hide = _awaited(Profiles.hide)
    forget = _awaited(Profiles.forget)
    define_slot = _awaited(Profiles.define_slot)
    remove_slot = _awaited(Profiles.remove_slot)
    candidates = _awaited(Profiles.candidates)
    promote = _awaited(Profiles.promote)  # type: ignore[arg-type]  # its **fields could hold "self"
    export = _awaited(Profiles.export)
    observe = _awaited(Profiles.observe)
    bootstrap = _awaited(Profiles.bootstrap)
    staged = _awaited(Profiles.staged)
    normalise = _awaited(Profiles.normalise)
    learned = _awaited(Profiles.learned)


class AsyncClientAdmin(_Over[AsyncConnection]):
    """`Admin` over a server, for asyncio."""

    stats = _awaited(Admin.stats)
    describe = _awaited(Admin.describe)
    complete = _awaited(Admin.complete)
    delete_edge = _awaited(Admin.delete_edge)
    check = _awaited(Admin.check)
    optimize = _awaited(Admin.optimize)
    set_expiry = _awaited(Admin.set_expiry)
    sweep = _awaited(Admin.sweep)
    reembed = _awaited(Admin.reembed)
    usage = _awaited(Admin.usage)
    audit = _awaited(Admin.audit)


class AsyncClient(_Over[AsyncConnection]):
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
        return f"<{type(self).__name__} of {self._connection.target.url}>"

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

    write = _awaited(Memory.write)
    create_resource = _awaited(Memory.create_resource)
    create_entity = _awaited(Memory.create_entity)
    create_moment = _awaited(Memory.create_moment)
    create_edge = _awaited(Memory.create_edge)
    update_entity = _awaited(Memory.update_entity)  # type: ignore[arg-type]  # its **changes could hold "self"
    delete_resource = _awaited(Memory.delete_resource)
    forget = _awaited(Memory.forget)
    get_resource = _awaited(Memory.get_resource)
    get_entity = _awaited(Memory.get_entity)
    get_moment = _awaited(Memory.get_moment)
    get_edges = _awaited(Memory.get_edges)
    get_moments_by_time = _awaited(Memory.get_moments_by_time)
    get_moments_by_type = _awaited(Memory.get_moments_by_type)
    create_index = _awaited(Memory.create_index)
    history = _awaited(Memory.history)
    query = _awaited(Memory.query)
    rem_query = _awaited(Memory.rem_query)
    lookup = _awaited(Memory.lookup)
    fuzzy = _awaited(Memory.fuzzy)
    search = _awaited(Memory.search)
    search_text = _awaited(Memory.search_text)
    search_resources = _awaited(Memory.search_resources)
    search_entities = _awaited(Memory.search_entities)
    traverse = _awaited(Memory.traverse)
    sql = _awaited(Memory.sql)
    ask = _awaited(Memory.ask)
    recall = _awaited(Memory.recall)
    context = _awaited(Memory.context)
    read_text = _awaited(Memory.read_text)
    read_chat = _awaited(Memory.read_chat)
    embed_pending = _awaited(Memory.embed_pending)
    learn = _awaited(Memory.learn)
    dream = _awaited(Memory.dream)

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
    def admin(self) -> AsyncClientAdmin:
        """Chores."""
        return AsyncClientAdmin(self._connection)
