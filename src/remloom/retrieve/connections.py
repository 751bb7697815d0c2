"""Edges that lead from a thing to records: those that mention it, and what it is related to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log2

from msgspec.structs import replace

from ..model import Resource, Row, edge_types
from ..store.contract import Store
from ..store.specs import EdgeOrder, EdgeSpec
from .candidates import Path
from .question.names import lookup

_MENTIONS = 20  # records looked at that name something, newest first
_RELATED = 20  # things looked at that are related to it
_HUB = 1_000  # edges of a thing from which its newest are looked at, not the heaviest


def rarity(store: Store, key: str) -> float:
    """Rate a mention of something, 0..1: the less, the more of them there are."""
    return 1 / log2(2 + store.graph.count([key], direction="in"))


def mentions(
    store: Store,
    keys: Sequence[str],
    before: Path = (),
) -> Iterator[tuple[Resource | Row, Path]]:
    """Yield the resources and rows with an edge to one of these keys, newest edges first, and the
    path."""
    edges = store.graph.edge_keys(EdgeSpec(keys, direction="in", limit=_MENTIONS))
    by_src = {src: (src, rel_type, dst) for src, rel_type, dst in reversed(edges)}
    for src, records in lookup(store, by_src, own=True).items():
        for record in records:
            if isinstance(record, Resource | Row):
                yield record, (*before, by_src[src])


def relations(store: Store, keys: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Yield the keys one edge away, whichever way, and that edge: of each key the heaviest edges,
    of one with very many the newest.

    Edges that only tell how texts hang together are not followed.
    """
    types = [name for name in store.graph.edge_types() if name not in edge_types.STRUCTURAL]
    if not types or not keys:
        return
    count = store.graph.count
    hubs = [
        key for key in keys if count([key], direction="out") + count([key], direction="in") > _HUB
    ]
    spec = EdgeSpec(keys, direction="both", rel_types=types, limit=_RELATED)
    heaviest = replace(
        spec, keys=[key for key in keys if key not in hubs], order=EdgeOrder("weight")
    )
    edges = [edge.key for edge in store.graph.edges(heaviest)] if heaviest.keys else []
    # an index has edges by time, not by weight
    for hub in hubs:
        edges += store.graph.edge_keys(replace(spec, keys=[hub]))
    seen = set(keys)
    for edge in edges:
        src, _, dst = edge
        for own, other in ((src, dst), (dst, src)):
            if own in keys and other not in seen:
                seen.add(other)
                yield other, (edge,)
