"""The taxonomy of a tenant as a key-value entry."""

from __future__ import annotations

import msgspec

from ..kv import Entry, EntryReads
from ..model import Taxonomy

__all__ = ["read_taxonomy", "taxonomy_entry"]

_NAMESPACE, _KEY = "taxonomy", "@"
_NONE = Taxonomy()


def read_taxonomy(entries: EntryReads) -> Taxonomy:
    """Read the taxonomy; an empty one if there is none. One index probe."""
    entry = entries.get(_NAMESPACE, _KEY)
    return _NONE if entry is None else msgspec.json.decode(entry.value, type=Taxonomy)


def taxonomy_entry(taxonomy: Taxonomy) -> Entry:
    """Return the entry that keeps a taxonomy."""
    return Entry(_NAMESPACE, _KEY, msgspec.json.encode(taxonomy))
