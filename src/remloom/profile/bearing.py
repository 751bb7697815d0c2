"""Bearing: whether what a user said in their own words bears on a request, as heads read it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ..heads.head import Decision, head

if TYPE_CHECKING:
    from ..embed.contract import Floats

__all__ = ["Bearing"]

_FOR_OTHERS = 0.25  # probability from which on an answer is taken to be for others


class Bearing:
    """What a request asks of who makes it.

    Args:
        query: the words.
        vector: of the query, by this embedder; None: the words alone are read.
        embedder: its name.
    """

    def __init__(self, query: str, *, vector: Floats | None = None, embedder: str = "") -> None:
        self._query = query
        self._vector = vector
        self._embedder = embedder if vector is not None else ""

    @cached_property
    def audience(self) -> Decision:
        """Whom the answer is for: own, others, public, or code, where it is for a program.

        >>> Bearing("Write a speech for my brother's wedding").audience.label
        'others'
        """
        return head("audience", self._embedder).decide(self._query, self._vector)

    @property
    def is_for_user(self) -> bool:
        """Whether the answer may be for the user, and not for others to read or to live with."""
        others = self.audience.probabilities["others"] + self.audience.probabilities["public"]
        return others < _FOR_OTHERS

    def gives_own_words(self, *, whom_is_given: bool) -> bool:
        """Whether what the user said in their own words is to be given to it.

        Args:
            whom_is_given: whether the caller says whom it is for.
        """
        return self.depends_on_user and (whom_is_given or self.is_for_user)

    @cached_property
    def depends_on_user(self) -> bool:
        """Whether another user would be answered otherwise.

        >>> Bearing("What shall I cook tonight?").depends_on_user
        True
        >>> Bearing("At how many degrees does egg white set?").depends_on_user
        False
        """
        decided = head("bearing", self._embedder).decide(self._query, self._vector)
        return decided.label == "personal"
