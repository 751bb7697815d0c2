"""Moments: stretches of time told as what happened in them, by rules or by a model.

Source: seed 5, "First-Order Dreaming: Moment Extraction". Rules part time into sessions, and these
where the topic shifts, and say who spoke, of what, and in whose words. A model tells, of each
session, what happened, with every field of the seed. Both connect what they made by label: with
people, resources, topics, the moments before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ... import labels
from ...ingest.documents import identity, label
from ...model import Edge, Moment, Resource
from ...runs.supersede import SUPERSEDED
from ...runs.writer import Writer
from ...store.contract import Store
from ...store.specs import EdgeSpec
from ..vectors import matrix
from . import describe
from .sessions import MADE_BY, Session, happened, sessions

if TYPE_CHECKING:
    from ...llm import LLM

__all__ = ["LOOKBACK", "RULES", "connections", "extract", "outgrown", "part_id", "part_of"]

LOOKBACK = 24.0  # hours, seed 5
RULES = "rules"
_OWNS, _RELATES = 1.0, 0.5  # weights of edges, from seed 5's guidelines
# a moment this long before or after is still looked for as the one beside it
_NEXT = timedelta(days=31)
_NEAR, _FAR = 0.9, 0.3  # weight of what happened at once, and of what lies far apart
_HALF = 7.0  # days after which it has fallen half of the way
_AT_ONCE = 16  # sessions whose calls are made together

Progress = Callable[[int, int], None]


def extract(
    store: Store,
    writer: Writer,
    *,
    since: datetime | None,
    now: datetime,
    llm: LLM | None = None,
    progress: Progress | None = None,
) -> None:
    """Write the moments of what happened, or was remembered, since then (all when None). Again, it
    writes nothing.

    A failed call of the model parks its session, which the next run tries again.

    Raises:
        BudgetError: the budget of the run is spent; what was told until then is written.
    """
    found = sessions(store, since=since, now=now)
    background = describe.Background(
        [resource for session in found for resource in session.resources]
    )
    whole: list[Moment] = []
    done = 0
    for low in range(0, len(found), _AT_ONCE):
        some = found[low : low + _AT_ONCE]
        told: list[tuple[Session, Moment]] = []
        for session in some:
            moment = _whole(store, session, background)
            parts = [] if llm else list(_parts(store, session, moment, background))
            made = parts if session.moment else [moment, *parts]
            edges = [
                edge for one in (moment, *parts) for edge in connections(one, _refs(session, one))
            ]
            edges += [part_of(part, moment) for part in parts]
            edges += [edge for before, after in pairwise(parts) for edge in _beside(before, after)]
            kept = {moment.id, *(part.id for part in parts)}
            writer.write([*made, *outgrown(store, session.resources, kept, told=False)], edges)
            writer.count(sessions=1, parts=len(parts), waiting=int(session.waiting))
            whole.append(moment)
            told.append((session, moment))
        if llm:
            from .llm import tell

            tell(store, writer, llm, told)
        done += len(some)
        if progress:
            progress(done, len(found))
    writer.write((), list(_timeline(store, whole)))


def connections(moment: Moment, resources: Sequence[Resource]) -> list[Edge]:
    """A moment's edges by label: to who was there, what it is told by, and what it is about. None
    to itself: a document of one chunk, its moment and what it is about may all bear one name."""
    return [
        edge
        for edge in _connections(moment, resources)
        if labels.key(edge.dst) != labels.key(moment.name)
    ]


def _connections(moment: Moment, resources: Sequence[Resource]) -> Iterator[Edge]:
    known = {labels.key(name) for name in moment.entity_refs}
    for person in moment.present_persons:
        about = {"dst_name": person.name, "dst_entity_type": "person"} | (
            {"role": person.role} if person.role else {}
        )
        yield Edge(
            src=moment.name, rel_type="attended_by", dst=person.name, weight=_OWNS, properties=about
        )
    for resource in resources:
        about = {"dst_name": resource.name, "dst_entity_type": f"resource/{resource.kind}"}
        yield Edge(
            src=moment.name, rel_type="includes", dst=resource.name, weight=_OWNS, properties=about
        )
    for topic in moment.topic_tags:
        if labels.key(topic) in known or moment.metadata.get(MADE_BY, RULES) != RULES:
            yield Edge(
                src=moment.name, rel_type="about", dst=topic, weight=_RELATES,
                properties={"dst_name": topic, "dst_entity_type": "concept/topic"},
            )  # fmt: skip


def outgrown(
    store: Store, resources: Sequence[Resource], kept: Collection[str], *, told: bool
) -> list[Moment]:
    """Moments made before of some of these resources (by a model if `told`, else by rules) that are
    not among the kept ones: a chat that grew is parted elsewhere. They keep id, name and edges, and
    leave the timeline."""
    if "includes" not in store.graph.edge_types():
        return []
    keys = list(dict.fromkeys(labels.key(resource.name) for resource in resources))
    edges = store.graph.edges(EdgeSpec(keys, direction="in", rel_types=["includes"]))
    found = store.records.lookup(list(dict.fromkeys(edge.src for edge in edges)), edges=0)
    ids = {resource.id for resource in resources}
    return [
        _retired(record)
        for records in found.values()
        for record in records
        if isinstance(record, Moment) and record.id not in kept and ids.intersection(record.resource_refs)
        and MADE_BY in record.metadata and SUPERSEDED not in record.metadata
        and (record.metadata[MADE_BY] != RULES) == told
    ]  # fmt: skip


def _retired(moment: Moment) -> Moment:
    times = {"starts_at": moment.starts_at, "ends_at": moment.ends_at}
    told = {**{name: at.isoformat() for name, at in times.items() if at}, "summary": moment.summary}
    return replace(
        moment, starts_at=None, ends_at=None, summary="", topic_tags=(), emotion_tags=(), classifications=(),
        metadata={**moment.metadata, SUPERSEDED: {name: value for name, value in told.items() if value}},
    )  # fmt: skip


def part_id(resources: Sequence[Resource]) -> str:
    """Of the part that begins with these: it stays as the session grows."""
    return identity("part", resources[0].id)


def part_of(moment: Moment, whole: Moment) -> Edge:
    """The edge to the moment that it is a part of."""
    about = {"dst_name": whole.name, "dst_entity_type": f"moment/{whole.type}"}
    return Edge(src=moment.name, rel_type="part_of", dst=whole.name, properties=about)


def _whole(store: Store, session: Session, background: describe.Background) -> Moment:
    """The moment of a session: as it was read, or as it is told by what no moment had."""
    if session.moment:
        return session.moment
    first = session.resources[0]
    at = happened(first)
    title = first.metadata.get("title")
    name = label(
        f"{title if isinstance(title, str) and title else first.name}, {at.date().isoformat()}"
    )
    return _told(
        store, session.resources, identity("session", first.id), name, "session", background
    )


def _parts(
    store: Store, session: Session, whole: Moment, background: describe.Background
) -> Iterator[Moment]:
    for number, (first, last) in enumerate(session.parts, 1):
        some = session.resources[first:last]
        part = _told(
            store, some, part_id(some), f"{whole.name}, part {number}", "topic", background,
            parent=whole, titled=True,
        )  # fmt: skip
        yield part


def _told(
    store: Store, resources: Sequence[Resource], id: str, name: str, kind: str, background: describe.Background, *,
    parent: Moment | None = None, titled: bool = False,
) -> Moment:  # fmt: skip
    """A moment by rules. One that is there for these resources stays as it is, and one that grew
    keeps its name."""
    stored = store.records.get("moments", id)
    refs = tuple(resource.id for resource in resources)
    if (
        isinstance(stored, Moment)
        and stored.resource_refs == refs
        and SUPERSEDED not in stored.metadata
    ):
        if stored.parent_moment == (parent.id if parent else ""):
            return stored
        return replace(stored, parent_moment=parent.id if parent else "")
    topics = describe.topics(resources, background)
    if isinstance(stored, Moment):
        name = stored.name
    elif titled and topics:
        name = f"{name}: {', '.join(topics[:2])}"
    times = [happened(resource) for resource in resources]
    metadata: dict[str, Any] = {MADE_BY: RULES}
    if uri := resources[0].uri:
        metadata["uri"] = uri
    return Moment(
        id=id,
        name=name,
        type="conversation" if kind == "session" and describe.people(resources) else kind,
        starts_at=min(times),
        ends_at=max([*times, *(resource.ends_at for resource in resources if resource.ends_at)]),
        present_persons=describe.people(resources),
        speakers=describe.speakers(resources),
        topic_tags=topics,
        classifications=tuple(
            dict.fromkeys(resource.category for resource in resources if resource.category)
        ),
        summary=describe.summary(resources, matrix(store, refs)),
        resource_refs=refs,
        entity_refs=describe.names(resources),
        parent_moment=parent.id if parent else "",
        metadata=metadata,
    )


def _refs(session: Session, moment: Moment) -> list[Resource]:
    ids = set(moment.resource_refs)
    return [resource for resource in session.resources if resource.id in ids]


def _timeline(store: Store, moments: Sequence[Moment]) -> Iterator[Edge]:
    """Edges `temporal_proximity` between each of these moments and the ones before and after it,
    both ways."""
    times = [at for moment in moments for at in (moment.starts_at, moment.ends_at) if at]
    if not times:
        return
    lowest = datetime.min.replace(tzinfo=UTC) + _NEXT
    highest = datetime.max.replace(tzinfo=UTC) - _NEXT
    first, last = max(min(times), lowest) - _NEXT, min(max(times), highest) + _NEXT
    wanted = {moment.id for moment in moments}
    beside = {
        moment.id: moment
        for moment in (*store.records.moments_between(first, last), *moments)
        if _is_whole(moment)
    }
    ordered = sorted(beside.values(), key=lambda moment: (moment.starts_at or lowest, moment.name))
    for before, after in pairwise(ordered):
        if {before.id, after.id} & wanted and labels.key(before.name) != labels.key(after.name):
            yield from _beside(before, after)


def _is_whole(moment: Moment) -> bool:
    return not moment.parent_moment and moment.starts_at is not None


def _beside(before: Moment, after: Moment) -> Iterator[Edge]:
    end, start = before.ends_at or before.starts_at, after.starts_at
    gap = max(0.0, (start - end).total_seconds()) if start and end else 0.0
    weight = round(_FAR + (_NEAR - _FAR) * 0.5 ** (gap / 86_400 / _HALF), 3)
    for src, dst in ((before, after), (after, before)):
        about = {
            "dst_name": dst.name,
            "dst_entity_type": f"moment/{dst.type}",
            "hours": round(gap / 3600, 1),
        }
        yield Edge(
            src=src.name,
            rel_type="temporal_proximity",
            dst=dst.name,
            weight=weight,
            properties=about,
        )
