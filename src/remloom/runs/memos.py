"""Memos: entries that say that something was done with records, as they were then.

A memo whose records say something else by now counts no more; one from before memos had premises
says nothing of them, and counts, so that nobody asks a model everything again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from ..kv import Entry

_PREMISES = "premises"


def memo(
    namespace: str, key: str, premises: Mapping[str, str], refs: Iterable[str], **value: Any
) -> Entry:
    """An entry that has these premises in its value; see `premises_of`."""
    data = msgspec.json.encode({**value, _PREMISES: premises})
    return Entry(namespace, key, data, tuple(refs))


def holds(entry: Entry | None, premises: Mapping[str, str]) -> bool:
    """Whether an entry is there, and is of records that say what they said."""
    return entry is not None and memo_premises(entry) in ({}, premises)


def memo_premises(entry: Entry) -> dict[str, str]:
    """The premises of a memo; none of one from before."""
    known: dict[str, str] = msgspec.json.decode(entry.value).get(_PREMISES, {})
    return known
