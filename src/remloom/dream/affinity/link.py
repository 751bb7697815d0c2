"""Affinity: edges between resources that are about the same.

Found by their vectors and by the names they share. Source: seed 5, "Second-Order Dreaming: Resource
Affinity". What the thresholds were chosen by is in docs/moments.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, TypeAlias

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from ... import labels
from ...kv import Entry, label_ref
from ...llm import LLM, Call
from ...model import SHARES, Edge, Resource
from ...runs.failures import failed_item_key
from ...runs.part import WritePart
from ...runs.writer import Writer
from ...store.contract import Store
from ...store.specs import EdgeSpec
from ..context import ask_each, is_since, quote_resource
from .pool import BLOCK, ENTITY, RELATED, AffinityPool

if TYPE_CHECKING:
    from ...llm import LLM

NEIGHBOURS = 5  # edges of each type from one resource, at most
_GAIN = 0.01  # of weight, below which an edge that is there is left as it is


_JUDGED = "judged"  # namespace of the entries that keep a model's verdict on a pair
RUN_KIND = "affinity"

Keys: TypeAlias = tuple[str, str]  # of two resources, in order


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
            WritePart(
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


class Verdict(Struct, frozen=True, kw_only=True):
    """What the model says of a pair."""

    related: bool
    relation: Annotated[str, Meta(extra_json_schema={"maxLength": 60})] = ""
    strength: float = 0.5  # 0..1
    reason: str = ""


class _Pair(Struct, frozen=True):
    """Two resources that may belong together."""

    keys: Keys
    first: Resource
    second: Resource
    names: str  # that both share

    @property
    def id(self) -> str:
        return "/".join(sorted(self.resource_ids))

    @property
    def rests_on(self) -> tuple[str, ...]:
        """The resources, and the labels of what both name."""
        return *self.resource_ids, *map(label_ref, filter(None, self.names.split(", ")))

    @property
    def resource_ids(self) -> tuple[str, str]:
        return self.first.id, self.second.id


def judge_edges(store: Store, writer: Writer, llm: LLM, edges: Sequence[Edge]) -> list[Edge]:
    """The edges without those by vectors that the model does not agree to.

    Those that it does agree to get its reason. Edges by names are not judged.

    Raises:
        BudgetError: the run's budget is spent; the verdicts until then are kept.
    """
    pairs = _pairs(store, edges)
    verdicts = _known_verdicts(store, pairs)
    # those that an earlier run asked about are not paid for again
    verdicts |= _ask(store, writer, llm, [pair for pair in pairs if pair.keys not in verdicts])
    agreed = []
    for edge in edges:
        if edge.rel_type != RELATED:
            agreed.append(edge)
            continue
        verdict = verdicts.get(_keys(edge))
        if verdict and verdict.related:
            agreed.append(_with_verdict(edge, verdict, llm.name))
    return agreed


def _pairs(store: Store, edges: Sequence[Edge]) -> list[_Pair]:
    """The pairs to be judged, in order of their keys."""
    shared = {
        _keys(edge): ", ".join(path.rsplit("/", 2)[1] for path in edge.paths())
        for edge in edges
        if edge.rel_type == ENTITY
    }
    pair_keys = sorted({_keys(edge) for edge in edges if edge.rel_type == RELATED})
    resources = _resources(store, {key for keys in pair_keys for key in keys})
    return [
        _Pair(keys, resources[keys[0]], resources[keys[1]], shared.get(keys, ""))
        for keys in pair_keys
        if all(key in resources for key in keys)
    ]


def _resources(store: Store, keys: Iterable[str]) -> dict[str, Resource]:
    ordered_keys = sorted(keys)
    records_by_key = store.records.lookup(ordered_keys, edges=0) if ordered_keys else {}
    return {
        key: record
        for key, records in records_by_key.items()
        for record in records
        if isinstance(record, Resource)
    }


def _known_verdicts(store: Store, pairs: Iterable[_Pair]) -> dict[Keys, Verdict]:
    verdicts = {}
    for pair in pairs:
        entry = store.kv.get(_JUDGED, pair.id)
        if entry is not None:
            verdicts[pair.keys] = msgspec.json.decode(entry.value, type=Verdict)
    return verdicts


def _ask(store: Store, writer: Writer, llm: LLM, pairs: Sequence[_Pair]) -> dict[Keys, Verdict]:
    """Ask about all pairs at once, and store each verdict, or that the call failed."""
    by_id = {pair.id: pair for pair in pairs}
    verdicts: dict[Keys, Verdict] = {}
    calls = {id: _call(pair) for id, pair in by_id.items()}
    rests_on = {id: pair.rests_on for id, pair in by_id.items()}
    for id, reply in ask_each(store, writer, llm, calls, rests_on):
        about = rests_on[id]
        verdict = Entry(_JUDGED, id, msgspec.json.encode(reply), about)
        done = failed_item_key(RUN_KIND, id)
        if writer.write_each([WritePart(about, entries=(verdict,), deleted=(done,))]):
            verdicts[by_id[id].keys] = reply
    return verdicts


def _call(pair: _Pair) -> Call:
    return Call(
        "affinity",
        {
            "first": quote_resource(pair.first),
            "second": quote_resource(pair.second),
            "names": pair.names or "nothing known",
        },
        returns=Verdict,
        subjects=pair.rests_on,
    )


def _keys(edge: Edge) -> Keys:
    # a pair has no direction
    first, second = sorted((labels.key(edge.src), labels.key(edge.dst)))
    return first, second


def _with_verdict(edge: Edge, verdict: Verdict, model: str) -> Edge:
    verdict_properties = {
        "match_type": "judged",
        "relation": verdict.relation,
        "context": verdict.reason,
        "judged_by": model,
    }
    stated = {name: value for name, value in verdict_properties.items() if value}
    confidence = min(1.0, max(0.0, verdict.strength))
    return replace(edge, properties={**edge.properties, **stated, "confidence": confidence})
