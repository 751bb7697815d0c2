"""Learning from what was read, and dreaming about it: runs that need a language model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..engine.arguments import Progress, check_budget, check_limit
from ..engine.engine import Engine
from ..engine.ingesting import Ingesting
from ..errors import ModelError

if TYPE_CHECKING:
    from ..llm import Budget
    from .context import DreamServices
    from .learn.run import LearnOptions, LearnResult
    from .progress import Progress as LearnProgress
    from .rem.run import DreamResult


class Learning:
    """Runs `learn` and `dream` on one tenant's store."""

    def __init__(self, engine: Engine, ingesting: Ingesting) -> None:
        self._engine = engine
        self._store = engine.store
        self._ingesting = ingesting

    def learn(
        self,
        options: LearnOptions,
        *,
        glob: str | None,
        progress: Callable[[LearnProgress], None] | None,
    ) -> LearnResult:
        """Read the source of the options and learn from it; see `Memory.learn`."""
        from ..runs.failures import failed_items
        from .learn.run import LearnResult, learn

        source = options.source
        services = self._services(options.neighbours)
        report = uris = None
        if source is not None:
            report = self._ingesting.read(source, glob=glob, progress=_reading_progress(progress))
            uris = [item.uri for item in report.items if item.status in ("read", "unchanged")]
        # what was read is held against what has a vector
        self._engine.embed_waiting()
        try:
            run = learn(services, uris, options, progress)
        except ModelError as error:
            # what is done is done: the report says what was read before the model failed
            error.fields["read"] = report
            raise
        failures = failed_items(self._store, "learn") + failed_items(self._store, "dream")
        return LearnResult(run=run, read=report, failed=failures)

    def dream(
        self,
        dreams: int | float | str | None,
        *,
        seed: str | None,
        period: str | None,
        dry_run: bool,
        budget: Budget | None,
        neighbours: int,
        progress: Callable[[LearnProgress], None] | None,
    ) -> DreamResult:
        """Dream once; see `Memory.dream`."""
        from .rem.run import dream

        limits = check_budget(budget)
        services = self._services(check_limit(neighbours))
        self._engine.embed_waiting()
        return dream(
            services,
            dreams=dreams,
            seed=seed,
            period=period,
            dry_run=dry_run,
            progress=progress,
            budget=limits,
            settings={"dreams": dreams, "seed": seed, "period": period, "neighbours": neighbours},
        )

    def _services(self, neighbours: int) -> DreamServices:
        """Collect what a run works with."""
        from .context import DreamServices, Limits

        engine = self._engine
        return DreamServices(
            engine.store,
            engine.tenant,
            engine.required_llm,
            engine.embedder_name,
            engine.embedding_queue.windows,
            engine.embed_query,
            Limits(neighbours=neighbours, depth=engine.settings.dream_depth),
        )


def _reading_progress(progress: Callable[[LearnProgress], None] | None) -> Progress | None:
    """Report the progress of reading as that of learning."""
    if progress is None:
        return None
    from .progress import Progress as LearnProgress

    return lambda done, total: progress(LearnProgress(phase="reading", done=done, total=total))
