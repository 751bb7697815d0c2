"""Telling: events of a reading, yielded as they happen."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypeVar

from ...errors import InvalidInputError, RemloomError
from .events import EventType, ReadEvent, Told

_T = TypeVar("_T")

# yields events as they happen, and returns what comes of it
Telling: TypeAlias = Generator[ReadEvent, None, _T]


def event(type: EventType, **data: Any) -> ReadEvent:
    """Make an event that happens now."""
    return ReadEvent(type=type, at=datetime.now(UTC), data=data)


def error_event(error: RemloomError, *, recoverable: bool) -> ReadEvent:
    """Make the event of an error; after one that is recoverable the reading goes on."""
    return event(
        EventType.ERROR,
        error=str(error),
        error_type=type(error).__name__,
        recoverable=recoverable,
    )


def tell(telling: Telling[_T], listener: Listener) -> _T:
    """Tell a listener each event, and return what comes of it."""
    while True:
        try:
            listener.hear(next(telling))
        except StopIteration as stop:
            value: _T = stop.value
            return value


class Listener:
    """A callback that is told events. An error in it breaks nothing.

    The first is warned of: by Python's warnings, and in an event.

    Raises:
        InvalidInputError: what is to be called cannot be.
    """

    def __init__(self, told: Told | None) -> None:
        if told is not None and not callable(told):
            raise InvalidInputError(
                f"told={told!r:.100} cannot be called",
                remedy="give a function of one event, for example told=print",
            )
        self._told = told
        self._failed = False

    def hear(self, happened: ReadEvent) -> None:
        """Call the callback."""
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
