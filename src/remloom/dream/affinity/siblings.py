"""Which resources belong together anyway: chunks of one document, turns of one session."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ...model import SESSION_GAP, Resource

__all__ = ["occasions"]


def occasions(resources: Sequence[Resource]) -> list[int]:
    """A number for each resource: the same for those of one source and one occasion.

    A document is one occasion. What comes from one source over time (a chat, a diary) is parted by
    `SESSION_GAP` of silence. A resource from nowhere is alone.
    """
    by_source: dict[str, list[int]] = {}
    for place, resource in enumerate(resources):
        by_source.setdefault(resource.uri or f"\0{place}", []).append(place)
    found = [0] * len(resources)
    number = 0
    for places in by_source.values():
        dated = sorted(
            ((at, place) for place in places if (at := resources[place].starts_at)),
            key=lambda pair: pair[0],
        )
        number += 1
        for place in places:
            found[place] = number
        for (before, _), (at, place) in pairwise(dated):
            number += at - before > SESSION_GAP
            found[place] = number
    return found
