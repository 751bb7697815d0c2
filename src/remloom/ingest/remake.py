"""What reading made of texts that are forgotten: made again of those that stay, without a model.

A turn's context quotes the turns beside it, a moment says whom its turns name, a chunk may stand
under a heading of another, and a name is known as the texts write it: these are the ways in which
one text gets into another's record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec.structs import replace

from .. import labels
from ..model import Edge, EdgeKey, Entity, Moment, Record, Resource
from ..model.edge_types import ABOUT, ATTENDED_BY, MENTIONS, PART_OF
from ..sources import Turn
from ..store.contract import Reads
from ..store.forgetting.forget import Remade, RemovedRecords
from ..store.forgetting.mentions import names_in
from ..store.specs import ChunkRange
from . import chats
from .edges import follows
from .renaming import Unnaming

# turns on each side of a gap: some have another context now, the others are in it
_NEAR = chats.BEFORE + chats.AFTER
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
    for gap in _gaps(reads, parts):
        edges += _close_gap(reads, removed, gap, records)
    _recount(reads, removed, parts, records)
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
            described = _describe_document(reads, moment, left)
        records[moment.id] = described
        unlinked += outdated_edges(reads, moment, described)


def _describe_document(reads: Reads, moment: Moment, left: Sequence[Resource]) -> Moment:
    """The moment of a document with the names that are left."""
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


# -- what stands beside it -----------------------------------------------------------------------


def _gaps(reads: Reads, parts: Sequence[Resource]) -> Iterator[list[Resource]]:
    """What goes of each source, in order, apart where something between stays."""
    by_source: dict[str, list[Resource]] = {}
    for part in parts:
        by_source.setdefault(part.uri, []).append(part)
    for uri, own in by_source.items():
        own.sort(key=lambda part: part.ordinal)
        gap = own[:1]
        for part in own[1:]:
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
    """Make again what stands on both sides of a gap; gives the edge that closes their chain."""
    uri, first, last = gap[0].uri, gap[0].ordinal, gap[-1].ordinal

    def chunks_before(size: int) -> list[Resource]:
        return reads.records.chunks(uri, ChunkRange(before=first, limit=size, last=True))

    def chunks_after(size: int) -> list[Resource]:
        return reads.records.chunks(uri, ChunkRange(after=last, limit=size))

    before = _staying(chunks_before, removed)[-_NEAR:]
    after = _staying(chunks_after, removed)[:_NEAR]
    if chats.is_turn(gap[0]) and gap[0].metadata["speaker"] is not None:
        # contexts and chains do not reach from one session into another
        session = _session(reads, gap)
        before = [turn for turn in before if _session(reads, [turn]) == session]
        after = [turn for turn in after if _session(reads, [turn]) == session]
        _remake_contexts(before, after, records)
    else:
        _remove_headings(reads, removed, gap, after, records)
    if before and after:
        yield follows(before[-1], after[0])


def _staying(fetch: Callable[[int], list[Resource]], removed: RemovedRecords) -> list[Resource]:
    """The nearest chunks that stay: `_NEAR` of them, or more, if there are as many.

    Others that go may stand between.
    """
    size = _NEAR
    while True:
        chunks = fetch(size)
        left = [part for part in chunks if part.id not in removed]
        if len(left) >= _NEAR or len(chunks) < size:
            return left
        size *= 4


def _remake_contexts(
    before: Sequence[Resource],
    after: Sequence[Resource],
    records: dict[str, Record],
) -> None:
    """The contexts of the turns on both sides of a gap, each of which is in some of the others."""
    resources = [*before, *after]
    turns = [Turn(message=chats.message_of(resource)) for resource in resources]
    gap = len(before)
    for position, resource in enumerate(resources):
        if gap - chats.AFTER <= position < gap + chats.BEFORE:
            context = chats.turn_context(turns, position)
            records[resource.id] = replace(resource, context=context)


def _session(reads: Reads, turns: Sequence[Resource]) -> str | None:
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
    """Take a heading that stood in what goes off the chunks that stand under it."""
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
    """Say of each source how many chunks or turns it still has."""
    by_source: dict[str, list[Resource]] = {}
    for part in parts:
        by_source.setdefault(part.uri, []).append(part)
    for uri, own in by_source.items():
        for entity in _source_entities(reads, own[-1]):
            if entity.id in removed or entity.properties.get("uri") != uri:
                continue
            counted = "turns" if "turns" in entity.properties else "chunks"
            count = entity.properties.get(counted)
            if isinstance(count, int):
                properties = {**entity.properties, counted: max(0, count - len(own))}
                records[entity.id] = replace(entity, properties=properties)


def _source_entities(reads: Reads, part: Resource) -> Iterator[Entity]:
    """The entities that a part may be of: a document of one chunk has the name of that."""
    key = labels.key(part.name)
    edges = reads.graph.stored_edges([key], direction="out")
    wholes = [key, *(edge.dst for edge in edges if edge.rel_type == PART_OF.name)]
    for records in reads.records.lookup(wholes, edges=0).values():
        for record in records:
            if isinstance(record, Entity):
                yield record
