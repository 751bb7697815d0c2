"""The lease of a source: of any number of syncs at once, in any number of processes, one goes on.

It is an entry that each page of a sync writes again, in the transaction of the page. Whoever takes
it over, because its process is dead or silent, gives it another version, so that nothing which the
other one still writes gets in.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec
from msgspec.structs import replace

from ...errors import ConflictError, LeaseLostError
from ...kv import Entry
from ...runs.run import Run, is_alive, new_owner
from ...store.contract import Store
from ...store.rules.record_ids import new_id

SYNCS = "syncs"  # namespace of the entries; the key is the name of the source
_SILENCE = 20.0  # seconds without a write after which a sign of life is written


class Lease:
    """The right to sync one source, until `end`."""

    def __init__(self, store: Store, run: Run, version: int, *, resumed: bool) -> None:
        self._store = store
        self._run = run
        self._version = version
        self._written_at = time.monotonic()
        self.resumed = resumed  # the sync before was broken off

    @property
    def expected(self) -> dict[tuple[str, str], int]:
        """The version that the entry must still have, for a batch that goes with `entry`."""
        return {(SYNCS, self._key): self._version}

    def entry(self, counts: Mapping[str, int]) -> Entry:
        """Give the entry as it is to be written with a page; see `renewed`."""
        now = datetime.now(UTC)
        return self._entry(replace(self._run, counts=dict(counts), seen_at=now))

    def renewed(self) -> None:
        """Note that the entry was written."""
        self._version += 1
        self._written_at = time.monotonic()

    def keep(self, counts: Mapping[str, int]) -> None:
        """Give a sign of life, if none was given for a while.

        Raises:
            LeaseLostError: another sync has taken over.
        """
        if time.monotonic() - self._written_at > _SILENCE:
            self._put(self.entry(counts))

    def check(self) -> None:
        """Refuse to go on when another sync has taken over.

        Raises:
            LeaseLostError: it has.
        """
        stored = self._store.kv.get(SYNCS, self._key)
        if stored is None or stored.version != self._version:
            raise self._lost()

    def end(self, counts: Mapping[str, int], reason: str = "") -> None:
        """Give it back: the sync is done, or was broken off for a reason."""
        status = "stopped" if reason else "done"
        now = datetime.now(UTC)
        run = replace(self._run, status=status, reason=reason, counts=dict(counts), finished_at=now)
        self._put(self._entry(run))

    @property
    def _key(self) -> str:
        return str(self._run.settings["source"])

    def _entry(self, run: Run) -> Entry:
        return Entry(SYNCS, self._key, msgspec.json.encode(run))

    def _put(self, entry: Entry) -> None:
        try:
            self._store.kv.put([entry], expected_version=self._version)
        except ConflictError:
            raise self._lost() from None
        self.renewed()

    def _lost(self) -> LeaseLostError:
        return LeaseLostError(
            f"another sync of {self._key!r} has begun meanwhile",
            remedy="let one sync of a source be done at a time",
            id=self._run.id,
        )


def begin(store: Store, source: str) -> Lease:
    """Begin to sync a source.

    Raises:
        ConflictError: it is being synced, in this or another process.
    """
    stored = store.kv.get(SYNCS, source)
    last = None if stored is None else msgspec.json.decode(stored.value, type=Run)
    if last is not None and last.status == "running" and is_alive(last):
        raise _busy(source, last)
    now = datetime.now(UTC)
    run = Run(
        id=new_id(), kind="sync", started_at=now, settings={"source": source}, **new_owner(now)
    )
    version = stored.version if stored else 0
    entry = Entry(SYNCS, source, msgspec.json.encode(run))
    try:
        store.kv.put([entry], expected_version=version)
    except ConflictError:
        raise _busy(source, run) from None
    broken_off = last is not None and last.status != "done"
    return Lease(store, run, version + 1, resumed=broken_off)


def _busy(source: str, run: Run) -> ConflictError:
    return ConflictError(
        f"{source!r} is being synced ({run.owner}, since {run.started_at:%Y-%m-%d %H:%M} UTC)",
        remedy="wait until that is done",
        id=run.id,
    )
