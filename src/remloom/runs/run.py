"""Runs: every time memory thinks about itself is one, with an id, what it did, and the means to
undo it.

A run's entries in the journal: `run` (itself), `run.made` (ids it made), `run.record`, `run.edge`
and `run.note` (what was there before it changed a record, an edge or a journal entry). What it
spoke of is forgotten with the records it spoke of.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..errors import ChangedError, ConflictError, InvalidInputError, NotFoundError
from ..model import Edge, Record
from ..store.contract import Batch, JournalEntry, Preconditions, Store
from ..store.validation import new_id
from .cleanup import leftovers

__all__ = [
    "BEFORE_EDGE",
    "BEFORE_NOTE",
    "BEFORE_RECORD",
    "CHANGES",
    "MADE",
    "RUN",
    "Diff",
    "Run",
    "Status",
    "alive",
    "begin",
    "changed",
    "changing",
    "entry",
    "find",
    "interrupted",
    "runs",
]

RUN, MADE = "run", "run.made"  # kinds of journal entries
BEFORE_RECORD, BEFORE_EDGE, BEFORE_NOTE = "run.record", "run.edge", "run.note"
# the entry that is written whenever a run begins, goes on or is taken back
CHANGES = ("run.last", "change")

Status: TypeAlias = Literal["running", "done", "stopped", "rolled_back"]

# without a sign of life from another machine, after which a run counts as dead
_SILENT = timedelta(minutes=10)


class Diff(Struct, frozen=True, kw_only=True):
    """What a dry run would have written."""

    records: tuple[Record, ...] = ()
    edges: tuple[tuple[Edge | None, Edge], ...] = ()  # as it is, and what would be merged into it
    superseded: tuple[tuple[str, str], ...] = ()  # ids: the old, the new


class Run(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run: what it was to do, how far it came, what it wrote."""

    id: str  # empty: there was nothing to do, so it is not among the runs
    kind: str  # learn | dream | moments | affinity | consolidate
    status: Status = "running"
    started_at: datetime
    finished_at: datetime | None = None
    # as it was started; an interrupted run is gone on with by the same
    settings: dict[str, Any] = {}
    # what it dealt with: documents, passages, dreams, nothing, parked (items, still), …
    counts: dict[str, int] = {}
    # What it wrote: records, edges, merged (edges), updated, superseded, unchanged; of a rollback:
    # removed (records), unlinked (edges), restored, kept (as somebody else left them).
    receipt: dict[str, int] = {}
    reason: str = ""  # why it stopped
    owner: str = ""  # host:process that runs it
    # tells it from a later one of the same number, as in a container that was started again
    process: str = ""
    seen_at: datetime | None = None  # its last sign of life

    @property
    def state(self) -> str:
        """The status in a word for people: a run whose process is gone was interrupted."""
        return (
            "interrupted"
            if self.status == "running" and not alive(self)
            else self.status.replace("_", " ")
        )


def begin(
    store: Store, kind: str, settings: dict[str, Any], *, resume: bool = True, dry_run: bool = False
) -> Run:
    """A new run, or, when the last of its kind was interrupted and had the same settings, that one
    again.

    An interrupted one with other settings will not be gone on with: its kept replies and
    checkpoints go. A dry run is not in the journal, so that it is neither listed nor gone on with.

    Raises:
        ConflictError: such a run is going on, in this or another process.
    """
    now = datetime.now(UTC)
    new = Run(id=new_id(), kind=kind, started_at=now, settings=settings, **_self(now))
    if dry_run:
        return new
    while True:
        expected = changing(store)
        last = next(runs(store, kind, limit=1), None)
        if last and last.status == "running" and alive(last):
            raise ConflictError(
                f"a {kind} run is going on ({last.owner}, since {last.started_at:%Y-%m-%d %H:%M} UTC)",
                remedy="wait until it is done",
                id=last.id,
            )
        again = last if last and resume and interrupted(last, settings) else None
        over = (
            leftovers(store, last.id)
            if last and not again and last.status in ("running", "stopped")
            else []
        )
        run = (
            replace(again, status="running", finished_at=None, reason="", **_self(now))
            if again
            else new
        )
        try:
            store.write(
                Batch(
                    struck=tuple(over),
                    journal=(entry(run), changed()),
                    expected=Preconditions(notes=expected),
                )
            )
        except ChangedError:  # another run began in the same moment
            continue
        return run


def changing(store: Store) -> dict[tuple[str, str], int]:
    """What is to be expected by who begins a run, or takes one back: that nobody else does at the
    same moment."""
    found = store.journal_entry(*CHANGES)
    return {CHANGES: found.version if found else 0}


def changed() -> JournalEntry:
    """The journal entry that tells others that somebody did."""
    return JournalEntry(*CHANGES, b"{}")


def interrupted(last: Run | None, settings: dict[str, Any]) -> bool:
    """Whether the last run of a kind is to be gone on with by who asks for the same."""
    return last is not None and last.status in ("running", "stopped") and last.settings == settings


def runs(store: Store, kind: str = "", *, limit: int | None = None) -> Iterator[Run]:
    """The runs, newest first."""
    after, found = "", 0
    while page := store.journal(RUN, after=after, limit=50, newest_first=True):
        for item in page:
            run = msgspec.json.decode(item.data, type=Run)
            if kind in ("", run.kind):
                yield run
                found += 1
                if found == limit:
                    return
        after = page[-1].id


def find(store: Store, id: str) -> Run:
    """The run with this id, or whose id alone begins (or ends) like this.

    Raises:
        NotFoundError: there is none, or several; says which there are.
    """
    if not isinstance(id, str):
        raise InvalidInputError(f"the id of a run is text, not {type(id).__name__}")
    if id and (exact := store.journal_entry(RUN, id)):
        return msgspec.json.decode(exact.data, type=Run)
    matching = [run for run in runs(store) if id and (run.id.startswith(id) or run.id.endswith(id))]
    if len(matching) == 1:
        return matching[0]
    known = ", ".join(run.id for run in runs(store, limit=5))
    raise NotFoundError(
        f"{'several runs have ids' if matching else 'no run has an id'} like {id!r}",
        remedy=f"the last ones: {known}"
        if known
        else "nothing ran yet; `remloom dream runs` lists what did",
        id=id,
    )


def entry(run: Run, **changes: Any) -> JournalEntry:
    """A run as its journal entry, with these changes."""
    return JournalEntry(RUN, run.id, msgspec.json.encode(replace(run, **changes)))


def alive(run: Run) -> bool:
    """Whether somebody is still at it, as far as can be told from here."""
    if run.seen_at is None or datetime.now(UTC) - run.seen_at > _SILENT:
        return False
    host, _, number = run.owner.rpartition(":")
    if host != socket.gethostname() or os.name == "nt":  # there, signal 0 is no question
        return True
    if int(number) == os.getpid():
        return run.process == _process()
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _self(now: datetime) -> dict[str, Any]:
    """The fields of a run that say who is at it."""
    return {"owner": f"{socket.gethostname()}:{os.getpid()}", "process": _process(), "seen_at": now}


@cache
def _process() -> str:
    return secrets.token_hex(4)
