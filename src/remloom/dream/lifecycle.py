"""A run from its beginning to its end, however it ends; and the two cycles as such runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from ..errors import InvalidInputError, UnknownNameError
from ..llm import Budget
from ..model import ReadReport, Resource
from ..predicates import Exists, Query
from ..runs.failures import FailedItem, failed_items
from ..runs.lifecycle import run_to_end
from ..runs.rollback import created_ids
from ..runs.run import Run, begin_run, can_resume, list_runs
from ..runs.writer import Embed, Writer
from ..store.contract import Store
from .context import NEIGHBOURS, DreamContext, EmbedQuery, Limits
from .learn.loop import Progress, learn
from .learn.periods import PERIOD, Period, Rule, bounds
from .learn.units import lessons
from .rem.cycle import Cycle, rem
from .rem.sampling import Pool, how_many

if TYPE_CHECKING:
    from ..llm import LLM

__all__ = [
    "DreamResult",
    "LearnOptions",
    "LearnResult",
    "Means",
    "dream_run",
    "learn_run",
    "session",
]


class LearnOptions(Struct, frozen=True, kw_only=True):
    """How something is to be learned; see `Memory.learn`.

    Raises:
        InvalidInputError, UnknownNameError: it cannot be learned so.
    """

    source: str | None
    order: str
    period: str | int
    dreams: int | float | str | None
    seed: str
    window: int
    budget: Budget
    neighbours: int = NEIGHBOURS

    def __post_init__(self) -> None:
        if self.order not in ("strict", "relaxed"):
            raise UnknownNameError("order", str(self.order), ("strict", "relaxed"))
        if not isinstance(self.window, int) or self.window < 1:
            raise InvalidInputError(
                f"{self.window!r} documents at once are none", remedy="give a whole number from 1"
            )
        Rule(self.period)
        how_many(self.dreams, Pool((), ()))

    @property
    def settings(self) -> dict[str, Any]:
        """What a run is gone on with by: how much it may spend, and how fast it goes, is another
        matter each time."""
        names = ("source", "order", "period", "dreams", "seed", "neighbours")
        return {name: getattr(self, name) for name in names}


class LearnResult(Struct, frozen=True, kw_only=True):
    """What a call of `learn` did."""

    run: Run
    read: ReadReport | None = None  # what became of each document of the source, when there was one
    failed: list[FailedItem] = []  # what waits for the next run, with the reason


class DreamResult(Struct, frozen=True, kw_only=True):
    """What a call of `dream` did."""

    run: Run
    dreams: list[Resource] = []  # those written, or, of a dry run, those that would be
    failed: list[FailedItem] = []


class Means(Struct, frozen=True):
    """What a run is done with."""

    store: Store
    tenant: str
    llm: LLM
    model: str  # name of the embedder
    embed: Embed
    embed_query: EmbedQuery
    limits: Limits = Limits()


@contextmanager
def session(
    means: Means,
    kind: str,
    settings: dict[str, Any],
    *,
    budget: Budget | None = None,
    dry_run: bool = False,
) -> Iterator[DreamContext]:
    """A run around what is done inside. It ends as done, or as stopped with the reason; then it can
    be gone on with.

    A budget that is used up ends it without an error: what is done is done. Any other error of ours
    has the run in its fields.

    Raises:
        ConflictError: one of this kind is going on.
    """
    run = begin_run(means.store, kind, settings, dry_run=dry_run)
    writer = Writer(
        means.store, means.tenant, run, model=means.model, embed=means.embed, dry_run=dry_run
    )
    with run_to_end(means.store, writer):
        with means.llm.run(run.id, budget or Budget(), keep=not dry_run) as llm:
            yield DreamContext(
                means.store, means.tenant, llm, writer, means.embed_query, means.limits
            )
        if not dry_run:
            means.llm.finish(run.id)


def learn_run(
    means: Means,
    uris: Sequence[str] | None,
    wanted: LearnOptions,
    progress: Callable[[Progress], None] | None = None,
) -> Run:
    """Learn what was read at these places (None: everything) and was not learned yet, and what
    waits from before."""
    if uris is not None:
        uris = [
            *dict.fromkeys(
                (*uris, *(str(item.details["uri"]) for item in failed_items(means.store, "learn")))
            )
        ]
    rule = Rule(wanted.period)
    todo = lessons(means.store, uris)
    last = next(list_runs(means.store, "learn", limit=1), None)
    due = (
        todo or rule.over(means.store, None, datetime.now(UTC)) or can_resume(last, wanted.settings)
    )
    if not due:
        run = begin_run(means.store, "learn", wanted.settings, dry_run=True)
        return msgspec.structs.replace(run, id="", status="done")
    with session(means, "learn", wanted.settings, budget=wanted.budget) as mind:
        learn(
            mind,
            todo,
            rule=rule,
            strict=wanted.order == "strict",
            dreams=wanted.dreams,
            seed=wanted.seed,
            window=wanted.window,
            progress=progress,
        )
    return mind.writer.run


def dream_run(
    means: Means,
    *,
    dreams: int | float | str | None,
    seed: str | None,
    period: str | None,
    budget: Budget | None,
    dry_run: bool,
    progress: Callable[[Progress], None] | None,
    settings: dict[str, Any],
) -> DreamResult:
    """One REM cycle over all of memory, with the given month or year, or else the latest year, as
    the current period.

    Raises:
        InvalidInputError: the period is neither a month nor a year.
    """
    if period is not None and bounds(period) is None:
        raise InvalidInputError(
            f"{period!r} is no month or year", remedy="write it like 2021-03, or 2021"
        )
    how_many(dreams, Pool((), ()))
    label = period or _latest_year(means.store)
    with session(means, "dream", settings, budget=budget, dry_run=dry_run) as mind:
        run = mind.writer.run
        cycle = Cycle(
            label=label,
            seed=seed or run.id,
            dreams=dreams,
            period=None if dry_run else _progress_of(means.store, run),
        )

        def told(done: int, total: int) -> None:
            if progress:
                calls = mind.writer.run.counts.get("calls", 0)
                progress(
                    Progress(
                        phase="dreaming",
                        done=done,
                        total=total,
                        name=label,
                        calls=calls,
                        tokens=mind.llm.spent,
                    )
                )

        rem(mind, cycle, done=told)
    run = mind.writer.run
    found = (
        mind.writer.diff.records
        if dry_run
        else (means.store.get("resources", id) for id in created_ids(means.store, run.id))
    )
    written = [record for record in found if isinstance(record, Resource)]
    return DreamResult(run=run, dreams=written, failed=failed_items(means.store, "dream"))


def _progress_of(store: Store, run: Run) -> Period:
    """How far an interrupted run came."""
    label = f"dream {run.id}"
    stored = store.journal_entry(PERIOD, label)
    return msgspec.json.decode(stored.data, type=Period) if stored else Period(label)


def _latest_year(store: Store) -> str:
    latest = store.query(
        "resources", Query().filter(Exists("starts_at")).order_by("starts_at", "desc").limit(1)
    )
    at = latest[0].starts_at if latest and isinstance(latest[0], Resource) else None
    return f"{at.year:04}" if at else ""
