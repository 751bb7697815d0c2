"""What affinity says of two resources that both name what is forgotten: said without it, or not."""

from __future__ import annotations

from msgspec.structs import replace

from ...model import SHARES, Edge, EdgeKey
from ...store.contract import Reads
from ...store.forgetting.forget import Remade, RemovedRecords
from ...store.rules.merge import keys_of
from .pool import ENTITY, RELATED


def remake(reads: Reads, removed: RemovedRecords) -> Remade:
    """What becomes of the edges of affinity between those who name a label that goes."""
    keys = sorted({key for record in removed.values() for key in keys_of(record)})
    by_key = reads.records.lookup(keys, edges=0) if keys else {}
    lost = {key for key, records in by_key.items() if all(r.id in removed for r in records)}
    naming = {edge.src for edge in reads.graph.stored_edges(sorted(lost), direction="in")}
    unlinked: list[EdgeKey] = []
    moved: list[EdgeKey] = []
    edges: list[Edge] = []
    for edge in reads.graph.stored_edges(sorted(naming - lost), direction="out"):
        if edge.dst not in naming or edge.dst in lost:
            continue
        if edge.rel_type == RELATED and edge.properties.get("match_type") == "judged":
            # what a model said of the two cannot be said without it
            unlinked.append(edge.key)
        elif edge.rel_type == ENTITY:
            left = {
                name: value
                for name, value in edge.properties.items()
                if name.removeprefix(SHARES) not in lost
            }
            if not any(name.startswith(SHARES) for name in left):
                unlinked.append(edge.key)
            elif left != edge.properties:
                moved.append(edge.key)
                edges.append(replace(edge, properties=left))
    return Remade(unlinked=tuple(unlinked), moved=tuple(moved), edges=tuple(edges))
