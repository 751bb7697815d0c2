"""Affinity: edges between resources that are about the same.

Found by their vectors and by the names they share. Source: seed 5, "Second-Order Dreaming: Resource
Affinity". What the thresholds were chosen by is in docs/moments.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from ... import labels
from ...kv import label_ref
from ...model import SHARES, Edge
from ...runs.part import Part
from ...runs.writer import Writer
from ...store.contract import Store
from ...store.specs import EdgeSpec
from ..context import is_since
from .edge_types import ENTITY, RELATED
from .judge import judge_edges
from .pool import BLOCK, AffinityPool

if TYPE_CHECKING:
    from ...llm import LLM


NEIGHBOURS = 5  # edges of each type from one resource, at most
_GAIN = 0.01  # of weight, below which an edge that is there is left as it is


class AffinityOptions(Struct, frozen=True, kw_only=True):
    """How affinity is found.

    Args:
        since: edges only from what was remembered or happened since then, to whatever it is like.
        neighbours: edges of each type from one resource.
        min_score: cosine from which two are related; None: found from the memory itself (see
            `AffinityPool.threshold`).
    """

    since: datetime | None = None
    neighbours: int = NEIGHBOURS
    min_score: float | None = None


class AffinityBlock(Struct, frozen=True, kw_only=True):
    """What some resources are like: edges to write, those that are stored already left out."""

    edges: tuple[Edge, ...]
    ids: Mapping[str, str]  # of the resource at a label
    resources: int  # looked at for these
    compared: int  # so far
    total: int
    threshold: float
    ambiguous: int  # resources passed over because others have their name


def link_resources(
    store: Store,
    writer: Writer,
    options: AffinityOptions,
    *,
    llm: LLM | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write the edges that `find_affinities` finds; with a model, only those it agrees to.

    Only edges by vectors are put to the model. Edges are merged into what is there: nothing that
    anybody wrote is lost (seed 5). Idempotent.

    Raises:
        BudgetError: the run's budget is spent; what was judged until then is written.
    """
    for block in find_affinities(store, options, progress=progress):
        edges: Sequence[Edge] = block.edges
        # what a model says of two resources rests on the names that both share
        shared = {_pair(edge): _shared_names(edge) for edge in edges if edge.rel_type == ENTITY}
        if llm:
            edges = judge_edges(store, writer, llm, edges)
        is_first = block.resources == block.compared
        writer.count(
            related=0,
            entity=0,
            resources=block.resources,
            # the same in every block
            ambiguous=block.ambiguous if is_first else 0,
        )
        writer.write_each(
            Part(
                [
                    *(block.ids[labels.key(end)] for end in (edge.src, edge.dst)),
                    *(label_ref(name.removeprefix(SHARES)) for name in shared.get(_pair(edge), ())),
                ],
                edges=(edge,),
                counts={edge.rel_type: 1},
            )
            for edge in edges
        )


def find_affinities(
    store: Store,
    options: AffinityOptions,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[AffinityBlock]:
    """Find edges between resources, block by block: each can be written before the next is found.

    Every resource as read (generation 0) is compared with every other, but those of its own
    document or session; it gets edges to the most similar ones, `related`, and to those it shares
    the most telling names with, `entity`. Deterministic.
    """
    pool = AffinityPool(store)
    threshold = options.min_score if options.min_score is not None else pool.threshold()
    positions = [
        position
        for position, resource in enumerate(pool.resources)
        if is_since(resource, options.since)
    ]
    for start in range(0, len(positions), BLOCK):
        block = positions[start : start + BLOCK]
        edges = [
            *pool.related(block, threshold, options.neighbours),
            *pool.sharing(block, options.neighbours),
        ]
        compared = start + len(block)
        yield AffinityBlock(
            edges=tuple(_new_edges(store, edges)),
            ids=pool.ids,
            resources=len(block),
            compared=compared,
            total=len(positions),
            threshold=round(threshold, 3),
            ambiguous=pool.ambiguous,
        )
        if progress:
            progress(compared, len(positions))


def _new_edges(store: Store, edges: Sequence[Edge]) -> Iterator[Edge]:
    """The edges that say more than what is stored: a new one, more weight, another shared name."""
    types = [name for name in (RELATED, ENTITY) if name in store.graph.edge_types()]
    sources = list(dict.fromkeys(labels.key(edge.src) for edge in edges))
    stored: Sequence[Edge] = ()
    if types and sources:
        stored = store.graph.edges(EdgeSpec(sources, direction="out", rel_types=types))
    by_key = {edge.key: edge for edge in stored}
    for edge in edges:
        known = by_key.get((labels.key(edge.src), edge.rel_type, labels.key(edge.dst)))
        if (
            known is None
            or edge.weight >= known.weight + _GAIN
            or _shared_names(edge) - _shared_names(known)
        ):
            yield edge


def _pair(edge: Edge) -> frozenset[str]:
    return frozenset(labels.key(end) for end in (edge.src, edge.dst))


def _shared_names(edge: Edge) -> set[str]:
    return {name for name in edge.properties if name.startswith(SHARES)}
