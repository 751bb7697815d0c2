"""Telling: events of a reading, yielded as they happen."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypeVar

from ..errors import RemloomError
from .events import EventType, ReadEvent, Told

__all__ = ["Telling", "error_event", "event", "tell"]

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


def tell(telling: Telling[_T], told: Told | None) -> _T:
    """Call `told` with each event, and return what comes of it.

    An error in `told` changes nothing of that. The first one is warned of: by Python's warnings,
    and in an event.
    """
    is_warned = False
    while True:
        try:
            happened = next(telling)
        except StopIteration as stop:
            value: _T = stop.value
            return value
        problem = _call(told, happened)
        if problem and not is_warned:
            is_warned = True
            warnings.warn(f"the callback of a reading failed: {problem}", stacklevel=2)
            _call(told, event(EventType.WARNING, warning=f"the callback failed: {problem}"))


def _call(told: Told | None, happened: ReadEvent) -> str:
    """Why the callback failed; empty: it did not."""
    if told is None:
        return ""
    try:
        told(happened)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""
