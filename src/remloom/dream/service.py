"""What dreaming does besides `learn` and `dream`: moments, affinity, consolidation, and metrics."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ..engine.arguments import Progress, check_limit
from ..engine.engine import Engine
from ..errors import InvalidInputError

if TYPE_CHECKING:
    from ..llm import LLM, Budget
    from ..runs.writer import Writer
    from .context import MaintenanceResult, Theme
    from .refresh import RefreshResult
    from .report import Metrics


class Dreams:
    """Runs that order what is remembered; a model may help. Reached as `memory.dreams`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._store = engine.store

    def moments(
        self,
        *,
        hours: float | None = 24.0,
        since: datetime | None = None,
        model: bool | None = None,
        dry_run: bool = False,
        budget: Budget | None = None,
        progress: Progress | None = None,
    ) -> MaintenanceResult:
        """Describe what happened as moments. See docs/moments.md. Source: seed 5.

        These are sessions, their parts by topic, and, with a model, what happened in them. Each is
        connected by label with its people, resources, topics, and what came before and after.
        Idempotent.

        Args:
            hours: how far to look back, at what happened or was remembered; None: at everything.
            since: from when on, instead of `hours`.
            model: True asks the model, False does not; None asks it if there is one.
            dry_run: write nothing; the report has what would be written. The model is called all
                the same.
            budget: what this call may spend; then it stops cleanly.
            progress: called as `progress(sessions done, sessions)`.

        Raises:
            ModelNotConfiguredError: `model` is True, and there is none.
            ConflictError: such a run is going on.
            InvalidInputError: an argument is wrong.
        """
        from .context import run_maintenance, start_of_lookback
        from .moments.extract import extract_moments

        now = datetime.now(UTC)
        start = start_of_lookback(hours, since, now)

        def work(writer: Writer, llm: LLM | None) -> list[Theme]:
            extract_moments(self._store, writer, since=start, now=now, llm=llm, progress=progress)
            return []

        settings = {"since": start.isoformat() if since and start else None, "hours": hours}
        return run_maintenance(
            self._engine, "moments", settings, work, model=model, dry_run=dry_run, budget=budget
        )

    def affinity(
        self,
        *,
        hours: float | None = None,
        since: datetime | None = None,
        neighbours: int = 5,
        min_score: float | None = None,
        judge: bool = False,
        dry_run: bool = False,
        budget: Budget | None = None,
        progress: Progress | None = None,
    ) -> MaintenanceResult:
        """Connect resources that are about the same. See docs/moments.md. Source: seed 5.

        Edges of type `related` go by vectors, those of type `entity` by shared names. They are
        merged into what is there. Idempotent.

        Args:
            hours, since: edges only from what happened or was remembered since then; default from
                everything.
            neighbours: edges of each type from one resource, at most.
            min_score: cosine from which two are related; default derived from the memory itself.
            judge: keep only those edges by vectors that the model agrees to. Each pair is judged
                once.
            dry_run, budget: as for `moments`.
            progress: called as `progress(resources done, resources)`.

        Raises:
            ModelNotConfiguredError: the model is to judge, and there is none.
            ConflictError: such a run is going on.
            InvalidInputError: an argument is wrong.
        """
        from .affinity import AffinityOptions, link_resources
        from .context import run_maintenance, start_of_lookback

        if min_score is not None and not -1 <= min_score <= 1:
            raise InvalidInputError(f"a cosine is between -1 and 1, not {min_score!r}")
        start = start_of_lookback(hours, since, datetime.now(UTC))
        options = AffinityOptions(
            since=start, neighbours=check_limit(neighbours), min_score=min_score
        )

        def work(writer: Writer, llm: LLM | None) -> list[Theme]:
            link_resources(self._store, writer, options, llm=llm, progress=progress)
            return []

        settings = {
            "neighbours": neighbours,
            "min_score": min_score,
            "judge": judge,
            "hours": hours,
        }
        return run_maintenance(
            self._engine, "affinity", settings, work, model=judge, dry_run=dry_run, budget=budget
        )

    def consolidate(
        self,
        *,
        min_score: float = 0.95,
        model: bool | None = None,
        dry_run: bool = False,
        budget: Budget | None = None,
        progress: Progress | None = None,
    ) -> MaintenanceResult:
        """Merge insights that say the same. See docs/metrics.md.

        An insight that says what an older one says supersedes it. With a model, insights that are
        close to each other get a summary. What was read stays as it is.

        Args:
            min_score: cosine above which two insights say the same.
            model, dry_run, budget: as for `moments`.
            progress: called as `progress(summaries done, summaries)`.

        Raises:
            ModelNotConfiguredError: `model` is True, and there is none.
            MissingExtraError: the extra `consolidate` is not installed.
            ConflictError: such a run is going on.
            InvalidInputError: an argument is wrong.
        """
        from .consolidate import consolidate
        from .context import run_maintenance

        if not 0 < min_score < 1:
            raise InvalidInputError(
                f"a cosine that says the same is between 0 and 1, not {min_score!r}"
            )

        def work(writer: Writer, llm: LLM | None) -> list[Theme]:
            return consolidate(
                self._store,
                writer,
                tenant=self._engine.tenant,
                llm=llm,
                min_score=min_score,
                progress=progress,
            )

        return run_maintenance(
            self._engine,
            "consolidate",
            {"min_score": min_score},
            work,
            model=model,
            dry_run=dry_run,
            budget=budget,
        )

    def refresh(
        self,
        ids: Sequence[str] | None = None,
        *,
        model: bool | None = None,
        dry_run: bool = False,
        budget: Budget | None = None,
        progress: Progress | None = None,
    ) -> RefreshResult:
        """Make again what rests on something that changed. See docs/changes.md.

        The step that made it makes it of what its premises say now, the lowest generation first.
        Where that says the same, what rests on it is left alone; where nothing follows any more, it
        is retired. What no run made is listed as yours: mend it, or `confirm` it.

        Args:
            ids: these records, and what they rest on; None: all.
            model, dry_run, budget: as for `moments`. Without a model, what needs one waits.
            progress: called as `progress(records done, records)`.

        Raises:
            NotFoundError: there is no record with an id.
            ModelNotConfiguredError: `model` is True, and there is none.
            ConflictError: such a run is going on.
        """
        from .refresh import refresh

        return refresh(
            self._engine, ids, model=model, dry_run=dry_run, budget=budget, progress=progress
        )

    def metrics(self, held_out: str | os.PathLike[str] | None = None) -> Metrics:
        """Measure what was dreamt: coherence, coverage, novelty, depth, cost.

        See docs/metrics.md for the definitions.

        Args:
            held_out: a file or folder that was not read: coverage is how much of it is foreseen.

        Raises:
            SourceError: there is no such file or folder.
            EmbedderError: `held_out` is given, and there is no embedder.
        """
        from ..llm.ledger import rows
        from ..sources import open_source
        from .metrics import measure, passages

        # without texts nothing is embedded, and no embedder is needed
        texts = [] if held_out is None else passages(open_source(held_out))
        if texts or self._engine.embedder is not None:
            self._engine.embed_waiting()
        embed = self._engine.embedding_queue.windows if texts else None
        return measure(self._store, rows(self._store.kv), held_out=texts, embed=embed)
