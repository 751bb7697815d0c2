"""Affinity: edges between resources that are about the same (seed 5, "Second-Order Dreaming").
docs/moments.md has what the thresholds were chosen by."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .. import labels
from ..engine.arguments import Progress
from ..kv import label_ref
from ..llm import LLM, Call
from ..llm.prompts import hint
from ..model import SHARES, Edge, Resource
from ..model.premises import premises_of
from ..runs.failures import failed_item_key
from ..runs.memos import holds, memo, memo_premises
from ..runs.write_plan import WritePart
from ..runs.writer import Writer
from ..store.contract import Store
from ..store.premises import QUOTED
from ..store.specs import EdgeSpec
from .affinity_pool import BLOCK, ENTITY, RELATED, AffinityPool
from .context import ask_each, is_since, quote_resource

_GAIN = 0.01  # of weight, below which an edge that is there is left as it is
_JUDGED = "judged"  # namespace of the entries that keep a model's verdict on a pair
_RUN_KIND = "affinity"

Keys: TypeAlias = tuple[str, str]  # of two resources, in order


class AffinityOptions(Struct, frozen=True, kw_only=True):
    """How affinity is found."""

    since: datetime | None  # edges only from what was remembered or happened since then
    neighbours: int  # edges of each type from one resource, at most
    # cosine from which two are related; None: see `AffinityPool.threshold`
    min_score: float | None


def link_resources(
    store: Store,
    writer: Writer,
    options: AffinityOptions,
    *,
    llm: LLM | None = None,
    progress: Progress | None = None,
) -> None:
    """Connect each resource as read (generation 0) with those of other documents or sessions.

    It gets edges to the most similar ones, `related`, and to those it shares the most telling names
    with, `entity`. With a model, those by vectors are written only if it agrees. Edges are merged
    into what is there: nothing that anybody wrote is lost (seed 5). Deterministic, idempotent.

    Raises:
        BudgetError: the run's budget is spent; what was judged until then is written.
    """
    if llm:
        deque(judge_again(store, writer, llm, outdated_pairs(store)), maxlen=0)
    pool = AffinityPool(store)
    threshold = options.min_score if options.min_score is not None else pool.threshold()
    positions = [
        position
        for position, resource in enumerate(pool.resources)
        if is_since(resource, options.since)
    ]
    # each block can be written before the next is found
    for start in range(0, len(positions), BLOCK):
        block = positions[start : start + BLOCK]
        found = [
            *pool.related(block, threshold, options.neighbours),
            *pool.sharing(block, options.neighbours),
        ]
        edges = list(_new_edges(store, found))
        # what a model says of two resources rests on the names that both share
        shared = {_keys(edge): _shared_names(edge) for edge in edges if edge.rel_type == ENTITY}
        if llm:
            edges = _judge_edges(store, writer, llm, edges)
        writer.count(
            related=0,
            entity=0,
            resources=len(block),
            # the same in every block
            ambiguous=0 if start else pool.ambiguous,
        )
        writer.write_each(
            WritePart(
                [
                    *(pool.ids[labels.key(end)] for end in (edge.src, edge.dst)),
                    *(label_ref(name.removeprefix(SHARES)) for name in shared.get(_keys(edge), ())),
                ],
                edges=(edge,),
                counts={edge.rel_type: 1},
            )
            for edge in edges
        )
        if progress:
            progress(start + len(block), len(positions))


def _new_edges(store: Store, edges: Sequence[Edge]) -> Iterator[Edge]:
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


def _shared_names(edge: Edge) -> set[str]:
    return {name for name in edge.properties if name.startswith(SHARES)}


class Verdict(Struct, frozen=True, kw_only=True):
    """What the model says of a pair."""

    related: bool
    relation: Annotated[str, hint(maxLength=60)] = ""
    strength: float = 0.5  # 0..1
    reason: str = ""


class _Pair(Struct, frozen=True):
    keys: Keys
    first: Resource
    second: Resource
    names: str  # that both share

    @property
    def id(self) -> str:
        return "/".join(sorted((self.first.id, self.second.id)))

    @property
    def premises(self) -> dict[str, str]:
        return premises_of((self.first, self.second))

    @property
    def rests_on(self) -> tuple[str, ...]:
        """The resources, and the labels of what both name."""
        names = filter(None, self.names.split(", "))
        return self.first.id, self.second.id, *map(label_ref, names)


def _judge_edges(store: Store, writer: Writer, llm: LLM, edges: Sequence[Edge]) -> list[Edge]:
    """The edges without those by vectors that the model does not agree to; the others get its
    reason.

    Raises:
        BudgetError: the run's budget is spent; the verdicts until then are kept.
    """
    pairs = _pairs(store, edges)
    by_keys = {pair.keys: pair for pair in pairs}
    verdicts = _known_verdicts(store, pairs)
    # of a verdict from before it is not known what it was of
    known = {keys for keys, pair in by_keys.items() if _is_dated(store, pair)}
    # those that an earlier run asked about are not paid for again
    verdicts |= dict(_ask(store, writer, llm, [one for one in pairs if one.keys not in verdicts]))
    agreed = []
    for edge in edges:
        if edge.rel_type != RELATED:
            agreed.append(edge)
            continue
        verdict = verdicts.get(_keys(edge))
        if verdict and verdict.related:
            pair = by_keys[_keys(edge)]
            quoted = pair.premises if pair.keys not in known else {}
            agreed.append(_with_verdict(edge, verdict, llm.name, quoted))
    return agreed


def outdated_pairs(store: Store) -> list[str]:
    """The pairs, as `id/id`, that a model found to be related when one of the two said something
    else."""
    return [
        entry.key
        for entry in store.kv.list(_JUDGED)
        if memo_premises(entry)
        and msgspec.json.decode(entry.value, type=Verdict).related
        and not holds(entry, premises_of(_resources(store, entry.key)))
    ]


def reason_of(store: Store, pair_id: str) -> str:
    """What a model said of a pair."""
    entry = store.kv.get(_JUDGED, pair_id)
    return msgspec.json.decode(entry.value, type=Verdict).reason if entry else ""


def judge_again(
    store: Store, writer: Writer, llm: LLM, pair_ids: Iterable[str]
) -> Iterator[tuple[str, Verdict]]:
    """Ask the model about these pairs as they are now; gives those that it answered, once they are
    written. An edge that it does not agree to any more ends.

    Raises:
        BudgetError: the run's budget is spent; what was judged until then is written.
    """
    edges = [edge for id in pair_ids for edge in _edges_between(_resources(store, id), store)]
    judged = [edge for edge in edges if edge.rel_type == RELATED]
    pairs = {pair.keys: pair for pair in _pairs(store, edges)}
    for keys, verdict in _ask(store, writer, llm, list(pairs.values())):
        own = [edge for edge in judged if _keys(edge) == keys]
        if verdict.related:
            premises = pairs[keys].premises
            edges = [_with_verdict(edge, verdict, llm.name, premises) for edge in own]
        else:
            edges = [replace(edge, valid_to=datetime.now(UTC)) for edge in own]
        counts = {RELATED if verdict.related else "unrelated": len(own)}
        writer.write_each([WritePart(pairs[keys].rests_on, edges=tuple(edges), counts=counts)])
        yield pairs[keys].id, verdict


def _resources(store: Store, pair_id: str) -> list[Resource]:
    stored = (store.records.get("resources", id) for id in pair_id.split("/"))
    return [one for one in stored if isinstance(one, Resource)]


def _edges_between(resources: Sequence[Resource], store: Store) -> list[Edge]:
    keys = [labels.key(one.name) for one in resources]
    types = [name for name in (RELATED, ENTITY) if name in store.graph.edge_types()]
    spec = EdgeSpec(keys, direction="out", rel_types=types)
    return [edge for edge in store.graph.edges(spec) if edge.dst in keys]


def _pairs(store: Store, edges: Sequence[Edge]) -> list[_Pair]:
    shared = {
        _keys(edge): ", ".join(path.rsplit("/", 2)[1] for path in edge.paths())
        for edge in edges
        if edge.rel_type == ENTITY
    }
    pair_keys = sorted({_keys(edge) for edge in edges if edge.rel_type == RELATED})
    ends = sorted({key for keys in pair_keys for key in keys})
    records_by_key = store.records.lookup(ends, edges=0) if ends else {}
    resources = {
        key: record
        for key, records in records_by_key.items()
        for record in records
        if isinstance(record, Resource)
    }
    return [
        _Pair(keys, resources[keys[0]], resources[keys[1]], shared.get(keys, ""))
        for keys in pair_keys
        if all(key in resources for key in keys)
    ]


def _known_verdicts(store: Store, pairs: Iterable[_Pair]) -> dict[Keys, Verdict]:
    verdicts = {}
    for pair in pairs:
        entry = store.kv.get(_JUDGED, pair.id)
        if entry is not None and holds(entry, pair.premises):
            verdicts[pair.keys] = msgspec.json.decode(entry.value, type=Verdict)
    return verdicts


def _is_dated(store: Store, pair: _Pair) -> bool:
    """Whether a verdict is kept that does not say what the two said then."""
    entry = store.kv.get(_JUDGED, pair.id)
    return entry is not None and not memo_premises(entry)


def _ask(
    store: Store, writer: Writer, llm: LLM, pairs: Sequence[_Pair]
) -> Iterator[tuple[Keys, Verdict]]:
    by_id = {pair.id: pair for pair in pairs}
    calls = {id: _call(pair) for id, pair in by_id.items()}
    rests_on = {id: pair.rests_on for id, pair in by_id.items()}
    for id, reply in ask_each(store, writer, llm, calls, rests_on):
        about = rests_on[id]
        pair = by_id[id]
        verdict = memo(_JUDGED, id, pair.premises, about, **msgspec.to_builtins(reply))
        done = tuple(failed_item_key(kind, id) for kind in {_RUN_KIND, writer.run.kind})
        if writer.write_each([WritePart(about, entries=(verdict,), deleted=done)]):
            yield pair.keys, reply


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


def _with_verdict(edge: Edge, verdict: Verdict, model: str, premises: Mapping[str, str]) -> Edge:
    verdict_properties = {
        "match_type": "judged",
        "relation": verdict.relation,
        "context": verdict.reason,
        "judged_by": model,
        QUOTED: premises,
    }
    stated = {name: value for name, value in verdict_properties.items() if value}
    confidence = min(1.0, max(0.0, verdict.strength))
    return replace(edge, properties={**edge.properties, **stated, "confidence": confidence})
