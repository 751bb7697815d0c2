"""Cron expressions: the times they stand for, and their meaning in English.

Five fields (minute, hour, day, month, weekday) as Debian's cron reads them, or six with seconds
first. Where clocks are put forward a time that is skipped is kept at the hour's end; where they are
put back it comes once.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from ..errors import InvalidInputError, MissingExtraError

if TYPE_CHECKING:
    from cronsim import CronSim


def next_time(expression: str, zone: str, after: datetime) -> datetime:
    """Find the first time of a cron expression after another, in UTC.

    Raises:
        InvalidInputError: it is not such an expression, or has no time in fifty years; the zone is
            unknown.
        MissingExtraError: cronsim is not installed.

    >>> next_time("0 2 * * *", "Europe/Riga", datetime(2026, 7, 1, 12, tzinfo=UTC)).isoformat()
    '2026-07-01T23:00:00+00:00'
    """
    # cronsim looks fifty years ahead: 30 February never comes
    time = next(_times(expression, zone, after), None)
    if time is None:
        raise InvalidInputError(
            f"{expression!r} means no time at all", remedy='for example "0 2 * * *"'
        )
    return time.astimezone(UTC)


def in_words(expression: str) -> str:
    """Say in English what a cron expression means.

    >>> in_words("0 2 * * *")
    'At 02:00 every day'
    """
    return _times(expression, "UTC", datetime.now(UTC)).explain()


def _times(expression: str, zone: str, after: datetime) -> CronSim:
    try:
        from cronsim import CronSim, CronSimError
    except ImportError:
        raise MissingExtraError("a schedule", "jobs") from None
    try:
        return CronSim(expression, after.astimezone(_zone(zone)))
    except CronSimError as error:
        raise InvalidInputError(
            f"{expression!r} is not a cron expression: {str(error).lower()}",
            remedy="minute, hour, day, month, weekday; "
            'for example "0 2 * * *" for two o\'clock every night',
        ) from None


def _zone(name: str) -> tzinfo:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        # "Europe" is a folder of zones: an OSError
        raise InvalidInputError(
            f"there is no time zone {name!r}", remedy="for example UTC or Europe/Riga"
        ) from None
