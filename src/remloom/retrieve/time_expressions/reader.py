"""Reading the tokens of a question by their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from . import words
from .calendar import Node, Span
from .tokens import Token

__all__ = ["Point", "TokenReader"]


class Point(NamedTuple):
    """A point in time that was read."""

    node: Node
    end: int  # the first token that is not of it
    kind: str = ""  # of `words.TIES`, what must stand before it; "": nothing
    also: Span | None = None  # what it may as well mean: day and month of 5/3/2021


class TokenReader:
    """Looks at tokens, of which any number may be asked for: there is nothing beyond them.

    Args:
        cased: whether capitals tell something in this question.
    """

    def __init__(self, tokens: Sequence[Token], cased: bool) -> None:
        self._tokens = tokens
        self._cased = cased

    def word(self, at: int) -> str:
        return self._tokens[at].text if 0 <= at < len(self._tokens) else ""

    def kind(self, at: int) -> str:
        return self._tokens[at].kind if 0 <= at < len(self._tokens) else ""

    def capital(self, at: int) -> bool:
        return 0 <= at < len(self._tokens) and self._tokens[at].capital

    def owns(self, at: int) -> bool:
        """Whether it is a possessive: "Monday's"."""
        return 0 <= at < len(self._tokens) and self._tokens[at].owns

    def skip(self, at: int, *given: str) -> int:
        """The token behind these words, each of which may be missing."""
        for text in given:
            if self.word(at) == text:
                at += 1
        return at

    def joined(self, at: int) -> bool:
        """Whether nothing stands between the token before and this one."""
        return 0 < at < len(self._tokens) and self._tokens[at - 1].end == self._tokens[at].start

    def names_follow(self, at: int) -> bool:
        """Whether a capitalised word follows that is not a time: "May Chen", "Spring Boot"."""
        after = at + 1
        if not self._cased or self.kind(after) != "word" or not self.capital(after):
            return False
        text = self.word(after)
        return text not in words.MONTHS and text not in words.WEEKDAYS and text != "i"
