"""Moments: stretches of time described by what happened in them (seed 5, "First-Order Dreaming").

Rules split time into sessions and these where the topic shifts; a model says what happened in each
session. Both link what they make by label.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ... import labels
from ...engine.arguments import Progress
from ...ingest.chats import people, speakers
from ...ingest.documents import identity, label
from ...model import Edge, Moment, Resource
from ...model.premises import premises_of
from ...model.supersession import SUPERSEDED
from ...runs.write_plan import WritePart
from ...runs.writer import Writer
from ...store.contract import Reads, Store
from ...text.analysis import term_set
from ..topics import Background, common_names, find_topics
from ..vectors import matrix
from .links import MADE_BY, RULES, connections, current_moments, part_id, part_of, retired
from .llm import describe_sessions
from .sessions import ResourceSession, find_sessions, happened_at, time_of

if TYPE_CHECKING:
    from ...llm import LLM
    from ..vectors import Floats

# a moment this long before or after is still looked for as its neighbour
_LOOK_AROUND = timedelta(days=31)
_CLOSE_WEIGHT, _FAR_WEIGHT = 0.9, 0.3  # weight of what happened at once, and of what lies far apart
_HALF_WAY = 7.0  # days after which it has fallen half of the way
_AT_ONCE = 16  # sessions whose calls are made together


class _SessionMoments(Struct, frozen=True):
    session: ResourceSession
    whole: Moment
    parts: list[Moment]

    @property
    def new(self) -> list[Moment]:
        """Those to write: what reading made of a whole stays as it is."""
        return self.parts if self.session.moment else [self.whole, *self.parts]

    @property
    def edges(self) -> list[Edge]:
        edges = []
        for moment in (self.whole, *self.parts):
            refs = set(moment.resource_refs)
            own = [resource for resource in self.session.resources if resource.id in refs]
            edges += connections(moment, own)
        edges += [part_of(part, self.whole) for part in self.parts]
        for before, after in pairwise(self.parts):
            edges += _proximity(before, after)
        return edges


def extract_moments(
    store: Store,
    writer: Writer,
    *,
    since: datetime | None,
    now: datetime,
    llm: LLM | None = None,
    progress: Progress | None = None,
) -> None:
    """Write the moments of what happened, or was remembered, since a time; of everything when None.

    Idempotent. A session at which a call of the model fails is tried again by the next run.

    Raises:
        BudgetError: the budget of the run is spent; what was described until then is written.
    """
    sessions = find_sessions(store, since=since, now=now)
    background = Background([one for session in sessions for one in session.resources])
    wholes: list[Moment] = []
    for start in range(0, len(sessions), _AT_ONCE):
        group = [
            _moments_of(store, session, background, with_parts=llm is None)
            for session in sessions[start : start + _AT_ONCE]
        ]
        # of a session that was forgotten in part meanwhile nothing is written
        group = [moments for moments in group if _write(store, writer, moments)]
        if llm:
            # the calls of the group are in flight at once
            described = [(moments.session, moments.whole) for moments in group]
            describe_sessions(store, writer, llm, described)
        wholes += [moments.whole for moments in group]
        if progress:
            progress(min(start + _AT_ONCE, len(sessions)), len(sessions))
    writer.write_each(_timeline(store, wholes))


def session_name(resources: Sequence[Resource]) -> str:
    first = resources[0]
    day = happened_at(first).date().isoformat()
    return label(f"{first.title or first.name}, {day}")


def _moments_of(
    store: Store,
    session: ResourceSession,
    background: Background,
    *,
    with_parts: bool,
) -> _SessionMoments:
    whole = session.moment
    if whole is None:
        whole = _describe(
            store,
            session.resources,
            background,
            id=identity("session", session.resources[0].id),
            name=session_name(session.resources),
            type="conversation" if people(session.resources) else "session",
        )
    parts = []
    spans = session.parts if with_parts else ()
    for number, (first, last) in enumerate(spans, 1):
        resources = session.resources[first:last]
        part = _describe(
            store,
            resources,
            background,
            id=part_id(resources),
            name=f"{whole.name}, part {number}",
            type="topic",
            parent=whole.id,
        )
        parts.append(part)
    return _SessionMoments(session, whole, parts)


def _write(store: Store, writer: Writer, moments: _SessionMoments) -> bool:
    """Write the moments of a session; returns whether all that they rest on is still there."""
    session = moments.session
    keep = {moments.whole.id, *(part.id for part in moments.parts)}
    former = current_moments(store, session.resources, by_model=False)
    outgrown = [retired(moment) for moment in former if moment.id not in keep]
    part = WritePart(
        [moments.whole.id, *(resource.id for resource in session.resources)],
        (*moments.new, *outgrown),
        tuple(moments.edges),
        counts={"sessions": 1, "parts": len(moments.parts), "waiting": int(session.waiting)},
    )
    return bool(writer.write_each([part]))


def _describe(
    store: Store,
    resources: Sequence[Resource],
    background: Background,
    *,
    id: str,
    name: str,
    type: str,
    parent: str = "",
) -> Moment:
    """A moment by rules. One stored for these resources stays, and one that grew keeps its name."""
    stored = store.records.get("moments", id)
    refs = tuple(resource.id for resource in resources)
    if isinstance(stored, Moment):
        is_same = stored.resource_refs == refs and SUPERSEDED not in stored.metadata
        if is_same and stored.premises in ({}, premises_of(resources)):
            return replace(stored, parent_moment=parent)
        name = stored.name
    topics = find_topics(resources, background)
    # parts of one session are distinguished by their topics
    if stored is None and parent and topics:
        name = f"{name}: {', '.join(topics[:2])}"
    metadata: dict[str, Any] = {MADE_BY: RULES}
    if resources[0].uri:
        metadata["uri"] = resources[0].uri
    moment = Moment(id=id, name=name, type=type, parent_moment=parent, metadata=metadata)
    return describe(store, moment, resources, topics)


def _timeline(store: Store, moments: Sequence[Moment]) -> Iterator[WritePart]:
    """Edges between each of these moments and the ones before and after it, both ways."""
    times = [at for moment in moments for at in (moment.starts_at, moment.ends_at) if at]
    if not times:
        return
    # no time before the first year or after the last
    lowest = datetime.min.replace(tzinfo=UTC) + _LOOK_AROUND
    highest = datetime.max.replace(tzinfo=UTC) - _LOOK_AROUND
    first = max(min(times), lowest) - _LOOK_AROUND
    last = min(max(times), highest) + _LOOK_AROUND
    own = {moment.id for moment in moments}
    neighbours = (*store.records.moments_between(first, last), *moments)
    wholes = {one.id: one for one in neighbours if one.starts_at and not one.parent_moment}
    ordered = sorted(wholes.values(), key=lambda moment: (moment.starts_at or lowest, moment.name))
    for before, after in pairwise(ordered):
        if own.isdisjoint((before.id, after.id)):
            continue
        if labels.key(before.name) != labels.key(after.name):
            yield WritePart((before.id, after.id), edges=tuple(_proximity(before, after)))


def _proximity(before: Moment, after: Moment) -> Iterator[Edge]:
    """The edges between two moments in a row: the less time between them, the more they weigh."""
    end, start = before.ends_at or before.starts_at, after.starts_at
    gap = max(0.0, (start - end).total_seconds()) if start and end else 0.0
    days = gap / 86_400
    weight = round(_FAR_WEIGHT + (_CLOSE_WEIGHT - _FAR_WEIGHT) * 0.5 ** (days / _HALF_WAY), 3)
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


_QUOTED = 2  # of the most central texts make the summary
_QUOTED_CHARACTERS = 200  # of each of them
_FULL_WEIGHT = 6  # terms from which a text is long enough to count in full


def describe(
    reads: Reads, moment: Moment, resources: Sequence[Resource], topics: tuple[str, ...]
) -> Moment:
    """A moment with all that follows from these resources and topics without a model."""
    starts_at, ends_at = time_of(resources)
    ids = tuple(resource.id for resource in resources)
    categories = dict.fromkeys(resource.category for resource in resources if resource.category)
    return replace(
        moment,
        starts_at=starts_at,
        ends_at=ends_at,
        present_persons=people(resources),
        speakers=speakers(resources),
        topic_tags=topics,
        classifications=tuple(categories),
        summary=_summarize(resources, matrix(reads, ids)),
        resource_refs=ids,
        entity_refs=common_names(resources),
        premises=premises_of(resources),
    )


def _summarize(resources: Sequence[Resource], vectors: Floats) -> str:
    """The texts nearest to what all are about, quoted in their order."""
    import numpy as np

    sizes = [len(term_set(resource.content)) for resource in resources]
    nearness = vectors @ vectors.mean(axis=0)
    weights = [
        float(score) * min(1.0, size / _FULL_WEIGHT)
        for score, size in zip(nearness, sizes, strict=True)
    ]
    if not np.any(weights):
        # none has a vector yet
        weights = [float(size) for size in sizes]
    ranked = sorted(range(len(resources)), key=lambda position: (-weights[position], position))
    return " … ".join(_quote(resources[position]) for position in sorted(ranked[:_QUOTED]))


def _quote(resource: Resource) -> str:
    text = " ".join(resource.content.split())
    if len(text) > _QUOTED_CHARACTERS:
        text = text[:_QUOTED_CHARACTERS].rpartition(" ")[0] + " …"
    speaker = resource.speaker.strip()
    return f"{speaker}: “{text}”" if speaker else f"“{text}”"
