"""Periods of reading: a month, a year, or so many documents. Each ends with a REM cycle."""

from __future__ import annotations

import calendar
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import takewhile

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..errors import InvalidInputError
from ..kv import Entry, KeyRange
from ..store.contract import Store

PERIOD = "period"  # namespace of the entries
_COUNTED = "documents "  # labels of periods that are so many documents begin so


class Period(Struct, frozen=True, omit_defaults=True):
    """What was read of a period, and whether it was dreamt about."""

    label: str  # 2021-03, 2021, or "documents 00040"
    documents: int = 0
    ids: tuple[str, ...] = ()  # of what was read; only where the label is not a time
    waves: int = 0  # of dreams that the run wrote
    dreamt: bool = False
    run: str = ""  # id of the run that changed it last

    def for_run(self, run: str) -> Period:
        """The period for a run to change: waves of another run do not count as its own."""
        return self if self.run == run else replace(self, waves=0, run=run)

    @property
    def entry(self) -> Entry:
        return Entry(PERIOD, self.label, msgspec.json.encode(self))


class PeriodRule(Struct, frozen=True):
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

    def count_learned(
        self,
        store: Store,
        at: datetime | None,
        ids: Sequence[str],
        run: str,
        *,
        whole: bool,
    ) -> Period | None:
        """The period of what was just learned, with that counted in; None when it has none.

        Args:
            at, ids: of what was learned.
            run: the id of the run that learned it.
            whole: a document was learned to its end.
        """
        if isinstance(self.unit, int):
            # such a period has no other bounds than what was read in it
            counted = len(store.kv.list(PERIOD, KeyRange(prefix=_COUNTED)))
            period = self._current(store) or Period(f"{_COUNTED}{counted + 1:05}")
            period = replace(period, ids=(*period.ids, *ids))
        else:
            label = self._label(at)
            if not label:
                return None
            period = stored_period(store, label)
        return replace(period.for_run(run), documents=period.documents + whole)

    def documents_left(self, store: Store, times: Sequence[datetime | None]) -> int:
        """How many documents of these times, in order, can be learned before a period may end."""
        if isinstance(self.unit, int):
            period = self._current(store)
            return max(1, self.unit - (period.documents if period else 0))
        labels = [self._label(at) for at in times]
        return max(1, sum(1 for _ in takewhile(lambda label: label == labels[0], labels)))

    def ended(self, store: Store, next_at: datetime | None, now: datetime) -> list[Period]:
        """The periods that were read from, ended, and were not dreamt about yet; the oldest first.

        Args:
            next_at: the time of what is read next; None: the calendar says what has ended.
        """
        if isinstance(self.unit, int):
            return [
                period
                for period in _not_dreamt(store)
                if period.ids and period.documents >= self.unit
            ]
        current = self._label(next_at or now)
        return [
            period
            for period in _not_dreamt(store)
            # a label of another length is of another rule
            if not period.ids and len(period.label) == len(current) and period.label < current
        ]

    def _label(self, at: datetime | None) -> str:
        if at is None or self.unit == "none":
            return ""
        return f"{at.year:04}-{at.month:02}" if self.unit == "month" else f"{at.year:04}"

    def _current(self, store: Store) -> Period | None:
        """The counted period that is not full yet."""
        size = int(self.unit)
        counted = (period for period in _not_dreamt(store) if period.ids)
        return next((period for period in counted if period.documents < size), None)


def stored_period(store: Store, label: str) -> Period:
    entry = store.kv.get(PERIOD, label)
    return msgspec.json.decode(entry.value, type=Period) if entry else Period(label)


def period_bounds(label: str) -> tuple[datetime, datetime] | None:
    """First and last instant of a month or year by its label; None for any other.

    >>> [at.isoformat() for at in period_bounds("2024-02")]
    ['2024-02-01T00:00:00+00:00', '2024-02-29T23:59:59.999999+00:00']
    """
    year, _, month = label.partition("-")
    if len(year) != 4 or not year.isdigit():
        return None
    if month and not (month.isdigit() and 1 <= int(month) <= 12):
        return None
    first_month, last_month = (int(month), int(month)) if month else (1, 12)
    last_day = calendar.monthrange(int(year), last_month)[1]
    first = datetime(int(year), first_month, 1, tzinfo=UTC)
    last = datetime(int(year), last_month, last_day, 23, 59, 59, 999_999, UTC)
    return first, last


def _not_dreamt(store: Store) -> list[Period]:
    """The periods that were not dreamt about yet, the oldest first."""
    periods = [msgspec.json.decode(entry.value, type=Period) for entry in store.kv.list(PERIOD)]
    return [period for period in periods if not period.dreamt]
