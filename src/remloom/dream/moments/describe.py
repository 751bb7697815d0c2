"""A stretch of time described without a model: who spoke, and which words say it best."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...ingest.chats import people, speakers
from ...model import Moment, Resource
from ...store.contract import Reads
from ...text.analysis import term_set
from ..topics import common_names
from ..vectors import matrix
from .sessions import happened_at

if TYPE_CHECKING:
    from ..vectors import Floats


_QUOTED = 2  # of the most central texts make the summary
_QUOTED_CHARACTERS = 200  # of each of them
_FULL_WEIGHT = 6  # terms from which a text is long enough to count in full


def time_of(resources: Sequence[Resource]) -> tuple[datetime, datetime]:
    """From when to when resources are."""
    times = [happened_at(resource) for resource in resources]
    return min(times), max([*times, *(one.ends_at for one in resources if one.ends_at)])


def describe(
    reads: Reads, moment: Moment, resources: Sequence[Resource], topics: tuple[str, ...]
) -> Moment:
    """A moment with all that these resources, of these topics, tell of it."""
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
    )


def _summarize(resources: Sequence[Resource], vectors: Floats) -> str:
    """Quote the texts nearest to what all are about, in their order."""
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
