"""Consolidation: insights that say the same become one, and similar ones get a summary (seed 1,
"Future Optimizations"). Only what was derived is ever superseded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from .. import labels
from ..engine.arguments import Progress
from ..errors import MissingExtraError
from ..llm import LLM, Call
from ..model import Edge, Resource
from ..model.premises import premises_of
from ..model.supersession import SUPERSEDED
from ..predicates import Exists, Query
from ..runs.failures import failed_item_key
from ..runs.supersede import SAID, STALE, unhidden
from ..runs.write_plan import WritePart
from ..runs.writer import Writer
from ..store.contract import Store
from ..store.premises import find_stale
from .context import Theme, ask_each, fresh, quote_resource, years_of
from .synthesis import derived_id, in_place_of
from .topics import Background, find_topics
from .vectors import matrix, typical_cosine

if TYPE_CHECKING:
    from .vectors import Floats

_SAME = 0.95  # cosine above which two insights say the same (seed 1)
_RUN_KIND = "consolidate"
SUMMARY = "summary"  # kind of resource
_SUMMARIZES = "summarizes"  # edge from a summary to what it sums up
_LEAST = 3  # insights of a cluster
_MOST = 8_000  # insights clustered at once: the distances of all pairs take 250 MB
# standard deviations above the mean cosine of two insights, from which a cluster holds together
_CLOSE = 2.0
_LEVELS = 4  # of summaries of summaries, at most
_QUOTED = 24  # insights of a cluster that a summary is made of, those nearest to its centre
_NAME = 180  # characters of a summary's name


class _Cluster(Struct, frozen=True):
    """Insights that are close to each other, the nearest to their centre first."""

    members: tuple[Resource, ...]
    topics: tuple[str, ...]

    @property
    def ids(self) -> list[str]:
        return [record.id for record in self.members]

    @property
    def quoted(self) -> tuple[Resource, ...]:
        return self.members[:_QUOTED]


def consolidate(
    store: Store,
    writer: Writer,
    *,
    tenant: str,
    llm: LLM | None,
    min_score: float,
    progress: Progress | None,
) -> list[Theme]:
    """Supersede insights that say what an older one says, then sum up those that are close.

    Summaries are summed up in turn, level by level. Without a model nothing is summed up. With the
    same insights it is idempotent: nothing is written and the model is not asked.

    Returns: what belongs together at the first level.

    Raises:
        MissingExtraError: the extra `consolidate` is not installed.
        BudgetError: the run's budget is spent; what was summed up until then is written.
    """
    writer.write_each(WritePart((one.id,), (one,)) for one in restored_duplicates(store))
    insights = fresh(store, current_insights(store))
    duplicates = _find_duplicates(store, insights, min_score)
    # each in a transaction of its own: an interrupted run goes on with the rest
    for old, new in duplicates.items():
        writer.write_each([WritePart((), superseded={old: new})])
    writer.count(insights=len(insights), duplicates=len(duplicates))
    level = [
        record for record in insights if record.id not in duplicates and record.kind != SUMMARY
    ]
    first_level: list[_Cluster] = []
    for number in range(_LEVELS):
        clusters = _find_clusters(store, level)
        first_level = first_level or clusters
        writer.count(clusters=len(clusters))
        if not llm or not clusters:
            break
        ids = _sum_up(store, writer, tenant, llm, clusters, progress)
        # the summaries of the last level are not summed up
        summaries = (
            [store.records.get("resources", id) for id in ids] if number + 1 < _LEVELS else []
        )
        level = [record for record in summaries if isinstance(record, Resource)]
    return [
        Theme(topics=cluster.topics, insights=tuple(record.name for record in cluster.members))
        for cluster in first_level
    ]


def current_insights(store: Store) -> list[Resource]:
    """What was derived and not superseded, by generation, then age."""
    insights = [
        record
        for record in store.records.all("resources")
        if isinstance(record, Resource)
        and record.generation
        and record.content
        and SUPERSEDED not in record.metadata
    ]
    return sorted(insights, key=lambda record: (record.generation, record.created_at, record.id))


def restored_duplicates(store: Store) -> list[Resource]:
    """What was hidden because another insight said the same, where that one is stale or says
    something else by now: as it was before."""
    of_duplicates = Query().filter(Exists(f"metadata.{SUPERSEDED}.{SAID}"))
    hidden = [
        (record, superseded)
        for record in store.records.query("resources", of_duplicates)
        if isinstance(record, Resource)
        and isinstance(superseded := record.metadata.get(SUPERSEDED), dict)
        and SAID in superseded
    ]
    by_id = {superseded["by"]: None for _, superseded in hidden}
    stale = find_stale(store.records, by_id)
    restored = []
    for record, superseded in hidden:
        by = store.records.get("resources", superseded["by"])
        if not isinstance(by, Resource) or (by.id not in stale and _stands(by, superseded[SAID])):
            continue
        if by.kind != SUMMARY or not _is_part(store, record, by):
            restored.append(unhidden(store, record))
    return restored


def _stands(by: Resource, said: str) -> bool:
    superseded = by.metadata.get(SUPERSEDED)
    is_retired = isinstance(superseded, dict) and superseded.get("reason") == STALE
    return not is_retired and premises_of([by])[by.id] == said


def _is_part(store: Store, summary: Resource, other: Resource) -> bool:
    return set(store.records.parents(summary.id)) < set(store.records.parents(other.id))


def _find_duplicates(store: Store, records: Sequence[Resource], min_score: float) -> dict[str, str]:
    """Ids of insights that say what an earlier one of the same entity says, each with that one's
    id."""
    import numpy as np

    vectors = matrix(store, [record.id for record in records])
    by_entity: dict[str, list[int]] = {}
    for position, record in enumerate(records):
        if vectors[position].any():
            by_entity.setdefault(_entity_key(record), []).append(position)
    duplicates: dict[str, str] = {}
    for positions in by_entity.values():
        own = vectors[positions]
        kept = np.ones(len(own), bool)
        for row in range(1, len(own)):
            # a duplicate stands for nothing itself
            scores = np.where(kept[:row], own[:row] @ own[row], -1.0)
            best = int(np.argmax(scores))
            if scores[best] > min_score:
                kept[row] = False
                duplicates[records[positions[row]].id] = records[positions[best]].id
    return duplicates


def _find_clusters(store: Store, records: Sequence[Resource]) -> list[_Cluster]:
    """_Cluster insights by average linkage over cosine distances; the largest clusters first.

    Raises:
        MissingExtraError: the extra `consolidate` is not installed.
    """
    import numpy as np

    latest = list(records)[-_MOST:]
    vectors = matrix(store, [record.id for record in latest])
    embedded = np.flatnonzero(vectors.any(axis=1))
    latest = [latest[position] for position in embedded]
    vectors = vectors[embedded]
    if len(latest) < _LEAST:
        return []
    try:
        from scipy.cluster.hierarchy import fcluster, linkage
    except ImportError as error:
        raise MissingExtraError("clustering", "consolidate") from error

    # of two resources, whether read or derived
    ids = [record.id for record in islice(store.records.all("resources"), _MOST)]
    model, _ = store.vectors.model() or ("", 0)
    mean, deviation = typical_cosine(matrix(store, ids), model)
    distance = 1 - min(_SAME, mean + _CLOSE * deviation)
    tree = linkage(vectors, method="average", metric="cosine")
    numbers = fcluster(tree, t=distance, criterion="distance")
    background = Background(latest)
    clusters = []
    for number in np.unique(numbers):
        positions = np.flatnonzero(numbers == number)
        if len(positions) >= _LEAST:
            own = [latest[position] for position in positions]
            members = _from_centre(own, vectors[positions])
            clusters.append(_Cluster(members, find_topics(members, background)))
    return sorted(clusters, key=lambda cluster: (-len(cluster.members), cluster.members[0].id))


def _from_centre(records: Sequence[Resource], vectors: Floats) -> tuple[Resource, ...]:
    nearness = vectors @ vectors.mean(axis=0)
    ranked = sorted(
        zip(nearness.tolist(), records, strict=True), key=lambda pair: (-pair[0], pair[1].id)
    )
    return tuple(record for _, record in ranked)


def _entity_key(record: Resource) -> str:
    name = record.metadata.get("entity")
    return labels.key(name) if isinstance(name, str) and name.strip() else ""


def _sum_up(
    store: Store,
    writer: Writer,
    tenant: str,
    llm: LLM,
    clusters: Sequence[_Cluster],
    progress: Progress | None,
) -> list[str]:
    """Write a summary for each cluster that has none; returns the ids of all summaries."""
    ids: list[str] = []
    waiting: dict[str, _Cluster] = {}
    for cluster in clusters:
        id = derived_id(tenant, SUMMARY, *sorted(cluster.ids))
        known = _stored(store, cluster)
        ids.append(known.id if known else id)
        if known is None:
            waiting[id] = cluster
    calls = {id: _call(cluster) for id, cluster in waiting.items()}
    rests_on = {id: tuple(cluster.ids) for id, cluster in waiting.items()}
    for id, reply in ask_each(store, writer, llm, calls, rests_on, progress):
        cluster = waiting[id]
        summary = _summary(store, id, cluster, str(reply))
        former = [one for one in _summaries_of(store, cluster) if _are_same(store, one, cluster)]
        summary, outdated = in_place_of(tenant, summary, former)
        ids[ids.index(id)] = summary.id
        part = WritePart(
            cluster.ids,
            (summary,),
            tuple(edges_of(summary, cluster.members)),
            deleted=(failed_item_key(_RUN_KIND, id),),
            superseded=dict(_outgrown(store, summary, cluster)),
            outdated=outdated,
            counts={"summaries": 1},
        )
        writer.write_each([part])
    return ids


def _stored(store: Store, cluster: _Cluster) -> Resource | None:
    """The summary of these insights as they are; of one from before, of these insights."""
    premises = premises_of(cluster.quoted)
    for one in _summaries_of(store, cluster):
        if one.content and _are_same(store, one, cluster) and one.premises in ({}, premises):
            return one
    return None


def _call(cluster: _Cluster) -> Call:
    return Call(
        "summary",
        {"passages": [quote_resource(record) for record in cluster.quoted]},
        subjects=tuple(record.id for record in cluster.quoted),
    )


def _summary(store: Store, id: str, cluster: _Cluster, text: str) -> Resource:
    members = cluster.members
    times = [record.starts_at for record in members if record.starts_at]
    entities = dict.fromkeys(name for record in members for name in record.related_entities)
    metadata: dict[str, Any] = {"years": years_of(members), "topics": list(cluster.topics)}
    return Resource(
        id=id,
        name=_summary_name(store, id, cluster),
        content=text.strip(),
        category="insight",
        kind=SUMMARY,
        trust="derived",
        generation=1 + max(record.generation for record in members),
        parents=tuple(cluster.ids),
        premises=premises_of(cluster.quoted),
        starts_at=max(times, default=None),
        related_entities=tuple(entities),
        metadata=metadata,
    )


def _summary_name(store: Store, id: str, cluster: _Cluster) -> str:
    name = f"Summary: {', '.join(cluster.topics[:3]) or cluster.members[0].name}"[:_NAME]
    key = labels.key(name)
    return f"{name} ({id[:8]})" if store.records.lookup([key], edges=0)[key] else name


def cluster_of(store: Store, summary: Resource, members: Sequence[Resource]) -> _Cluster | None:
    """What a summary would sum up now; None: too little is left."""
    if len(members) < _LEAST:
        return None
    ordered = _from_centre(members, matrix(store, [one.id for one in members]))
    return _Cluster(ordered, tuple(summary.metadata.get("topics", ())))


def sum_up_again(ask: Callable[[Call], str], summary: Resource, cluster: _Cluster) -> Resource:
    """A summary of these insights in the place of an older one."""
    members = cluster.members
    return replace(
        summary,
        content=ask(_call(cluster)).strip(),
        generation=1 + max(one.generation for one in members),
        parents=tuple(cluster.ids),
        premises=premises_of(cluster.quoted),
        starts_at=max((one.starts_at for one in members if one.starts_at), default=None),
        metadata={**summary.metadata, "years": years_of(members)},
    )


def edges_of(summary: Resource, members: Iterable[Resource]) -> Iterator[Edge]:
    """The edges from a summary to what it sums up."""
    for record in members:
        about = {"dst_name": record.name, "dst_entity_type": f"resource/{record.kind}"}
        yield Edge(src=summary.name, rel_type=_SUMMARIZES, dst=record.name, properties=about)


def _summaries_of(store: Store, cluster: _Cluster) -> Iterator[Resource]:
    """The summaries, hidden or not, of some of the insights of a cluster and of no others."""
    members = set(cluster.ids)
    children = [child for member in cluster.ids for child in store.records.children(member)]
    for id in dict.fromkeys(children):
        record = store.records.get("resources", id)
        is_summary = isinstance(record, Resource) and record.kind == SUMMARY
        if is_summary and set(store.records.parents(id)) <= members:
            yield record  # type: ignore[misc]


def _are_same(store: Store, summary: Resource, cluster: _Cluster) -> bool:
    return set(store.records.parents(summary.id)) == set(cluster.ids)


def _outgrown(store: Store, summary: Resource, cluster: _Cluster) -> Iterator[tuple[str, str]]:
    """Ids of older summaries of a part of the same insights, each with the new one's id."""
    for older in _summaries_of(store, cluster):
        if older.content and not _are_same(store, older, cluster):
            yield older.id, summary.id
