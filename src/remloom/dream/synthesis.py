"""Implanting: how a new text relates to what is known (seed 1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace
from uuid_utils import NAMESPACE_URL, uuid5

from ..heads.features import LONGEST
from ..heads.head import head
from ..llm import Call, Quote
from ..model import Resource
from ..model.premises import premises_of, says
from ..model.supersession import SUPERSEDED
from ..text.sentences import sentence_ends
from .context import quote_resource, years_of

_LITERAL = "NOTHING"  # what the prompts ask for
_MARKS = re.compile(r"\A[\W_]+|[\W_]+\Z")
# The head takes both to be equally frequent, but most replies other than the word itself are
# insights; and an insight that is lost is worse than a remark that is kept.
_SURE = 0.96
_LIKELY = 0.5
_FEW = 1  # word, which is not an insight


class Idea(Struct, frozen=True):
    """Something new, and what is known that is like it."""

    text: str
    parents: tuple[Resource, ...]  # what it came from
    neighbours: tuple[Resource, ...]  # what it is compared with
    # of parents that the text was made of before they were read as they are here
    premises: tuple[tuple[str, str], ...] = ()

    @property
    def sources(self) -> tuple[Resource, ...]:
        """Everything that the insight will rest on, none twice: what changed between two steps as
        it was first."""
        by_id: dict[str, Resource] = {}
        for resource in (*self.parents, *self.neighbours):
            by_id.setdefault(resource.id, resource)
        return tuple(by_id.values())


class Insight(Struct, frozen=True):
    """What was understood, and what it rests on."""

    text: str
    premises: dict[str, str]  # of all that it rests on, as it was quoted
    generation: int  # 1 + the highest of its parents'
    years: tuple[int, ...]
    at: datetime | None  # the latest time of what it came from

    @property
    def parents(self) -> tuple[str, ...]:
        return tuple(self.premises)


def synthesis_call(
    idea: Idea,
    *,
    task: str = "synthesis",
    slots: Mapping[str, str | Quote | Sequence[str | Quote]] | None = None,
) -> Call:
    """The call that asks the model how an idea relates to what is known.

    `slots` fill another task's prompt; by default the idea's text and neighbours fill seed 1's.
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
        premises=premises_of(sources) | dict(idea.premises),
        generation=1 + max(resource.generation for resource in sources),
        years=tuple(years_of(sources)),
        at=max(times, default=None),
    )


def derived_id(tenant: str, *parts: str) -> str:
    """The id of something derived: one id for one step from the same sources, in every run."""
    return str(uuid5(NAMESPACE_URL, "remloom:derived\n" + "\n".join((tenant, *parts))))


def in_place_of(
    tenant: str, record: Resource, former: Iterable[Resource]
) -> tuple[Resource, dict[str, str]]:
    """What is written where a step made `former` records, of other premises, before: under the id
    of one that said the same, or else under an id of its premises too.

    Returns: the record; and the ids of those that it takes the place of, each with its own.
    """
    all_former = list(former)
    shown = [one for one in all_former if SUPERSEDED not in one.metadata]
    for one in shown:
        if says(one) == says(record):
            record = replace(record, id=one.id)
            break
    else:
        if all_former:
            premises = (f"{id} {digest}" for id, digest in sorted(record.premises.items()))
            record = replace(record, id=derived_id(tenant, record.id, *premises))
    return record, {one.id: record.id for one in shown if one.id != record.id}


def is_nothing(reply: str) -> bool:
    """Whether a reply means NOTHING: it is the word itself, or begins with it in capitals, or is
    surely of that meaning as a whole and without a sentence that says something.

    >>> shouted = ("NOTHING", "**Nothing.**", "NOTHING\\n\\nIt repeats what is said above.")
    >>> [is_nothing(text) for text in shouted]
    [True, True, True]
    >>> is_nothing("Der Text wiederholt nur, was wir schon wissen.")
    True
    >>> is_nothing("It repeats what we know. But the toll doubled in 1934.")
    False
    """
    sentences = [text for text in _sentences(reply) if _bare(text)]
    if not sentences or _LITERAL in (_bare(sentences[0]), _bare(reply).upper()):
        return True
    # of a longer one the head sees the beginning alone
    if max(map(len, sentences)) > LONGEST:
        return False
    sure = _LIKELY if len(reply.split()) <= _FEW else _SURE
    return _share(reply) >= sure and all(_share(text) >= _LIKELY for text in sentences)


def is_word_nothing(reply: str) -> bool:
    """Whether a reply is empty, or NOTHING in any case and no other word: of short facts a head
    would lose some.

    >>> is_word_nothing("Nothing."), is_word_nothing("He repeats himself often.")
    (True, False)
    """
    return _bare(reply).upper() in ("", _LITERAL)


def _sentences(reply: str) -> list[str]:
    return [
        line[start:end]
        for line in reply.splitlines()
        for start, end in pairwise((0, *sentence_ends(line)))
    ]


def _bare(text: str) -> str:
    return _MARKS.sub("", text)


def _share(text: str) -> float:
    """How probable it is that a text says nothing."""
    return head("reply").decide(text).probabilities["nothing"]
