"""The taxonomy of a tenant as a key-value entry."""

from __future__ import annotations

import msgspec

from ..errors import CorruptStoreError
from ..kv import Entry, EntryReads
from ..model import Taxonomy

TAXONOMY = "taxonomy"  # namespace of the one entry
_KEY = "@"
_NONE = Taxonomy()


def read_taxonomy(entries: EntryReads) -> Taxonomy:
    """Read the taxonomy; an empty one if there is none. One index probe.

    Raises:
        CorruptStoreError: it is not as it was written.
    """
    entry = entries.get(TAXONOMY, _KEY)
    if entry is None:
        return _NONE
    try:
        return msgspec.json.decode(entry.value, type=Taxonomy)
    except msgspec.MsgspecError as error:
        raise CorruptStoreError(
            f"the taxonomy is not as it was written: {error}", remedy="set it again"
        ) from error


def taxonomy_entry(taxonomy: Taxonomy) -> Entry:
    """Return the entry that keeps a taxonomy."""
    return Entry(TAXONOMY, _KEY, msgspec.json.encode(taxonomy))
