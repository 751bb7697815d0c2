"""Edges: directed, typed, weighted relations between labels."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from .. import labels
from ..errors import LabelError

# prefix of the properties of an "entity" edge: "entity/<key of a shared entity>" -> its name
SHARES = "entity/"

# property of an edge that a foreign key made: its columns
SOURCE_FK = "source_fk"

Direction: TypeAlias = Literal["out", "in", "both"]
Order: TypeAlias = Literal["asc", "desc"]
# source, type and destination: there is one edge of each
EdgeKey: TypeAlias = tuple[str, str, str]


class Edge(Struct, frozen=True, gc=False, kw_only=True, tag_field="schema", tag="edges"):
    """A directed, typed, weighted relation between two labels.

    There is one edge for each (src, rel_type, dst). Writing it again merges: the higher weight
    wins, properties merge (the newer value of a key wins), the earliest `created_at` stays.

    In an edge that is written, `src` and `dst` are labels ("Sarah Chen"); in one that is read, they
    are keys ("sarah-chen"). Well-known properties: `dst_name`, `dst_entity_type`
    (`<schema>[/<category>]`, such as "person/employee"), `confidence`, `context`.

    In a record's `graph_paths`, an edge that is written may also be given as a JSON object
    of it, or as a path.
    """

    src: str = ""  # may be empty only inside a record's `graph_paths`, where it is that record
    rel_type: str = ""  # never empty in one that is read
    dst: str
    weight: float = 1.0  # 0..1; 1.0 owns/authored, 0.8 depends on, 0.5 references, 0.3 mentions
    properties: dict[str, Any] = {}
    created_at: datetime | None = None  # set on write when not given
    valid_from: datetime | None = None  # None: ever since
    valid_to: datetime | None = None  # None: until further notice
    # seed 2's name for `rel_type`, taken instead of it when an edge is written
    edge_type: str | UnsetType = UNSET

    @property
    def is_from_key(self) -> bool:
        """Whether a foreign key made it: its ends are the handles of rows, there or not."""
        return SOURCE_FK in self.properties

    @property
    def key(self) -> EdgeKey:
        """What tells it from every other edge: `src`, `rel_type` and `dst`."""
        return self.src, self.rel_type, self.dst

    def paths(self, schema: str = "resources", *, src: str = "") -> tuple[str, ...]:
        """Write the edge as seed 5's graph paths: one, or one for each entity shared.

        Args:
            schema: the schema of the record that the edge leaves.
            src: the name of that record, to be written in place of its key.

        >>> Edge(src="Kickoff", rel_type="related", dst="TiDB Spec").paths()
        ('/resources/Kickoff/related/TiDB Spec',)
        >>> Edge.from_path("/resources/Kickoff/entity/Sarah Chen/TiDB Spec").paths()
        ('/resources/Kickoff/entity/Sarah Chen/TiDB Spec',)
        """
        begin = src or self.src
        end = self.dst
        name = self.properties.get("dst_name")
        # The name is shown only while it still leads to the target: it may have been renamed.
        if isinstance(name, str) and name.strip() and labels.key(name) == labels.key(self.dst):
            end = name
        shared = [value for name, value in self.properties.items() if name.startswith(SHARES)]
        if self.rel_type != "entity" or not shared:
            return (labels.join_path(schema, begin, self.rel_type, end),)
        return tuple(labels.join_path(schema, begin, "entity", str(name), end) for name in shared)

    @classmethod
    def from_path(cls, path: str) -> Edge:
        """Read a graph path as an edge. A path does not tell the weight: it is 0.5.

        Raises:
            LabelError: the path is not of the form `/<schema>/<source>/<type>/<target>` or
                `/<schema>/<source>/entity/<label>/<target>`.
        """
        match labels.split_path(path):
            case [_, src, rel_type, dst]:
                properties = {"dst_name": dst}
                return cls(src=src, rel_type=rel_type, dst=dst, weight=0.5, properties=properties)
            case [_, src, "entity", shared, dst]:
                properties = {"dst_name": dst, SHARES + labels.key(shared): shared}
                return cls(src=src, rel_type="entity", dst=dst, weight=0.5, properties=properties)
        raise LabelError(
            "this path does not have the parts of an edge",
            label=path[:80],
            remedy="/resources/<source>/related/<target> or "
            "/resources/<source>/entity/<label>/<target>",
        )
