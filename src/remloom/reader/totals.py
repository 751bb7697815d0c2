"""What was asked and read, added up."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from .result import Reading

__all__ = ["ReadingTotals"]


class ReadingTotals(Struct):
    """Sums over the readings of one reader. `as_dict()` has the names of seed 3."""

    questions_asked: int = 0
    total_iterations: int = 0
    total_lines_read: int = 0
    total_words_read: int = 0
    total_time: float = 0.0  # seconds
    tokens: int = 0  # in and out, of all calls of the model

    def add(self, reading: Reading) -> None:
        """Count a reading."""
        self.questions_asked += 1
        self.total_iterations += reading.iterations
        self.total_lines_read += reading.unique_lines
        self.total_words_read += reading.total_words
        self.total_time += reading.elapsed_time
        self.tokens += reading.tokens

    def as_dict(self) -> dict[str, Any]:
        """The sums, and what a question took on average."""
        questions = max(1, self.questions_asked)
        return {
            "questions_asked": self.questions_asked,
            "total_iterations": self.total_iterations,
            "total_lines_read": self.total_lines_read,
            "total_words_read": self.total_words_read,
            "total_time": self.total_time,
            "avg_iterations_per_question": self.total_iterations / questions,
            "avg_lines_per_question": self.total_lines_read / questions,
            "avg_words_per_question": self.total_words_read / questions,
            "avg_time_per_question": self.total_time / questions,
            "tokens": self.tokens,
        }
