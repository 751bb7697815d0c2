"""What is kept so that an interrupted run can go on: replies and checkpoints."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from ..kv import Entry, KeyRange
from ..llm.reply_cache import KIND as REPLY
from ..store.contract import Store
from ..store.forgetting.watch import watch_keys

CHECKPOINT = "checkpoint"  # namespace of the entries that hold a state machine's state


def leftovers(store: Store, run_id: str) -> list[tuple[str, str]]:
    """The keys of all that is kept for a run to go on, its watch among them."""
    kept = [(entry.namespace, entry.key) for entry in _entries(store, run_id)]
    return [*kept, *watch_keys(store.kv, run_id)]


def encode_part(id: str) -> str:
    """A part of a checkpoint's id: it has no slash, and does not begin another part."""
    return base64.urlsafe_b64encode(id.encode()).decode()


def _entries(store: Store, run_id: str) -> Iterator[Entry]:
    yield from store.kv.list(REPLY, KeyRange(prefix=f"{run_id}/"))
    yield from store.kv.list(CHECKPOINT, KeyRange(prefix=f"{encode_part(run_id)}/"))
