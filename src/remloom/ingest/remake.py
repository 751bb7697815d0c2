"""What reading made of texts that are forgotten, made again of those that stay: contexts of turns,
moments, headings of chunks, and names, by which one text gets into another's record."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import chain

from msgspec.structs import replace

from .. import labels
from ..model import EXTRACTED, SHARES, Edge, EdgeKey, Entity, Moment, Record, Resource
from ..model.edge_types import ABOUT, ATTENDED_BY, MENTIONS, PART_OF
from ..model.supersession import is_hidden, marked_as, without_context
from ..store.contract import Reads
from ..store.forgetting.forget import Remade, RemovedRecords
from ..store.forgetting.remaining_words import names_in
from ..store.rules.merge import keys_of
from ..store.specs import ChunkRange, EdgeSpec
from . import chats
from .edges import follows

# turns on each side of a gap: some have another context now, the others are in it
NEIGHBOURS = chats.BEFORE + chats.AFTER
_AHEAD = 64  # chunks looked at together behind a heading that goes


def remake(reads: Reads, removed: RemovedRecords) -> Remade:
    """What becomes of contexts, moments, chains, counts, headings and names. See `forget`."""
    parts = [record for record in removed.values() if isinstance(record, Resource) and record.uri]
    if not parts:
        return Remade()
    records: dict[str, Record] = {}
    edges: list[Edge] = []
    unlinked: list[EdgeKey] = []
    deleted = list(_remake_moments(reads, removed, parts, records, unlinked))
    by_source: dict[str, list[Resource]] = {}
    for part in sorted(parts, key=lambda part: part.ordinal):
        by_source.setdefault(part.uri, []).append(part)
    for uri, own in by_source.items():
        for gap in _gaps(reads, uri, own):
            edges += _close_gap(reads, removed, gap, records)
        _recount(reads, removed, own, records)
    unnaming = Unnaming(reads, removed, records)
    unnaming.run(parts)
    return Remade(
        tuple(deleted),
        tuple(records.values()),
        tuple(unlinked),
        tuple(unnaming.moved),
        (*edges, *unnaming.edges),
    )


# -- moments -------------------------------------------------------------------------------------


def _remake_moments(
    reads: Reads,
    removed: RemovedRecords,
    parts: Sequence[Resource],
    records: dict[str, Record],
    unlinked: list[EdgeKey],
) -> Iterator[Moment]:
    """Describe the moments that reading made by what is left; gives those of which nothing is."""
    for moment in reads.records.referring([part.id for part in parts]):
        # others dreaming made, or somebody wrote
        is_read = moment.metadata.get("uri") and "made_by" not in moment.metadata
        if moment.id in removed or not is_read:
            continue
        ids = (id for id in moment.resource_refs if id not in removed)
        left = [
            one for id in ids if isinstance(one := reads.records.get("resources", id), Resource)
        ]
        if not left:
            yield moment
            continue
        if all(map(chats.is_turn, left)):
            described = chats.describe(moment, left)
        else:
            described = marked_as(_describe_document(reads, moment, left), left)
        records[moment.id] = described
        unlinked += outdated_edges(reads, moment, described)


def _describe_document(reads: Reads, moment: Moment, left: Sequence[Resource]) -> Moment:
    names = {name for resource in left for name in resource.related_entities}
    keys = [labels.key(resource.name) for resource in left]
    for edge in reads.graph.stored_edges(keys, direction="out"):
        if edge.rel_type == MENTIONS.name:
            names.add(str(edge.properties.get("dst_name") or edge.dst))
    return replace(
        moment,
        topic_tags=tuple(name for name in moment.topic_tags if name in names),
        entity_refs=tuple(name for name in moment.entity_refs if name in names),
        resource_refs=tuple(resource.id for resource in left),
    )


def outdated_edges(reads: Reads, old: Moment, new: Moment) -> Iterator[EdgeKey]:
    """The edges of a moment to what it is no longer about, and to who is no longer there."""
    lost_topics = _keys(old.topic_tags) - _keys(new.topic_tags)
    people_before = _keys(person.name for person in old.present_persons)
    lost_people = people_before - _keys(person.name for person in new.present_persons)
    lost = {ABOUT.name: lost_topics, ATTENDED_BY.name: lost_people}
    for edge in reads.graph.stored_edges([labels.key(old.name)], direction="out"):
        if edge.dst in lost.get(edge.rel_type, ()):
            yield edge.key


def _keys(names: Iterable[str]) -> set[str]:
    return set(map(labels.key, names))


# -- neighbours ----------------------------------------------------------------------------------


def _gaps(reads: Reads, uri: str, parts: Sequence[Resource]) -> Iterator[list[Resource]]:
    """What goes of a source, apart where something between stays."""
    gap = [parts[0]]
    for part in parts[1:]:
        if _stays_between(reads, uri, gap[-1].ordinal, part.ordinal):
            yield gap
            gap = []
        gap.append(part)
    yield gap


def _stays_between(reads: Reads, uri: str, after: int, before: int) -> bool:
    if before <= after + 1:
        return False
    between = ChunkRange(after=after, before=before, limit=1)
    return bool(reads.records.chunks(uri, between))


def _close_gap(
    reads: Reads,
    removed: RemovedRecords,
    gap: Sequence[Resource],
    records: dict[str, Record],
) -> Iterator[Edge]:
    """Make again what is on both sides of a gap; gives the edge that closes the chain."""
    uri, first, last = gap[0].uri, gap[0].ordinal, gap[-1].ordinal

    def chunks_before(size: int) -> list[Resource]:
        return reads.records.chunks(uri, ChunkRange(before=first, limit=size, last=True))

    def chunks_after(size: int) -> list[Resource]:
        return reads.records.chunks(uri, ChunkRange(after=last, limit=size))

    before = staying(chunks_before, removed)[-NEIGHBOURS:]
    after = staying(chunks_after, removed)[:NEIGHBOURS]
    if chats.is_turn(gap[0]) and gap[0].metadata["speaker"] is not None:
        # contexts and chains do not reach from one session into another
        session = session_of(reads, gap)
        before = [turn for turn in before if session_of(reads, [turn]) == session]
        after = [turn for turn in after if session_of(reads, [turn]) == session]
        _remake_contexts(before, after, records)
    else:
        _remove_headings(reads, removed, gap, after, records)
    if before and after:
        yield follows(before[-1], after[0])


def staying(fetch: Callable[[int], list[Resource]], removed: Container[str]) -> list[Resource]:
    """The nearest `NEIGHBOURS` chunks, or more, that stay; others that go may be between."""
    size = NEIGHBOURS
    while True:
        chunks = fetch(size)
        left = [part for part in chunks if part.id not in removed]
        if len(left) >= NEIGHBOURS or len(chunks) < size:
            return left
        size *= 4


def _remake_contexts(
    before: Sequence[Resource],
    after: Sequence[Resource],
    records: dict[str, Record],
) -> None:
    resources = [*before, *after]
    turns = list(map(chats.shown, resources))
    gap = len(before)
    for position, resource in enumerate(resources):
        if gap - chats.AFTER <= position < gap + chats.BEFORE:
            context = "" if is_hidden(resource) else chats.turn_context(turns, position)
            records[resource.id] = replace(without_context(resource), context=context)


def session_of(reads: Reads, turns: Sequence[Resource]) -> str | None:
    """The session of a chat that turns are of; None where no moment says."""
    for moment in reads.records.referring([turn.id for turn in turns]):
        if "session" in moment.metadata:
            return str(moment.metadata["session"])
    return None


def _remove_headings(
    reads: Reads,
    removed: RemovedRecords,
    gap: Sequence[Resource],
    after: Sequence[Resource],
    records: dict[str, Record],
) -> None:
    """Take a heading in what goes off the chunks under it."""
    while after:
        for chunk in after:
            heading = chunk.metadata.get("heading")
            if not isinstance(heading, str):
                return
            if not names_in((part.content for part in gap), [heading]):
                return
            if not names_in([chunk.content], [heading]):
                others = {key: value for key, value in chunk.metadata.items() if key != "heading"}
                records[chunk.id] = replace(chunk, metadata=others)
        ahead = ChunkRange(after=after[-1].ordinal, limit=_AHEAD)
        chunks = reads.records.chunks(gap[0].uri, ahead)
        after = [chunk for chunk in chunks if chunk.id not in removed]


def _recount(
    reads: Reads,
    removed: RemovedRecords,
    parts: Sequence[Resource],
    records: dict[str, Record],
) -> None:
    """Say of a source how many chunks or turns it still has."""
    for entity in _source_entities(reads, parts[-1]):
        if entity.id in removed or entity.properties.get("uri") != parts[-1].uri:
            continue
        counted = "turns" if "turns" in entity.properties else "chunks"
        count = entity.properties.get(counted)
        if isinstance(count, int):
            properties = {**entity.properties, counted: max(0, count - len(parts))}
            records[entity.id] = replace(entity, properties=properties)


def _source_entities(reads: Reads, part: Resource) -> Iterator[Entity]:
    key = labels.key(part.name)
    edges = reads.graph.stored_edges([key], direction="out")
    wholes = [key, *(edge.dst for edge in edges if edge.rel_type == PART_OF.name)]
    for records in reads.records.lookup(wholes, edges=0).values():
        for record in records:
            if isinstance(record, Entity):
                yield record


# of what leads to a name, looked at before all of it: the name of a hub is said nearly everywhere
_FIRST_LOOK = 64


class Unnaming:
    """Takes names away that nothing which stays says: what changes of `records` is put there,
    `edges` are at other labels then, `moved` is where they were."""

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
