"""Leftovers: what is kept for a run that may go on, and is of no use once it does not: replies and
checkpoints."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from ..llm.reply_cache import KIND as REPLY
from ..store.contract import JournalEntry, Store

__all__ = ["CHECKPOINT", "WRITE", "forgotten", "leftovers", "thread"]

CHECKPOINT, WRITE = "checkpoint", "checkpoint.write"  # kinds of journal entries


def leftovers(store: Store, run: str) -> list[tuple[str, str]]:
    """The keys of a run's leftovers."""
    return [(entry.kind, entry.id) for entry in _entries(store, run)]


def forgotten(store: Store, run: str) -> list[tuple[str, str]]:
    """Of those, the ones that came after a record they speak of was forgotten."""
    known: dict[str, bool] = {}

    def gone(id: str) -> bool:
        if id not in known:
            known[id] = store.get(None, id) is None
        return known[id]

    return [
        (entry.kind, entry.id) for entry in _entries(store, run) if any(map(gone, entry.subjects))
    ]


def thread(id: str) -> str:
    """A part of a checkpoint's id: no slash in it, and what starts another does not start it."""
    return base64.urlsafe_b64encode(id.encode()).decode()


def _entries(store: Store, run: str) -> Iterator[JournalEntry]:
    yield from store.journal(REPLY, prefix=f"{run}/")
    for kind in (CHECKPOINT, WRITE):
        yield from store.journal(kind, prefix=f"{thread(run)}/")
