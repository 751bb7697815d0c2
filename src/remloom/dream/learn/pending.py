"""What is left to do about a passage after a call failed, so that nothing is paid for twice."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...runs.failures import FailedItem

# The steps of a passage: implanting it, listing what it teaches of which entities, and implanting
# one such learning. "": any of them.
Step: TypeAlias = Literal["", "implant", "entities", "entity"]


class EntityLearning(Struct, frozen=True):
    """What a section teaches of an entity, and which of its passages do."""

    entity: str
    learning: str
    passages: tuple[str, ...]  # ids


class PendingSteps(Struct, frozen=True, omit_defaults=True, rename={"learnings": "told"}):
    """The steps that are still to be done about a passage."""

    # of the passage's resources: a passage of others has nothing to do with it
    ids: tuple[str, ...] = ()
    implant: bool = True
    entities: bool = True
    # learnings that were not implanted
    learnings: tuple[EntityLearning, ...] = ()


def pending_steps(
    ids: tuple[str, ...],
    failed: Collection[tuple[Step, EntityLearning | None]],
) -> PendingSteps:
    """What is left of a passage of these resources when these steps failed."""
    steps = {step for step, _ in failed}
    if "" in steps:
        return PendingSteps(ids)
    learnings = dict.fromkeys(learning for _, learning in failed if learning)
    return PendingSteps(
        ids,
        implant="implant" in steps,
        entities="entities" in steps,
        learnings=tuple(learnings),
    )


def pending_by_passage(items: Iterable[FailedItem]) -> dict[str, PendingSteps]:
    """The pending steps of failed passages, by the passage's id."""
    return {
        item.item: msgspec.convert(item.details["rest"], PendingSteps)
        for item in items
        if "rest" in item.details
    }


def join_learnings(keyed: Iterable[tuple[str, EntityLearning]]) -> dict[str, EntityLearning]:
    """Learnings by the keys of their entities, those of one entity as one."""
    joined: dict[str, EntityLearning] = {}
    for key, learning in keyed:
        known = joined.get(key)
        if known is None:
            joined[key] = learning
        elif learning != known:
            joined[key] = replace(
                known,
                learning=f"{known.learning} {learning.learning}",
                passages=tuple(dict.fromkeys((*known.passages, *learning.passages))),
            )
    return joined
