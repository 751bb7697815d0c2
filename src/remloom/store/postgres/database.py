"""One PostgreSQL database: its connection pool, transactions that belong to a tenant, and errors in
our words."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types import TypeInfo
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from ...errors import (
    InvalidInputError,
    ReadOnlyStoreError,
    RemloomError,
    StoreBusyError,
    StoreClosedError,
    StoreError,
    StoreFullError,
    unencodable,
)
from ..predicate_sql import asks_regex
from .binary_arrays import register_columns
from .halfvec import register_half

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

    from ...predicates import Predicate

__all__ = ["Database", "parse_url", "translate", "translated"]

_T = TypeVar("_T")
Row: TypeAlias = tuple[Any, ...]

# The tenant comes out of the row that became it, so nothing of the subquery is read before. To call
# `remloom.enter` where this is all that it would do takes a tenth of a LOOKUP.
_ENTERED = """
SELECT x.* FROM (
  SELECT CASE
    WHEN current_user = 'remloom_tenant' AND coalesce(current_setting('remloom.tenant', true), '') IN ('', %(tenant)s)
    THEN set_config('remloom.tenant', %(tenant)s, true) ELSE remloom.enter(%(tenant)s) END AS tenant OFFSET 0
) t CROSS JOIN LATERAL ({} OFFSET 0) x
"""
PATIENCE = 5.0  # seconds for all that one filter with a regular expression asks
_DEFINING = 0x52454D4C4F4F4D  # of the advisory lock, which goes with the connection
_TRIES = 4  # of a write that PostgreSQL rolled back because of another
# Where this may not be, `remloom.enter` says why.
_BECOME = """
SELECT set_config('role', rolname, false) FROM pg_roles
WHERE rolname = 'remloom_tenant' AND pg_has_role(current_user, oid, 'MEMBER')
"""
# Whatever the statistics say of a tenant (nothing, while it is new): every statement goes by the
# indexes, a key at a time, joins in the order it is written in, and is planned once, however many
# keys it is told to expect. What is asked for in the order of an index is read in it: pages that
# cost the same anywhere make no bitmap of all of a hub cheaper.
_PLANS = "; ".join((
    "SET plan_cache_mode = force_generic_plan", "SET join_collapse_limit = 1", "SET enable_seqscan = off",
    "SET enable_hashjoin = off", "SET enable_mergejoin = off", "SET jit = off", "SET random_page_cost = 1",
    "SET cursor_tuple_fraction = 1", "SET max_parallel_workers_per_gather = 0",
))  # fmt: skip
# how its refusal is worded: by the client, for a text, within JSON
_NUL = ("NUL", "0x00", "\\u0000")
_FULL = ("too many connections", "too many clients", "connection slots are reserved")
_AT_ONCE = 500  # rows that a stream fetches at a time
_AGAIN = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure)


class Database:
    """A database as one process uses it: open it with `Server.at`, which shares one among all its
    tenants.

    Args:
        url: `postgresql://…`
        pool_size: connections at most.
        timeout: seconds to wait for a connection, and for a lock that somebody holds.
    """

    _open: ClassVar[dict[tuple[str, int, float], Database]] = {}
    _opening: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, url: str, pool_size: int, timeout: float) -> None:
        self.url = url
        self.place = place(url)
        self._timeout = timeout
        self._users = 0
        self._shared = self
        self._closed = False
        self._life: tuple[str, datetime] | None = None  # a tenant, and when it was made
        self._doubted = False  # whether that one is still there
        self._local = _Held()
        conninfo = make_conninfo(
            url, application_name=conninfo_to_dict(url).get("application_name") or "remloom"
        )
        if "connect_timeout" not in conninfo_to_dict(conninfo):
            conninfo = make_conninfo(conninfo, connect_timeout=max(2, round(timeout)))
        self.conninfo = conninfo
        self._pool = ConnectionPool(
            conninfo,
            min_size=0,
            max_size=pool_size,
            timeout=timeout,
            max_idle=60.0,
            open=False,
            configure=self._configure,
            kwargs={"autocommit": True},
            reconnect_timeout=timeout,
        )

    @classmethod
    def at(cls, url: str, pool_size: int, timeout: float) -> Database:
        """The server at this URL, opened when this process did not have it open yet: one user's
        door to it, which `release` closes.

        Raises:
            StoreError, StoreBusyError, ReadOnlyStoreError: it cannot be reached, or does not let us
                in.
        """
        with cls._opening:
            key = (url, pool_size, timeout)
            server = cls._open.get(key)
            if server is None:
                server = cls(url, pool_size, timeout)
                # what is wrong with the URL is known at once, and said in full
                server.connect().close()
                server._pool.open()
                cls._open[key] = server
            server._users += 1
            return copy(server)

    def release(self) -> None:
        """Close this door: nothing goes through it any more. The last one that is closed closes the
        pool."""
        shared = self._shared
        with self._opening:
            if self._closed:
                return
            self._closed = True
            shared._users -= 1
            if shared._users:
                return
            for key in [key for key, server in self._open.items() if server is shared]:
                del self._open[key]
        self._pool.close()

    def keep_to(self, tenant: str, made: datetime) -> None:
        """This door is for a tenant that was made then, and for no later one of that name."""
        self._life = tenant, made

    def doubt(self) -> None:
        """Whoever goes through this door next sees first whether its tenant is still there."""
        self._doubted = self._life is not None

    def look(self) -> None:
        """Refuse if this door is closed.

        Raises:
            StoreClosedError: it is, or its tenant was deleted.
        """
        if self._closed:
            raise StoreClosedError("the memory is closed", remedy="open it again")
        if self._doubted and self._life:
            self._doubted = False
            rows = self.fetch(
                self._life[0],
                "SELECT made FROM remloom.tenants WHERE tenant_id = %s",
                self._life[:1],
            )
            self.meet(rows[0][0] if rows else None)

    def meet(self, made: datetime | None) -> None:
        """Refuse a tenant that was made at another time, or is not there, and whatever is asked for
        after that.

        Raises:
            StoreClosedError: so it is.
        """
        if self._life and made != self._life[1]:
            self._doubted = True
            raise StoreClosedError(
                f"tenant {self._life[0]!r} is no longer what was opened: it was deleted",
                remedy="close this memory; open it again",
            )

    def connect(self) -> Connection[Row]:
        """A connection of its own, outside the pool, in autocommit mode."""
        self.look()
        with translate(self.place):
            return psycopg.connect(self.conninfo, autocommit=True)

    def define(self, sql: str) -> None:
        """Run a statement that makes an index, if it is not there, as the owner of the tables; one
        at a time in the database: two that look at once both make it."""
        with self.connect() as connection, translate(self.place):
            connection.execute("SELECT pg_advisory_lock(%s)", (_DEFINING,))
            connection.execute(sql.encode())

    def _configure(self, connection: Connection[Row]) -> None:
        connection.execute(f"SET lock_timeout = {round(self._timeout * 1000)}; {_PLANS}")
        connection.execute(_BECOME)
        connection.prepare_threshold = 2
        # JSON is decoded by whoever knows the type.
        connection.adapters.register_loader("jsonb", _Raw)
        connection.adapters.register_loader("json", _Raw)
        register_half(connection, TypeInfo.fetch(connection, "halfvec"))
        register_columns(connection)

    # -- reading -----------------------------------------------------------------------------------

    def call(self, tenant: str, sql: str, values: Mapping[str, Any]) -> list[Row]:
        """The rows of one SELECT of the tenant, which takes its name from `t.tenant`."""
        self.look()
        sql = _entered(sql)
        values = {"tenant": tenant, **values}
        held = self._local.cursors.get(tenant)
        if held is not None:
            with translate(self.place):
                return held.execute(sql, values, prepare=True).fetchall()
        return self._again(
            lambda connection: connection.execute(sql, values, prepare=True).fetchall()
        )

    def together(
        self, tenant: str, statements: Sequence[tuple[str, Sequence[Any] | Mapping[str, Any]]]
    ) -> list[list[Row]]:
        """The rows of each of these statements of the tenant, in one round trip and one
        transaction."""
        self.look()
        held = self._local.cursors.get(tenant)
        if held is not None:
            with translate(self.place):
                return [held.execute(sql, values).fetchall() for sql, values in statements]

        def work(connection: Connection[Row]) -> list[list[Row]]:
            with connection.pipeline():  # one transaction until it ends
                connection.execute("SELECT remloom.enter(%s)", (tenant,))
                cursors = [connection.execute(sql, values) for sql, values in statements]
            return [cursor.fetchall() for cursor in cursors]

        return self._again(work)

    @contextmanager
    def read(self, tenant: str) -> Iterator[Cursor[Row]]:
        """A cursor of the tenant whose statements all see one state of the database. Nests."""
        self.look()
        held = self._local.cursors.get(tenant)
        with translate(self.place):
            if held is not None:
                yield held
                return
            with self._connection() as connection:
                cursor = connection.cursor()
                self._begin(connection, tenant, "ISOLATION LEVEL REPEATABLE READ READ ONLY")
                self._local.cursors[tenant] = cursor
                try:
                    yield cursor
                finally:
                    del self._local.cursors[tenant]
                    _end(connection, "COMMIT")

    @contextmanager
    def filtering(self, tenant: str, where: Predicate | None) -> Iterator[Cursor[Row]]:
        """`read` for statements that filter. With a regular expression among what they ask they
        end, all together, after `PATIENCE`: some patterns take the square of a text.

        Raises:
            StoreBusyError: they did not end by themselves.
        """
        with self.read(tenant) as cursor:
            if where is None or not asks_regex(where):
                yield cursor
                return
            cursor.execute("SAVEPOINT filtering")
            try:
                yield _Hurried(cursor, time.monotonic() + PATIENCE)  # type: ignore[misc]
            except psycopg.errors.QueryCanceled as error:
                raise StoreBusyError(
                    f"the condition took longer than {PATIENCE:g} s",
                    remedy="write its regular expression more simply; filter by something else too",
                ) from error
            finally:
                if not cursor.connection.closed:
                    cursor.execute("ROLLBACK TO SAVEPOINT filtering; RELEASE SAVEPOINT filtering")

    @contextmanager
    def stream(self, tenant: str) -> Iterator[Any]:
        """A cursor on a connection of its own that fetches as it is read, of one state of the
        database."""
        with translate(self.place), self.connect() as connection:
            self._configure(connection)
            self._begin(connection, tenant, "ISOLATION LEVEL REPEATABLE READ READ ONLY")
            with connection.cursor("remloom_stream") as cursor:
                cursor.itersize = _AT_ONCE
                yield cursor

    def fetch(
        self, tenant: str, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()
    ) -> list[Row]:
        """The rows of one statement of the tenant."""
        return self.together(tenant, [(sql, values)])[0]

    def _again(self, work: Callable[[Connection[Row]], _T]) -> _T:
        """Read; once more on a new connection when the one at hand turned out to be dead."""
        with translate(self.place):
            for once_more in (True, False):
                connection = self._pool.getconn()
                try:
                    return work(connection)
                except psycopg.OperationalError as error:
                    if not (once_more and connection.closed) or isinstance(
                        error, psycopg.errors.QueryCanceled
                    ):
                        raise
                finally:
                    self._pool.putconn(connection)
        raise AssertionError("unreachable")

    # -- writing -----------------------------------------------------------------------------------

    def write(self, tenant: str, work: Callable[[Cursor[Row]], _T]) -> _T:
        """Run `work` in a transaction of the tenant that is on disk when this returns.

        Run again when PostgreSQL rolled it back for another's sake (deadlock, serialization): then
        nothing of it was written. When the connection breaks, whether it was written is not known,
        and it is not run again.
        """
        self.look()
        if tenant in self._local.cursors:
            raise InvalidInputError(
                "nothing can be written inside `snapshot` or `update`", remedy="write after it"
            )
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(0.02 * 2**attempt)
            try:
                with translate(self.place), self._connection() as connection:
                    self._begin(connection, tenant, "")
                    committing = False
                    try:
                        result = work(connection.cursor())
                        committing = True
                        connection.execute("COMMIT")
                    except psycopg.OperationalError as error:
                        if committing and connection.closed:
                            raise _unknown(self.place) from error
                        raise
                    finally:
                        _end(connection, "ROLLBACK")
                    return result
            except StoreError as error:
                if not isinstance(error.__cause__, _AGAIN) or attempt == _TRIES - 1:
                    raise
        raise AssertionError("unreachable")

    @contextmanager
    def within(self, tenant: str, cursor: Cursor[Row]) -> Iterator[None]:
        """What this thread reads of the tenant, it reads with this cursor, inside its transaction."""
        self._local.cursors[tenant] = cursor
        try:
            yield
        finally:
            del self._local.cursors[tenant]

    @contextmanager
    def _connection(self) -> Iterator[Connection[Row]]:
        with self._pool.connection() as connection:
            yield connection

    def _begin(self, connection: Connection[Row], tenant: str, mode: str) -> None:
        # One message for both; the name of a tenant has no quote (see `store.home.tenant_name`).
        connection.execute(f"BEGIN {mode}; SELECT remloom.enter('{tenant}')")


@lru_cache(maxsize=512)
def _entered(sql: str) -> str:
    return _ENTERED.format(sql)


class _Held(threading.local):
    """The open snapshots of a thread, by tenant."""

    def __init__(self) -> None:
        self.cursors: dict[str, Cursor[Row]] = {}


class _Hurried:
    """A cursor whose statements must all have ended by then (monotonic seconds)."""

    def __init__(self, cursor: Cursor[Row], deadline: float) -> None:
        self.connection = cursor.connection
        self._cursor = cursor
        self._deadline = deadline

    def execute(self, sql: Any, values: Any = None) -> Cursor[Row]:
        left = max(1, round((self._deadline - time.monotonic()) * 1000))
        self._cursor.execute(f"SET LOCAL statement_timeout = {left}")
        return self._cursor.execute(sql, values)


class translate:
    """Turns PostgreSQL's errors into ours."""

    __slots__ = ("place",)

    def __init__(self, place: str) -> None:
        self.place = place

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        if kind is not None and issubclass(
            kind, psycopg.Error | PoolTimeout | PoolClosed | UnicodeEncodeError
        ):
            raise translated(error, self.place) from error


def translated(error: BaseException | None, place: str) -> RemloomError:
    """Our error for one of PostgreSQL's, with what to do about it."""
    errors = psycopg.errors
    said = str(error).strip().partition("\n")[0]
    match error:
        case UnicodeEncodeError():
            return unencodable(error)
        case PoolClosed():
            return StoreClosedError("the memory is closed", remedy="open it again")
        case PoolTimeout() | errors.TooManyConnections() | psycopg.OperationalError() if _is_full(
            error
        ):
            return StoreBusyError(
                f"{place}: no connection was free: {said}",
                remedy="raise pool_size, or the server's max_connections; or try again later",
            )
        case errors.LockNotAvailable():
            return StoreBusyError(
                f"{place}: another writer kept this tenant locked",
                remedy="try again, or raise busy_timeout",
            )
        case errors.QueryCanceled():
            return StoreBusyError(
                f"{place}: the statement took too long", remedy="try again, or ask for less"
            )
        case errors.DeadlockDetected() | errors.SerializationFailure():
            return StoreBusyError(
                f"{place}: other writers were in the way: {said}; nothing was written",
                remedy="try again",
            )
        case errors.DiskFull() | errors.OutOfMemory():
            return StoreFullError(
                f"{place}: {said}; nothing was written", remedy="make room on the server and retry"
            )
        case errors.ReadOnlySqlTransaction():
            return ReadOnlyStoreError(
                f"{place} is read-only: {said}", remedy="connect to the primary server"
            )
        case errors.InsufficientPrivilege():
            return StoreError(
                f"{place}: {said}",
                remedy="run `remloom migrate` as the owner of the database; GRANT remloom_tenant TO who connects",
            )
        case errors.UndefinedTable() | errors.InvalidSchemaName() | errors.UndefinedFunction():
            return StoreError(f"{place}: {said}", remedy="run `remloom migrate`")
        case errors.UntranslatableCharacter() | psycopg.DataError() if any(
            nul in str(error) for nul in _NUL
        ):
            return InvalidInputError(
                "PostgreSQL has no texts with NUL characters", remedy="remove \\0 from the text"
            )
        case psycopg.OperationalError():
            return StoreError(
                f"{place} does not answer: {said}",
                remedy="check that the server runs, and the URL: host, port, password",
            )
        case _:
            return StoreError(
                f"{place}: {said}", remedy="this is a bug in Remloom: please report it"
            )


def _is_full(error: BaseException | None) -> bool:
    """Whether the pool or the server has no connection left. (A connection that is refused comes
    without its code.)"""
    return isinstance(error, PoolTimeout) or any(words in str(error) for words in _FULL)


def parse_url(url: str) -> str:
    """The URL, if it is one that PostgreSQL's client understands.

    Raises:
        InvalidInputError: it is not.
    """
    try:
        conninfo_to_dict(url)
    except psycopg.Error as error:
        raise InvalidInputError(
            f"this is no PostgreSQL URL: {str(error).strip()}",
            remedy="write postgresql://user:password@host:5432/database",
        ) from None
    return url


def place(url: str) -> str:
    """The database in words, without its password."""
    parts = conninfo_to_dict(parse_url(url))
    return f"PostgreSQL database {parts.get('dbname') or 'postgres'} at {parts.get('host') or 'this machine'}"


def _end(connection: Connection[Row], how: str) -> None:
    """End a transaction, if there is a connection left to end it on."""
    if (
        not connection.closed
        and connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE
    ):
        broken = connection.info.transaction_status == psycopg.pq.TransactionStatus.INERROR
        connection.execute("ROLLBACK" if broken else how)


def _unknown(place: str) -> StoreError:
    return StoreError(
        f"{place} went away while committing: the write is there whole, or not at all",
        remedy="write it again: what is there already is not written twice",
    )


class _Raw(psycopg.adapt.Loader):
    """JSON as the bytes it came in."""

    def load(self, data: Any) -> bytes:
        return bytes(data)
