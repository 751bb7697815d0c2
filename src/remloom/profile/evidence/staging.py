"""Staging: claims that wait to be normalised. They are evidence without a slot, as durable as any.

Source: seed 4, "Stage 2: Staging Queue". A claim leaves it in the transaction that writes what was
made of it, or when only the user may say it; never because something failed.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from ...kv import Entry, KeyRange
from ...model import Resource
from ...runs.failures import failed_items
from ...store.contract import Reads, Store
from .evidence import STAGED, Evidence, from_record

KIND = "normalise"  # of runs
ENOUGH = 10  # claims that are normalised at once
LONGEST_WAIT = timedelta(hours=6)  # of fewer claims

_LAST = ("profile.normalised", "last")


class _Last(Struct, frozen=True):
    at: datetime


def staged(store: Reads) -> list[Evidence]:
    """The claims that wait, the oldest first."""
    records = (
        store.records.get("resources", entry.key) for entry in store.kv.list(STAGED, KeyRange())
    )
    claims = [from_record(record) for record in records if isinstance(record, Resource)]
    return sorted(claims, key=lambda claim: (claim.at, claim.id))


def normalised_entry(now: datetime) -> Entry:
    """The entry that says when claims were normalised last."""
    return Entry(*_LAST, msgspec.json.encode(_Last(now)))


def is_due(store: Store, now: datetime) -> bool:
    """Whether ten claims wait that were not tried yet, or any since six hours.

    Those that failed are tried again after six hours.
    """
    ids = {entry.key for entry in store.kv.list(STAGED, KeyRange())}
    if not ids:
        return False
    failed = {item.item for item in failed_items(store, KIND)}
    if len(ids - failed) >= ENOUGH:
        return True
    if last := store.kv.get(*_LAST):
        since = msgspec.json.decode(last.value, type=_Last).at
    else:
        waiting = (store.records.get("resources", id) for id in ids)
        times = [one.created_at for one in waiting if isinstance(one, Resource) and one.created_at]
        since = min(times, default=now)
    # a clock that was set back must not make them wait for it to catch up
    return now - since >= LONGEST_WAIT or since > now
