"""A run of one REM cycle over all of memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from ...errors import InvalidInputError
from ...llm import Budget
from ...model import Record, Resource
from ...predicates import Exists, Query
from ...runs.failures import FailedItem, failed_items
from ...runs.rollback import created_ids
from ...runs.run import Run
from ...store.contract import Store
from ..context import DreamServices, open_run
from ..periods import period_bounds, stored_period
from ..progress import Progress
from .cycle import RUN_KIND, Cycle, run_cycle
from .sampling import SamplePool, number_of_dreams


class DreamResult(Struct, frozen=True, kw_only=True):
    """What a call of `dream` did."""

    run: Run
    dreams: list[Resource] = []  # those written, or, of a dry run, those that would be
    failed: list[FailedItem] = []  # what waits for the next run, with the reason


def dream(
    services: DreamServices,
    *,
    dreams: int | float | str | None,
    seed: str | None,
    period: str | None,
    budget: Budget | None,
    dry_run: bool,
    progress: Callable[[Progress], None] | None,
    settings: dict[str, Any],
) -> DreamResult:
    """Go through one REM cycle, with a month or year, by default the latest year, as its period.

    `settings` are those by which an interrupted run is resumed; for the others see `Memory.dream`.

    Raises:
        InvalidInputError: the period is neither a month nor a year.
    """
    if period is not None and period_bounds(period) is None:
        raise InvalidInputError(
            f"{period!r} is not a month or year",
            remedy="write it like 2021-03, or 2021",
        )
    # refuse what is not a number before a run begins
    number_of_dreams(dreams, SamplePool((), ()))
    store = services.store
    label = period or _latest_year(store)

    def report(done: int, total: int) -> None:
        if progress:
            progress(context.progress("dreaming", done, total, label))

    with open_run(services, RUN_KIND, settings, budget=budget, dry_run=dry_run) as context:
        run_id = context.writer.id
        cycle = Cycle(
            label=label,
            seed=seed or run_id,
            dreams=dreams,
            # not a period of reading, but how far this run came
            period=None if dry_run else stored_period(store, f"dream {run_id}"),
        )
        run_cycle(context, cycle, progress=report)
    run = context.writer.run
    records: Sequence[Record | None]
    if dry_run:
        records = context.writer.diff.records
    else:
        records = [store.records.get("resources", id) for id in created_ids(store, run.id)]
    written = [record for record in records if isinstance(record, Resource)]
    return DreamResult(run=run, dreams=written, failed=failed_items(store, RUN_KIND))


def _latest_year(store: Store) -> str:
    latest = Query().filter(Exists("starts_at")).order_by("starts_at", "desc").limit(1)
    records = store.records.query("resources", latest)
    at = records[0].starts_at if records and isinstance(records[0], Resource) else None
    return f"{at.year:04}" if at else ""
