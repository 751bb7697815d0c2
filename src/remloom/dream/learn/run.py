"""A run of learning: what was read and not learned yet, and what an earlier run failed at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...errors import InvalidInputError, UnknownNameError
from ...llm import Budget
from ...model import ReadReport
from ...runs.failures import FailedItem, failed_items
from ...runs.run import Run, begin_run, can_resume, list_runs
from ..context import NEIGHBOURS, DreamServices, open_run
from ..periods import PeriodRule
from ..progress import Progress
from ..rem.sampling import SamplePool, number_of_dreams
from .loop import Learner
from .outcomes import RUN_KIND
from .units import unlearned_lessons


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
                f"{self.window!r} is not a number of documents at once",
                remedy="give a whole number from 1",
            )
        # both refuse what they cannot use
        PeriodRule(self.period)
        number_of_dreams(self.dreams, SamplePool((), ()))

    @property
    def settings(self) -> dict[str, Any]:
        """What an interrupted run is resumed by.

        How much it may spend, and how fast it goes, may be another matter each time.
        """
        names = ("source", "order", "period", "dreams", "seed", "neighbours")
        return {name: getattr(self, name) for name in names}


class LearnResult(Struct, frozen=True, kw_only=True):
    """What a call of `learn` did."""

    run: Run
    read: ReadReport | None = None  # what became of each document of the source, if there was one
    failed: list[FailedItem] = []  # what waits for the next run, with the reason


def learn(
    services: DreamServices,
    uris: Sequence[str] | None,
    options: LearnOptions,
    progress: Callable[[Progress], None] | None = None,
) -> Run:
    """Learn what was read from these sources (None: from all), and what waits from before."""
    store = services.store
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
    with open_run(services, RUN_KIND, options.settings, budget=options.budget) as context:
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
