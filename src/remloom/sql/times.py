"""Times as they are written: instants, intervals, units, and the formats of strftime."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from ..errors import InvalidInputError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_YEAR_OR_MONTH = re.compile(r"(\d{4})(?:-(\d\d))?")

_SECOND = 1_000_000
DAY = 86_400 * _SECOND
# name -> (months, microseconds)
UNITS: dict[str, tuple[int, int]] = {
    "microsecond": (0, 1),
    "millisecond": (0, 1_000),
    "second": (0, _SECOND),
    "minute": (0, 60 * _SECOND),
    "hour": (0, 3_600 * _SECOND),
    "day": (0, DAY),
    "week": (0, 7 * DAY),
    "month": (1, 0),
    "quarter": (3, 0),
    "year": (12, 0),
}
_ABBREVIATIONS = {
    "us": "microsecond", "ms": "millisecond", "s": "second", "sec": "second", "min": "minute",
    "h": "hour", "d": "day", "w": "week", "mon": "month", "y": "year", "yr": "year",
    "timezone": "",
}  # fmt: skip
TRUNCATED = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")
PARTS = (
    "microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month", "quarter",
    "year", "dow", "isodow", "doy", "epoch",
)  # fmt: skip

_MAX_INTERVAL = 200  # characters
_MAX_MONTHS = 10_000 * 12
_MAX_MICROS = _MAX_MONTHS * 31 * DAY
_AMOUNT = re.compile(r"\s*([-+]?\d{1,12}(?:\.\d{1,6})?)\s*([A-Za-z]+)\s*")

# strftime's letter -> (Python's, PostgreSQL's to_char's); "" where a store computes it itself
FORMATS = {
    "Y": ("%Y", "YYYY"),
    "m": ("%m", "MM"),
    "d": ("%d", "DD"),
    "H": ("%H", "HH24"),
    "M": ("%M", "MI"),
    "S": ("%S", "SS"),
    "j": ("%j", "DDD"),
    "w": ("%w", ""),
    "s": ("", ""),
    "f": ("", ""),
    "%": ("%%", ""),
    "F": ("%Y-%m-%d", "YYYY-MM-DD"),
    "T": ("%H:%M:%S", "HH24:MI:SS"),
    "R": ("%H:%M", "HH24:MI"),
}
_MAX_FORMAT = 100  # characters
FormatPieces: TypeAlias = tuple[str, ...]  # texts, and `%x` where a part of the time goes


def parse_time(what: str, text: str) -> int:
    """Parse a time into microseconds since 1970; UTC unless it says otherwise.

    Args:
        what: the name of what should be a time, for the error.

    Raises:
        InvalidInputError: the text is not a time.

    >>> parse_time("starts_at", "1970-01-01T01:00:01+01:00"), parse_time("starts_at", "1970")
    (1000000, 0)
    """
    # A year or a month alone means its beginning.
    if prefix := _YEAR_OR_MONTH.fullmatch(text):
        text = f"{prefix[1]}-{prefix[2] or '01'}-01"
    try:
        at = datetime.fromisoformat(text)
        if at.tzinfo is None:
            at = at.replace(tzinfo=UTC)
        since_epoch = at.astimezone(UTC) - _EPOCH
    except (ValueError, OverflowError):
        raise InvalidInputError(
            f"{what} is a time, and {text[:60]!r} is not one",
            remedy="write '2025-01-31' or '2025-01-31T10:00:00Z'",
        ) from None
    return since_epoch // _MICROSECOND


def render_time(micros: int, *, date_only: bool = False) -> str:
    """Write a time (microseconds since 1970) as the records show it, or only its day.

    Raises:
        InvalidInputError: it is before the year 1 or after 9999.
    """
    try:
        at = _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        raise InvalidInputError(
            "a time is out of range", remedy="stay between the years 1 and 9999"
        ) from None
    if date_only:
        return at.date().isoformat()
    return at.isoformat().replace("+00:00", "Z")


def normalize_unit(text: str) -> str:
    """The unit of time that a word names; a word that names none, in lower case."""
    word = text.strip().lower()
    word = _ABBREVIATIONS.get(word, word)
    singular = word.removesuffix("s")
    return singular if singular in UNITS else word


def parse_interval(text: str, unit: str = "") -> tuple[int, int]:
    """Parse an interval such as `7 days`, or `7` with a unit, into (months, microseconds).

    Raises:
        InvalidInputError: the text is not an interval, or is longer than 10,000 years.

    >>> parse_interval("1 month 2 days"), parse_interval("-1.5", "hours")
    ((1, 172800000000), (0, -5400000000))
    """
    whole = f"{text} {unit}" if unit else text
    total = None
    if whole.strip() and len(whole) <= _MAX_INTERVAL:
        total = _sum_amounts(whole)
    if total is not None:
        months, micros = total
        if abs(months) <= _MAX_MONTHS and abs(micros) <= _MAX_MICROS:
            return total
    raise InvalidInputError(
        f"{whole[:60]!r} is not an interval",
        remedy=f"write interval '7 days'; the units are {', '.join(UNITS)}",
    )


def _sum_amounts(text: str) -> tuple[int, int] | None:
    """Months and microseconds of a row of amounts with units; None if it is anything else."""
    months, micros, position = 0, 0, 0
    while position < len(text):
        match = _AMOUNT.match(text, position)
        unit = normalize_unit(match[2]) if match else ""
        if match is None or unit not in UNITS:
            return None
        amount = float(match[1])
        unit_months, unit_micros = UNITS[unit]
        # Half a month has no fixed length.
        if unit_months and not amount.is_integer():
            return None
        months += int(amount) * unit_months
        micros += round(amount * unit_micros)
        position = match.end()
    return months, micros


def split_format(text: str) -> FormatPieces:
    """Split a format of strftime into its pieces.

    Raises:
        InvalidInputError: it has an unknown letter, or more than 100 characters.
    """
    if len(text) > _MAX_FORMAT:
        raise InvalidInputError("a format of a time may have 100 characters")
    # split by what is in brackets, which is kept
    pieces = re.split(r"(%.?)", text, flags=re.DOTALL)
    for piece in pieces:
        if piece[:1] == "%" and piece[1:] not in FORMATS:
            raise InvalidInputError(
                f"{piece!r} is not known in a format of a time",
                remedy=f"known: {', '.join(f'%{letter}' for letter in FORMATS)}",
            )
    return tuple(filter(None, pieces))
