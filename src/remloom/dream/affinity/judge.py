"""Whether a model agrees that two resources belong together. Each pair is asked about once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from ... import labels
from ...kv import Entry, label_ref
from ...llm import LLM, Call
from ...model import Edge, Resource
from ...runs.failures import failed_item_key
from ...runs.part import Part
from ...runs.writer import Writer
from ...store.contract import Store
from ..context import ask_each, quote_resource
from .edge_types import ENTITY, RELATED

_JUDGED = "judged"  # namespace of the entries that keep a model's verdict on a pair
RUN_KIND = "affinity"

Keys: TypeAlias = tuple[str, str]  # of two resources, in order


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
        if writer.write_each([Part(about, entries=(verdict,), deleted=(done,))]):
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
    said = {
        "match_type": "judged",
        "relation": verdict.relation,
        "context": verdict.reason,
        "judged_by": model,
    }
    stated = {name: value for name, value in said.items() if value}
    confidence = min(1.0, max(0.0, verdict.strength))
    return replace(edge, properties={**edge.properties, **stated, "confidence": confidence})
