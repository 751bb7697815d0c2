"""Implanting: how a new text relates to what is known.

One function, used wherever something is derived (seed 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from uuid_utils import NAMESPACE_URL, uuid5

from ..llm import Call, Quote
from ..model import Resource
from .context import quote_resource, years_of
from .empty_reply import is_nothing


class Idea(Struct, frozen=True):
    """Something new, and what is known near it."""

    text: str
    parents: tuple[Resource, ...]  # what it came from
    neighbours: tuple[Resource, ...]  # what it is compared with

    @property
    def sources(self) -> tuple[Resource, ...]:
        """Everything that the insight will rest on, none twice."""
        by_id = {resource.id: resource for resource in (*self.parents, *self.neighbours)}
        return tuple(by_id.values())


class Insight(Struct, frozen=True):
    """What was understood, and what it rests on."""

    text: str
    parents: tuple[str, ...]
    generation: int  # 1 + the highest of its parents'
    years: tuple[int, ...]
    at: datetime | None  # the latest time of what it came from


def synthesis_call(
    idea: Idea,
    *,
    task: str = "synthesis",
    slots: Mapping[str, str | Quote | Sequence[str | Quote]] | None = None,
) -> Call:
    """The call that asks the model how an idea relates to what is known.

    `slots` fill another task's prompt; without, the idea's text and neighbours fill seed 1's.
    """
    filled = slots or {
        "new_info": idea.text,
        "existing_knowledge": [quote_resource(resource) for resource in idea.neighbours],
    }
    return Call(task, filled, subjects=tuple(resource.id for resource in idea.sources))


def parse_insight(idea: Idea, reply: str) -> Insight | None:
    """The insight in a reply; None when the model said that there is nothing new."""
    if is_nothing(reply):
        return None
    # it may quote any of them
    sources = idea.sources
    times = [resource.starts_at for resource in idea.parents if resource.starts_at]
    return Insight(
        reply.strip(),
        parents=tuple(resource.id for resource in sources),
        generation=1 + max(resource.generation for resource in sources),
        years=tuple(years_of(sources)),
        at=max(times, default=None),
    )


def derived_id(tenant: str, *parts: str) -> str:
    """The id of something derived: one id for one step from the same sources, in every run."""
    return str(uuid5(NAMESPACE_URL, "remloom:derived\n" + "\n".join((tenant, *parts))))
