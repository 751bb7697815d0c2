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

from ..operations import Operation
from ..tenancy.audit import AuditEntry
from .caller import Caller

MOST_RECORDS = 50  # ids of one call
_ID_LENGTH = 36
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# where values have the records that they are about
_LISTS = (list, tuple)
_HOLDERS = ("record", "hits", "records", "ids")


class AuditedCall:
    """A call that is under way."""

    def __init__(self, caller: Caller, operation: Operation, values: Struct) -> None:
        self._caller = caller
        self._operation = operation
        self._values = values
        self._begun = time.perf_counter()

    def entry(self, value: Any = None, error: BaseException | None = None) -> AuditEntry:
        """Say how it ended: with a value, or an error."""
        given = [getattr(self._values, name) for name in self._values.__struct_fields__]
        ids: dict[str, None] = {}
        _add_ids(ids, [*given, value])
        return AuditEntry(
            at=datetime.now(UTC),
            key_id=self._caller.key_id,
            operation=self._operation.name,
            records=tuple(islice(ids, MOST_RECORDS)),
            outcome="done" if error is None else type(error).__name__,
            ms=round((time.perf_counter() - self._begun) * 1000, 2),
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
            if len(value) == _ID_LENGTH and _ID.fullmatch(value):
                found[value] = None
        elif isinstance(value, Struct):
            for get in _holders_of(type(value)):
                held = get(value)
                # without going deeper for the one id that most have
                if not isinstance(held, str):
                    _add_ids(found, (held,))
                elif len(held) == _ID_LENGTH and _ID.fullmatch(held):
                    found[held] = None
        # of a vector, which is long, one number tells that there are none
        elif isinstance(value, _LISTS) and value and not isinstance(value[0], float):
            _add_ids(found, value)


@cache
def _holders_of(kind: type[Struct]) -> tuple[Callable[[Any], Any], ...]:
    """Give what reads the fields of a value of this type that have its ids. A hit gives its
    record's as its own, lists of hits have their hits."""
    names = [name for name in _HOLDERS if name in kind.__struct_fields__]
    if hasattr(kind, "id"):
        is_of_record = "record" in names
        names = [name for name in names if name != "record"]
        names.insert(0, "record.id" if is_of_record else "id")
    return tuple(attrgetter(name) for name in names)
