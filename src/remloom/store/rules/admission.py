"""What a call is about to do besides what it says, for a check that may refuse it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

from ...kv import Entry, EntryReads
from ...model import Record
from ..encoding import has_expired

SCHEMA = "schema"  # one is registered
# the end of a stored record is put, moved or taken away; or a record has expired when it is written
EXPIRY = "expires_at"
JOB = "job"  # one is begun again, of the kind that the value says
# Called with one of these, or the namespace of an entry, and its value. What it raises ends the
# call, and nothing is written.
Admit: TypeAlias = Callable[[str, bytes], None]
_admit: ContextVar[Admit | None] = ContextVar("admit", default=None)


@contextmanager
def admitting(admit: Admit) -> Iterator[None]:
    """Ask `admit` of all that is done inside."""
    token = _admit.set(admit)
    try:
        yield
    finally:
        _admit.reset(token)


def admit(kind: str, value: bytes = b"") -> None:
    """Ask whether this may be done. Where nobody is to be asked, anything may."""
    if (decide := _admit.get()) is not None:
        decide(kind, value)


def admit_new(record: Record) -> None:
    """Ask of a record by itself; of the one that it is written over, `merge_record` does."""
    if record.expires_at is not None and has_expired(record):
        admit(EXPIRY)


def admit_entry(entries: EntryReads, entry: Entry) -> None:
    """Ask of an entry that is taken in, unless it is there already as it is."""
    if _admit.get() is None:
        return
    stored = entries.get(entry.namespace, entry.key)
    if stored is None or stored.value != entry.value:
        admit(entry.namespace, entry.value)
