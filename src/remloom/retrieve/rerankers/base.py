"""The contract of rerankers, for those who write one and those who use one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct


class Passage(Struct, frozen=True):
    """The part of a candidate that is judged."""

    id: str
    text: str  # in a chat with who says it and when
    source: str
    trust: str  # told | read | derived


class Reranker(Protocol):
    """Judges passages by the question.

    `name` is what it is called in errors. `scores` gives each passage a finite number, the higher
    the better it answers the question; only their order and distances within one call count, so any
    scale will do. It may be called from any thread, and raises `RerankerError` or `ModelError` when
    it cannot judge: never a made-up number.
    """

    @property
    def name(self) -> str: ...

    def scores(self, question: str, passages: Sequence[Passage]) -> Sequence[float]: ...
