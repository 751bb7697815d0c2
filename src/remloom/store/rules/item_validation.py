"""Checks of items on their way in: their times, and edges, which are completed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import get_args

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from ... import labels
from ...errors import InvalidInputError, UnknownNameError
from ...model import Edge, Entity, Moment, Record, Resource, Row
from ...model.supersession import ReplaceReason
from ..batch import Replacing
from .json_values import NOT_STORABLE_REMEDY, check_json, encode_strict

WRITABLE: tuple[type[Struct], ...] = (Resource, Entity, Moment, Row, Edge)
_TIMES: dict[type, tuple[str, ...]] = {
    kind: tuple(
        name
        for name in kind.__struct_fields__
        if name.endswith("_at") or name.startswith("valid_") or name == "since"
    )
    for kind in WRITABLE
}
# fields of which the second is not before the first
_SPANS: dict[type, tuple[tuple[str, str], ...]] = {
    kind: tuple(
        span for span in (("starts_at", "ends_at"), ("valid_from", "valid_to")) if span[0] in fields
    )
    for kind, fields in _TIMES.items()
}
_TICK = timedelta(microseconds=1)  # between edges of one batch, each of which takes longer to build


class EdgeBuilder(Struct):
    """The edges of one batch; `names` has the name and type of the thin entity for a label at an
    end."""

    now: datetime
    edges: list[Edge] = []
    names: dict[str, tuple[str, str]] = {}

    def add(self, edge: Edge, src: str) -> None:
        """Check an edge, which leaves the label `src`, and complete it.

        Raises:
            InvalidInputError: two types or none, a weight outside 0..1, properties that are not
                JSON, and what `times_in_utc` raises.
            LabelError: an end without a key.
        """
        if converted := times_in_utc(edge):
            edge = replace(edge, **converted)
        rel_type = _edge_type(edge)
        weight = edge.weight
        if not isinstance(weight, (int, float)) or not 0 <= weight <= 1:
            raise InvalidInputError(f"an edge's weight is between 0 and 1, not {weight!r}")
        source, destination = labels.key(src), labels.key(edge.dst)
        properties = edge.properties
        if not isinstance(properties, dict):
            raise InvalidInputError(
                f"an edge's properties are an object, not {type(properties).__name__}"
            )
        if properties:
            check_json(properties, "properties")
            encode_strict(properties)
        if source not in self.names:
            self.names[source] = (str(properties.get("src_name") or src).strip(), "")
        far_type = str(properties.get("dst_entity_type") or "")
        # The first edge names the label, but one that knows its type knows it better.
        if destination not in self.names or (far_type and not self.names[destination][1]):
            far_name = str(properties.get("dst_name") or edge.dst).strip()
            self.names[destination] = (far_name, far_type)
        # Each is made later than the one before, so that the order of a batch is kept.
        made = edge.created_at or self.now + len(self.edges) * _TICK
        self.edges.append(
            Edge(
                src=source,
                dst=destination,
                rel_type=rel_type,
                weight=float(weight),
                properties=properties,
                created_at=made,
                valid_from=edge.valid_from,
                valid_to=edge.valid_to,
            )
        )


def check_edge(edge: Edge) -> Edge:
    """Return a whole edge from elsewhere, checked. Raises what `EdgeBuilder.add` raises."""
    builder = EdgeBuilder(datetime.now(UTC))
    builder.add(edge, edge.src)
    return builder.edges[0]


def inline_edge(value: object) -> Edge:
    """Return an edge of `graph_paths`, which may be a value, a JSON object (seed 5) or a path.
    Raises InvalidInputError, UnknownNameError: it is none of these."""
    if isinstance(value, Edge):
        return value
    if isinstance(value, str):
        return Edge.from_path(value)
    if not isinstance(value, Mapping):
        raise InvalidInputError(
            f"graph_paths hold edges, not a {type(value).__name__}",
            remedy='[{"dst": "sarah-chen", "rel_type": "…"}]',
        )
    if unknown := value.keys() - set(Edge.__struct_fields__):
        raise UnknownNameError(
            "field of an edge", str(min(unknown, key=str)), Edge.__struct_fields__
        )
    try:
        return msgspec.convert(dict(value), Edge)
    except msgspec.ValidationError as error:
        raise InvalidInputError(
            f"this is not an edge: {error}", remedy=NOT_STORABLE_REMEDY
        ) from error


def _edge_type(edge: Edge) -> str:
    """Return the type of an edge, whichever of its two names it was given by."""
    rel_type = edge.rel_type
    if edge.edge_type is not UNSET:
        if rel_type and rel_type != edge.edge_type:
            raise InvalidInputError(
                f"an edge has one type, not {rel_type!r} and {edge.edge_type!r}",
                remedy="give rel_type alone",
            )
        rel_type = edge.edge_type
    if not isinstance(rel_type, str) or not rel_type.strip():
        raise InvalidInputError(
            "an edge needs a rel_type", remedy="for example Edge(src=…, rel_type='manages', dst=…)"
        )
    return rel_type.strip()


def replacing(resource: Resource, now: datetime) -> Replacing | None:
    """Return what a resource says that it replaces or amends; None: nothing.

    Raises:
        InvalidInputError: it says both, a reason that is none, or a reason or time of nothing; a
            time that is still to come.
    """
    old, amended = resource.replaces, resource.amends
    if old == amended == resource.reason == "" and resource.since is None:
        return None
    for name in ("replaces", "amends", "reason"):
        if not isinstance(value := getattr(resource, name), str):
            raise InvalidInputError(f"{name} is a text, not a {type(value).__name__}")
    if old and amended:
        raise InvalidInputError(
            "a text either replaces another or amends it", remedy="give `replaces` or `amends`"
        )
    if not old and (resource.reason or resource.since is not None):
        raise InvalidInputError(
            f"`{'reason' if resource.reason else 'since'}` is of what a text replaces",
            remedy="give `replaces` with it: the id of the older text",
        )
    if amended:
        return Replacing(amended, amends=True)
    if not old:
        return None
    if resource.reason not in ("", *get_args(ReplaceReason)):
        raise UnknownNameError("reason", resource.reason, get_args(ReplaceReason))
    reason: ReplaceReason = "wrong" if resource.reason == "wrong" else "changed"
    if resource.since is not None and resource.since > now:
        raise InvalidInputError(
            f"since {resource.since.isoformat()} is still to come: until then the older text holds",
            remedy="write it then, or leave `since` out",
        )
    if resource.since is not None and reason == "wrong":
        raise InvalidInputError(
            "what was wrong never held: it has no `since`", remedy='leave it out, or say "changed"'
        )
    return Replacing(old, reason=reason, since=resource.since)


def times_in_utc(item: Record | Edge) -> dict[str, datetime]:
    """Return those times of an item that are to be converted to UTC, by field.

    Raises:
        InvalidInputError: a time without a time zone, or outside the years 1 to 9999; an end before
            its start.
    """
    converted = {}
    for name in _TIMES[type(item)]:
        at = getattr(item, name)
        # Nearly all are in UTC already.
        if at is not None and not (type(at) is datetime and at.tzinfo is UTC):
            converted[name] = _to_utc(name, at)
    for first, last in _SPANS[type(item)]:
        starts, ends = getattr(item, first), getattr(item, last)
        if starts is not None and ends is not None and ends < starts:
            raise InvalidInputError(
                f"{last} {ends.isoformat()} is before {first} {starts.isoformat()}"
            )
    return converted


def _to_utc(name: str, at: object) -> datetime:
    if not isinstance(at, datetime):
        raise InvalidInputError(f"{name} must be a datetime, not {type(at).__name__}")
    if at.tzinfo is None or at.utcoffset() is None:
        raise InvalidInputError(
            f"{name} {at.isoformat()} has no time zone",
            remedy="use an aware datetime, e.g. datetime.now(UTC)",
        )
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise InvalidInputError(
            f"{name} {at.isoformat()} is outside the years 1 to 9999 in UTC"
        ) from None
