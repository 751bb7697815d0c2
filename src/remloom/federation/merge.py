"""One list of those of several tenants, by rank: what a score means differs from one to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..model import Hit
from ..retrieve.fusion import rrf
from .answer import FederatedHit


def merge_by_rank(
    lists: Mapping[str, Sequence[Hit]], limit: int | None = None
) -> list[FederatedHit]:
    """Merge lists by reciprocal rank; of one rank the higher score goes first, then by tenant.

    >>> merge_by_rank({})
    []
    """
    ranked: list[tuple[float, float, str, FederatedHit]] = []
    for tenant in sorted(lists):
        hits = lists[tenant]
        places = {str(place): -float(place) for place in range(len(hits))}
        worths = rrf(places)
        for place, hit in enumerate(hits):
            one = FederatedHit.of(hit, tenant)
            ranked.append((-worths[str(place)], -hit.score, tenant, one))
    ranked.sort(key=lambda entry: entry[:3])
    return [hit for *_, hit in ranked][:limit]
