"""Whether a model agrees that two resources belong together. Each pair is asked about once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from ... import labels
from ...errors import BudgetError, ModelError
from ...kv import Entry
from ...llm import LLM, Call, Quote
from ...model import Edge, Resource
from ...runs.failures import failed_item_entry, failed_item_key
from ...runs.writer import Writer
from ...store.contract import Store
from ..context import quote_resource
from .link import ENTITY, RELATED

__all__ = ["JUDGED", "judged"]

JUDGED = "judged"  # kind of the journal entries that keep what the model said of a pair
KIND = "affinity"  # of run

Pair = tuple[str, str]  # the keys of two resources, in order


class Verdict(Struct, frozen=True, kw_only=True):
    """What the model says of a pair."""

    related: bool
    relation: Annotated[str, Meta(extra_json_schema={"maxLength": 60})] = ""
    strength: float = 0.5
    reason: str = ""


def judged(store: Store, writer: Writer, llm: LLM, edges: Sequence[Edge]) -> tuple[Edge, ...]:
    """Edges without those by vectors that the model does not agree to; those it does tell its
    reason.

    Raises:
        BudgetError: the run's budget is spent; the verdicts until then are kept.
    """
    asked = {_pair(edge) for edge in edges if edge.rel_type == RELATED}
    resources = _resources(store, asked)
    pairs = {
        pair: (resources[pair[0]], resources[pair[1]])
        for pair in sorted(asked)
        if all(end in resources for end in pair)
    }
    verdicts: dict[Pair, Verdict] = {}
    for pair, (first, second) in pairs.items():
        if (entry := store.kv.get(JUDGED, _id(first, second))) is not None:
            verdicts[pair] = msgspec.json.decode(entry.value, type=Verdict)
    waiting = [pair for pair in pairs if pair not in verdicts]
    names = {_pair(edge): _shared(edge) for edge in edges if edge.rel_type == ENTITY}
    replies = llm.ask_all([_asking(*pairs[pair], names.get(pair, "")) for pair in waiting])
    writer.count_calls(replies)
    spent: BudgetError | None = None
    for pair, reply in zip(waiting, replies, strict=True):
        ids = [resource.id for resource in pairs[pair]]
        item = _id(*pairs[pair])
        if isinstance(reply, BudgetError):
            spent = reply
        elif isinstance(reply, ModelError):
            writer.write(
                entries=[failed_item_entry(store, KIND, item, reply, ids, run_id=writer.run.id)]
            )
        else:
            verdicts[pair] = reply
            data = msgspec.json.encode(reply)
            writer.write(
                entries=[Entry(JUDGED, item, data, refs=tuple(ids))],
                deleted=[failed_item_key(KIND, item)],
            )
    if spent:
        raise spent
    return tuple(
        edge if edge.rel_type != RELATED else _told(edge, verdicts[_pair(edge)], llm.name)
        for edge in edges
        if edge.rel_type != RELATED or ((verdict := verdicts.get(_pair(edge))) and verdict.related)
    )


def _pair(edge: Edge) -> Pair:
    first, second = sorted((labels.key(edge.src), labels.key(edge.dst)))
    return first, second


def _id(first: Resource, second: Resource) -> str:
    return "/".join(sorted((first.id, second.id)))


def _resources(store: Store, pairs: set[Pair]) -> dict[str, Resource]:
    keys = sorted({key for pair in pairs for key in pair})
    found = store.records.lookup(keys, edges=0) if keys else {}
    return {
        key: record
        for key, records in found.items()
        for record in records
        if isinstance(record, Resource)
    }


def _asking(first: Resource, second: Resource, names: str) -> Call:
    slots: dict[str, str | Quote] = {
        "first": quote_resource(first),
        "second": quote_resource(second),
        "names": names or "nothing known",
    }
    return Call("affinity", slots, returns=Verdict, subjects=(first.id, second.id))


def _shared(edge: Edge) -> str:
    return ", ".join(path.rsplit("/", 2)[1] for path in edge.paths())


def _told(edge: Edge, verdict: Verdict, model: str) -> Edge:
    said = {
        "match_type": "judged",
        "relation": verdict.relation,
        "context": verdict.reason,
        "judged_by": model,
    }
    strength = min(1.0, max(0.0, verdict.strength))
    properties = {
        **edge.properties,
        **{name: value for name, value in said.items() if value},
        "confidence": strength,
    }
    return replace(edge, properties=properties)
