"""One PostgreSQL database: its connection pool, and transactions that belong to a tenant."""

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
from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types import TypeInfo
from psycopg_pool import ConnectionPool

from ...errors import InvalidInputError, StoreBusyError, StoreClosedError, StoreError
from ..predicate_sql import has_regex
from .binary_arrays import register_columns, register_half
from .rows import SQL
from .server_errors import lost_commit, translate_errors

if TYPE_CHECKING:
    from ...predicates import Predicate


_T = TypeVar("_T")
Row: TypeAlias = tuple[Any, ...]

PATIENCE = 5.0  # seconds for all statements of one filter with a regular expression
_DEFINING = 0x52454D4C4F4F4D  # of the advisory lock, which goes with the connection
_TRIES = 4  # of a write that PostgreSQL rolled back because of another
# Whatever the statistics say of a tenant (nothing, while it is new): every statement goes by the
# indexes, a key at a time, joins in the order it is written in, and is planned once, however many
# keys it expects. What is asked for in the order of an index is read in it: pages that
# cost the same anywhere make no bitmap of all of a hub cheaper.
_PLANNING = {
    "plan_cache_mode": "force_generic_plan",
    "join_collapse_limit": "1",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
    "random_page_cost": "1",
    "cursor_tuple_fraction": "1",
    "max_parallel_workers_per_gather": "0",
}
_ONE_STATE = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
_AT_ONCE = 500  # rows that a stream fetches at a time
_ROLLED_BACK = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure)


class TenantCursor(psycopg.Cursor[Row]):
    """A cursor of one tenant, which its statements know as `tenant`."""

    def __init__(self, connection: Connection[Row], tenant: str) -> None:
        super().__init__(connection)
        self.tenant = tenant

    def rows(self, sql: str, **values: Any) -> list[Any]:
        """Fetch the rows of a statement."""
        return self.execute(sql, {"tenant": self.tenant, **values}).fetchall()

    def binary_rows(self, sql: str, **values: Any) -> list[Any]:
        """Fetch the rows of a statement in the binary format, on a cursor of their own."""
        cursor = self.connection.cursor(binary=True)
        return cursor.execute(sql, {"tenant": self.tenant, **values}).fetchall()

    def run(self, sql: str, **values: Any) -> int:
        """Run a statement; returns how many rows it touched."""
        return self.execute(sql, {"tenant": self.tenant, **values}).rowcount


class PostgresDatabase:
    """A database as one process uses it: open it with `PostgresDatabase.at`, which shares one pool
    among all tenants.

    Args:
        url: `postgresql://…`
        pool_size: connections at most.
        timeout: seconds to wait for a connection, and for a lock that somebody holds.

    Attributes:
        tenant: the one that this handle reads and writes.
    """

    _open: ClassVar[dict[tuple[str, int, float], PostgresDatabase]] = {}
    _opening: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, url: str, pool_size: int, timeout: float) -> None:
        self.tenant = ""
        self.description = _description(url)
        self._timeout = timeout
        self._users = 0
        self._shared = self
        self._closed = False
        self._made: datetime | None = None  # when the tenant was, once that is known
        self._recheck = False  # whether it is still there
        self._local = _Snapshots()
        defaults: dict[str, Any] = {
            "application_name": "remloom",
            "connect_timeout": max(2, round(timeout)),
        }
        self.conninfo = make_conninfo(url, **(defaults | _url_options(url)))
        self._pool = ConnectionPool(
            self.conninfo,
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
    def at(cls, url: str, pool_size: int, timeout: float) -> PostgresDatabase:
        """Open a handle of one user, which `release` closes, on the pool of this URL in this
        process.

        Raises:
            StoreError, StoreBusyError, ReadOnlyStoreError: it cannot be reached, or refuses us.
        """
        with cls._opening:
            key = (url, pool_size, timeout)
            server = cls._open.get(key)
            if server is None:
                server = cls(url, pool_size, timeout)
                # what is wrong with the URL is known at once, and reported in full
                server.connect().close()
                server._pool.open()
                cls._open[key] = server
            server._users += 1
            return copy(server)

    def of(self, tenant: str) -> PostgresDatabase:
        """A handle for a tenant of this database."""
        handle = copy(self)
        handle.tenant = tenant
        return handle

    def release(self) -> None:
        """Close this handle; the last one that is closed closes the pool."""
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

    def keep_to(self, made: datetime) -> None:
        """Bind this handle to the tenant that was made then, and to no later one of its name."""
        self._made = made

    def recheck(self) -> None:
        """Check, before this handle is next used, that its tenant is still there."""
        self._recheck = self._made is not None

    def check_open(self) -> None:
        """Raise StoreClosedError if this handle is closed, or its tenant was deleted."""
        if self._closed:
            raise StoreClosedError("the memory is closed", remedy="open it again")
        if self._recheck:
            # before `fetch`, which comes here again
            self._recheck = False
            rows = self.fetch(SQL.tenant_made)
            self.check_made(rows[0][0] if rows else None)

    def check_made(self, made: datetime | None) -> None:
        """Raise StoreClosedError, from now on, if the tenant was made at another time than the one
        that was opened, or is gone (None)."""
        if self._made and made != self._made:
            self._recheck = True
            raise StoreClosedError(
                f"tenant {self.tenant!r} is no longer what was opened: it was deleted",
                remedy="close this memory; open it again",
            )

    def connect(self) -> Connection[Row]:
        """Open a connection of its own, outside the pool, in autocommit mode."""
        self.check_open()
        with translate_errors(self.description):
            return psycopg.connect(self.conninfo, autocommit=True)

    def define(self, sql: str) -> None:
        """Run a statement that makes an index, if it is not there, as the owner of the tables."""
        with self.connect() as connection, translate_errors(self.description):
            # Two that looked at once whether it is there would both make it.
            connection.execute(SQL.lock_definitions, {"lock": _DEFINING})
            connection.execute(sql.encode())

    def _configure(self, connection: Connection[Row]) -> None:
        settings = _PLANNING | {"lock_timeout": f"{round(self._timeout * 1000)}"}
        connection.execute("; ".join(f"SET {name} = {value}" for name, value in settings.items()))
        # Where this may not be done, `remloom.enter` says why.
        connection.execute(SQL.take_tenant_role)
        connection.prepare_threshold = 2
        # JSON is decoded by code that knows the type.
        connection.adapters.register_loader("jsonb", RawLoader)
        connection.adapters.register_loader("json", RawLoader)
        register_half(connection, TypeInfo.fetch(connection, "halfvec"))
        register_columns(connection)

    # -- reading -----------------------------------------------------------------------------------

    def call(self, sql: str, values: Mapping[str, Any]) -> list[Row]:
        """Fetch the rows of one SELECT, which takes the name of the tenant from `t.tenant`: in one
        round trip, as the same statement enters the tenant and reads."""
        self.check_open()
        sql = _entered(sql)
        values = {"tenant": self.tenant, **values}
        return self._fetch(
            lambda cursor: cursor.execute(sql, values, prepare=True).fetchall(),
            lambda connection: connection.execute(sql, values, prepare=True).fetchall(),
        )

    def fetch(self, sql: str, values: Sequence[Any] = (), /, **named: Any) -> list[Row]:
        """Fetch the rows of one statement, in one round trip, with these values, or with named
        ones and the tenant as `tenant`."""
        self.check_open()
        parameters = values or {"tenant": self.tenant, **named}

        def work(connection: Connection[Row]) -> list[Row]:
            with connection.pipeline():  # one transaction until it ends
                connection.execute("SELECT remloom.enter(%s)", (self.tenant,))
                cursor = connection.execute(sql, parameters)
            return cursor.fetchall()

        return self._fetch(lambda cursor: cursor.execute(sql, parameters).fetchall(), work)

    @contextmanager
    def read(self) -> Iterator[TenantCursor]:
        """Open a cursor whose statements all see one state of the database. Nests."""
        self.check_open()
        snapshot = self._local.cursors.get(self.tenant)
        with translate_errors(self.description):
            if snapshot is not None:
                yield snapshot
                return
            with self._pool.connection() as connection:
                cursor = TenantCursor(connection, self.tenant)
                self._begin(connection, _ONE_STATE)
                try:
                    with self.within(cursor):
                        yield cursor
                finally:
                    _end(connection, "COMMIT")

    @contextmanager
    def filtering(self, where: Predicate | None) -> Iterator[TenantCursor]:
        """Open a cursor as `read` does, for statements that filter.

        Where the condition has a regular expression they are ended, all together, after `PATIENCE`:
        some patterns take time with the square of a text's length.

        Raises:
            StoreBusyError: they were ended.
        """
        with self.read() as cursor:
            if where is None or not has_regex(where):
                yield cursor
                return
            cursor.execute("SAVEPOINT filtering")
            try:
                yield _DeadlineCursor(cursor, time.monotonic() + PATIENCE)
            except psycopg.errors.QueryCanceled as error:
                raise StoreBusyError(
                    f"the condition took longer than {PATIENCE:g} s",
                    remedy="write its regular expression more simply; filter by something else too",
                ) from error
            finally:
                if not cursor.connection.closed:
                    cursor.execute("ROLLBACK TO SAVEPOINT filtering; RELEASE SAVEPOINT filtering")

    @contextmanager
    def stream(self) -> Iterator[Any]:
        """Open a cursor on a connection of its own that fetches as it is read, from one state of
        the database."""
        with translate_errors(self.description), self.connect() as connection:
            self._configure(connection)
            self._begin(connection, _ONE_STATE)
            with connection.cursor("remloom_stream") as cursor:
                cursor.itersize = _AT_ONCE
                yield cursor

    def _fetch(
        self,
        in_snapshot: Callable[[TenantCursor], list[Row]],
        work: Callable[[Connection[Row]], list[Row]],
    ) -> list[Row]:
        """Read; a second time on a new connection when the one at hand turned out to be dead."""
        snapshot = self._local.cursors.get(self.tenant)
        with translate_errors(self.description):
            if snapshot is not None:
                return in_snapshot(snapshot)
            for may_repeat in (True, False):
                connection = self._pool.getconn()
                try:
                    return work(connection)
                except psycopg.OperationalError as error:
                    canceled = isinstance(error, psycopg.errors.QueryCanceled)
                    if canceled or not connection.closed or not may_repeat:
                        raise
                finally:
                    self._pool.putconn(connection)
        raise AssertionError("unreachable")

    # -- writing -----------------------------------------------------------------------------------

    def write(self, work: Callable[[TenantCursor], _T]) -> _T:
        """Run `work` in a transaction that is on disk when this returns.

        It is run again when PostgreSQL rolled it back because of another (deadlock, serialization):
        then nothing of it was written. It is not run again when the connection breaks: then nobody
        knows whether it was written.
        """
        self.check_open()
        if self.tenant in self._local.cursors:
            raise InvalidInputError(
                "nothing can be written inside `snapshot` or `update`", remedy="write after it"
            )
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(0.02 * 2**attempt)
            try:
                return self._write_once(work)
            except StoreError as error:
                if not isinstance(error.__cause__, _ROLLED_BACK) or attempt == _TRIES - 1:
                    raise
        raise AssertionError("unreachable")

    def _write_once(self, work: Callable[[TenantCursor], _T]) -> _T:
        with translate_errors(self.description), self._pool.connection() as connection:
            self._begin(connection, "")
            committing = False
            try:
                result = work(TenantCursor(connection, self.tenant))
                committing = True
                connection.execute("COMMIT")
            except psycopg.OperationalError as error:
                if committing and connection.closed:
                    raise lost_commit(self.description) from error
                raise
            finally:
                _end(connection, "ROLLBACK")
            return result

    @contextmanager
    def within(self, cursor: TenantCursor) -> Iterator[None]:
        """Let this thread read the tenant with this cursor only, inside its transaction."""
        self._local.cursors[self.tenant] = cursor
        try:
            yield
        finally:
            del self._local.cursors[self.tenant]

    def _begin(self, connection: Connection[Row], mode: str) -> None:
        # One message for both; the name of a tenant has no quote (see `tenant_name`).
        connection.execute(f"BEGIN {mode}; SELECT remloom.enter('{self.tenant}')")


@lru_cache(maxsize=512)
def _entered(sql: str) -> str:
    return SQL.fill("entered", statement=sql)


class _Snapshots(threading.local):
    """The cursors of a thread that see one state of the database, by tenant."""

    def __init__(self) -> None:
        self.cursors: dict[str, TenantCursor] = {}


class _DeadlineCursor(TenantCursor):
    """A cursor whose statements must all have ended by a time (monotonic seconds)."""

    def __init__(self, cursor: TenantCursor, deadline: float) -> None:
        super().__init__(cursor.connection, cursor.tenant)
        self._deadline = deadline

    def execute(self, query: Any, params: Any = None, **options: Any) -> _DeadlineCursor:
        left = max(1, round((self._deadline - time.monotonic()) * 1000))
        super().execute(f"SET LOCAL statement_timeout = {left}")
        return super().execute(query, params, **options)


def parse_url(url: str) -> str:
    """Return the URL; InvalidInputError if PostgreSQL's client does not understand it."""
    try:
        conninfo_to_dict(url)
    except psycopg.Error as error:
        raise InvalidInputError(
            f"this is not a PostgreSQL URL: {str(error).strip()}",
            remedy="write postgresql://user:password@host:5432/database",
        ) from None
    return url


def _description(url: str) -> str:
    parts = _url_options(url)
    name = parts.get("dbname") or "postgres"
    return f"PostgreSQL database {name} at {parts.get('host') or 'this machine'}"


def _url_options(url: str) -> dict[str, Any]:
    return {name: value for name, value in conninfo_to_dict(parse_url(url)).items() if value}


def _end(connection: Connection[Row], how: str) -> None:
    """End a transaction, if there is a connection left to end it on."""
    if connection.closed:
        return
    status = connection.info.transaction_status
    if status != psycopg.pq.TransactionStatus.IDLE:
        failed = status == psycopg.pq.TransactionStatus.INERROR
        connection.execute("ROLLBACK" if failed else how)


class RawLoader(psycopg.adapt.Loader):
    """What the server sent, as the bytes it came in."""

    def load(self, data: Any) -> bytes:
        return bytes(data)
