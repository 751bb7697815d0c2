"""Calls as the audit log keeps them: who, what, which records, and how it ended; no content."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from operator import attrgetter
from typing import Any

from msgspec import Struct

from ..operations import Operation, Progress
from ..tenancy.audit import AuditEntry
from .caller import Caller

MOST_RECORDS = 50  # ids of one call
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# where values have the records that they are about
_HOLDERS = ("record", "hits", "records", "ids")


class AuditedCall(Struct):
    """A call of an operation.

    Attributes:
        values: an instance of `operation.takes`.
        progress: called from the thread that works; for a stream of bytes, the stream.
        is_noted: in the audit log; it is not, where a call that was noted looks again.
        begun: when the work began, of `time.perf_counter`.
    """

    caller: Caller
    operation: Operation
    values: Struct
    progress: Progress | None = None
    is_noted: bool = True
    begun: float = 0.0

    def entry(self, value: Any = None, error: BaseException | None = None) -> AuditEntry:
        arguments = [getattr(self.values, name) for name in self.values.__struct_fields__]
        ids: dict[str, None] = {}
        _add_ids(ids, [*arguments, value])
        return AuditEntry(
            at=datetime.now(UTC),
            key_id=self.caller.key_id,
            operation=self.operation.name,
            records=tuple(islice(ids, MOST_RECORDS)),
            outcome="done" if error is None else type(error).__name__,
            ms=round((time.perf_counter() - self.begun) * 1000, 2),
        )


def is_grave(operation: Operation) -> bool:
    """Whether a call is on disk in the audit log before it is answered; others follow in a second.

    That is what cannot be undone, and what changes who may do what.
    """
    return operation.hints.destructive or (
        operation.scope in ("admin", "forget") and not operation.hints.read_only
    )


def _add_ids(found: dict[str, None], values: Iterable[Any]) -> None:
    """Add the ids of records in values, until there are enough. A text that is none is content, and
    stays out."""
    for value in values:
        if len(found) >= MOST_RECORDS:
            return
        if isinstance(value, str):
            if _ID.fullmatch(value):
                found[value] = None
        elif isinstance(value, Struct):
            _add_ids(found, [get(value) for get in _holders_of(type(value))])
        # of a vector, which is long, one number tells that there are none
        elif isinstance(value, list | tuple) and value and not isinstance(value[0], float):
            _add_ids(found, value)


@cache
def _holders_of(kind: type[Struct]) -> tuple[Callable[[Any], Any], ...]:
    """What reads the fields of a value of this type that have its ids; a hit gives its record's as
    its own."""
    names = [name for name in _HOLDERS if name in kind.__struct_fields__]
    if hasattr(kind, "id"):
        names = ["record.id" if "record" in names else "id", *names]
        names = [name for name in names if name != "record"]
    return tuple(attrgetter(name) for name in names)
