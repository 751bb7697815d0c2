"""What a run could not do because a call of the model failed: kept with the reason, and tried again
by the next run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from ..store.contract import JournalEntry, Store

__all__ = ["PARKED", "Parked", "park", "parked", "place", "reason"]

PARKED = "parked"  # kind of the journal entries
_RAW = 300  # characters of a model's reply that a reason shows


class Parked(Struct, frozen=True, kw_only=True):
    """Something a run could not do."""

    kind: str  # of run: learn | dream | moments | affinity | consolidate
    item: str  # what it was about, as that kind of run knows it
    reason: str  # of the last attempt
    attempts: int = 1
    at: datetime  # of the last attempt
    name: str = ""  # for people
    details: dict[str, Any] = {}  # what the next run needs to know
    run: str = ""  # that parked it last


def place(kind: str, item: str) -> tuple[str, str]:
    """The key of its journal entry, to strike it when it is done."""
    return PARKED, f"{kind}/{item}"


def park(
    store: Store,
    kind: str,
    item: str,
    error: Exception | str,
    subjects: Sequence[str] = (),
    *,
    name: str = "",
    details: Mapping[str, Any] = {},
    run: str = "",
) -> JournalEntry:
    """The journal entry of something that failed; `subjects` are the records it is about."""
    stored = store.journal_entry(*place(kind, item))
    before = msgspec.json.decode(stored.data, type=Parked).attempts if stored else 0
    told = Parked(
        kind=kind, item=item, reason=reason(error), attempts=before + 1, at=datetime.now(UTC), name=name,
        details=dict(details), run=run,
    )  # fmt: skip
    return JournalEntry(*place(kind, item), msgspec.json.encode(told), subjects=tuple(subjects))


def reason(error: Exception | str) -> str:
    """An error in words, with the beginning of the reply that was at fault, if one was."""
    raw = "" if isinstance(error, str) else str(getattr(error, "fields", {}).get("raw") or "")
    return f"{str(error)[:2000]}" + (f"\n  it replied: {raw[:_RAW]}" if raw else "")


def parked(store: Store, kind: str = "") -> list[Parked]:
    """What waits to be tried again."""
    entries = store.journal(PARKED, prefix=f"{kind}/" if kind else "")
    return [msgspec.json.decode(entry.data, type=Parked) for entry in entries]
