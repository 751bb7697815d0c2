"""Implanting: what a new text means beside what is known. One function, used wherever something is
derived (seed 1)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from uuid_utils import NAMESPACE_URL, uuid5

from ..llm import Call, Quote
from ..model import Resource
from .context import quote, years

__all__ = ["Idea", "Insight", "asking", "identity", "insight", "is_nothing"]

_MARKS = re.compile(r"[\s*_`\"'“”‘’«».:!#>()\[\]-]+")
_NOTHING = re.compile(r"nothing(?: (?:new|to add|added|here|really|at all|else))*", re.IGNORECASE)
_LEADING = re.compile(r"\A[\W_]*NOTHING[\W_]*(?:\n|\Z|[-–—:.,;]\s)")  # shouted, and then explained
_THING = (
    "one|information|info|passage|text|note|chunk|learning|synthesis|content|statement|material"
)
_IN = rf"in (?:this|it|that|here)(?: (?:new |above |given |second |latest )?(?:{_THING}))?"
_IT = rf"(?:this|it|that|there|here|the) ?(?:new |above |given |second |latest )?(?:{_THING})?"
_KNOWN = (
    r"(?:what (?:we|is|was)(?: already){,2} (?:know|known|knew)(?: (?:already|before|so far))?"
    r"|(?:the |our )?existing (?:knowledge|understanding))"
)
_NEW = "new|more|further|else|additional|substantial|significant|novel"
_FACTS = "information|insights?|knowledge|content|facts?|understanding|value"
_WHERE = rf"(?: (?:here|at all|{_IN}|to (?:this|it|that|{_KNOWN})|beyond {_KNOWN}))?"
_ADDS = "(?:adds?|brings?|contributes?|offers?|provides?|contains?|says?|tells us|holds?)"
_THERE_IS = "(?:there is|there s|i see|i find|i found|i have|we see|we learn|we find|we have)"
_FOUND = "(?:found|added|provided|learned|learnt|said|given)"
_SAYS_NOTHING = re.compile(  # a whole sentence that says so
    "|".join(
        rf"(?:(?:in (?:short|summary|conclusion)|overall|therefore|so) )?(?:{form})"
        for form in (
            rf"{_IT} (?:really |simply |essentially |just )?{_ADDS}"
            rf" (?:(?:absolutely |really |basically )?nothing(?: (?:{_NEW}))?|no(?: (?:{_NEW}))? (?:{_FACTS})){_WHERE}",
            rf"{_IT} (?:does not|doesn t|do not|don t|did not|didn t) (?:really )?{_ADDS}"
            rf" (?:anything(?: (?:{_NEW}))?|any(?: (?:{_NEW}))? (?:{_FACTS})){_WHERE}",
            rf"{_THERE_IS} (?:really |simply )?nothing(?: (?:{_NEW}))?"
            rf"(?: (?:here|at all|{_IN}|to (?:be )?(?:add|added|report|learn|learned|note)))*",
            rf"{_THERE_IS} no(?: (?:{_NEW}))? (?:{_FACTS})(?: (?:here|at all|{_IN}|to (?:add|report)))*",
            rf"no (?:{_NEW}) (?:{_FACTS})(?: (?:here|at all|{_IN}|(?:(?:is|are|was|were) )?{_FOUND}))?",
            rf"nothing (?:{_NEW}) (?:is|was|has been|can be) {_FOUND}(?: (?:here|(?:by|from) this))?",
            rf"{_IT} (?:is |s )?(?:simply |merely |only |just )?(?:a )?"
            rf"(?:repeats?|repetition of|restates?|restatement of|duplicates?|duplicate of) {_KNOWN}",
            "(?:we|i) (?:already knew|know|knew) (?:all )?(?:of )?(?:this|it|that)(?: already)?|already known",
        )
    ),
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_NO_WORD = re.compile(r"[^\w]+|_+")
_LONGEST = 400  # characters of a reply that says nothing in so many words
_FEW = 3  # sentences, at most, that say nothing each


class Idea(Struct, frozen=True):
    """Something new, and what is known near it."""

    text: str
    parents: tuple[Resource, ...]  # what it came from
    neighbours: tuple[Resource, ...]  # what it is held against

    @property
    def sources(self) -> tuple[Resource, ...]:
        """All that the insight will rest on, none twice."""
        return tuple(
            {resource.id: resource for resource in (*self.parents, *self.neighbours)}.values()
        )


class Insight(Struct, frozen=True):
    """What was understood, and what it rests on."""

    text: str
    parents: tuple[str, ...]
    generation: int  # 1 + the highest of its parents'
    years: tuple[int, ...]
    at: datetime | None  # the latest time of what it came from


def asking(
    idea: Idea,
    *,
    task: str = "synthesis",
    slots: Mapping[str, str | Quote | Sequence[str | Quote]] | None = None,
) -> Call:
    """The question to the model: how does this relate to what is known?

    `slots` fill another task's prompt; without, the idea's text and neighbours fill seed 1's.
    """
    given = slots or {
        "new_info": idea.text,
        "existing_knowledge": [quote(near) for near in idea.neighbours],
    }
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
    >>> [is_nothing(text) for text in ("This adds nothing new.", "There is nothing new here. We already knew this.")]
    [True, True]
    >>> [is_nothing(text) for text in ("Nothing in the treaty binds Spain.", "There is nothing like NOTHING in it.")]
    [False, False]
    """
    bare = _MARKS.sub(" ", reply).strip()
    if not bare or _NOTHING.fullmatch(bare) is not None or _LEADING.match(reply) is not None:
        return True
    if len(reply) > _LONGEST:
        return False
    sentences = [said for part in _SENTENCE.split(reply) if (said := _plain(part))]
    return len(sentences) <= _FEW and all(
        _NOTHING.fullmatch(s) or _SAYS_NOTHING.fullmatch(s) for s in sentences
    )


def _plain(sentence: str) -> str:
    """A sentence as bare words."""
    return " ".join(_NO_WORD.sub(" ", sentence).split())


def identity(tenant: str, *parts: str) -> str:
    """The id of something derived: the same for the same step from the same sources, whichever run
    makes it."""
    return str(uuid5(NAMESPACE_URL, "remloom:derived\n" + "\n".join((tenant, *parts))))
