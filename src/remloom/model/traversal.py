"""The answer of a TRAVERSE: nodes, stages, and a report of what it walked along.

Source: seed design 5, "TRAVERSE Query Details". Each value also reads as the dictionary of the
seed's JSON: `node["name"]` and `node.name`, `stage["found"]["nodes"]` and `stage.found.nodes`.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from .edges import Direction, Edge
from .premises import Stale
from .records import Record, Resource, record_dict, set_values

_SHOWN = 80  # characters of a name in a message
MAX_NODE_EDGES = 9  # of a node's own edges in its `graph_paths`


class JsonValue(Struct, frozen=True):
    """A frozen value that also reads as its JSON object, as any mapping does."""

    def as_dict(self) -> dict[str, Any]:
        """Make the JSON object."""
        return {name: getattr(self, name) for name in self.__struct_fields__}

    def _items(self) -> dict[str, Any]:
        """The fields by name; some are values that read as dictionaries themselves."""
        return JsonValue.as_dict(self)

    def __getitem__(self, name: str) -> Any:
        return self._items()[name]

    def __contains__(self, name: object) -> bool:
        return name in self._items()

    def __iter__(self) -> Iterator[str]:
        return iter(self._items())

    def __len__(self) -> int:
        return len(self._items())

    # A node equals the dictionary that it reads as, and a node of the same fields.
    def __eq__(self, other: object) -> bool:
        if isinstance(other, JsonValue):
            return type(self) is type(other) and self._items() == other._items()
        return self._items() == other if isinstance(other, Mapping) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def get(self, name: str, default: Any = None) -> Any:
        return self._items().get(name, default)

    def keys(self) -> KeysView[str]:
        return self._items().keys()

    def values(self) -> ValuesView[Any]:
        return self._items().values()

    def items(self) -> ItemsView[str, Any]:
        return self._items().items()


# A value of msgspec cannot inherit from an abstract class; `isinstance` and `match` ask for this.
Mapping.register(JsonValue)


class FoundRecord(Struct, frozen=True):
    """A record that was found; it shows what every record has."""

    record: Record

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def schema(self) -> str:
        return self.record.schema

    @property
    def type(self) -> str:
        """An entity's or moment's type, a resource's category."""
        return self.record.category if isinstance(self.record, Resource) else self.record.type


class Node(FoundRecord, JsonValue, frozen=True, dict=True):
    """A record that a TRAVERSE reached, and by which way."""

    depth: int  # hops from the start
    path: tuple[str, ...]  # keys from the start to the record
    # of AS OF: what it says was written after that time
    written_later: bool = False
    stale: Stale | None = None  # why what was made of others may not hold any more

    @property
    def graph_paths(self) -> tuple[Edge, ...]:
        """The newest edges of the record, at most `MAX_NODE_EDGES`."""
        return self.record.graph_paths[:MAX_NODE_EDGES]

    def as_dict(self) -> dict[str, Any]:
        """Make the seed's JSON object: the record's fields, `_traverse_depth`, `_traverse_path`."""
        return dict(self._shown)

    def _items(self) -> dict[str, Any]:
        return self._shown

    # Made when it is first asked for: it costs as much as all the rest of a node.
    @cached_property
    def _shown(self) -> dict[str, Any]:
        shown = record_dict(self.record)
        shown["graph_paths"] = shown.get("graph_paths", [])[:MAX_NODE_EDGES]
        if not isinstance(self.record, Resource):
            shown.setdefault("category", self.record.type)
        shown["_traverse_depth"] = self.depth
        shown["_traverse_path"] = list(self.path)
        if self.written_later:
            shown["written_later"] = True
        if self.stale is not None:
            shown["stale"] = self.stale.as_dict()
        return shown


class StageCounts(JsonValue, frozen=True, gc=False):
    """Counts of what a stage found."""

    nodes: int  # kept at this depth
    edges: int  # distinct edges known so far


class Stage(JsonValue, frozen=True, gc=False, kw_only=True):
    """One step of a query, for the next turn of its caller. Source: seed 5."""

    depth: int
    executed: str
    found: StageCounts
    plan_memo: str = ""

    def as_dict(self) -> dict[str, Any]:
        return self._items() | {"found": self.found.as_dict()}


class TypeCount(JsonValue, frozen=True, gc=False):
    """How many edges of one type leave ("out") or enter ("in") a set of nodes."""

    rel_type: str
    direction: Direction
    count: int


# what names something that is to be forgotten
TargetKind: TypeAlias = Literal["id", "source", "label"]


class Meaning(JsonValue, frozen=True, gc=False, kw_only=True):
    """One of the things that a label means."""

    schema: str
    name: str
    id: str
    type: str = ""  # of an entity, a row or a moment
    handle: str = ""  # of a row
    uri: str = ""  # of a document or chat

    @property
    def which(self) -> str:
        """What means this alone: the uri of a document or chat, else the id."""
        return self.uri or self.id

    @property
    def by(self) -> TargetKind:
        """What `which` is."""
        return "source" if self.uri else "id"

    def as_dict(self) -> dict[str, Any]:
        """Make the JSON object, without what is not set."""
        return set_values(**self._items())

    def __str__(self) -> str:
        """Say which it is in words.

        >>> str(Meaning(schema="rooms", name="Room 2", id="0b1c", handle="room-1"))
        "rooms 'Room 2' (room-1, id 0b1c)"
        """
        details = ", ".join(filter(None, [self.handle or self.type, self.uri or f"id {self.id}"]))
        return f"{self.schema} {self.name[:_SHOWN]!r} ({details})"


class United(JsonValue, frozen=True, gc=False, kw_only=True):
    """Rows of several sources that are one thing, each as its source has it."""

    handles: tuple[str, ...]
    sources: tuple[str, ...]  # of each: "crm/customers"
    # what says so: "crm/customers.email = shop/clients.mail: info@acme.example"; empty: a person
    evidence: tuple[str, ...] = ()
    # field -> handle -> value, of fields of one name that say different things
    differs: dict[str, dict[str, Any]] = {}

    @property
    def why(self) -> str:
        """What says that they are one."""
        return f"as {', '.join(self.evidence) or 'a person said'}"

    def as_dict(self) -> dict[str, Any]:
        """Make the JSON object, without what is not set."""
        return set_values(**self._items())

    def __str__(self) -> str:
        """Say which are one, why, and on what they differ.

        >>> print(United(handles=("a-1", "b-2"), sources=("crm/a", "shop/b"),
        ...              differs={"city": {"a-1": "Bonn", "b-2": "Ulm"}}))
        a-1 (crm/a) = b-2 (shop/b), as a person said; city: Bonn (a-1), Ulm (b-2)
        """
        rows = (f"{handle} ({uri})" if uri else handle
                for handle, uri in zip(self.handles, self.sources, strict=True))  # fmt: skip
        parts = [f"{' = '.join(rows)}, {self.why}"]
        for field, values in self.differs.items():
            said = ", ".join(f"{value} ({handle})" for handle, value in values.items())
            parts.append(f"{field}: {said}")
        return "; ".join(parts)


def meanings_dict(meanings: Mapping[str, Sequence[Meaning]]) -> dict[str, list[dict[str, Any]]]:
    """Make the JSON object of what labels mean."""
    return {key: [meaning.as_dict() for meaning in some] for key, some in meanings.items()}


class ResolvedLabel(JsonValue, frozen=True, gc=False):
    """A label that no record has, and what was taken for it."""

    label: str
    name: str
    how: str


class TraverseReport(Struct, frozen=True, gc=False, kw_only=True, tag="traverse"):
    """How far a TRAVERSE went and how much it left out, with the options in force."""

    nodes: int
    edges: int  # distinct edges at the nodes
    unique_nodes: int
    depth: int  # hops to the deepest node
    edge_types: tuple[str, ...]  # those asked for; empty: all
    order_by: str
    limit: int
    direction: Direction
    breadth: int | None  # None: all edges of each node
    strategy: str
    omitted_nodes: int  # reached, but beyond the limit
    unfollowed_edges: int  # beyond the breadth
    graph_paths_truncated: bool  # a node has more edges than its `graph_paths` show
    as_of: datetime | None = None
    written_later: int = 0  # nodes that say what was written after `as_of`
    # types asked for that no edge has, with the nearest that some have; the others were followed
    unknown_edge_types: dict[str, list[str]] = {}
    edge_counts: tuple[TypeCount, ...] | None = None  # of PLAN, which follows none
    start_truncated: bool = False  # the SELECT it started with had more rows
    # where no edge leaves the start: how many lead to it, 200 at most
    incoming_edges: int = 0
    resolved: tuple[ResolvedLabel, ...] = ()
    # by the key of a label that means several things: these, or the first 20; all are starts
    meanings: dict[str, tuple[Meaning, ...]] = {}
    united: tuple[United, ...] = ()  # of the starts

    @property
    def truncated(self) -> bool:
        """Whether there is more than LIMIT and BREADTH let through."""
        return self.omitted_nodes > 0 or self.unfollowed_edges > 0

    @property
    def is_plan(self) -> bool:
        """Whether edges were only counted and listed."""
        return self.edge_counts is not None

    def as_dict(self) -> dict[str, Any]:
        """Make the seed's `metadata`."""
        shown: dict[str, Any] = {
            "total_nodes": self.nodes,
            "total_edges": self.edges,
            "unique_nodes": self.unique_nodes,
            "node_uniqueness_guaranteed": True,
            "max_depth_reached": self.depth,
            "edge_filter": list(self.edge_types) or ["*"],
            "order_by": self.order_by,
            "limit_applied": self.limit,
            "direction": self.direction,
            "breadth": self.breadth or "all",
            "truncated": self.truncated,
            "nodes_omitted": self.omitted_nodes,
            "edges_unfollowed": self.unfollowed_edges,
            "graph_paths_truncated": self.graph_paths_truncated,
        }
        if self.edge_counts is not None:
            shown["edge_counts"] = [count.as_dict() for count in self.edge_counts]
        return shown | set_values(
            strategy="" if self.strategy == "breadth-first" else self.strategy,
            as_of=self.as_of and self.as_of.isoformat(),
            written_later=self.written_later,
            unknown_edge_types=self.unknown_edge_types,
            start_truncated=self.start_truncated,
            edges_incoming=self.incoming_edges,
            resolved=[label.as_dict() for label in self.resolved],
            meanings=meanings_dict(self.meanings),
            united=[united.as_dict() for united in self.united],
        )
