"""The rest of a passage: what a failed call kept from being thought about it, so that the next run
asks no more."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...runs.failures import FailedItem

__all__ = ["EntityLearning", "PendingSteps", "Step", "joined", "left", "rests"]

# The steps of a passage: what it means, whom it tells of, and what that adds to one of these; "":
# any of them.
Step: TypeAlias = Literal["", "implant", "entities", "entity"]


class EntityLearning(Struct, frozen=True):
    """What a section teaches of an entity, and which of its passages do."""

    entity: str
    learning: str
    passages: tuple[str, ...]


class PendingSteps(Struct, frozen=True, omit_defaults=True):
    """What is still to be thought about a passage."""

    ids: tuple[str, ...] = ()  # of the passage's resources; of another passage it says nothing
    implant: bool = True
    entities: bool = True
    # learnings that were not held against what is known of their entities
    told: tuple[EntityLearning, ...] = ()


def left(
    ids: tuple[str, ...], failed: Collection[tuple[Step, EntityLearning | None]]
) -> PendingSteps:
    """What is left of a passage of which these steps failed."""
    steps = {step for step, _ in failed}
    if "" in steps:
        return PendingSteps(ids)
    told = tuple(dict.fromkeys(told for _, told in failed if told))
    return PendingSteps(ids, "implant" in steps, "entities" in steps, told)


def rests(items: Iterable[FailedItem]) -> dict[str, PendingSteps]:
    """The rests of parked passages, by the passage's id."""
    return {
        item.item: msgspec.convert(item.details["rest"], PendingSteps)
        for item in items
        if "rest" in item.details
    }


def joined(told: Iterable[tuple[str, EntityLearning]]) -> dict[str, EntityLearning]:
    """Learnings by the keys of their entities, each entity once."""
    found: dict[str, EntityLearning] = {}
    for key, item in told:
        known = found.get(key)
        if known is None:
            found[key] = item
        elif item != known:
            passages = tuple(dict.fromkeys((*known.passages, *item.passages)))
            found[key] = replace(
                known, learning=f"{known.learning} {item.learning}", passages=passages
            )
    return found
