"""Times as they are written: instants, intervals, units, and the formats of strftime."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from ..errors import InvalidInputError

__all__ = ["PARTS", "TRUNCATED", "Formatted", "format_of", "instant", "interval", "shown", "unit"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_PREFIX = re.compile(r"(\d{4})(?:-(\d\d))?")  # a year or a month: where it begins

# name -> months and microseconds
_SECOND = 1_000_000
UNITS: dict[str, tuple[int, int]] = {
    "microsecond": (0, 1),
    "millisecond": (0, 1_000),
    "second": (0, _SECOND),
    "minute": (0, 60 * _SECOND),
    "hour": (0, 3_600 * _SECOND),
    "day": (0, 86_400 * _SECOND),
    "week": (0, 7 * 86_400 * _SECOND),
    "month": (1, 0),
    "quarter": (3, 0),
    "year": (12, 0),
}
_SPELLED = {
    "us": "microsecond", "ms": "millisecond", "s": "second", "sec": "second", "min": "minute", "h": "hour",
    "d": "day", "w": "week", "mon": "month", "y": "year", "yr": "year", "timezone": "",
}  # fmt: skip
TRUNCATED = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")
PARTS = (
    "microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year", "dow",
    "isodow", "doy", "epoch",
)  # fmt: skip
_MOST = 10_000 * 12  # months that an interval may have, and as many times 31 days
_AMOUNT = re.compile(r"\s*([-+]?\d{1,12}(?:\.\d{1,6})?)\s*([A-Za-z]+)\s*")

# strftime's letter -> (Python's, PostgreSQL's to_char's)
FORMATS = {
    "Y": ("%Y", "YYYY"), "m": ("%m", "MM"), "d": ("%d", "DD"), "H": ("%H", "HH24"), "M": ("%M", "MI"),
    "S": ("%S", "SS"), "j": ("%j", "DDD"), "w": ("%w", ""), "s": ("", ""), "f": ("", ""), "%": ("%%", ""),
    "F": ("%Y-%m-%d", "YYYY-MM-DD"), "T": ("%H:%M:%S", "HH24:MI:SS"), "R": ("%H:%M", "HH24:MI"),
}  # fmt: skip
Formatted = tuple[str, ...]  # texts, and `%x` for what stands in their places


def instant(what: str, text: str) -> int:
    """Microseconds since 1970 of a time as it is written; UTC unless it says otherwise.

    Raises:
        InvalidInputError: it is none.

    >>> instant("starts_at", "1970-01-01T01:00:01+01:00"), instant("starts_at", "1970")
    (1000000, 0)
    """
    if begun := _PREFIX.fullmatch(text):
        text = f"{begun[1]}-{begun[2] or '01'}-01"
    try:
        at = datetime.fromisoformat(text)
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidInputError(
            f"{what} is a time, {text[:60]!r} is none",
            remedy="write '2025-01-31' or '2025-01-31T10:00:00Z'",
        ) from None
    return (at - _EPOCH) // _MICROSECOND


def shown(micros: int, *, date: bool = False) -> str:
    """A time as the records show it; only its day, if `date`.

    Raises:
        InvalidInputError: it is before the year 1 or after 9999.
    """
    try:
        at = _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        raise InvalidInputError(
            "a time is out of range", remedy="stay between the years 1 and 9999"
        ) from None
    return at.date().isoformat() if date else at.isoformat().replace("+00:00", "Z")


def unit(text: str) -> str:
    """The unit of time that a word names, or the word itself in small letters if it names none."""
    word = text.strip().lower()
    word = _SPELLED.get(word, word)
    return word[:-1] if word.endswith("s") and word[:-1] in UNITS else word


def interval(text: str, named: str = "") -> tuple[int, int]:
    """Months and microseconds of an interval, such as `7 days` or `1 month 2 days`, or `7` with a
    unit named.

    Raises:
        InvalidInputError: it is none, or longer than 10,000 years.

    >>> interval("1 month 2 days"), interval("-1.5", "hours")
    ((1, 172800000000), (0, -5400000000))
    """
    months, micros, place = 0, 0, 0
    whole = f"{text} {named}" if named else text
    while place < len(whole) and len(whole) <= 200:
        found = _AMOUNT.match(whole, place)
        name = unit(found[2]) if found else ""
        if found is None or name not in UNITS:
            break
        amount, (of_months, of_micros) = float(found[1]), UNITS[name]
        if of_months and not amount.is_integer():
            break
        months += int(amount) * of_months
        micros += round(amount * of_micros)
        place = found.end()
    else:
        if (
            whole.strip()
            and len(whole) <= 200
            and abs(months) <= _MOST
            and abs(micros) <= _MOST * 31 * 86_400 * _SECOND
        ):
            return months, micros
    raise InvalidInputError(
        f"{whole[:60]!r} is no interval",
        remedy=f"write interval '7 days'; the units are {', '.join(UNITS)}",
    )


def format_of(text: str) -> Formatted:
    """The pieces of a format of strftime.

    Raises:
        InvalidInputError: it has a letter that is not known, or more than 100 characters.
    """
    if len(text) > 100:
        raise InvalidInputError("a format of a time may have 100 characters")
    pieces = tuple(piece for piece in re.split(r"(%.?)", text, flags=re.DOTALL) if piece)
    for piece in pieces:
        if piece[0] == "%" and piece[1:] not in FORMATS:
            raise InvalidInputError(
                f"{piece!r} is not known in a format of a time",
                remedy=f"known: {', '.join(f'%{letter}' for letter in FORMATS)}",
            )
    return pieces
