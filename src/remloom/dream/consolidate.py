"""Consolidation: insights that say the same become one, and those that are close get a summary.

Source: seed 1, "Future Optimizations": pruning at a cosine above 0.95, hierarchical clustering.
Only what was derived is ever superseded; what was read stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from .. import labels
from ..errors import BudgetError, MissingExtraError, ModelError
from ..llm import LLM, Call
from ..model import Edge, Resource
from ..runs.failures import failed_item_entry, failed_item_key
from ..runs.supersede import SUPERSEDED
from ..runs.writer import Writer
from ..store.contract import Store
from .context import quote_resource, years_of
from .moments.describe import Background, topics
from .synthesis import derived_id
from .vectors import matrix, typical

if TYPE_CHECKING:
    from .vectors import Floats

__all__ = ["SAME", "Cluster", "clusters", "consolidate", "duplicates", "insights"]

SAME = 0.95  # cosine above which two insights say the same (seed 1)
KIND = "consolidate"  # of run
SUMMARY = "summary"  # kind of resource
SUMMARIZES = "summarizes"  # edge from a summary to what it sums up
LEAST = 3  # insights of a cluster
MOST = 8_000  # insights clustered at once: the distances of all pairs take 250 MB
# standard deviations above the mean cosine of two insights, from which a cluster holds together
_CLOSE = 2.0
_LEVELS = 4  # of summaries of summaries, at most
_QUOTED = 24  # insights of a cluster that a summary is made of, those nearest to its centre

Progress = Callable[[int, int], None]


class Cluster(Struct, frozen=True):
    """Insights that are close to each other, the nearest to their centre first."""

    members: tuple[Resource, ...]
    topics: tuple[str, ...]


def consolidate(
    store: Store,
    writer: Writer,
    *,
    tenant: str,
    llm: LLM | None = None,
    min_score: float = SAME,
    progress: Progress | None = None,
) -> list[Cluster]:
    """Supersede insights that say what an older one says, then sum up those that are close, level
    by level.

    Without a model nothing is summed up. Again, with the same insights, it writes nothing and asks
    nothing.

    Returns: the clusters of the first level.

    Raises:
        MissingExtraError: the extra `consolidate` is not installed.
        BudgetError: the run's budget is spent; what was summed up until then is written.
    """
    standing = insights(store)
    pruned = duplicates(store, standing, min_score=min_score)
    for old, new in pruned.items():
        writer.write(superseded={old: new})
    writer.count(insights=len(standing), duplicates=len(pruned))
    level = [record for record in standing if record.id not in pruned and record.kind != SUMMARY]
    first: list[Cluster] = []
    for number in range(_LEVELS):
        found = clusters(store, level)
        first = first or found
        writer.count(clusters=len(found))
        if not llm or not found:
            break
        ids = _sum_up(store, writer, tenant, llm, found, progress)
        made = (store.records.get("resources", id) for id in ids)
        level = [record for record in made if isinstance(record, Resource) and number + 1 < _LEVELS]
    return first


def insights(store: Store) -> list[Resource]:
    """What was derived and stands, the oldest first of what is least derived."""
    found = [
        record
        for record in store.records.all("resources")
        if isinstance(record, Resource)
        and record.generation
        and record.content
        and SUPERSEDED not in record.metadata
    ]
    return sorted(found, key=lambda record: (record.generation, record.created_at, record.id))


def duplicates(
    store: Store, records: Sequence[Resource], *, min_score: float = SAME
) -> dict[str, str]:
    """Ids of insights that say what an earlier one in the list says, each with the id of that one.

    What is told of one entity never stands for what is told of another.
    """
    import numpy as np

    vectors = matrix(store, [record.id for record in records])
    groups: dict[str, list[int]] = {}
    for number, record in enumerate(records):
        if vectors[number].any():
            groups.setdefault(_entity(record), []).append(number)
    found: dict[str, str] = {}
    for numbers in groups.values():
        some = vectors[numbers]
        standing = np.ones(len(some), bool)
        for row in range(1, len(some)):
            scores = np.where(standing[:row], some[:row] @ some[row], -1.0)
            best = int(np.argmax(scores))
            if scores[best] > min_score:
                standing[row] = False
                found[records[numbers[row]].id] = records[numbers[best]].id
    return found


def clusters(store: Store, records: Sequence[Resource]) -> list[Cluster]:
    """Insights that are close to each other: average linkage over cosine distances, cut where a
    cluster falls apart.

    Raises:
        MissingExtraError: the extra `consolidate` is not installed.
    """
    import numpy as np

    some = list(records)[-MOST:]
    vectors = matrix(store, [record.id for record in some])
    some = [record for record, vector in zip(some, vectors, strict=True) if vector.any()]
    vectors = vectors[vectors.any(axis=1)]
    if len(some) < LEAST:
        return []
    try:
        from scipy.cluster.hierarchy import fcluster, linkage
    except ImportError as error:
        raise MissingExtraError("clustering", "consolidate") from error

    mean, deviation = _typical(store)
    distance = 1 - min(SAME, mean + _CLOSE * deviation)
    numbers = fcluster(
        linkage(vectors, method="average", metric="cosine"), t=distance, criterion="distance"
    )
    background = Background(some)
    found = []
    for number in np.unique(numbers):
        places = np.flatnonzero(numbers == number)
        if len(places) >= LEAST:
            members = _from_centre([some[n] for n in places], vectors[places])
            found.append(Cluster(members, topics(members, background)))
    return sorted(found, key=lambda cluster: (-len(cluster.members), cluster.members[0].id))


def _typical(store: Store) -> tuple[float, float]:
    """Mean and deviation of the cosine of two resources, whether read or derived."""
    ids = [record.id for record in islice(store.records.all("resources"), MOST)]
    return typical(matrix(store, ids), (store.vectors.model() or ("", 0))[0])


def _from_centre(records: Sequence[Resource], vectors: Floats) -> tuple[Resource, ...]:
    nearness = vectors @ vectors.mean(axis=0)
    return tuple(
        records[n]
        for n in sorted(range(len(records)), key=lambda n: (-float(nearness[n]), records[n].id))
    )


def _entity(record: Resource) -> str:
    name = record.metadata.get("entity")
    return labels.key(name) if isinstance(name, str) and name.strip() else ""


def _sum_up(
    store: Store,
    writer: Writer,
    tenant: str,
    llm: LLM,
    found: Sequence[Cluster],
    progress: Progress | None,
) -> list[str]:
    """Write a summary for each cluster that has none; returns the ids of all."""
    ids = [_id(tenant, cluster) for cluster in found]
    waiting = [
        (id, cluster)
        for id, cluster in zip(ids, found, strict=True)
        if store.records.get("resources", id) is None
    ]
    replies = llm.ask_all([_asking(cluster) for _, cluster in waiting])
    writer.count_calls(replies)
    spent: BudgetError | None = None
    for done, ((id, cluster), reply) in enumerate(zip(waiting, replies, strict=True), 1):
        members = [record.id for record in cluster.members]
        if isinstance(reply, BudgetError):
            spent = reply
        elif isinstance(reply, ModelError):
            writer.write(
                entries=[failed_item_entry(store, KIND, id, reply, members, run_id=writer.run.id)]
            )
        else:
            record = _summary(store, id, cluster, str(reply))
            edges = list(_summarizes(record, cluster))
            writer.count(summaries=1)
            writer.write(
                [record],
                edges,
                superseded=dict(_outgrown(store, record)),
                deleted=[failed_item_key(KIND, id)],
            )
        if progress:
            progress(done, len(waiting))
    if spent:
        raise spent
    return ids


def _id(tenant: str, cluster: Cluster) -> str:
    return derived_id(tenant, SUMMARY, *sorted(record.id for record in cluster.members))


def _asking(cluster: Cluster) -> Call:
    some = cluster.members[:_QUOTED]
    return Call(
        "summary",
        {"passages": [quote_resource(record) for record in some]},
        subjects=tuple(r.id for r in some),
    )


def _summary(store: Store, id: str, cluster: Cluster, text: str) -> Resource:
    members = cluster.members
    metadata: dict[str, Any] = {"years": years_of(members), "topics": list(cluster.topics)}
    name = f"Summary: {', '.join(cluster.topics[:3]) or members[0].name}"[:180]
    if store.records.lookup([labels.key(name)], edges=0)[labels.key(name)]:
        name = f"{name} ({id[:8]})"
    return Resource(
        id=id,
        name=name,
        content=text.strip(),
        category="insight",
        kind=SUMMARY,
        trust="derived",
        generation=1 + max(record.generation for record in members),
        parents=tuple(record.id for record in members),
        starts_at=max((record.starts_at for record in members if record.starts_at), default=None),
        related_entities=tuple(
            dict.fromkeys(name for record in members for name in record.related_entities)
        ),
        metadata=metadata,
    )


def _summarizes(summary: Resource, cluster: Cluster) -> Iterator[Edge]:
    for record in cluster.members:
        about = {"dst_name": record.name, "dst_entity_type": f"resource/{record.kind}"}
        yield Edge(src=summary.name, rel_type=SUMMARIZES, dst=record.name, properties=about)


def _outgrown(store: Store, summary: Resource) -> Iterator[tuple[str, str]]:
    """Older summaries of some of the same insights and of no others: the new one says what they
    say."""
    members = set(summary.parents)
    seen: set[str] = set()
    for member in summary.parents:
        for id in store.records.children(member):
            older = store.records.get("resources", id)
            if (
                id in seen
                or not isinstance(older, Resource)
                or older.kind != SUMMARY
                or not older.content
            ):
                continue
            seen.add(id)
            if id != summary.id and set(store.records.parents(id)) < members:
                yield id, summary.id
