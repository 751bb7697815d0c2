"""Which texts somebody replaced, as key-value entries: one outlives a text that is gone from its
source, so that it is still replaced where that says it again. It holds no words.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from ...kv import Entry, EntryReads, KeyRange, lost_ref, source_ref
from ...model import Resource
from ...model.supersession import Superseded

REPLACED = "replaced"  # namespace; the key is the id of the text
_ONE = KeyRange(limit=1)
_decode = msgspec.json.Decoder(Superseded).decode


def replaced_entry(text: Resource, mark: Superseded) -> Entry:
    """Make the entry of a text that is replaced; it goes when that, or its source, is forgotten."""
    value = msgspec.json.encode(replace(mark, content="", context=""))
    sources = (source_ref(text.uri),) if text.uri else ()
    return Entry(REPLACED, text.id, value, (lost_ref(text.id), *sources))


def is_any_replaced(reads: EntryReads) -> bool:
    """Whether a memory has, or had, a text that somebody replaced."""
    return bool(reads.list(REPLACED, _ONE))


def replaced_before(reads: EntryReads, ids: Iterable[str]) -> dict[str, Superseded]:
    """Return of these ids of texts that are not there those that were replaced, by what."""
    missing = list(map(lost_ref, ids))
    if not missing or not is_any_replaced(reads):
        return {}
    return {entry.key: _decode(entry.value) for entry in reads.about(REPLACED, missing)}
