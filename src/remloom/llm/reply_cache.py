"""Replies kept while a run goes on, so that the run, killed and begun again, does not pay twice."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import msgspec

from ..kv import Entry, KeyRange, KeyValue, quoting_refs
from .contract import Reply, Request

KIND = "reply"  # namespace of the entries; the key is the run's id, a slash, and the identity
_AT_ONCE = 1_000  # deleted in one transaction


def identify(model: str, request: Request) -> str:
    """Hash a request to a model: the same for the same request, and for no other."""
    return sha256(msgspec.json.encode((model, request))).hexdigest()[:40]


def as_entry(run: str, identity: str, reply: Reply, subjects: Sequence[str]) -> Entry:
    """Make the entry of a reply; forgetting one of the records it is about deletes it, and so does
    making one again without what is forgotten."""
    return Entry(KIND, f"{run}/{identity}", msgspec.json.encode(reply), refs=quoting_refs(subjects))


def find(kv: KeyValue, run: str, identity: str) -> Reply | None:
    """Get the reply that this run has been given before, if any."""
    entry = kv.get(KIND, f"{run}/{identity}")
    return msgspec.json.decode(entry.value, type=Reply) if entry else None


def delete(kv: KeyValue, run: str) -> None:
    """Delete every reply of a run that is over."""
    while page := kv.list(KIND, KeyRange(prefix=f"{run}/", limit=_AT_ONCE)):
        kv.put([], deleted=[(KIND, entry.key) for entry in page])
