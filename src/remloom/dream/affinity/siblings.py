"""Which resources belong together anyway: chunks of one document, turns of one session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise

from ...model import SESSION_GAP, Resource

__all__ = ["number_occasions"]


def number_occasions(resources: Sequence[Resource]) -> list[int]:
    """A number for each resource: the same for those of one source and one occasion.

    A document is one occasion. What comes from one source over time (a chat, a diary) is parted by
    `SESSION_GAP` of silence. A resource without a source is alone.
    """
    by_source: dict[str, list[int]] = {}
    for position, resource in enumerate(resources):
        by_source.setdefault(resource.uri or f"\0{position}", []).append(position)
    numbers = [0] * len(resources)
    number = 0
    for positions in by_source.values():
        number += 1
        # what is undated is of the first occasion
        for position in positions:
            numbers[position] = number
        dated = _by_time(resources, positions)
        for (before, _), (at, position) in pairwise(dated):
            number += at - before > SESSION_GAP
            numbers[position] = number
    return numbers


def _by_time(resources: Sequence[Resource], positions: Iterable[int]) -> list[tuple[datetime, int]]:
    times = [(resources[position].starts_at, position) for position in positions]
    dated = [(at, position) for at, position in times if at]
    return sorted(dated, key=lambda pair: pair[0])
