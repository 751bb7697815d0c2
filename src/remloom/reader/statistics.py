"""Statistics of the questions that a reader was asked."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .result import Reading

__all__ = ["ReaderStatistics"]


class ReaderStatistics(Struct, frozen=True, kw_only=True):
    """What the questions to a reader took, all together. The first five fields are seed 3's."""

    questions_asked: int = 0
    total_iterations: int = 0
    total_lines_read: int = 0
    total_words_read: int = 0
    total_time: float = 0.0  # seconds
    total_tokens: int = 0  # in and out
    coverage: dict[str, float] = {}  # share of each document's words, in the last question

    def add(self, reading: Reading) -> ReaderStatistics:
        """Count a reading in."""
        return replace(
            self,
            questions_asked=self.questions_asked + 1,
            total_iterations=self.total_iterations + reading.iterations,
            total_lines_read=self.total_lines_read + reading.unique_lines,
            total_words_read=self.total_words_read + reading.total_words,
            total_time=self.total_time + reading.elapsed_time,
            total_tokens=self.total_tokens + reading.tokens,
            coverage=reading.coverage,
        )

    def as_dict(self) -> dict[str, Any]:
        """The statistics under seed 3's keys, with the averages of a question."""
        asked = max(self.questions_asked, 1)
        shown: dict[str, Any] = msgspec.to_builtins(self)
        return shown | {
            "avg_iterations_per_question": self.total_iterations / asked,
            "avg_lines_per_question": self.total_lines_read / asked,
            "avg_words_per_question": self.total_words_read / asked,
            "avg_time_per_question": self.total_time / asked,
        }
