"""Times as options of commands."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    _ParamType = click.ParamType[datetime]
else:
    _ParamType = click.ParamType  # which is not generic in the oldest click that we take

_DATE = len("2025-01-15")


class Time(_ParamType):
    """A time such as 2025-01-15 or 2025-01-15T02:00+02:00; a bare date starts its day in UTC.

    Args:
        needs_zone: a time of day without a zone stays without, which `Memory` refuses; else it is
            one in UTC.
    """

    name = "time"

    def __init__(self, *, needs_zone: bool = False) -> None:
        self._needs_zone = needs_zone

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            # raises, so that `at` is bound below
            self.fail(f"{value!r} is not a time; write it like 2025-01-15", param, context)
        if at.tzinfo is not None or (self._needs_zone and len(value) > _DATE):
            return at
        return at.replace(tzinfo=UTC)
