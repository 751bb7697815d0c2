"""A timeline: the moments of a stretch of time, in order, each with what it refers to.

Source: seed 2.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from ..model import Hit, Moment, Reason, RecallHit, Record, Resource
from ..model.supersession import is_hidden
from ..predicates import And, Gte, Lt, Predicate, Query
from ..query.duplicates import merge_copies, search_distinct
from ..store.contract import Store
from ..store.results import Match
from .time_expressions import Window

_REFERENCES = 200  # of one moment that are looked at


def timeline(
    store: Store,
    window: Window,
    where: Predicate | None,
    limit: int,
    kept: Callable[[Sequence[Record]], Collection[str]],
) -> list[RecallHit]:
    """Make a list of at most `limit` hits in time order.

    They are the latest moments of the window, and of each what says most. A moment stands for its
    parts. With a filter, or where no moments are, they are the latest resources of the window, each
    text once.

    Args:
        kept: gives the ids of those of some records that may be hits.
    """
    every = _moments(store, window) if where is None else {}
    ids = kept([*every.values()])
    every = {id: moment for id, moment in every.items() if id in ids}
    # not the parts of a moment that is listed itself
    moments = [one for one in every.values() if one.parent_moment not in every][-limit:]
    if not moments:
        return _latest_resources(store, window, where, limit, kept)
    resources_each = (limit - len(moments)) // len(moments)
    hits: list[RecallHit] = []
    for moment in moments:
        hits.append(_hit(moment, window))
        hits += _longest_resources(store, moment, window, resources_each, kept)
    return hits


def nearest_days(store: Store, window: Window, where: Predicate | None) -> str:
    """Name the days before and after a time that nothing is of; empty if none has a resource."""
    start, end = window.span
    beyond = (Lt("starts_at", start), Gte("starts_at", end))
    queries = [Query().filter(And((one, where)) if where else one).limit(1) for one in beyond]
    last, first = queries[0].order_by("starts_at", "desc"), queries[1].order_by("starts_at")
    found = [one for query in (last, first) for one in store.records.query("resources", query)]
    days = [f"{one.starts_at.astimezone(window.zone):%Y-%m-%d}" for one in found]  # type: ignore[union-attr]
    return f"; the nearest is of {' and of '.join(days)}" if days else ""


def _latest_resources(
    store: Store,
    window: Window,
    where: Predicate | None,
    limit: int,
    kept: Callable[[Sequence[Record]], Collection[str]],
) -> list[RecallHit]:
    """The latest resources of the window, each text once, in order."""
    query = Query().filter(window.predicate(where)).order_by("starts_at", "desc")

    def fetch(count: int) -> list[Match]:
        matches: list[Match] = []
        skip = 0
        while len(matches) < count:
            records = store.records.query("resources", query.limit(count).offset(skip))
            shown = [record for record in records if not is_hidden(record)]
            ids = kept(shown)
            matches += [Match(record, 1.0) for record in shown if record.id in ids]
            skip += count
            if len(records) < count:
                break
        return matches[:count]

    def start(hit: Hit) -> datetime:
        return hit.record.starts_at  # type: ignore[union-attr, return-value]  # it has one

    # what is of one time stays in the order in which it was written
    latest = sorted(search_distinct(fetch, limit), key=start)
    return [_hit(hit.record, window, hit.copies) for hit in latest]


def _moments(store: Store, window: Window) -> dict[str, Moment]:
    overlapping = (
        moment for span in window.spans for moment in store.records.moments_between(*span)
    )
    return {moment.id: moment for moment in overlapping if not is_hidden(moment)}


def _longest_resources(
    store: Store,
    moment: Moment,
    window: Window,
    count: int,
    kept: Callable[[Sequence[Record]], Collection[str]],
) -> list[RecallHit]:
    """The longest resources of a moment that are of the window, each text once, in order."""
    inside: list[Resource] = []
    for id in moment.resource_refs[:_REFERENCES]:
        record = store.records.get("resources", id)
        if not isinstance(record, Resource) or is_hidden(record):
            continue
        if record.starts_at is None or record.starts_at in window:
            inside.append(record)
    ids = kept(inside)
    inside = [resource for resource in inside if resource.id in ids]
    distinct = merge_copies(Match(resource, 1.0) for resource in inside)
    lengths = {resource.id: len(resource.content) for resource in inside}
    longest = {hit.id for hit in sorted(distinct, key=lambda hit: -lengths[hit.id])[:count]}
    return [_hit(hit.record, window, hit.copies) for hit in distinct if hit.id in longest]


def _hit(record: Record, window: Window, copies: tuple[str, ...] = ()) -> RecallHit:
    reason = Reason(part="time", share=1.0, note=f"in the time of {window.expression!r}")
    return RecallHit(record=record, score=1.0, copies=copies, reasons=(reason,))
