"""A timeline: the moments of a stretch of time, in order, each with what it refers to.

Source: seed 2.
"""

from __future__ import annotations

from ..model import Moment, Reason, RecallHit, Resource
from ..predicates import Predicate, Query
from ..query.duplicates import text_of
from ..store.contract import Store
from .time_expressions import Window

__all__ = ["timeline"]

_REFERENCES = 200  # of one moment that are looked at


def timeline(store: Store, window: Window, where: Predicate | None, limit: int) -> list[RecallHit]:
    """Make a list of at most `limit` hits in time order.

    They are the latest moments of the window, and of each what says most. A moment stands for its
    parts. With a filter, or where no moments are, they are the resources of the window.
    """
    moments = _outermost(_moments(store, window))[-limit:] if where is None else []
    if not moments:
        query = Query().filter(window.predicate(where)).order_by("starts_at").limit(limit)
        records = store.records.query("resources", query)
        by_text = {text_of(record) or record.id: record for record in records}
        return [_hit(record, window) for record in by_text.values()]
    resources_each = (limit - len(moments)) // len(moments)
    hits: list[RecallHit] = []
    for moment in moments:
        hits.append(_hit(moment, window))
        longest = _longest_resources(store, moment, window, resources_each)
        hits += [_hit(resource, window) for resource in longest]
    return hits


def _moments(store: Store, window: Window) -> list[Moment]:
    """The moments that overlap the window, each once, in order."""
    overlapping = (
        moment for span in window.spans for moment in store.records.moments_between(*span)
    )
    return list({moment.id: moment for moment in overlapping}.values())


def _outermost(moments: list[Moment]) -> list[Moment]:
    """Those that are not part of another one among them."""
    ids = {moment.id for moment in moments}
    return [moment for moment in moments if moment.parent_moment not in ids]


def _longest_resources(store: Store, moment: Moment, window: Window, count: int) -> list[Resource]:
    """The longest resources of a moment that are of the window, in order."""
    inside: list[Resource] = []
    for id in moment.resource_refs[:_REFERENCES]:
        record = store.records.get("resources", id)
        if not isinstance(record, Resource):
            continue
        if record.starts_at is None or record.starts_at in window:
            inside.append(record)
    longest = sorted(inside, key=lambda resource: -len(resource.content))[:count]
    return [resource for resource in inside if resource in longest]


def _hit(record: Moment | Resource | object, window: Window) -> RecallHit:
    reason = Reason(part="time", share=1.0, note=f"in the time of {window.expression!r}")
    return RecallHit(record=record, score=1.0, reasons=(reason,))  # type: ignore[arg-type]
