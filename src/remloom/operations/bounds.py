"""Types of arguments that come from outside, and how large they may be: one name, one bound."""

from __future__ import annotations

import typing
from datetime import UTC, datetime
from typing import Annotated, Any, TypeAlias

from msgspec import Meta

from ..errors import InvalidInputError
from ..predicates import LONGEST_QUESTION

MOST_ITEMS = 1_000  # of a list
LONGEST_LABEL = 1_000  # characters
LONGEST_STATEMENT = 100_000
LONGEST_TEXT = 2_000_000

# what no store can hold: a NUL character
NO_NUL = r"^[^\x00]*$"

_LABEL = Meta(max_length=LONGEST_LABEL, pattern=NO_NUL)
_QUESTION = Meta(max_length=LONGEST_QUESTION, pattern=NO_NUL)
_STATEMENT = Meta(max_length=LONGEST_STATEMENT, pattern=NO_NUL)
_TEXT = Meta(max_length=LONGEST_TEXT, pattern=NO_NUL)
_SHARE = Meta(ge=0, le=1)

_TEXTS: dict[str, Meta] = {
    "content": _TEXT,
    "query": _QUESTION,
    "question": _QUESTION,
    "statement": _STATEMENT,
    "text": _TEXT,
    "where": _STATEMENT,
}
_NUMBERS: dict[str, Meta] = {
    "budget_tokens": Meta(ge=1, le=200_000),
    "half_life": Meta(gt=0, le=36_500),
    "rerank_seconds": Meta(gt=0, le=600),
    "hops": Meta(ge=1, le=5),
    "hours": Meta(gt=0, le=1_000_000),
    "limit": Meta(ge=1, le=1_000),
    "max_depth": Meta(ge=0, le=10),
    "min_score": Meta(ge=-1, le=1),
    "neighbours": Meta(ge=0, le=20),
    "threshold": _SHARE,
    "turns": Meta(ge=0, le=20),
    "window": Meta(ge=1, le=256),
    "words": Meta(ge=1, le=20_000),
}


def bounded(name: str, hint: Any) -> Any:
    """Give the type of an argument with the bounds that its name has."""
    if hint is str:
        return Annotated[str, _TEXTS.get(name, _LABEL)]
    if hint in (int, float):
        return Annotated[hint, _NUMBERS[name]] if name in _NUMBERS else hint
    return hint


def without_pattern(hint: Any) -> Any:
    """Give the type of a text that may stand beside a list or an object.

    msgspec (0.22) takes the pattern of a text in such a union for the type of the items: it frees
    what others hold, and the process ends sooner or later.
    """
    if typing.get_origin(hint) is not Annotated:
        return hint
    base, *bounds = typing.get_args(hint)
    if base is not str:
        return hint
    kept = [Meta(max_length=one.max_length, min_length=one.min_length) for one in bounds]
    return Annotated[(base, *kept)]


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
