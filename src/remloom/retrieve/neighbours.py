"""The neighbours of a hit in its source: turns of the chat, chunks of the document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from .. import labels
from ..model import RecallHit, Record, Resource, edge_types
from ..store.contract import Store
from ..store.specs import EdgeSpec


def with_neighbours(store: Store, hits: Sequence[RecallHit], reach: int) -> list[RecallHit]:
    """Give each hit up to `reach` resources before and after it, along their `next` edges.

    What is a hit itself is left out.
    """
    if not hits or not reach or edge_types.NEXT.name not in store.graph.edge_types():
        return list(hits)
    keys = {hit.id: labels.key(hit.name) for hit in hits if hit.schema == "resources"}
    previous, following = _chain_edges(store, set(keys.values()), reach)
    before = {id: _walk(key, previous, reach) for id, key in keys.items()}
    after = {id: _walk(key, following, reach) for id, key in keys.items()}
    neighbours: set[str] = set()
    neighbours.update(*before.values(), *after.values())
    records = {
        key: [record for record in some if record.id not in keys]
        for key, some in store.records.lookup(sorted(neighbours), edges=0).items()
    }
    return [
        replace(
            hit,
            before=tuple(reversed(_of_source(hit.uri, before[hit.id], records))),
            after=tuple(_of_source(hit.uri, after[hit.id], records)),
        )
        if hit.id in keys
        else hit
        for hit in hits
    ]


def _chain_edges(
    store: Store,
    keys: Iterable[str],
    reach: int,
) -> tuple[dict[str, str], dict[str, str]]:
    """The keys that stand before others, and those that follow them, up to `reach` edges away."""
    previous: dict[str, str] = {}
    following: dict[str, str] = {}
    seen: set[str] = set()
    front = set(keys)
    for _ in range(reach):
        fresh = list(front - seen)
        if not fresh:
            break
        seen |= front
        # two edges a key, and one more would tell that there are others
        limit = 3 * len(fresh) + 1
        edges = store.graph.edge_keys(
            EdgeSpec(fresh, direction="both", rel_types=[edge_types.NEXT.name], limit=limit)
        )
        for src, _, dst in edges:
            following[src] = dst
            previous[dst] = src
        front = {following[key] for key in fresh if key in following}
        front |= {previous[key] for key in fresh if key in previous}
    return previous, following


def _walk(key: str, steps: Mapping[str, str], reach: int) -> list[str]:
    """The keys that one comes by from a key, nearest first."""
    keys: list[str] = []
    while len(keys) < reach and key in steps:
        key = steps[key]
        keys.append(key)
    return keys


def _of_source(
    uri: str,
    keys: Sequence[str],
    records: Mapping[str, Sequence[Record]],
) -> list[Resource]:
    """The resources with these keys that are of one source."""
    return [
        record
        for key in keys
        for record in records.get(key, ())
        if isinstance(record, Resource) and record.uri == uri
    ]
