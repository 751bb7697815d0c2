"""Events of a reading."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...errors import InvalidInputError, RemloomError

_T = TypeVar("_T")


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
EventCallback: TypeAlias = Callable[[ReadEvent], object]
# yields events as they happen, and returns what comes of it
EventStream: TypeAlias = Generator[ReadEvent, None, _T]


def event(type: EventType, **data: Any) -> ReadEvent:
    return ReadEvent(type=type, at=datetime.now(UTC), data=data)


def error_event(error: RemloomError, *, recoverable: bool) -> ReadEvent:
    """Make the event of an error; after one that is recoverable the reading goes on."""
    return event(
        EventType.ERROR,
        error=str(error),
        error_type=type(error).__name__,
        recoverable=recoverable,
    )


def deliver(events: EventStream[_T], listener: Listener) -> _T:
    """Send each event to a listener, and return what comes of it."""
    while True:
        try:
            listener.hear(next(events))
        except StopIteration as stop:
            value: _T = stop.value
            return value


class Listener:
    """Calls a callback with events. An error in it breaks nothing; the first is warned of.

    Raises:
        InvalidInputError: what is to be called cannot be.
    """

    def __init__(self, told: EventCallback | None) -> None:
        if told is not None and not callable(told):
            raise InvalidInputError(
                f"told={told!r:.100} cannot be called",
                remedy="give a function of one event, for example told=print",
            )
        self._told = told
        self._failed = False

    def hear(self, happened: ReadEvent) -> None:
        problem = self._call(happened)
        if problem and not self._failed:
            self._failed = True
            warnings.warn(f"the callback of a reader failed: {problem}", stacklevel=2)
            self._call(event(EventType.WARNING, warning=f"the callback failed: {problem}"))

    def _call(self, happened: ReadEvent) -> str:
        """Why the callback failed; empty: it did not."""
        if self._told is None:
            return ""
        try:
            self._told(happened)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return ""
