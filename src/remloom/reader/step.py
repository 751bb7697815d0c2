"""Steps of a reading: what the model asked for in a turn, and what that brought."""

from __future__ import annotations

from msgspec import Struct


class ReadStep(Struct, frozen=True, kw_only=True):
    """A turn of a reading. Source: seed 3."""

    iteration: int  # from 0
    thought: str = ""
    reading_mode: str = ""
    goal: str = ""
    sql: str = ""  # as it ran
    row_count: int = 0
    word_count: int = 0
    satisfied: bool = False
    next_move: str = ""
    sample_lines: tuple[str, ...] = ()
    original_sql: str = ""  # as the model wrote it
    fixes: tuple[str, ...] = ()  # what was changed in it
    error: str = ""  # why it did not run
    notes: str = ""  # what the model noted of the lines it had seen
    # document and lines, from 1, both included, that were shown
    lines: tuple[tuple[str, int, int], ...] = ()
    tokens: int = 0  # in and out
