"""Events of a reading, told as they happen."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace


class EventType(StrEnum):
    """The kinds of events, under the names of seed 3."""

    SESSION_START = "session_start"
    SESSION_END = "session_end"
    DOCUMENT_LOADED = "document_loaded"
    QUESTION_START = "question_start"
    QUESTION_END = "question_end"
    ITERATION_START = "iteration_start"
    ITERATION_END = "iteration_end"
    SQL_EXECUTE = "sql_execute"
    SQL_RESULT = "sql_result"
    LLM_REQUEST = "llm_request"
    LLM_RESPONSE = "llm_response"
    RESULTS = "results"
    SYNTHESIS_START = "synthesis_start"
    SYNTHESIS_END = "synthesis_end"
    ANSWER = "answer"
    ERROR = "error"
    WARNING = "warning"


class ReadEvent(Struct, frozen=True, kw_only=True):
    """Something that happened in a reading: what, when, and the data that its kind has."""

    type: EventType
    at: datetime
    data: dict[str, Any] = {}

    def as_dict(self) -> dict[str, Any]:
        """The event as JSON has it."""
        data = {
            name: value.as_dict() if hasattr(value, "as_dict") else value
            for name, value in self.data.items()
        }
        shown: dict[str, Any] = msgspec.to_builtins(replace(self, data=data))
        return shown


# what is called with each event; an error in it breaks no reading
Told: TypeAlias = Callable[[ReadEvent], object]
