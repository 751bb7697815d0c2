"""A request, as heads read it: whom the answer is for, whether it depends on who asks, how much of
what is known it asks for, and what harm it may do.

What could hurt is given whatever they decide; what is of nobody's business but the user's own only
where they find that the answer is for the user.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from ..heads.features import features
from ..heads.head import Decision, head
from .purpose import Purpose

if TYPE_CHECKING:
    from ..embed.contract import Floats
    from ..heads.features import Features

__all__ = ["Extent", "Personal", "Request"]

# some: what it names or bears on; most: all but what is sensitive, "What do you know about me?"
Extent: TypeAlias = Literal["some", "most"]
# what of who the user is may be given: nothing, what is asked for by its name, what bears on it
Personal: TypeAlias = Literal["nothing", "named", "near"]

_FOR_OTHERS = 0.35  # probability from which on an answer is taken to be for others or the public
_FOR_USER = 0.6  # from which on it is taken to be for the user
_HARMFUL = 0.6  # probability from which on a task is one that closes who the user is
_LONGEST = 4000  # characters that are looked at, from either end


class Request:
    """What an agent is asked.

    Args:
        query: the words.
        vector: of the query, by this embedder; None: the words alone are read.
        embedder: its name.
    """

    def __init__(self, query: str, *, vector: Floats | None = None, embedder: str = "") -> None:
        if len(query) > 2 * _LONGEST:
            query = f"{query[:_LONGEST]} {query[-_LONGEST:]}"
        self._query = query.strip()
        self._vector = vector
        self._embedder = embedder if vector is not None else ""

    @cached_property
    def purpose(self) -> Purpose:
        """What is to be given is for this.

        >>> Request("Write a letter to my landlord").purpose
        'letter'
        >>> Request("What should I cook tonight?").purpose
        'recommend'
        """
        if not self._query:
            return "general"
        if self.extent == "most":
            return "chat"
        if self.audience.label == "others":
            return "letter"
        if self.task.label != "other" and self.task.probability >= _HARMFUL:
            return cast("Purpose", self.task.label)
        if self.audience.label == "code":
            return "coding"
        return "general" if self.personal == "nothing" else "recommend"

    @cached_property
    def extent(self) -> Extent:
        """How much of what is known is asked for.

        >>> Request("What have you stored about me so far?").extent
        'most'
        """
        return "most" if self._decided("extent").label == "most" else "some"

    @cached_property
    def audience(self) -> Decision:
        """Whom the answer is for: own, others, public, or code, where it is for a program.

        >>> Request("Write to my landlord that the heating is cold").audience.label
        'others'
        """
        return self._decided("audience")

    @cached_property
    def task(self) -> Decision:
        """What is to be done: security, risk (what cannot be undone), persuade, tools, or other.

        >>> Request("Delete all my photos of the last year").task.label
        'risk'
        """
        return self._decided("task")

    @cached_property
    def personal(self) -> Personal:
        """What of who the user is may be given.

        >>> Request("What shall I cook tonight?").personal
        'near'
        >>> Request("What are my hobbies?").personal
        'named'
        >>> Request("Write a speech for my brother's wedding").personal
        'nothing'
        """
        if not self._query or self.extent == "most":
            return "near"
        if self.depends_on_user and self._others < _FOR_OTHERS:
            return "near"
        return "named" if self.audience.probabilities["own"] >= _FOR_USER else "nothing"

    @cached_property
    def depends_on_user(self) -> bool:
        """Whether another user would be answered otherwise.

        >>> Request("What shall I cook tonight?").depends_on_user
        True
        >>> Request("At how many degrees does egg white set?").depends_on_user
        False
        """
        return not self._query or self._decided("bearing").label == "personal"

    @property
    def _others(self) -> float:
        """The probability that others read the answer, or live with it."""
        return self.audience.probabilities["others"] + self.audience.probabilities["public"]

    def _decided(self, name: str) -> Decision:
        return head(name, self._embedder).decide_by(self._seen, self._vector)

    @cached_property
    def _seen(self) -> Features:
        return features(self._query)
