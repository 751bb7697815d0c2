"""The tool `relate`: a relation between two names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from ... import labels
from ...memory.memory import Memory
from ...model import Edge
from ..bounds import Label, Time, parse_time
from ..operation import Progress, tool
from .passage import Relation

_WEIGHT = 0.8  # of a relation that is new, when none is given


class RelateTakes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `relate`."""

    src: Label
    relation: Annotated[Label, Meta(description="a verb, such as works_for")]
    dst: Label
    weight: Annotated[float, Meta(ge=0, le=1)] | None = None
    valid_from: Time = ""
    valid_to: Annotated[Time, Meta(description="when it ended")] = ""


def _relate(memory: Memory, values: RelateTakes, progress: Progress | None) -> Relation:
    """Relate two names: Sarah Chen works_for TiDB. Repeating merges: the higher weight wins.
    What is no longer true is ended with valid_to.
    """
    valid_from = parse_time(values.valid_from, "valid_from")
    valid_to = parse_time(values.valid_to, "valid_to")
    # a time at which it is in force
    at = valid_to - timedelta(microseconds=1) if valid_to else valid_from
    stored = _find(memory, values, None)
    weight = values.weight
    if weight is None:
        weight = stored.weight if stored else _WEIGHT
    edge = Edge(
        src=values.src,
        rel_type=values.relation,
        dst=values.dst,
        weight=weight,
        properties={"dst_name": values.dst} if stored is None else {},
        valid_from=valid_from,
        valid_to=valid_to,
    )
    memory.create_edge(edge)
    merged = _find(memory, values, at)
    if merged is None and at is None:
        # it had ended, and begins again
        memory.create_edge(replace(edge, valid_from=datetime.now(UTC)))
        merged = _find(memory, values, at)
    return Relation.of(merged or edge)


def _find(memory: Memory, values: RelateTakes, at: datetime | None) -> Edge | None:
    """Find the edge in force at a time; an id at either end stands for its record's name."""
    named = memory.lookup(values.dst).records
    ends = {labels.key(values.dst), *(labels.key(hit.name) for hit in named)}
    edges = memory.get_edges(values.src, as_of=at)
    relation = values.relation.strip()
    return next((edge for edge in edges if edge.rel_type == relation and edge.dst in ends), None)


def _text(value: Relation) -> str:
    return f"Related, as quoted data:\n> {value}"


RELATE = tool(
    _relate,
    text=_text,
    scope="write",
    aliases={
        "from": "src",
        "source": "src",
        "subject": "src",
        "rel_type": "relation",
        "type": "relation",
        "predicate": "relation",
        "to": "dst",
        "target": "dst",
        "object": "dst",
    },
)
