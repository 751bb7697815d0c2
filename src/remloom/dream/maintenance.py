"""Runs that a model may help with but need not: moments, affinity, consolidation."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from ..errors import InvalidInputError
from ..runs.failures import FailedItem, failed_items
from ..runs.lifecycle import run_to_end
from ..runs.run import Diff, Run
from ..runs.writer import Writer
from ..store.contract import Store

if TYPE_CHECKING:
    from ..llm import LLM, Budget


class Theme(Struct, frozen=True, kw_only=True):
    """Insights that are close to each other, by name, the nearest to their centre first."""

    topics: tuple[str, ...]
    insights: tuple[str, ...]


class MaintenanceResult(Struct, frozen=True, kw_only=True):
    """What such a run did."""

    run: Run
    diff: Diff | None = None  # of a dry run: what would be written
    failed: list[FailedItem] = []  # what waits for the next run, with the reason
    themes: list[Theme] = []  # what consolidation found to belong together


def run_maintenance(
    store: Store,
    writer: Writer,
    work: Callable[[LLM | None], list[Theme]],
    *,
    llm: LLM | None,
    budget: Budget,
    dry_run: bool,
) -> MaintenanceResult:
    """Do the work of a run, with a model or without.

    A budget that is used up stops it; what is done by then stays.
    """
    themes: list[Theme] = []
    with run_to_end(writer):
        # what such a run asks is kept as results, so no replies are kept for it
        if llm is None:
            themes = work(None)
        else:
            with llm.run(writer.id, budget) as run_llm:
                themes = work(run_llm)
    run = writer.run
    return MaintenanceResult(
        run=run,
        diff=writer.diff if dry_run else None,
        failed=failed_items(store, run.kind),
        themes=themes,
    )


def start_of_lookback(
    hours: float | None,
    since: datetime | None,
    now: datetime,
) -> datetime | None:
    """From when on a run looks: `since`, or so many hours before now; None: at everything.

    Raises:
        InvalidInputError: hours that are not above zero, or a time without zone.
    """
    if since is not None:
        if not isinstance(since, datetime) or since.utcoffset() is None:
            raise InvalidInputError(
                f"since {since!r} is not a time with a zone",
                remedy="use datetime.now(UTC)",
            )
        return since.astimezone(UTC)
    if hours is None:
        return None
    if not isinstance(hours, int | float) or not hours > 0:
        raise InvalidInputError(
            f"hours are a number above 0, not {hours!r}",
            remedy="None looks at everything",
        )
    try:
        return now - timedelta(hours=hours)
    except OverflowError:
        # longer ago than there are years
        return None
