"""What happened in a stretch of time: its moments, in order, each with what it refers to. Source:
seed 2."""

from __future__ import annotations

from ..model import Moment, Reason, RecallHit, Resource
from ..predicates import Predicate, Query
from ..query.duplicates import text_of
from ..store.contract import Store
from .time_expressions import Window

__all__ = ["timeline"]

_REFERENCES = 200  # of one moment that are looked at


def timeline(store: Store, window: Window, where: Predicate | None, limit: int) -> list[RecallHit]:
    """At most `limit` hits in time order: the latest moments of the window, and of each what says
    most.

    A moment stands for its parts. With a filter, or where no moments are, the resources of the
    window.
    """
    moments = _whole(_moments(store, window))[-limit:] if where is None else []
    if not moments:
        query = Query().filter(window.predicate(where)).order_by("starts_at").limit(limit)
        found = store.query("resources", query)
        return [
            _hit(record, window)
            for record in {text_of(record) or record.id: record for record in found}.values()
        ]
    room = (limit - len(moments)) // len(moments)
    hits: list[RecallHit] = []
    for moment in moments:
        hits.append(_hit(moment, window))
        hits += [_hit(resource, window) for resource in _most_said(store, moment, window, room)]
    return hits


def _moments(store: Store, window: Window) -> list[Moment]:
    """Those that overlap the window, each once, in order."""
    found = (moment for span in window.spans for moment in store.moments_between(*span))
    return list({moment.id: moment for moment in found}.values())


def _whole(moments: list[Moment]) -> list[Moment]:
    """Those that are no part of another one among them."""
    ids = {moment.id for moment in moments}
    return [moment for moment in moments if moment.parent_moment not in ids]


def _most_said(store: Store, moment: Moment, window: Window, count: int) -> list[Resource]:
    """The longest resources of a moment that are of the window, in order."""
    found = (store.get("resources", id) for id in moment.resource_refs[:_REFERENCES])
    inside = [
        r
        for r in found
        if isinstance(r, Resource) and (r.starts_at is None or r.starts_at in window)
    ]
    longest = sorted(inside, key=lambda resource: -len(resource.content))[:count]
    return [resource for resource in inside if resource in longest]


def _hit(record: Moment | Resource | object, window: Window) -> RecallHit:
    reason = Reason(part="time", share=1.0, note=f"in the time of {window.expression!r}")
    return RecallHit(record=record, score=1.0, reasons=(reason,))  # type: ignore[arg-type]
