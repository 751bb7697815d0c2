"""Implanting: what a new text means beside what is known. One function, used wherever something is derived (seed 1)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from uuid_utils import NAMESPACE_URL, uuid5

from ..llm import Call, Quote
from ..model import Resource
from .mind import quote, years

__all__ = ["Idea", "Insight", "asking", "identity", "insight", "is_nothing"]

_MARKS = re.compile(r"[\s*_`\"'“”‘’«».:!#>()\[\]-]+")
_NOTHING = re.compile(r"nothing(?: (?:new|to add|added|here|really|at all|else))*", re.IGNORECASE)
_LEADING = re.compile(r"\A[\W_]*NOTHING[\W_]*(?:\n|\Z|[-–—:.,;]\s)")  # shouted, and then explained


class Idea(Struct, frozen=True):
    """Something new, and what is known near it."""

    text: str
    parents: tuple[Resource, ...]  # what it came from
    neighbours: tuple[Resource, ...]  # what it is held against

    @property
    def sources(self) -> tuple[Resource, ...]:
        """All that the insight will rest on, none twice."""
        return tuple({resource.id: resource for resource in (*self.parents, *self.neighbours)}.values())


class Insight(Struct, frozen=True):
    """What was understood, and what it rests on."""

    text: str
    parents: tuple[str, ...]
    generation: int  # 1 + the highest of its parents'
    years: tuple[int, ...]
    at: datetime | None  # the latest time of what it came from


def asking(
    idea: Idea, *, task: str = "synthesis", slots: Mapping[str, str | Quote | Sequence[str | Quote]] | None = None
) -> Call:
    """The question to the model: how does this relate to what is known?

    `slots` fill another task's prompt; without, the idea's text and neighbours fill seed 1's.
    """
    given = slots or {"new_info": idea.text, "existing_knowledge": [quote(near) for near in idea.neighbours]}
    return Call(task, given, subjects=tuple(resource.id for resource in idea.sources))


def insight(idea: Idea, reply: str) -> Insight | None:
    """What the reply comes to; None when the model said that there is nothing new."""
    if is_nothing(reply):
        return None
    sources = idea.sources
    return Insight(
        reply.strip(),
        tuple(resource.id for resource in sources),
        1 + max(resource.generation for resource in sources),
        tuple(years(sources)),
        max((resource.starts_at for resource in idea.parents if resource.starts_at), default=None),
    )


def is_nothing(reply: str) -> bool:
    """Whether a reply means NOTHING, however it is dressed.

    >>> [is_nothing(text) for text in ("NOTHING", "**Nothing.**", '"NOTHING new"', "NOTHING - it repeats the above.")]
    [True, True, True, True]
    >>> [is_nothing(text) for text in ("Nothing in the treaty binds Spain.", "There is nothing like NOTHING in it.")]
    [False, False]
    """
    bare = _MARKS.sub(" ", reply).strip()
    return not bare or _NOTHING.fullmatch(bare) is not None or _LEADING.match(reply) is not None


def identity(tenant: str, *parts: str) -> str:
    """The id of something derived: the same for the same step from the same sources, whichever run makes it."""
    return str(uuid5(NAMESPACE_URL, "remloom:derived\n" + "\n".join((tenant, *parts))))
