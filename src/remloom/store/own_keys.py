"""Keys of records at which the edges are their own: a key that is a row's handle is the name of
others, too."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ..errors import AmbiguousLabelError
from ..model import Entity, Meaning, Record, Row, label_of_record
from .contract import Reads
from .rules.merge import keys_of

_NONE: Mapping[str, Sequence[Record]] = {}


def own_keys(
    reads: Reads,
    records: Sequence[Record],
    found: Mapping[str, Sequence[Record]] = _NONE,
    asked: Collection[str] = (),
) -> list[str]:
    """Return a key of each record: that of its own label, or, where other records have that too and
    nobody asked for it, another that it has. Empty for a record that is called as the handle of
    another, and nothing else: no edge is its own.

    Args:
        found: the records that have some keys.
    """
    keys = {record.id: keys_of(record) for record in records}
    firsts = dict.fromkeys(own[0] for own in keys.values())
    owners = _owners(reads, [key for key in firsts if _may_be_shared(found.get(key))])
    chosen: dict[str, str] = {}
    unsure: list[str] = []  # ids of those whose own label others have, or may have
    for id, (first, *others) in keys.items():
        ids = owners.get(first, {id})
        if id in ids and (first in asked or len(ids) == 1 or not others):
            chosen[id] = first
        else:
            unsure.append(id)
    owners |= _owners(reads, [key for id in unsure for key in keys[id]])
    for id in unsure:
        first, *others = keys[id]
        ordered = [*filter(asked.__contains__, others), *others, first]
        chosen[id] = next((key for key in ordered if id in owners[key]), "")
    return [chosen[id] for id in keys]


def no_own_label(record: Record, meanings: Sequence[Meaning] = ()) -> AmbiguousLabelError:
    """Say that no edge is a record's own, as it is called as the handle of a row, and nothing else.

    Args:
        meanings: of its label, as far as they are known.
    """
    label = label_of_record(record)
    return AmbiguousLabelError(
        f"{label!r} is the handle of a row, and {record.id} is called nothing else: the edges"
        " of that label are the row's",
        remedy=f"give {record.id} a name or an alias of its own, or give the id of the row",
        label=label,
        meanings=[meaning.as_dict() for meaning in meanings],
    )


def _may_be_shared(found: Sequence[Record] | None) -> bool:
    """Whether a key that these records have may be that of others, or the handle of one of them."""
    return found is None or (len(found) > 1 and any(isinstance(r, Row | Entity) for r in found))


def _owners(reads: Reads, keys: Sequence[str]) -> dict[str, set[str]]:
    """Return the ids of the records whose edges are at these keys."""
    by_key = reads.records.lookup(keys, edges=0, own=True) if keys else {}
    return {key: {record.id for record in records} for key, records in by_key.items()}
