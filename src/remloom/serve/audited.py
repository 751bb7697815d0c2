"""Calls as the audit log keeps them: who, what, which records, and how it ended; no content."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from msgspec import Struct

from ..memory.audit import AuditEntry
from ..operations import Operation
from .caller import Caller

__all__ = ["AuditedCall", "is_grave"]

MOST_RECORDS = 50  # ids of one call
_ID_LENGTH = 36
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# where values have the records that they are about
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
        ids = dict.fromkeys(islice(_ids([*given, value]), MOST_RECORDS))
        return AuditEntry(
            at=datetime.now(UTC),
            key_id=self._caller.key_id,
            operation=self._operation.name,
            records=tuple(ids),
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


def _ids(value: Any) -> Iterator[str]:
    """Find the ids of records in a value. A text that is none is content, and stays out."""
    if isinstance(value, str):
        if len(value) == _ID_LENGTH and _ID.fullmatch(value):
            yield value
    elif isinstance(value, list | tuple):
        # of a vector, which is long, one number tells that there are none
        if not (value and isinstance(value[0], float)):
            for item in value:
                yield from _ids(item)
    elif isinstance(value, Struct):
        id = getattr(value, "id", None)
        if id is not None:
            yield from _ids(id)
        # a hit has its record, whose id it gives as its own, lists of hits their hits
        for name in _HOLDERS:
            if name in value.__struct_fields__ and not (name == "record" and id is not None):
                yield from _ids(getattr(value, name))
