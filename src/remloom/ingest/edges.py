"""The edges that reading makes: between the parts of a source, and to what they name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from msgspec.structs import replace

from .. import labels
from ..model import Edge, Resource
from ..model.edge_types import MENTIONS, NEXT, PART_OF, EdgeType
from .names import Name

# property of an edge to what a text names only because the memory knows it: no rule found a name
# there, and another that is known may be named there instead
KNOWN = "known"


def mentions(src: str, name: Name) -> Edge:
    """The edge from a text to what it names."""
    edge = edge_to(src, MENTIONS, name.name, name.type)
    return replace(edge, properties={**edge.properties, KNOWN: True}) if name.known else edge


def part_of(resources: Iterable[Resource], whole: str, kind: str) -> list[Edge]:
    """The edges from parts to the whole of this name and type."""
    key = labels.key(whole)
    return [
        edge_to(resource.name, PART_OF, whole, kind)
        for resource in resources
        # a document of one chunk has its name
        if labels.key(resource.name) != key
    ]


def chain(resources: Sequence[Resource], whole: str, kind: str) -> list[Edge]:
    """Each resource `part_of` the whole, and `next` the one after it."""
    in_order = [follows(resource, following) for resource, following in pairwise(resources)]
    return [*part_of(resources, whole, kind), *in_order]


def follows(resource: Resource, following: Resource) -> Edge:
    """The edge from a resource to the `next`."""
    return edge_to(resource.name, NEXT, following.name, "resource/chunk")


def edge_to(src: str, edge_type: EdgeType, dst: str, kind: str) -> Edge:
    """An edge of a type to a label, with what kind of thing that is."""
    # the store makes a thin entity of these where nothing has the label yet
    properties: dict[str, Any] = {"dst_name": dst}
    if kind:
        properties["dst_entity_type"] = kind
    return Edge(
        src=src,
        rel_type=edge_type.name,
        dst=dst,
        weight=edge_type.weight,
        properties=properties,
    )
