"""A run of learning: what was read and not learned yet, and what an earlier run failed at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...engine.arguments import Progress
from ...engine.engine import Engine
from ...engine.ingesting import Ingesting
from ...errors import InvalidInputError, ModelError, UnknownNameError
from ...llm import Budget
from ...model import ReadReport
from ...runs.failures import FailedItem, failed_items
from ...runs.run import Run, begin_run, can_resume, list_runs
from ..context import NEIGHBOURS, LearnProgress, check_ready, open_run
from ..periods import PeriodRule
from ..sampling import SamplePool, number_of_dreams
from .lessons import unlearned_lessons
from .loop import Learner
from .outcomes import RUN_KIND


class LearnOptions(Struct, frozen=True, kw_only=True):
    """The arguments of `Memory.learn`, checked."""

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
                f"{self.window!r} is not a number of documents at once",
                remedy="give a whole number from 1",
            )
        # both refuse what they cannot use
        PeriodRule(self.period)
        number_of_dreams(self.dreams, SamplePool((), ()))

    @property
    def settings(self) -> dict[str, Any]:
        """What an interrupted run is resumed by: not how much it may spend, or how fast it goes."""
        names = ("source", "order", "period", "dreams", "seed", "neighbours")
        return {name: getattr(self, name) for name in names}


class LearnResult(Struct, frozen=True, kw_only=True):
    """What a call of `learn` did."""

    run: Run
    read: ReadReport | None = None  # what became of each document of the source, if there was one
    failed: list[FailedItem] = []  # what waits for the next run, with the reason


def learn(
    engine: Engine,
    ingesting: Ingesting,
    options: LearnOptions,
    *,
    glob: str | None,
    progress: Callable[[LearnProgress], None] | None,
) -> LearnResult:
    """Read the source of the options and learn from it; see `Memory.learn`."""
    check_ready(engine)
    store = engine.store
    report = uris = None
    if options.source is not None:
        report = ingesting.read(options.source, glob=glob, progress=_reading_progress(progress))
        uris = [item.uri for item in report.items if item.status in ("read", "unchanged")]
    # what was read is compared with what has a vector
    engine.embed_waiting()
    try:
        run = _learn(engine, uris, options, progress)
    except ModelError as error:
        # what is done is done: the report says what was read before the model failed
        error.fields["read"] = report
        raise
    failures = failed_items(store, RUN_KIND) + failed_items(store, "dream")
    return LearnResult(run=run, read=report, failed=failures)


def _reading_progress(progress: Callable[[LearnProgress], None] | None) -> Progress | None:
    if progress is None:
        return None
    return lambda done, total: progress(LearnProgress(phase="reading", done=done, total=total))


def _learn(
    engine: Engine,
    uris: Sequence[str] | None,
    options: LearnOptions,
    progress: Callable[[LearnProgress], None] | None,
) -> Run:
    """Learn what was read from these sources (None: from all), and what waits from before."""
    store = engine.store
    if uris is not None:
        waiting = [str(item.details["uri"]) for item in failed_items(store, RUN_KIND)]
        uris = list(dict.fromkeys((*uris, *waiting)))
    rule = PeriodRule(options.period)
    lessons = unlearned_lessons(store, uris)
    last = next(list_runs(store, RUN_KIND, limit=1), None)
    is_due = (
        lessons or rule.ended(store, None, datetime.now(UTC)) or can_resume(last, options.settings)
    )
    if not is_due:
        run = begin_run(store, RUN_KIND, options.settings, dry_run=True)
        return replace(run, id="", status="done")
    with open_run(
        engine,
        RUN_KIND,
        options.settings,
        neighbours=options.neighbours,
        budget=options.budget,
    ) as context:
        learner = Learner(
            context,
            lessons,
            rule,
            dreams=options.dreams,
            seed=options.seed,
            progress=progress,
        )
        if options.order == "relaxed":
            learner.run_relaxed(options.window)
        elif find_spec("langgraph") is not None:
            # with the extra `dream` the same steps are a state machine with checkpoints
            from .graph import run_graph

            run_graph(learner)
        else:
            learner.run()
    return context.writer.run
