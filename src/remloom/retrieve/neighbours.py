"""What stands beside a hit in its source: the turns of a chat, the chunks of a document."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from .. import labels
from ..model import RecallHit, Record, Resource
from ..store.contract import Store

__all__ = ["beside"]


def beside(store: Store, hits: Sequence[RecallHit], reach: int) -> list[RecallHit]:
    """The hits with up to `reach` resources before and after each, along their `next` edges, but
    for hits."""
    if "next" not in store.rel_types():
        return list(hits)
    keys = {hit.id: labels.key(hit.name) for hit in hits if hit.schema == "resources"}
    chains: dict[str, tuple[list[str], list[str]]] = {id: ([], []) for id in keys}
    follows: dict[str, str] = {}
    comes_before: dict[str, str] = {}
    known: set[str] = set()
    front = set(keys.values())
    for _ in range(reach):
        fresh = list(front - known)
        known |= front
        for src, _, dst in store.edge_keys(
            fresh, direction="both", rel_types=["next"], limit=3 * len(fresh) + 1
        ):
            follows[src] = dst
            comes_before[dst] = src
        front = {
            other for key in fresh for other in (follows.get(key), comes_before.get(key)) if other
        }
    wanted = set()
    for id, key in keys.items():
        for side, steps in zip(chains[id], (comes_before, follows), strict=True):
            at = key
            while len(side) < reach and at in steps:
                at = steps[at]
                side.append(at)
            wanted.update(side)
    records = store.lookup(sorted(wanted), edges=0)
    found = {
        key: [record for record in some if record.id not in keys] for key, some in records.items()
    }
    return [_with(hit, chains.get(hit.id), found) for hit in hits]


def _with(
    hit: RecallHit, chain: tuple[list[str], list[str]] | None, records: dict[str, list[Record]]
) -> RecallHit:
    if chain is None:
        return hit
    sides = [
        [
            r
            for key in side
            for r in records.get(key, ())
            if isinstance(r, Resource) and r.uri == hit.uri
        ]
        for side in chain
    ]
    return replace(hit, before=tuple(reversed(sides[0])), after=tuple(sides[1]))
