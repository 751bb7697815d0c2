"""Runs: every time memory works on itself, with an id, what it did, and the means to undo it.

The entries of a run in the store are `run` (itself) and those of `before_images`. They are
forgotten with the records that they quote.
"""

from __future__ import annotations

import base64
import os
import secrets
import socket
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..errors import ChangedError, ConflictError, InvalidInputError, NotFoundError
from ..kv import Entry, KeyRange
from ..llm.ledger import REPLY
from ..model import Edge, Record
from ..store.batch import Batch, Preconditions
from ..store.contract import Store
from ..store.forgetting.watch import watch_entry, watch_keys
from ..store.rules.record_ids import new_id

RUN = "run"  # namespace of the entries
# the key of the entry that is written whenever a run begins, resumes or is rolled back
LAST_CHANGE = ("run.last", "change")
_LAST_ROLLBACK = ("run.last", "rollback")  # that of the entry that each rollback writes

_T = TypeVar("_T")
Status: TypeAlias = Literal["running", "done", "stopped", "rolled_back"]

# without a sign of life from another machine, after which a run counts as dead
_SILENCE = timedelta(minutes=10)
_PAGE = 50  # runs read at once
_ATTEMPTS = 20  # of a write, while others change what it is about to change
CHECKPOINT = "checkpoint"  # namespace of the entries that hold a state machine's state


class Diff(Struct, frozen=True, kw_only=True):
    """What a dry run would have written."""

    records: tuple[Record, ...] = ()
    edges: tuple[tuple[Edge | None, Edge], ...] = ()  # as stored, and what would be merged into it
    superseded: tuple[tuple[str, str], ...] = ()  # ids: the old, the new


class Run(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run: what it was to do, how far it came, what it wrote."""

    id: str  # empty: there was nothing to do, so it is not stored
    kind: str  # such as learn, dream or moments
    status: Status = "running"
    started_at: datetime
    finished_at: datetime | None = None
    # how it was started; an interrupted run is resumed by the same settings
    settings: dict[str, Any] = {}
    # what it dealt with: documents, passages, nothing, parked (items that still wait), …
    counts: dict[str, int] = {}
    # What it wrote: records, edges, merged (edges), updated, superseded, unchanged; of a rollback:
    # removed (records), unlinked (edges), restored, kept (as somebody else left them).
    receipt: dict[str, int] = {}
    # of the first hundred records that it made stale, told when it was done and not kept
    stale_ids: tuple[str, ...] = ()
    reason: str = ""  # why it stopped
    owner: str = ""  # host:process that runs it
    # tells it from a later process of the same number, as in a container that was restarted
    process: str = ""
    seen_at: datetime | None = None  # its last sign of life

    @property
    def state(self) -> str:
        """The status in a word for people: "interrupted" if the process of the run is gone."""
        if self.status == "running" and not is_alive(self):
            return "interrupted"
        return self.status.replace("_", " ")


def begin_run(store: Store, kind: str, settings: dict[str, Any], *, dry_run: bool = False) -> Run:
    """Begin a run, or resume the last one of its kind if it was interrupted and its settings match.

    An interrupted run of other settings is never resumed: the replies and checkpoints that were
    kept for it are deleted. A dry run is not stored, so it is neither listed nor resumed.

    Raises:
        ConflictError: a run of this kind is going on, in this or another process.
    """
    now = datetime.now(UTC)
    new = Run(id=new_id(), kind=kind, started_at=now, settings=settings, **new_owner(now))
    if dry_run:
        return new
    while True:
        version = last_change_version(store)
        last = next(list_runs(store, kind, limit=1), None)
        if last and last.status == "running" and is_alive(last):
            since = f"{last.started_at:%Y-%m-%d %H:%M}"
            raise ConflictError(
                f"a run of {kind} is going on ({last.owner}, since {since} UTC)",
                remedy="wait until it is done",
                id=last.id,
            )
        useless: list[tuple[str, str]] = []
        if last and can_resume(last, settings):
            run = replace(last, status="running", finished_at=None, reason="", **new_owner(now))
        else:
            run = new
            if last and last.status in ("running", "stopped"):
                useless = leftovers(store, last.id)
        batch = Batch(
            deleted_entries=tuple(useless),
            # from now on the run is told what is forgotten
            entries=(run_entry(run), last_change_entry(), watch_entry(run.id)),
            expected=Preconditions(entries={LAST_CHANGE: version}),
        )
        try:
            store.write(batch)
        except ChangedError:
            # another run began at the same moment
            continue
        return run


def last_change_version(store: Store) -> int:
    """The version that must be unchanged when a run begins or is rolled back, so that of two only
    one does."""
    stored = store.kv.get(*LAST_CHANGE)
    return stored.version if stored else 0


def last_change_entry() -> Entry:
    """The entry whose next version tells other processes that a run began or was rolled back."""
    return Entry(*LAST_CHANGE, b"{}")


def last_rollback_version(store: Store) -> int:
    """The version that changes with every rollback: of what a run wrote, some may be gone then."""
    stored = store.kv.get(*_LAST_ROLLBACK)
    return stored.version if stored else 0


def last_rollback_entry() -> Entry:
    """The entry whose next version says that a run was rolled back."""
    return Entry(*_LAST_ROLLBACK, b"{}")


def can_resume(last: Run | None, settings: dict[str, Any]) -> bool:
    """Whether the last run of a kind was interrupted and had the same settings."""
    if last is None or last.status not in ("running", "stopped"):
        return False
    return last.settings == settings


def list_runs(store: Store, kind: str = "", *, limit: int | None = None) -> Iterator[Run]:
    """The runs, of all kinds by default, the newest first."""
    after, count = "", 0
    while page := store.kv.list(RUN, KeyRange(after=after, limit=_PAGE, newest_first=True)):
        for entry in page:
            run = msgspec.json.decode(entry.value, type=Run)
            if kind in ("", run.kind):
                yield run
                count += 1
                if count == limit:
                    return
        after = page[-1].key


def find_run(store: Store, id: str) -> Run:
    """The run with this id, or the only one whose id begins or ends with it.

    Raises:
        NotFoundError: there is none, or several; the remedy lists the last runs.
        InvalidInputError: the id is not text.
    """
    if not isinstance(id, str):
        raise InvalidInputError(f"the id of a run is text, not {type(id).__name__}")
    exact = store.kv.get(RUN, id) if id else None
    if exact:
        return msgspec.json.decode(exact.value, type=Run)
    matches = [
        run for run in list_runs(store) if id and (run.id.startswith(id) or run.id.endswith(id))
    ]
    if len(matches) == 1:
        return matches[0]
    known = ", ".join(run.id for run in list_runs(store, limit=5))
    raise NotFoundError(
        f"{'several runs have ids' if matches else 'no run has an id'} like {id!r}",
        remedy=f"the last ones: {known}"
        if known
        else "nothing ran yet; `remloom dream runs` lists what did",
        id=id,
    )


def run_entry(run: Run, **changes: Any) -> Entry:
    """The entry of a run, with these fields changed."""
    return Entry(RUN, run.id, msgspec.json.encode(replace(run, stale_ids=(), **changes)))


def is_alive(run: Run) -> bool:
    """Whether the process of a run still works on it, as far as can be told from here."""
    if run.seen_at is None or datetime.now(UTC) - run.seen_at > _SILENCE:
        return False
    host, _, number = run.owner.rpartition(":")
    # Windows has no signal that only asks
    if host != socket.gethostname() or os.name == "nt":
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


def new_owner(now: datetime) -> dict[str, Any]:
    """The fields of a run that say which process works on it."""
    return {"owner": f"{socket.gethostname()}:{os.getpid()}", "process": _process(), "seen_at": now}


@cache
def _process() -> str:
    return secrets.token_hex(4)


def leftovers(store: Store, run_id: str) -> list[tuple[str, str]]:
    """The keys of all that is kept for a run to go on, its watch among them."""
    kept = [
        *store.kv.list(REPLY, KeyRange(prefix=f"{run_id}/")),
        *store.kv.list(CHECKPOINT, KeyRange(prefix=f"{encode_part(run_id)}/")),
    ]
    return [*((one.namespace, one.key) for one in kept), *watch_keys(store.kv, run_id)]


def encode_part(id: str) -> str:
    """A part of a checkpoint's id: it has no slash, and does not begin another part."""
    return base64.urlsafe_b64encode(id.encode()).decode()


def retry(work: Callable[[], _T]) -> _T:
    """Do the work; again from the start whenever somebody else changed what it had looked up."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return work()
        except ChangedError:
            continue
    return work()
