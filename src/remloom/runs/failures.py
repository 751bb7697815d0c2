"""Items that a run failed at since a model call failed. The next run of the kind retries them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from ..kv import Entry, KeyRange
from ..store.contract import Store

FAILED_ITEM = "parked"  # namespace of the entries
_REPLY_SHOWN = 300  # characters of a model's reply that a reason quotes


class FailedItem(Struct, frozen=True, kw_only=True):
    """Something that a run could not do."""

    kind: str  # of run
    item: str  # what it is about: an id that this kind of run understands
    reason: str  # of the last attempt
    attempts: int = 1
    at: datetime  # of the last attempt
    name: str = ""  # for people
    details: dict[str, Any] = {}  # what the next run needs to know
    run: str = ""  # id of the run that failed last


def failed_item_key(kind: str, item: str) -> tuple[str, str]:
    """The key of an item's entry: deleted when the item is done."""
    return FAILED_ITEM, f"{kind}/{item}"


def failed_item_entry(
    store: Store,
    kind: str,
    item: str,
    error: Exception | str,
    record_ids: Sequence[str] = (),
    *,
    name: str = "",
    details: Mapping[str, Any] = {},
    run_id: str = "",
) -> Entry:
    """The entry of an item that just failed, dropped when one of these records is forgotten."""
    key = failed_item_key(kind, item)
    # attempts are counted over runs
    stored = store.kv.get(*key)
    attempts = msgspec.json.decode(stored.value, type=FailedItem).attempts if stored else 0
    failed = FailedItem(
        kind=kind,
        item=item,
        reason=describe_failure(error),
        attempts=attempts + 1,
        at=datetime.now(UTC),
        name=name,
        details=dict(details),
        run=run_id,
    )
    return Entry(*key, msgspec.json.encode(failed), tuple(record_ids))


def describe_failure(error: Exception | str) -> str:
    """The message of an error, with the beginning of the reply at fault, if there was one."""
    fields = {} if isinstance(error, str) else getattr(error, "fields", {})
    message = str(error)[:2000]
    reply = str(fields.get("raw") or "")
    return f"{message}\n  it replied: {reply[:_REPLY_SHOWN]}" if reply else message


def failed_items(store: Store, kind: str = "") -> list[FailedItem]:
    """The items that wait to be retried; of all kinds of runs by default."""
    entries = store.kv.list(FAILED_ITEM, KeyRange(prefix=f"{kind}/" if kind else ""))
    return [msgspec.json.decode(entry.value, type=FailedItem) for entry in entries]
