"""Names that only forgotten texts wrote: what they named is called as the other texts call it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from msgspec.structs import replace

from .. import labels
from ..model import EXTRACTED, SHARES, Edge, EdgeKey, Entity, Moment, Record, Resource
from ..model.edge_types import MENTIONS
from ..store.contract import Reads
from ..store.forgetting.forget import RemovedRecords
from ..store.forgetting.mentions import names_in
from ..store.rules.merge import keys_of
from ..store.specs import EdgeSpec

# of what leads to a name, looked at before all of it: the name of a hub is said nearly everywhere
_FIRST_LOOK = 64


class Unnaming:
    """Takes names away that nothing which stays says.

    Args:
        records: as they will be; what changes is put there.

    Attributes:
        edges: as they are at other labels, or with another name in them.
        moved: where those were.
    """

    def __init__(self, reads: Reads, removed: RemovedRecords, records: dict[str, Record]) -> None:
        self._reads = reads
        self._removed = removed
        self._records = records
        self.edges: list[Edge] = []
        self.moved: list[EdgeKey] = []

    def run(self, parts: Sequence[Resource]) -> None:
        """Rename what is known only from reading, and was named by these parts, which go."""
        named = [(entity, (entity.name, *entity.aliases)) for entity in self._mentioned(parts)]
        # only names that the texts which go say may be theirs alone
        every_name = chain.from_iterable(names for _, names in named)
        written_names = names_in((part.content for part in parts), every_name)
        for entity, names in named:
            doubtful = written_names.intersection(names)
            if not doubtful:
                continue
            lost = self._unsaid(entity, doubtful)
            left = [name for name in names if name not in lost]
            # nothing is left of its names only if it goes, too
            if lost and left:
                self._rename(entity, lost, left)

    def _mentioned(self, parts: Sequence[Resource]) -> Iterator[Entity]:
        """The entities that these mention and that nobody wrote."""
        sources = sorted({labels.key(part.name) for part in parts})
        edges = self._reads.graph.stored_edges(sources, direction="out")
        keys = sorted({edge.dst for edge in edges if edge.rel_type == MENTIONS.name})
        for records in self._reads.records.lookup(keys, edges=0).values():
            for record in records:
                if not isinstance(record, Entity) or record.id in self._removed:
                    continue
                if record.properties.get(EXTRACTED):
                    yield record

    def _unsaid(self, entity: Entity, names: set[str]) -> set[str]:
        """Of these names of an entity, those that nothing which stays and leads to it says."""
        keys = keys_of(entity)
        graph = self._reads.graph
        first = graph.edges(EdgeSpec(keys, direction="in", limit=_FIRST_LOOK))
        unsaid = self._without_written(names, {edge.src for edge in first})
        # it is known from many, of which the first do not say it
        if unsaid and len(first) == _FIRST_LOOK:
            every = graph.stored_edges(keys, direction="in")
            unsaid = self._without_written(unsaid, {edge.src for edge in every})
        return unsaid

    def _without_written(self, names: set[str], sources: set[str]) -> set[str]:
        """The names that none of these sources says."""
        unsaid = set(names)
        for key in sorted(sources):
            for record in self._reads.records.lookup([key], edges=0)[key]:
                if record.id not in self._removed:
                    unsaid -= names_in(_texts_of(record), unsaid)
            if not unsaid:
                break
        return unsaid

    def _rename(self, entity: Entity, lost: set[str], left: Sequence[str]) -> None:
        name = entity.name if entity.name in left else max(left, key=len)
        aliases = tuple(other for other in left if other != name)
        self._records[entity.id] = replace(entity, name=name, aliases=aliases)
        for old in (entity.name, *entity.aliases):
            if old in lost:
                self._replace_name(old, name)

    def _replace_name(self, old: str, new: str) -> None:
        """Have what led to a name lead to another one, and call it so wherever reading did."""
        key = labels.key(old)
        # looked up before its edges move
        incoming = self._reads.graph.stored_edges([key], direction="in")
        edges, old_keys = move_edges(self._reads, key, new)
        self.edges += edges
        self.moved += old_keys
        sources = sorted({edge.src for edge in incoming if edge.rel_type == MENTIONS.name})
        for records in self._reads.records.lookup(sources, edges=0).values():
            for record in records:
                if isinstance(record, Resource) and record.id not in self._removed:
                    self._replace_in_resource(record, old, new)
                    self._replace_in_shares(record, old, new)
                    self._replace_in_moments(record, old, new)

    def _replace_in_resource(self, resource: Resource, old: str, new: str) -> None:
        current = self._records.get(resource.id, resource)
        if isinstance(current, Resource) and old in current.related_entities:
            names = _replaced(current.related_entities, old, new)
            self._records[resource.id] = replace(current, related_entities=names)

    def _replace_in_shares(self, resource: Resource, old: str, new: str) -> None:
        """The name in edges between resources that share it."""
        before, after = SHARES + labels.key(old), SHARES + labels.key(new)
        key = labels.key(resource.name)
        for edge in self._reads.graph.stored_edges([key], direction="out"):
            if edge.rel_type == "entity" and before in edge.properties:
                properties = {
                    after if share == before else share: value
                    for share, value in edge.properties.items()
                }
                properties[after] = new
                self.moved.append(edge.key)
                self.edges.append(replace(edge, properties=properties))

    def _replace_in_moments(self, resource: Resource, old: str, new: str) -> None:
        for moment in self._reads.records.referring([resource.id]):
            current = self._records.get(moment.id, moment)
            if moment.id in self._removed or not isinstance(current, Moment):
                continue
            renamed = replace(
                current,
                topic_tags=_replaced(current.topic_tags, old, new),
                entity_refs=_replaced(current.entity_refs, old, new),
            )
            if renamed != current:
                self._records[moment.id] = renamed


def move_edges(reads: Reads, key: str, name: str) -> tuple[list[Edge], list[EdgeKey]]:
    """The edges at a key as they are at the label `name` instead, and where they were."""
    new_key = labels.key(name)
    edges: list[Edge] = []
    old_keys: list[EdgeKey] = []
    for edge in reads.graph.stored_edges([key], direction="both"):
        old_keys.append(edge.key)
        properties = {**edge.properties, "dst_name": name} if edge.dst == key else edge.properties
        moved = replace(
            edge,
            src=new_key if edge.src == key else edge.src,
            dst=new_key if edge.dst == key else edge.dst,
            properties=properties,
        )
        edges.append(moved)
    return edges, old_keys


def _texts_of(record: Record) -> Iterator[str]:
    """What a record says that reading took names from."""
    if isinstance(record, Resource):
        yield record.content
        yield str(record.metadata.get("speaker", ""))
    elif isinstance(record, Entity):
        yield record.name
        authors = record.properties.get("authors")
        yield from map(str, authors if isinstance(authors, list) else ())


def _replaced(names: Iterable[str], old: str, new: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(new if name == old else name for name in names))
