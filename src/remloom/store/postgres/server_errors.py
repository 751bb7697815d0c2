"""PostgreSQL's errors in our words, each with what to do about it."""

from __future__ import annotations

from typing import NamedTuple

import psycopg
from psycopg import errors
from psycopg_pool import PoolClosed, PoolTimeout

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

# how a server without connections refuses; one that refuses a connection gives no error code
_FULL = ("too many connections", "too many clients", "connection slots are reserved")
_NO_CONNECTION = (
    "{database}: no connection was free: {message}",
    "raise pool_size, or the server's max_connections; or try again later",
)
# how a NUL character is refused: by the client, for a text, within JSON
_NUL = ("NUL", "0x00", "\\u0000")


class _Rule(NamedTuple):
    """What becomes of errors whose message has one of some words. Ours may have `database`, its
    name, and `message`, what the server reported."""

    kinds: tuple[type[BaseException], ...]
    error: type[RemloomError]
    message: str
    remedy: str
    words: tuple[str, ...] = ()  # none: whatever it says


# The first that fits: most are kinds of `OperationalError`, so that comes late.
_RULES = (
    _Rule((PoolClosed,), StoreClosedError, "the memory is closed", "open it again"),
    _Rule((PoolTimeout,), StoreBusyError, *_NO_CONNECTION),
    _Rule((psycopg.OperationalError,), StoreBusyError, *_NO_CONNECTION, _FULL),
    _Rule(
        (errors.LockNotAvailable,),
        StoreBusyError,
        "{database}: another writer kept this tenant locked",
        "try again, or raise busy_timeout",
    ),
    _Rule(
        (errors.QueryCanceled,),
        StoreBusyError,
        "{database}: the statement took too long",
        "try again, or ask for less",
    ),
    _Rule(
        (errors.DeadlockDetected, errors.SerializationFailure),
        StoreBusyError,
        "{database}: other writers were in the way: {message}; nothing was written",
        "try again",
    ),
    _Rule(
        (errors.DiskFull, errors.OutOfMemory),
        StoreFullError,
        "{database}: {message}; nothing was written",
        "make room on the server and retry",
    ),
    _Rule(
        (errors.ReadOnlySqlTransaction,),
        ReadOnlyStoreError,
        "{database} is read-only: {message}",
        "connect to the primary server",
    ),
    _Rule(
        (errors.InsufficientPrivilege,),
        StoreError,
        "{database}: {message}",
        "run `remloom migrate` as the owner of the database; GRANT remloom_tenant TO who connects",
    ),
    _Rule(
        (errors.UndefinedTable, errors.InvalidSchemaName, errors.UndefinedFunction),
        StoreError,
        "{database}: {message}",
        "run `remloom migrate`",
    ),
    _Rule(
        (psycopg.DataError,),
        InvalidInputError,
        "PostgreSQL has no texts with NUL characters",
        "remove \\0 from the text",
        _NUL,
    ),
    _Rule(
        (psycopg.OperationalError,),
        StoreError,
        "{database} does not answer: {message}",
        "check that the server runs, and the URL: host, port, password",
    ),
    _Rule(
        (BaseException,),
        StoreError,
        "{database}: {message}",
        "this is a bug in Remloom: please report it",
    ),
)


def error_of(error: BaseException, database: str) -> RemloomError:
    """Our error for one of PostgreSQL's, its driver's or its pool's, of a database so described."""
    if isinstance(error, UnicodeEncodeError):
        return unencodable(error)
    text = str(error)
    rule = next(
        rule
        for rule in _RULES
        if isinstance(error, rule.kinds)
        and (not rule.words or any(words in text for words in rule.words))
    )
    # Further lines are for who writes SQL: the position in it, and hints.
    message = text.strip().partition("\n")[0]
    return rule.error(rule.message.format(database=database, message=message), remedy=rule.remedy)


def lost_commit(database: str) -> StoreError:
    """The error for a connection that broke while its transaction was being committed."""
    return StoreError(
        f"{database} went away while committing: the write is there whole, or not at all",
        remedy="write it again: what is there already is not written twice",
    )


class translate_errors:
    """Raises our errors instead of PostgreSQL's."""

    __slots__ = ("database",)

    def __init__(self, database: str) -> None:
        self.database = database

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        if error is not None and isinstance(
            error, psycopg.Error | PoolTimeout | PoolClosed | UnicodeEncodeError
        ):
            raise error_of(error, self.database) from error
