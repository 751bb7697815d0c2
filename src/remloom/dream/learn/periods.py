"""Periods of reading: a month, a year, or every so many documents. When one is over, its REM cycle
is due."""

from __future__ import annotations

import calendar
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import takewhile

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...errors import InvalidInputError
from ...store.contract import JournalEntry, Store
from .units import Lesson

__all__ = ["PERIOD", "Period", "Rule", "bounds"]

PERIOD = "period"  # kind of the journal entries


class Period(Struct, frozen=True, omit_defaults=True):
    """What was read of one period, and whether it was dreamt about."""

    label: str  # 2021-03, 2021, or "documents 00040"
    documents: int = 0
    ids: tuple[str, ...] = ()  # of what was read, where the label does not tell
    waves: int = 0  # of dreams written by the run
    dreamt: bool = False
    run: str = ""  # the last that changed it

    def of(self, run: str) -> Period:
        """The same in the hands of a run: waves of another one are not its own."""
        return self if self.run == run else replace(self, waves=0, run=run)

    @property
    def entry(self) -> JournalEntry:
        return JournalEntry(PERIOD, self.label, msgspec.json.encode(self))


class Rule(Struct, frozen=True):
    """What a period is: "month", "year", a number of documents, or "none".

    Raises:
        InvalidInputError: it is none of these.
    """

    unit: str | int

    def __post_init__(self) -> None:
        whole = isinstance(self.unit, int) and not isinstance(self.unit, bool) and self.unit > 0
        if not (whole or self.unit in ("month", "year", "none")):
            raise InvalidInputError(
                f"a period is not {self.unit!r}",
                remedy='use "month", "year", "none" or a number of documents',
            )

    def after(self, store: Store, lesson: Lesson, run: str, *, whole: bool) -> Period | None:
        """The period of what was just learned, with that counted in it; None when it has none.

        `whole`: the document is learned to its end.
        """
        if isinstance(self.unit, int):
            period = self._current(store) or self._next(store)
            return replace(
                period.of(run), documents=period.documents + whole, ids=(*period.ids, *lesson.ids)
            )
        label = self._label(lesson.at)
        if not label:
            return None
        stored = store.journal_entry(PERIOD, label)
        period = msgspec.json.decode(stored.data, type=Period) if stored else Period(label)
        return replace(period.of(run), documents=period.documents + whole)

    def stretch(self, store: Store, todo: Sequence[Lesson]) -> int:
        """How many of these lessons come before a period may be over."""
        if isinstance(self.unit, int):
            period = self._current(store)
            return max(1, self.unit - (period.documents if period else 0))
        labels = (self._label(lesson.at) for lesson in todo)
        first = next(labels, "")
        return 1 + sum(1 for _ in takewhile(lambda label: label == first, labels))

    def over(self, store: Store, following: Lesson | None, now: datetime) -> list[Period]:
        """The periods that were read from and are over before this lesson (None: nothing more is to
        be read), and were not dreamt about yet; the oldest first."""
        if isinstance(self.unit, int):
            return [
                period for period in _open(store) if period.ids and period.documents >= self.unit
            ]
        dated = following is not None and following.at is not None
        # nothing dated comes: as the calendar says
        current = self._label(following.at if following and dated else now)
        return [
            period
            for period in _open(store)
            if not period.ids and len(period.label) == len(current) and period.label < current
        ]

    def _label(self, at: datetime | None) -> str:
        if at is None or self.unit == "none":
            return ""
        return f"{at.year:04}-{at.month:02}" if self.unit == "month" else f"{at.year:04}"

    def _current(self, store: Store) -> Period | None:
        """The stretch of documents that is being read, of a rule that counts them."""
        return next(
            (found for found in _open(store) if found.ids and found.documents < int(self.unit)),
            None,
        )

    def _next(self, store: Store) -> Period:
        count = len(store.journal(PERIOD, prefix="documents "))
        return Period(f"documents {count + 1:05}")


def bounds(label: str) -> tuple[datetime, datetime] | None:
    """First and last instant of a month or year by its label; None for any other.

    >>> [at.isoformat() for at in bounds("2024-02")]
    ['2024-02-01T00:00:00+00:00', '2024-02-29T23:59:59.999999+00:00']
    """
    year, _, month = label.partition("-")
    if not (
        year.isdigit()
        and len(year) == 4
        and (not month or (month.isdigit() and 1 <= int(month) <= 12))
    ):
        return None
    first, last = (int(month), int(month)) if month else (1, 12)
    days = calendar.monthrange(int(year), last)[1]
    return datetime(int(year), first, 1, tzinfo=UTC), datetime(
        int(year), last, days, 23, 59, 59, 999_999, UTC
    )


def _open(store: Store) -> list[Period]:
    """Periods that were not dreamt about yet, the oldest first."""
    found = [msgspec.json.decode(item.data, type=Period) for item in store.journal(PERIOD)]
    return [period for period in found if not period.dreamt]
