"""Limits of a reading: turns, tokens, seconds, and what of the tokens is for what."""

from __future__ import annotations

from msgspec import Struct

from ...errors import InvalidInputError

_ANSWER_TOKENS = 3_000  # that an answer takes besides its evidence, at most
_MOST_EVIDENCE = 6_000  # tokens
# of a text a budget counts up to so many tokens for one of `count_tokens`
_MARGIN = 1.5


class ReadLimits(Struct, frozen=True, kw_only=True):
    """Limits of a reading.

    Raises:
        InvalidInputError: fewer than no turns, or a budget or time that allows nothing.
    """

    turns: int = 6  # 0: what is found without a model is all that is read
    tokens: int = 30_000  # of all calls, in and out
    seconds: float | None = None  # after which no turn begins; the answer is written all the same
    context: int | None = None  # tokens that the model takes at once; None: it is not known

    def __post_init__(self) -> None:
        for name, limit, least in (("turns", self.turns, 0), ("tokens", self.tokens, 1)):
            if isinstance(limit, bool) or not isinstance(limit, int) or limit < least:
                raise InvalidInputError(
                    f"a reading cannot have {limit!r} {name}", remedy=f"give {least} or more"
                )
        if self.seconds is not None and not self.seconds > 0:
            raise InvalidInputError(
                f"{self.seconds!r} seconds allow nothing", remedy="give a number above zero"
            )

    @property
    def whole(self) -> int:
        """Tokens of documents that are read whole, and of evidence when there is nothing else."""
        most = min(self.tokens, self.context or self.tokens)
        return max(0, int((most - _ANSWER_TOKENS) / _MARGIN))

    @property
    def evidence(self) -> int:
        """Tokens of the evidence when turns have to be paid, too."""
        share = int((self.tokens - _ANSWER_TOKENS) / _MARGIN) // 2
        return max(0, min(share, self.whole, _MOST_EVIDENCE))

    @property
    def answer(self) -> int:
        """Tokens that are kept back for the answer and its evidence."""
        return int(self.evidence * _MARGIN) + _ANSWER_TOKENS
