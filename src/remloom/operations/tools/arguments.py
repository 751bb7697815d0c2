"""Arguments of tools: their types, and times as agents write them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, TypeAlias

from msgspec import Meta

from ...errors import InvalidInputError
from ..bounds import LONGEST_LABEL, LONGEST_TEXT, NO_NUL

_MOST_LABELS = 50

Label: TypeAlias = Annotated[str, Meta(min_length=1, max_length=LONGEST_LABEL, pattern=NO_NUL)]
Labels: TypeAlias = Annotated[list[Label], Meta(min_length=1, max_length=_MOST_LABELS)]
Limit: TypeAlias = Annotated[int, Meta(ge=1, le=100)]
Text: TypeAlias = Annotated[str, Meta(max_length=LONGEST_TEXT, pattern=NO_NUL)]
Time: TypeAlias = Annotated[str, Meta(max_length=40, description="ISO 8601")]


def parse_time(text: str, name: str) -> datetime | None:
    """Read a date or time as agents write it; without a zone it is UTC. None for no text.

    Raises:
        InvalidInputError: it is no time.

    >>> parse_time("2025-05-01", "start").isoformat()
    '2025-05-01T00:00:00+00:00'
    """
    if not text.strip():
        return None
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidInputError(
            f"{name} {text!r} is not a time",
            remedy="write it like 2025-05-01 or 2025-05-01T09:30:00Z",
        ) from None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
