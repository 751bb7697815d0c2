"""When something was going on: sessions by silence, and their parts by shifts of topic.

Source: DESIGN section 7, "moments by session and time". The parting is TextTiling (Hearst, 1997)
over the vectors there are: where what follows is least like what came before, a new part begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from ...model import SESSION_GAP, Moment, Record, Resource
from ...predicates import Gte, Query
from ...store.contract import Store
from ..vectors import matrix, typical

if TYPE_CHECKING:
    from ..vectors import Floats

__all__ = ["MADE_BY", "Session", "happened", "sessions"]

MADE_BY = "made_by"  # in the metadata of a moment that dreaming made: "rules", or the model
_BEFORE = timedelta(days=1)  # looked at before the window, for a session that reaches into it
_BESIDE = 4  # turns on either side that are compared
_SHIFT = 2.3  # standard deviations by which similarity falls where the topic shifts
_LEAST = 4  # turns of a part
_AT_ONCE = 500  # resources whose moments are looked up together


class Session(Struct, frozen=True, kw_only=True):
    """Resources that belong together in time, in order."""

    resources: tuple[Resource, ...]
    moment: Moment | None = None  # as it was read or written; None: there is none yet
    # first and one after the last of each; none: it is of one piece
    parts: tuple[tuple[int, int], ...] = ()
    open: bool = False  # it may still go on
    waiting: bool = False  # for vectors: where its topic shifts is not known yet


def happened(resource: Resource) -> datetime:
    """When a resource is of: its own time, or else when it was remembered."""
    return resource.starts_at or resource.created_at or datetime.fromtimestamp(0, UTC)


def sessions(store: Store, *, since: datetime | None, now: datetime) -> list[Session]:
    """The sessions with something in them that happened, or was remembered, since then; all when
    None. In time order.

    Those are the moments as they were read (sessions of chats, dated documents), and what no moment
    refers to, parted by `SESSION_GAP` of silence.
    """
    recent = _recent(store, None if since is None else since - _BEFORE)
    if not recent:
        return []
    moments = _moments(store, recent)
    covered = {id for moment in moments for id in moment.resource_refs}
    known = {resource.id: resource for resource in recent}
    found = []
    for moment in moments:
        if any(_within(known.get(id), since) for id in moment.resource_refs):
            whole = (
                known.get(id) or store.records.get("resources", id) for id in moment.resource_refs
            )
            found.append(
                _session(store, [one for one in whole if isinstance(one, Resource)], moment, now)
            )
    rest = sorted(
        (resource for resource in recent if resource.id not in covered),
        key=lambda resource: (happened(resource), resource.uri, resource.ordinal),
    )
    found += [
        _session(store, run, None, now)
        for run in _runs(rest)
        if any(_within(resource, since) for resource in run)
    ]
    return sorted(found, key=lambda session: happened(session.resources[0]))


def _recent(store: Store, since: datetime | None) -> list[Resource]:
    read: Iterable[Record]
    if since is None:
        read = store.records.all("resources")
    else:  # each by its own index
        found = [
            store.records.query("resources", Query(Gte(field, since)))
            for field in ("created_at", "starts_at")
        ]
        read = {record.id: record for record in chain(*found)}.values()
    return [record for record in read if isinstance(record, Resource) and not record.generation]


def _within(resource: Resource | None, since: datetime | None) -> bool:
    if resource is None:
        return False
    return since is None or any(
        at is not None and at >= since for at in (resource.starts_at, resource.created_at)
    )


def _moments(store: Store, resources: Sequence[Resource]) -> list[Moment]:
    """The moments with a time that were not made by dreaming and refer to some of these, in order
    of their start."""
    found: dict[str, Moment] = {}
    for low in range(0, len(resources), _AT_ONCE):
        some = store.records.referring(
            [resource.id for resource in resources[low : low + _AT_ONCE]]
        )
        found |= {moment.id: moment for moment in some if MADE_BY not in moment.metadata}
    timed = [(moment.starts_at, moment.id) for moment in found.values() if moment.starts_at]
    return [found[id] for _, id in sorted(timed)]


def _runs(resources: Sequence[Resource]) -> list[list[Resource]]:
    runs: list[list[Resource]] = [list(resources[:1])] if resources else []
    for before, resource in pairwise(resources):
        if happened(resource) - happened(before) > SESSION_GAP:
            runs.append([])
        runs[-1].append(resource)
    return runs


def _session(
    store: Store, resources: Sequence[Resource], moment: Moment | None, now: datetime
) -> Session:
    whole = tuple(resources)
    if moment is not None and not _turns(whole):
        return Session(resources=whole, moment=moment)
    going_on = moment is None and now - max(map(happened, whole)) <= SESSION_GAP
    if going_on or len(whole) < 2 * _LEAST:
        return Session(resources=whole, moment=moment, open=going_on)
    vectors = matrix(store, [resource.id for resource in whole])
    stored = store.vectors.model()
    if stored is None or not vectors.any(axis=1).all():
        return Session(resources=whole, moment=moment, waiting=stored is not None)
    return Session(resources=whole, moment=moment, parts=_parts(vectors, stored[0]))


def _turns(resources: Sequence[Resource]) -> bool:
    """Whether these are of different times or people: the chunks of one document are not parted by
    topic."""
    return any(resource.metadata.get("speaker") for resource in resources) or (
        len({resource.starts_at for resource in resources}) > 1
    )


def _parts(vectors: Floats, model: str) -> tuple[tuple[int, int], ...]:
    """Parts of at least `_LEAST` turns, cut where the topic shifts most first."""
    size = len(vectors)
    depths = _depths(_similarities(vectors))
    least = _SHIFT * typical(vectors, model)[1]
    cuts = [0, size]
    for place in sorted(range(1, size), key=lambda place: (-depths[place], place)):
        if depths[place] < least:
            break
        if all(abs(place - cut) >= _LEAST for cut in cuts):
            cuts.append(place)
    return tuple(pairwise(sorted(cuts))) if len(cuts) > 2 else ()


def _similarities(vectors: Floats) -> list[float]:
    """How alike the turns before and after each place are."""
    import numpy as np

    found = [1.0]
    for place in range(1, len(vectors)):
        before, after = (
            side.mean(axis=0)
            for side in (vectors[max(0, place - _BESIDE) : place], vectors[place : place + _BESIDE])
        )
        found.append(
            float(before @ after / ((np.linalg.norm(before) * np.linalg.norm(after)) or 1.0))
        )
    return found


def _depths(similarities: Sequence[float]) -> list[float]:
    """How deep each place lies below the peaks on both sides of it."""
    depths = [0.0] * len(similarities)
    for place in range(1, len(similarities)):
        left = right = place
        while left > 1 and similarities[left - 1] >= similarities[left]:
            left -= 1
        while right + 1 < len(similarities) and similarities[right + 1] >= similarities[right]:
            right += 1
        depths[place] = similarities[left] + similarities[right] - 2 * similarities[place]
    return depths
