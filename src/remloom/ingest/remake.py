"""What reading made of texts that are forgotten is made again of those that stay, without a model.

A turn's context quotes the turns beside it, a moment tells whom its turns name, a chunk may stand
under a heading of another, and a name is known as the texts write it: these are the ways in which
one text gets into another's record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from .. import labels
from ..model import EXTRACTED, SHARES, Edge, Entity, Moment, Record, Resource
from ..sources import Turn
from ..store.contract import Reads
from ..store.forget import Going, Remade, Triple
from ..store.merge import keys_of
from ..store.specs import ChunkRange, EdgeSpec
from ..store.sweep import tokens
from . import chats
from .documents import follows

__all__ = ["moved", "remake", "untrue"]

# of what leads to a name, looked at before all of it: the name of a hub is said nearly everywhere
_SOME = 64
# turns on each side of a gap: some have another context now, the others are in it
_NEAR = chats.BEFORE + chats.AFTER


def remake(reads: Reads, going: Going) -> Remade:
    """What becomes of contexts, moments, chains, counts, headings and names. See `store.forget`."""
    parts = [record for record in going.values() if isinstance(record, Resource) and record.uri]
    if not parts:
        return Remade()
    records: dict[str, Record] = {}
    edges: list[Edge] = []
    unlinked: list[Triple] = []
    gone = list(_moments(reads, going, parts, records, unlinked))
    for run in _runs(reads, parts):
        edges += _closed(reads, going, run, records)
    _count(reads, going, parts, records)
    places: list[Triple] = []
    _rename(reads, going, parts, records, edges, places)
    return Remade(
        tuple(gone), tuple(records.values()), tuple(unlinked), tuple(places), tuple(edges)
    )


# -- moments ---------------------------------------------------------------------------------------


def _moments(
    reads: Reads,
    going: Going,
    parts: Sequence[Resource],
    records: dict[str, Record],
    unlinked: list[Triple],
) -> Iterator[Moment]:
    """Tell the moments that reading made of what is left; gives those of which nothing is."""
    for moment in reads.records.referring([part.id for part in parts]):
        if moment.id in going or "made_by" in moment.metadata or not moment.metadata.get("uri"):
            continue  # dreaming made it, or somebody wrote it
        left = _resources(reads, [id for id in moment.resource_refs if id not in going])
        if not left:
            yield moment
            continue
        if all("speaker" in resource.metadata for resource in left):
            told = chats.retold(moment, left)
        else:
            named = {name for resource in left for name in resource.related_entities}
            keys = [labels.key(resource.name) for resource in left]
            for edge in reads.graph.stored_edges(keys, direction="out"):
                if edge.rel_type == "mentions":
                    named.add(str(edge.properties.get("dst_name") or edge.dst))
            told = replace(
                moment,
                topic_tags=tuple(name for name in moment.topic_tags if name in named),
                entity_refs=tuple(name for name in moment.entity_refs if name in named),
                resource_refs=tuple(resource.id for resource in left),
            )
        records[moment.id] = told
        unlinked += untrue(reads, moment, told)


def untrue(reads: Reads, old: Moment, new: Moment) -> Iterator[Triple]:
    """The edges of a moment to what it is no longer about, and to who is no longer there."""
    about = set(map(labels.key, old.topic_tags)) - set(map(labels.key, new.topic_tags))
    there = {labels.key(p.name) for p in old.present_persons} - {
        labels.key(p.name) for p in new.present_persons
    }
    for edge in reads.graph.stored_edges([labels.key(old.name)], direction="out"):
        if (edge.rel_type == "about" and edge.dst in about) or (
            edge.rel_type == "attended_by" and edge.dst in there
        ):
            yield edge.src, edge.rel_type, edge.dst


def _resources(reads: Reads, ids: Sequence[str]) -> list[Resource]:
    return [
        record for id in ids if isinstance(record := reads.records.get("resources", id), Resource)
    ]


# -- what stands beside it -------------------------------------------------------------------------


def _runs(reads: Reads, parts: Sequence[Resource]) -> Iterator[list[Resource]]:
    """What goes of each source, in order, apart where something between stays."""
    by_source: dict[str, list[Resource]] = {}
    for part in parts:
        by_source.setdefault(part.uri, []).append(part)
    for uri, some in by_source.items():
        some.sort(key=lambda part: part.ordinal)
        run = some[:1]
        for part in some[1:]:
            last = run[-1].ordinal
            if part.ordinal > last + 1 and reads.records.chunks(
                uri, ChunkRange(after=last, before=part.ordinal, limit=1)
            ):
                yield run
                run = []
            run.append(part)
        yield run


def _closed(
    reads: Reads, going: Going, run: Sequence[Resource], records: dict[str, Record]
) -> Iterator[Edge]:
    """Make again what stands on both sides of a run that goes; gives the edge that closes the gap
    in their chain."""
    uri = run[0].uri
    before = _staying(
        lambda size: reads.records.chunks(
            uri, ChunkRange(before=run[0].ordinal, limit=size, last=True)
        ),
        going,
    )[-_NEAR:]
    after = _staying(
        lambda size: reads.records.chunks(uri, ChunkRange(after=run[-1].ordinal, limit=size)), going
    )[:_NEAR]
    if run[0].metadata.get("speaker") is not None:
        session = _session(reads, run)
        before = [turn for turn in before if _session(reads, [turn]) == session]
        after = [turn for turn in after if _session(reads, [turn]) == session]
        turns = [Turn(message=chats.message_of(turn)) for turn in (*before, *after)]
        for place, turn in enumerate((*before, *after)):
            if len(before) - chats.AFTER <= place < len(before) + chats.BEFORE:
                records[turn.id] = replace(turn, context=chats.context(turns, place))
    else:
        _headings(reads, going, run, after, records)
    if before and after:
        yield follows(before[-1], after[0])


def _staying(fetch: Callable[[int], list[Resource]], going: Going) -> list[Resource]:
    """The nearest that stay, `_NEAR` of them or more if there are as many: others that go may stand
    between."""
    size = _NEAR
    while True:
        found = fetch(size)
        left = [part for part in found if part.id not in going]
        if len(left) >= _NEAR or len(found) < size:
            return left
        size *= 4


def _session(reads: Reads, turns: Sequence[Resource]) -> str | None:
    """The session of a chat that turns are of; None where no moment says."""
    for moment in reads.records.referring([turn.id for turn in turns]):
        if "session" in moment.metadata:
            return str(moment.metadata["session"])
    return None


def _headings(
    reads: Reads,
    going: Going,
    run: Sequence[Resource],
    after: Sequence[Resource],
    records: dict[str, Record],
) -> None:
    """Take a heading that stood in what goes off the chunks that stand under it."""
    ordinal = run[-1].ordinal
    while after:
        for chunk in after:
            heading = chunk.metadata.get("heading")
            if not isinstance(heading, str) or not any(
                _says(part.content, heading) for part in run
            ):
                return
            if not _says(chunk.content, heading):
                bare = {name: value for name, value in chunk.metadata.items() if name != "heading"}
                records[chunk.id] = replace(chunk, metadata=bare)
        ordinal = after[-1].ordinal
        after = [
            chunk
            for chunk in reads.records.chunks(run[0].uri, ChunkRange(after=ordinal, limit=64))
            if chunk.id not in going
        ]


def _count(
    reads: Reads, going: Going, parts: Sequence[Resource], records: dict[str, Record]
) -> None:
    """Say of sources how many chunks or turns they still have."""
    lost: dict[str, int] = {}
    for part in parts:
        lost[part.uri] = lost.get(part.uri, 0) + 1
    some = {part.uri: part for part in parts}
    for uri, number in lost.items():
        key = labels.key(some[uri].name)
        wholes = [
            key,
            *(
                e.dst
                for e in reads.graph.stored_edges([key], direction="out")
                if e.rel_type == "part_of"
            ),
        ]
        for found in reads.records.lookup(wholes, edges=0).values():
            for entity in found:
                if (
                    isinstance(entity, Entity)
                    and entity.id not in going
                    and entity.properties.get("uri") == uri
                ):
                    kind = "turns" if "turns" in entity.properties else "chunks"
                    count = entity.properties.get(kind)
                    if isinstance(count, int):
                        left = {**entity.properties, kind: max(0, count - number)}
                        records[entity.id] = replace(entity, properties=left)


# -- names -----------------------------------------------------------------------------------------


def _rename(
    reads: Reads, going: Going, parts: Sequence[Resource], records: dict[str, Record], edges: list[Edge],
    places: list[Triple],
) -> None:  # fmt: skip
    """Call what is known from reading only by what the texts that stay call it."""
    said = [part.content for part in parts]
    keys = sorted({labels.key(part.name) for part in parts})
    mentioned = {
        edge.dst
        for edge in reads.graph.stored_edges(keys, direction="out")
        if edge.rel_type == "mentions"
    }
    for found in reads.records.lookup(sorted(mentioned), edges=0).values():
        for entity in found:
            if (
                not isinstance(entity, Entity)
                or entity.id in going
                or not entity.properties.get(EXTRACTED)
            ):
                continue
            names = (entity.name, *entity.aliases)
            if not (
                doubtful := {name for name in names if any(_says(text, name) for text in said)}
            ):
                continue
            known = doubtful - _unsaid(reads, going, entity, doubtful)
            left = [name for name in names if name in known or name not in doubtful]
            if not left or len(left) == len(names):
                continue
            name = entity.name if entity.name in left else max(left, key=len)
            records[entity.id] = replace(
                entity, name=name, aliases=tuple(other for other in left if other != name)
            )
            for old in (label for label in names if label not in left):
                _move(reads, going, entity, old, name, records, edges, places)


def _unsaid(reads: Reads, going: Going, entity: Entity, names: set[str]) -> set[str]:
    """Of these names of an entity, those that nothing which stays and mentions it says."""
    left, keys = set(names), keys_of(entity)
    some = reads.graph.edges(EdgeSpec(keys, direction="in", limit=_SOME))
    _strike_said(reads, going, left, {edge.src for edge in some})
    # it is known from many, of which these do not say it
    if left and len(some) == _SOME:
        _strike_said(
            reads,
            going,
            left,
            {edge.src for edge in reads.graph.stored_edges(keys, direction="in")},
        )
    return left


def _strike_said(reads: Reads, going: Going, names: set[str], sources: set[str]) -> None:
    """Take off the names that one of these sources says."""
    for key in sorted(sources):
        for record in reads.records.lookup([key], edges=0)[key]:
            if record.id not in going:
                names -= {
                    name for name in names if any(_says(text, name) for text in _words_of(record))
                }
        if not names:
            return


def _words_of(record: Record) -> Iterator[str]:
    if isinstance(record, Resource):
        yield from (record.content, str(record.metadata.get("speaker", "")))
    elif isinstance(record, Entity):
        authors = record.properties.get("authors")
        yield from (record.name, *map(str, authors if isinstance(authors, list) else ()))


def _says(text: str, name: str) -> bool:
    wanted, words = tokens(name), tokens(text)
    size = len(wanted)
    return any(words[at : at + size] == wanted for at in range(len(words) - size + 1))


def _move(
    reads: Reads, going: Going, entity: Entity, old: str, new: str, records: dict[str, Record], edges: list[Edge],
    places: list[Triple],
) -> None:  # fmt: skip
    """Have what led to a name lead to another one, and call it so wherever reading did."""
    before, after = labels.key(old), labels.key(new)
    mentioning = [
        edge.src
        for edge in reads.graph.stored_edges([before], direction="in")
        if edge.rel_type == "mentions"
    ]
    found, cut = moved(reads, before, new)
    edges += found
    places += cut
    for each in reads.records.lookup(sorted(set(mentioning)), edges=0).values():
        for resource in each:
            if isinstance(resource, Resource) and resource.id not in going:
                known = records.get(resource.id, resource)
                if isinstance(known, Resource) and old in known.related_entities:
                    records[resource.id] = replace(
                        known, related_entities=_called(known.related_entities, old, new)
                    )
                for edge in reads.graph.stored_edges([labels.key(resource.name)], direction="out"):
                    if edge.rel_type == "entity" and SHARES + before in edge.properties:
                        shared = {
                            SHARES + after if k == SHARES + before else k: v
                            for k, v in edge.properties.items()
                        }
                        places.append((edge.src, edge.rel_type, edge.dst))
                        edges.append(replace(edge, properties={**shared, SHARES + after: new}))
                for moment in reads.records.referring([resource.id]):
                    kept = records.get(moment.id, moment)
                    if moment.id not in going and isinstance(kept, Moment):
                        tags, refs = (
                            _called(kept.topic_tags, old, new),
                            _called(kept.entity_refs, old, new),
                        )
                        if (tags, refs) != (kept.topic_tags, kept.entity_refs):
                            records[moment.id] = replace(kept, topic_tags=tags, entity_refs=refs)


def _called(names: Sequence[str], old: str, new: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(new if name == old else name for name in names))


def moved(reads: Reads, key: str, name: str) -> tuple[list[Edge], list[Triple]]:
    """The edges at a key as they are at the label `name` instead, and what is to be unlinked for
    it."""
    to = labels.key(name)
    edges, unlinked = [], []
    for edge in reads.graph.stored_edges([key], direction="both"):
        unlinked.append((edge.src, edge.rel_type, edge.dst))
        properties = {**edge.properties, "dst_name": name} if edge.dst == key else edge.properties
        edges.append(
            replace(
                edge,
                src=to if edge.src == key else edge.src,
                dst=to if edge.dst == key else edge.dst,
                properties=properties,
            )
        )
    return edges, unlinked
