"""Sessions by silence, and their parts by shifts of topic.

Parts are cut by TextTiling (Hearst, 1997) over the vectors there are: where what follows is least
like what came before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from ...model import SESSION_GAP, Moment, Record, Resource
from ...predicates import Gte, Query
from ...store.contract import Store
from ..context import is_since
from ..vectors import matrix, typical_cosine
from .links import MADE_BY

if TYPE_CHECKING:
    from ..vectors import Floats

_BEFORE = timedelta(days=1)  # looked at before the window, for a session that reaches into it
_COMPARED = 4  # turns on either side that are compared
_SHIFT = 2.3  # standard deviations by which similarity falls where the topic shifts
_LEAST = 4  # turns of a part
_AT_ONCE = 500  # resources whose moments are looked up together


class ResourceSession(Struct, frozen=True, kw_only=True):
    """Resources that belong together in time, in order."""

    resources: tuple[Resource, ...]
    moment: Moment | None = None  # as it was read or written; None: there is none yet
    # first and one after the last of each; none: it is of one piece
    parts: tuple[tuple[int, int], ...] = ()
    waiting: bool = False  # for vectors: where its topic shifts is not known yet


def happened_at(resource: Resource) -> datetime:
    """When a resource is of: its own time, or else when it was remembered."""
    return resource.starts_at or resource.created_at or datetime.fromtimestamp(0, UTC)


def time_of(resources: Sequence[Resource]) -> tuple[datetime, datetime]:
    """From when to when resources are."""
    times = [happened_at(resource) for resource in resources]
    return min(times), max([*times, *(one.ends_at for one in resources if one.ends_at)])


def find_sessions(store: Store, *, since: datetime | None, now: datetime) -> list[ResourceSession]:
    """The sessions with something in them that happened, or was remembered, since a time.

    Those are the moments as they were read (sessions of chats, dated documents), and what no moment
    refers to, split by `SESSION_GAP` of silence. In time order; all of them when `since` is None.
    """
    recent = _recent_resources(store, None if since is None else since - _BEFORE)
    if not recent:
        return []
    moments = _read_moments(store, recent)
    sessions = []
    by_id = {resource.id: resource for resource in recent}
    for moment in moments:
        known = [by_id[id] for id in moment.resource_refs if id in by_id]
        if any(is_since(resource, since) for resource in known):
            sessions.append(_session(store, _members(store, moment, by_id), moment, now))
    covered = {id for moment in moments for id in moment.resource_refs}
    loose = [resource for resource in recent if resource.id not in covered]
    loose.sort(key=lambda resource: (happened_at(resource), resource.uri, resource.ordinal))
    sessions += [
        _session(store, stretch, None, now)
        for stretch in _part_by_silence(loose)
        if any(is_since(resource, since) for resource in stretch)
    ]
    return sorted(sessions, key=lambda session: happened_at(session.resources[0]))


def _recent_resources(store: Store, since: datetime | None) -> list[Resource]:
    """What was read, not derived, since a time; what has no text is not a part of what went on."""
    records: Iterable[Record]
    if since is None:
        records = store.records.all("resources")
    else:
        # two queries, as each has an index
        created = store.records.query("resources", Query(Gte("created_at", since)))
        started = store.records.query("resources", Query(Gte("starts_at", since)))
        records = {record.id: record for record in (*created, *started)}.values()
    resources = [record for record in records if isinstance(record, Resource)]
    return [resource for resource in resources if resource.content and not resource.generation]


def _read_moments(store: Store, resources: Sequence[Resource]) -> list[Moment]:
    """The dated moments that reading made of some of these, in order of their start."""
    moments: dict[str, Moment] = {}
    for start in range(0, len(resources), _AT_ONCE):
        ids = [resource.id for resource in resources[start : start + _AT_ONCE]]
        for moment in store.records.referring(ids):
            if MADE_BY not in moment.metadata:
                moments[moment.id] = moment
    dated = [(moment.starts_at, moment.id) for moment in moments.values() if moment.starts_at]
    return [moments[id] for _, id in sorted(dated)]


def _members(store: Store, moment: Moment, known: dict[str, Resource]) -> list[Resource]:
    records = [known.get(id) or store.records.get("resources", id) for id in moment.resource_refs]
    return [record for record in records if isinstance(record, Resource)]


def _part_by_silence(resources: Sequence[Resource]) -> list[list[Resource]]:
    stretches: list[list[Resource]] = [list(resources[:1])] if resources else []
    for before, resource in pairwise(resources):
        if happened_at(resource) - happened_at(before) > SESSION_GAP:
            stretches.append([])
        stretches[-1].append(resource)
    return stretches


def _session(
    store: Store,
    resources: Sequence[Resource],
    moment: Moment | None,
    now: datetime,
) -> ResourceSession:
    whole = tuple(resources)
    if moment is not None and not _are_turns(whole):
        return ResourceSession(resources=whole, moment=moment)
    last = max(happened_at(resource) for resource in whole)
    # where its topic shifts is looked for once it can no longer go on
    is_open = moment is None and now - last <= SESSION_GAP
    if is_open or len(whole) < 2 * _LEAST:
        return ResourceSession(resources=whole, moment=moment)
    vectors = matrix(store, [resource.id for resource in whole])
    model = store.vectors.model()
    if model is None or not vectors.any(axis=1).all():
        return ResourceSession(resources=whole, moment=moment, waiting=model is not None)
    return ResourceSession(resources=whole, moment=moment, parts=_parts(vectors, model[0]))


def _are_turns(resources: Sequence[Resource]) -> bool:
    """Whether these are of people or of different times; the chunks of one document are neither."""
    if any(resource.speaker for resource in resources):
        return True
    return len({resource.starts_at for resource in resources}) > 1


def _parts(vectors: Floats, model: str) -> tuple[tuple[int, int], ...]:
    """Parts of at least `_LEAST` turns, cut where the topic shifts most first."""
    size = len(vectors)
    depths = _depths(_similarities(vectors))
    least = _SHIFT * typical_cosine(vectors, model)[1]
    cuts = [0, size]
    for position in sorted(range(1, size), key=lambda position: (-depths[position], position)):
        if depths[position] < least:
            break
        if all(abs(position - cut) >= _LEAST for cut in cuts):
            cuts.append(position)
    return tuple(pairwise(sorted(cuts))) if len(cuts) > 2 else ()


def _similarities(vectors: Floats) -> list[float]:
    """How alike the turns before and after each position are, as a cosine."""
    import numpy as np

    similarities = [1.0]
    for position in range(1, len(vectors)):
        before = vectors[max(0, position - _COMPARED) : position].mean(axis=0)
        after = vectors[position : position + _COMPARED].mean(axis=0)
        lengths = np.linalg.norm(before) * np.linalg.norm(after)
        similarities.append(float(before @ after / (lengths or 1.0)))
    return similarities


def _depths(similarities: Sequence[float]) -> list[float]:
    """How deep each position lies below the peaks on both sides of it."""
    depths = [0.0] * len(similarities)
    for position in range(1, len(similarities)):
        left = right = position
        # uphill on both sides
        while left > 1 and similarities[left - 1] >= similarities[left]:
            left -= 1
        while right + 1 < len(similarities) and similarities[right + 1] >= similarities[right]:
            right += 1
        depths[position] = similarities[left] + similarities[right] - 2 * similarities[position]
    return depths
