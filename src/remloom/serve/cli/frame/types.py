"""Types of options that click has not: times, lists of names, a number or all."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    _Times = click.ParamType[datetime]
    _Names = click.ParamType[list[str]]
    _Numbers = click.ParamType[int | str]
else:
    # which is not generic in the oldest click that we take
    _Times = _Names = _Numbers = click.ParamType

_DATE = len("2025-01-15")


class Time(_Times):
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


class Names(_Names):
    """Names with commas between them: "A,B"."""

    name = "names"

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> list[str]:
        from ....settings import split_list

        return list(split_list(value)) if isinstance(value, str) else list(value)


class NumberOrAll(_Numbers):
    """A whole number, or "all"."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> int | str:
        if str(value).lower() == "all":
            return "all"
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number nor all", param, context)
