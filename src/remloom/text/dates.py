"""Dates and times as documents and chat exports write them; without a zone they are in UTC."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

_FORMATS = (
    "%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M", "%Y/%m/%d", "%Y-%m", "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M", "%d.%m.%Y", "%B %d %Y %I:%M %p", "%B %d %Y %H:%M", "%B %d %Y", "%b %d %Y",
    "%d %B %Y", "%d %b %Y", "%B %Y", "%b %Y",
    "%d %B %Y %H:%M", "%I:%M %p on %d %B %Y", "%H:%M on %d %B %Y", "%Y",
    "%a %d %b %Y %H:%M:%S %z", "%a %b %d %H:%M:%S %Y", "%d/%b/%Y:%H:%M:%S %z",
)  # fmt: skip
# a larger number is in milliseconds: in seconds it would be after the year 2286
_MILLISECONDS = 10_000_000_000
_TIMES = (100_000_000, 32_503_680_000)  # seconds from 1973 to 3000
_EPOCH = re.compile(r"\d{9,13}(?:\.\d+)?")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")


def parse(value: Any) -> datetime | None:
    """Read a value as an aware time; None when it is not one.

    Takes ISO 8601, seconds or milliseconds since 1970 (numbers, or text of nine digits and more), a
    year, and the usual written forms. Day/month order of forms like 03/04/2024 is unknowable: those
    are not taken.

    >>> parse("2024-01-05T10:00:00Z").isoformat(), parse("1:56 pm on 8 May, 2023").isoformat()
    ('2024-01-05T10:00:00+00:00', '2023-05-08T13:56:00+00:00')
    >>> parse(1754).year, parse("1704448800.000200").year, parse("soon")
    (1754, 2024, None)
    """
    try:
        return _parse(value)
    except OverflowError:
        # before the year 1 or after 9999 once it is in UTC, or a number beyond all times
        return None


def _parse(value: Any) -> datetime | None:
    if isinstance(value, datetime):
        return _aware(value)
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        # a year
        if isinstance(value, int) and 1 <= value <= 9999:
            return datetime(value, 1, 1, tzinfo=UTC)
        return _epoch(float(value))
    text = str(value).strip().strip("\"'")
    if _EPOCH.fullmatch(text):
        return _epoch(float(text))
    with suppress(ValueError):
        return _aware(datetime.fromisoformat(text))
    plain = " ".join(_ORDINAL.sub("", text).replace(",", " ").split())
    for form in _FORMATS:
        with suppress(ValueError):
            return _aware(datetime.strptime(plain, form))  # noqa: DTZ007 - made aware at once
    return None


def _epoch(number: float) -> datetime | None:
    seconds = number / 1000 if number >= _MILLISECONDS else number
    # anything else is a count, not a time
    if not _TIMES[0] <= seconds <= _TIMES[1]:
        return None
    return datetime.fromtimestamp(seconds, UTC)


def _aware(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
