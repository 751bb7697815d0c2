"""The slots of one memory: the built-in ones, and its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from ...kv import Entry
from ...store.contract import Reads
from .registry import Registry, registry
from .slot import Slot

OWN_SLOT = "profile.slot"  # namespace of the entries


def own_slots(reads: Reads) -> list[Slot]:
    """The slots that a memory has besides the built-in ones."""
    return [_decoded(entry.value) for entry in reads.kv.list(OWN_SLOT)]


def registry_of(reads: Reads) -> Registry:
    """The slots of a memory: one object as long as they are the same."""
    own = tuple(entry.value for entry in reads.kv.list(OWN_SLOT))
    return _with_own(own) if own else registry()


def with_slot(own: Iterable[Slot], slot: Slot | Mapping[str, Any]) -> tuple[Registry, Slot]:
    """The slots of a memory with one more, or with one defined anew; and that slot, checked.

    Raises:
        InvalidInputError: it is no slot.
        ConflictError: another one has its id, label or an alias.
    """
    id = slot.id if isinstance(slot, Slot) else str(slot.get("id", ""))
    slots = registry().with_slots([*(one for one in own if one.id != id), slot])
    return slots, slots.slots[id]


def slot_entry(slot: Slot) -> Entry:
    """The entry of a slot of the memory's own."""
    return Entry(OWN_SLOT, slot.id, msgspec.json.encode(slot))


@lru_cache(maxsize=64)
def _with_own(own: tuple[bytes, ...]) -> Registry:
    return registry().with_slots(map(_decoded, own))


def _decoded(value: bytes) -> Slot:
    return msgspec.json.decode(value, type=Slot)
