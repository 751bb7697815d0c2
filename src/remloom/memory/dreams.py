"""Learning, dreaming, and taking that back."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInputError, ModelError
from ..model import Record
from .arguments import Progress, positive, run_kind
from .reading import Reading

if TYPE_CHECKING:
    from ..dream.context import DreamServices
    from ..dream.learn.run import LearnResult
    from ..dream.maintenance import MaintenanceResult, Theme
    from ..dream.metrics import Metrics
    from ..dream.progress import Progress as LearnProgress
    from ..dream.rem.run import DreamResult
    from ..llm import LLM, Budget
    from ..runs.failures import FailedItem
    from ..runs.run import Run
    from ..runs.writer import Writer

__all__ = ["Dreaming"]


class Dreaming(Reading):
    """Runs of every kind."""

    def learn(
        self,
        source: str | os.PathLike[str] | None = None,
        *,
        order: str = "strict",
        period: str | int = "month",
        dreams: int | float | str | None = None,
        seed: str = "",
        window: int | None = None,
        budget_tokens: int | None = None,
        budget_calls: int | None = None,
        budget_cost: float | None = None,
        glob: str | None = None,
        neighbours: int = 5,
        progress: Callable[[LearnProgress], None] | None = None,
    ) -> LearnResult:
        """Read a source and learn from it, document by document in time order, and dream whenever a
        period is over. See docs/dreaming.md. Source: seed 1.

        What was read before and not learned yet is learned too. A run that was killed or stopped
        goes on where it was when it is started again with the same arguments. A document of which a
        call of the model failed is parked with the reason; the next run tries it again.

        Args:
            source: what to read first, as for `read`; None: learn from all that was read.
            order: "strict": one document after another, so that the outcome is the same each time;
                "relaxed": many at once.
            period: after which a REM cycle follows: "month", "year", a number of documents, or
                "none".
            dreams: of each cycle: a number, or a ratio of the records ("10%"); default 100, but one
                for each record of the period at most.
            seed: of the dreams; another one, other dreams.
            window: documents at once in relaxed order; default twice the setting `llm_concurrency`.
            budget_tokens, budget_calls, budget_cost: (US dollars) what this call may spend; then it
                stops cleanly.
            neighbours: records near a text that it is held against (seed 1: K=5, tunable).
            progress: called after each document and each ten dreams.

        Raises:
            ModelNotConfiguredError, EmbedderError: there is no model, or no embedder.
            ModelError: the model refused, or did not answer for several documents in a row. What is
                done is done: its fields `read` (a `ReadReport`) and `run` (a `Run`) tell what.
            ConflictError: a run is learning already.
            InvalidInputError, SourceError: of the arguments.
        """
        from ..dream.learn.run import LearnOptions, LearnResult, learn
        from ..llm import Budget

        wanted = LearnOptions(
            source=None if source is None else os.fspath(source), order=order, period=period, dreams=dreams, seed=seed,
            window=2 * self._settings.llm_concurrency if window is None else window,
            budget=Budget(tokens=budget_tokens, calls=budget_calls, cost=budget_cost), neighbours=positive(neighbours),
        )  # fmt: skip
        means = self._means(neighbours)
        report = uris = None
        if source is not None:
            report = self.read(source, glob=glob, progress=_told_as_reading(progress))
            uris = [item.uri for item in report.items if item.status in ("read", "unchanged")]
        if self._store.vectors.pending(1):
            self._queue.run()
        try:
            run = learn(means, uris, wanted, progress)
        except ModelError as error:
            error.fields["read"] = report
            raise
        return LearnResult(run=run, read=report, failed=self.parked("learn") + self.parked("dream"))

    def dream(
        self,
        dreams: int | float | str | None = None,
        *,
        seed: str | None = None,
        period: str | None = None,
        dry_run: bool = False,
        budget_tokens: int | None = None,
        budget_calls: int | None = None,
        budget_cost: float | None = None,
        neighbours: int = 5,
        progress: Callable[[LearnProgress], None] | None = None,
    ) -> DreamResult:
        """Dream once about what is remembered: three records at a time, one of them of the current
        period, the question that binds them, and what its answer reveals. See docs/dreaming.md.
        Source: seed 1.

        Args:
            dreams: a number, or a ratio of the records ("10%"); default 100, but one for each
                record of the current period at most.
            seed: the same seed over the same memory draws the same records; default another one
                each time.
            period: the current period: a month ("2021-03") or a year; default the year of the
                latest record.
            dry_run: write nothing; the report has what would be written. The model is called (and
                paid) all the same.
            budget_tokens, budget_calls, budget_cost, neighbours: as for `learn`.
            progress: called after each ten dreams.

        Raises:
            ModelNotConfiguredError, EmbedderError, ModelError, ConflictError, InvalidInputError: as
                for `learn`.
        """
        from ..dream.rem.run import dream
        from ..llm import Budget

        budget = Budget(tokens=budget_tokens, calls=budget_calls, cost=budget_cost)
        means = self._means(positive(neighbours))
        if self._store.vectors.pending(1):
            self._queue.run()
        return dream(
            means, dreams=dreams, seed=seed, period=period, dry_run=dry_run, progress=progress, budget=budget,
            settings={"dreams": dreams, "seed": seed, "period": period, "neighbours": neighbours},
        )  # fmt: skip

    def moments(
        self,
        *,
        hours: float | None = 24.0,
        since: datetime | None = None,
        model: bool | None = None,
        dry_run: bool = False,
        budget_tokens: int | None = None,
        budget_calls: int | None = None,
        budget_cost: float | None = None,
        progress: Progress | None = None,
    ) -> MaintenanceResult:
        """Tell what happened as moments: sessions, their parts by topic, and, with a model, what
        happened in them; each connected by label with its people, resources, topics, and what came
        before and after. See docs/moments.md. Again, it writes nothing. Source: seed 5.

        Args:
            hours: how far to look back, at what happened or was remembered; None: at everything.
            since: from when on, instead of `hours`.
            model: True asks the model, False does not; None asks it if there is one.
            dry_run: write nothing; the report has what would be written. The model is called all
                the same.
            budget_tokens, budget_calls, budget_cost: as for `learn`.
            progress: called as `progress(sessions done, sessions)`.

        Raises:
            ModelNotConfiguredError: the model is wanted, and there is none.
            ConflictError: such a run is going on. InvalidInputError: of the arguments.
        """
        from ..dream.maintenance import start_of_lookback
        from ..dream.moments.extract import extract_moments
        from ..llm import Budget

        budget = Budget(tokens=budget_tokens, calls=budget_calls, cost=budget_cost)
        now = datetime.now(UTC)
        start = start_of_lookback(hours, since, now)

        def work(writer: Writer, llm: LLM | None) -> list[Theme]:
            extract_moments(self._store, writer, since=start, now=now, llm=llm, progress=progress)
            return []

        settings = {"since": start.isoformat() if since and start else None, "hours": hours}
        return self._chore("moments", settings, work, model, dry_run, budget)

    def affinity(
        self,
        *,
        hours: float | None = None,
        since: datetime | None = None,
        neighbours: int = 5,
        min_score: float | None = None,
        judge: bool = False,
        dry_run: bool = False,
        budget_tokens: int | None = None,
        budget_calls: int | None = None,
        budget_cost: float | None = None,
        progress: Progress | None = None,
    ) -> MaintenanceResult:
        """Connect resources that are about the same: `related` by their vectors, `entity` by the
        names they share. Edges are merged into what is there. Again, it writes nothing. See
        docs/moments.md. Source: seed 5.

        Args:
            hours, since: edges only from what happened or was remembered since then; default from
                everything.
            neighbours: edges of each type from one resource, at most.
            min_score: cosine from which two are related; None: found from the memory itself.
            judge: keep only those edges by vectors that the model agrees to. Each pair is asked
                about once.
            dry_run, budget_tokens, budget_calls, budget_cost: as for `moments`.
            progress: called as `progress(resources done, resources)`.

        Raises:
            ModelNotConfiguredError: the model is to judge, and there is none.
            ConflictError: such a run is going on. InvalidInputError: of the arguments.
        """
        from ..dream.affinity.link import AffinityOptions, link_resources
        from ..dream.maintenance import start_of_lookback
        from ..llm import Budget

        budget = Budget(tokens=budget_tokens, calls=budget_calls, cost=budget_cost)
        if min_score is not None and not -1 <= min_score <= 1:
            raise InvalidInputError(f"a cosine is between -1 and 1, not {min_score!r}")
        start = start_of_lookback(hours, since, datetime.now(UTC))
        options = AffinityOptions(since=start, neighbours=positive(neighbours), min_score=min_score)

        def work(writer: Writer, llm: LLM | None) -> list[Theme]:
            link_resources(self._store, writer, options, llm=llm, progress=progress)
            return []

        settings = {
            "neighbours": neighbours,
            "min_score": min_score,
            "judge": judge,
            "hours": hours,
        }
        return self._chore("affinity", settings, work, judge, dry_run, budget)

    def consolidate(
        self,
        *,
        min_score: float = 0.95,
        model: bool | None = None,
        dry_run: bool = False,
        budget_tokens: int | None = None,
        budget_calls: int | None = None,
        budget_cost: float | None = None,
        progress: Progress | None = None,
    ) -> MaintenanceResult:
        """Tidy up what was derived: an insight that says what an older one says is superseded by
        it, and, with a model, those that are close to each other get a summary. What was read stays
        as it is. See docs/metrics.md.

        Args:
            min_score: cosine above which two insights say the same.
            model, dry_run, budget_tokens, budget_calls, budget_cost: as for `moments`.
            progress: called as `progress(summaries done, summaries)`.

        Raises:
            ModelNotConfiguredError: the model is wanted, and there is none.
            MissingExtraError: the extra `consolidate` is not installed.
            ConflictError: such a run is going on. InvalidInputError: of the arguments.
        """
        from ..dream.consolidate import consolidate
        from ..dream.maintenance import Theme
        from ..llm import Budget

        budget = Budget(tokens=budget_tokens, calls=budget_calls, cost=budget_cost)
        if not 0 < min_score < 1:
            raise InvalidInputError(
                f"a cosine that says the same is between 0 and 1, not {min_score!r}"
            )

        def work(writer: Writer, llm: LLM | None) -> list[Theme]:
            found = consolidate(
                self._store,
                writer,
                tenant=self.tenant,
                llm=llm,
                min_score=min_score,
                progress=progress,
            )
            return [
                Theme(
                    topics=cluster.topics, insights=tuple(record.name for record in cluster.members)
                )
                for cluster in found
            ]

        settings = {"min_score": min_score}
        return self._chore("consolidate", settings, work, model, dry_run, budget)

    def metrics(self, held_out: str | os.PathLike[str] | None = None) -> Metrics:
        """How good what was dreamt is: coherence, coverage, novelty, depth, cost. Definitions:
        docs/metrics.md.

        Args:
            held_out: a file or folder that was not read: coverage is how much of it is foreseen.

        Raises:
            SourceError: there is no such file or folder. EmbedderError: `held_out` without an
                embedder.
        """
        from ..dream.metrics import measure, passages
        from ..llm.ledger import rows
        from ..sources import open_source

        texts = [] if held_out is None else passages(open_source(held_out))
        if (texts or self._embedder is not None) and self._store.vectors.pending(1):
            self._queue.run()
        embed = self._queue.windows if texts else None
        return measure(self._store, rows(self._store.kv), held_out=texts, embed=embed)

    def _chore(
        self,
        kind: str,
        settings: dict[str, Any],
        work: Callable[[Writer, LLM | None], list[Theme]],
        model: bool | None,
        dry_run: bool,
        budget: Budget,
    ) -> MaintenanceResult:
        """A run that a model helps with if it is wanted (or, when None, if there is one)."""
        from ..dream.maintenance import run_maintenance

        llm = self._llm if model or (model is None and self.llm is not None) else None
        if self._embedder is not None and self._store.vectors.pending(1):
            self._queue.run()
        writer = self._writer(kind, settings, dry_run=dry_run)
        return run_maintenance(
            self._store,
            writer,
            lambda calls: work(writer, calls),
            llm=llm,
            budget=budget,
            dry_run=dry_run,
        )

    def runs(self, kind: str = "", *, limit: int | None = None) -> list[Run]:
        """Every time this memory learned, dreamt or tidied up, newest first.

        Args:
            kind: only these: "learn", "dream", "moments", "affinity" or "consolidate".
            limit: at most so many.

        Raises:
            UnknownNameError: there is no such kind of run.
        """
        from ..runs.run import list_runs

        return list(list_runs(self._store, run_kind(kind), limit=limit))

    def made(self, run: str) -> list[Record]:
        """The records that a run made and that are still there, in order.

        Args:
            run: its id, or one end of it that no other has.

        Raises:
            NotFoundError: there is no such run.
        """
        from ..runs.rollback import created_ids
        from ..runs.run import find_run

        found = (
            self._store.records.get(None, id)
            for id in created_ids(self._store, find_run(self._store, run).id)
        )
        return [record for record in found if record is not None]

    def rollback(self, run: str) -> Run:
        """Take a run back: what it made goes, what it changed is as it was before. All of it, or
        nothing.

        What you changed since stays, and is counted as `kept` in the receipt.

        Args:
            run: its id, or one end of it that no other has.

        Raises:
            NotFoundError: there is no such run.
            ConflictError: a run is going on, it was rolled back already, or something was built on
                it since; says what.
        """
        from ..runs.rollback import rollback

        return rollback(self._store, run)

    def parked(self, kind: str = "") -> list[FailedItem]:
        """What runs could not do because a call of the model failed, with the reason; the next run
        tries it again.

        Args:
            kind: of run, as for `runs`.

        Raises:
            UnknownNameError: there is no such kind of run.
        """
        from ..runs.failures import failed_items

        return failed_items(self._store, run_kind(kind))

    def _means(self, neighbours: int) -> DreamServices:
        """What cycles are done with."""
        from ..dream.context import DreamServices, Limits

        llm = self._llm
        return DreamServices(
            self._store, self.tenant, llm, self._model_name, self._queue.windows, self._embed_query,
            Limits(neighbours=neighbours, depth=self._settings.dream_depth),
        )  # fmt: skip

    def _writer(self, kind: str, settings: dict[str, Any], *, dry_run: bool = False) -> Writer:
        """A run of a kind, begun; for what needs no model."""
        from ..runs.run import begin_run
        from ..runs.writer import Writer

        run = begin_run(self._store, kind, settings, dry_run=dry_run)
        embed = self._queue.windows if self._embedder is not None else None
        return Writer(
            self._store, self.tenant, run, model=self._model_name, embed=embed, dry_run=dry_run
        )


def _told_as_reading(told: Callable[[LearnProgress], None] | None) -> Progress | None:
    """Reading's progress, told as that of learning."""
    if told is None:
        return None
    from ..dream.progress import Progress as LearnProgress

    return lambda done, total: told(LearnProgress(phase="reading", done=done, total=total))
