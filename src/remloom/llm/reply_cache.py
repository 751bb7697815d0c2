"""Replies kept while a run is going on, so that a run that was killed does not pay for them again."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import msgspec

from ..kv import Entry, KeyRange, KeyValue
from .contract import Reply, Request

__all__ = ["KIND", "discard", "find", "identify", "kept"]

KIND = "reply"  # of journal entry; the id is the run's id, a slash, and the request's hash
_AT_ONCE = 1_000  # struck in one transaction


def identify(model: str, request: Request) -> str:
    """The same for the same request to the same model, and for no other."""
    return sha256(msgspec.json.encode((model, request))).hexdigest()[:40]


def kept(run: str, identity: str, reply: Reply, subjects: Sequence[str]) -> Entry:
    """A reply as it is noted. It goes when one of the records that its request quotes is forgotten."""
    return Entry(KIND, f"{run}/{identity}", msgspec.json.encode(reply), refs=tuple(subjects))


def find(journal: KeyValue, run: str, identity: str) -> Reply | None:
    """The reply that this run has got already, if any."""
    entry = journal.get(KIND, f"{run}/{identity}")
    return msgspec.json.decode(entry.value, type=Reply) if entry else None


def discard(journal: KeyValue, run: str) -> None:
    """Strike every reply of a run that is over."""
    while page := journal.list(KIND, KeyRange(prefix=f"{run}/", limit=_AT_ONCE)):
        journal.put([], deleted=[(KIND, entry.key) for entry in page])
