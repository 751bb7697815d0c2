"""The pipeline: from passages to evidence to beliefs, each call a run that can be taken back.

Source: seed 4, "Two-LLM Pipeline": extractor, staging, normaliser; beliefs follow by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from ...engine.arguments import Progress
from ...engine.engine import Engine
from ...model import ReadReport, Resource
from ...runs.failures import failed_items
from ...runs.lifecycle import run_to_end
from ...runs.run import Run, begin_run
from ...runs.writer import Writer
from ..beliefs.belief_store import BeliefStore
from ..beliefs.learning import constants_of
from ..beliefs.recorder import Recorder
from ..evidence.claim import FieldMapping
from ..evidence.evidence import KIND, NORMALISE, from_record, is_due
from ..slots.registry import registry_of
from .endings import Endings
from .hearing import HEADS, Hearing
from .model import ModelExtractor
from .normalise import Normaliser, NormaliseResult
from .rule_extraction import RULES, extract_by_rules
from .scan import KIND as OBSERVE
from .scan import Scanner, ScanResult, skipped_counts, unheard_of

if TYPE_CHECKING:
    from ...llm import LLM, Budget


# counts of what a run wrote, which it does not write again
_WRITTEN = ("evidence", "staged", "normalised", "extras", "parked")


class Pipeline:
    """Makes beliefs of what was read; without a model, by rules and heads alone."""

    def __init__(self, engine: Engine, *, llm: LLM | None, budget: Budget, dry_run: bool) -> None:
        self._engine = engine
        self._store = engine.store
        self._llm = llm
        self._budget = budget
        self._dry_run = dry_run
        slots, constants = registry_of(engine.store), constants_of(engine.store)
        self._beliefs = BeliefStore(engine.store, slots, constants)

    def observe(
        self,
        *,
        limit: int | None = None,
        from_start: bool = False,
        read: ReadReport | None = None,
        progress: Progress | None = None,
    ) -> ScanResult:
        """See `Profiles.observe` and, with `from_start`, `Profiles.bootstrap`."""
        hearing = self._hearing()
        extractor = self._llm.name if self._llm is not None else RULES
        writer = self._begin(OBSERVE, {"extractor": extractor, "anew": from_start})
        if from_start:
            # what an interrupted run looked at is looked at again, and counted then, but for what
            # failed
            skipped = skipped_counts(self._store, writer.id)
            writer.count(
                **{
                    name: skipped.get(name, 0) - count
                    for name, count in writer.run.counts.items()
                    if name not in _WRITTEN
                }
            )
        mappings: list[FieldMapping] = []
        recorder = Recorder(self._store, self._beliefs, writer)
        new_scanner = partial(
            Scanner,
            self._store,
            writer,
            recorder,
            slots=self._beliefs.slots,
            settings=self._engine.settings,
            from_start=from_start,
        )
        with self._calls(writer) as llm:
            if llm is None:
                scanners = [new_scanner(extract=hearing, extractor=HEADS)]
            else:
                model = ModelExtractor(self._store, writer, llm)
                scanners = [
                    new_scanner(extract=extract_by_rules, extractor=RULES),
                    new_scanner(extract=model, extractor=llm.name, stages=True),
                ]
            for scanner in scanners:
                scanner.run(limit=limit, progress=progress)
            if not self._dry_run:
                Endings(self._store, self._beliefs, writer, recorder, self._engine.tenant).run()
            if llm is None or is_due(self._store, datetime.now(UTC)):
                mappings = self._normaliser(writer, llm).run()
        would_be = [
            from_record(record)
            for record in writer.diff.records
            if isinstance(record, Resource) and record.kind == KIND
        ]
        return ScanResult(
            run=writer.run,
            read=read,
            evidence=tuple(would_be),
            mappings=tuple(mappings),
            failed=tuple(failed_items(self._store, OBSERVE)),
            unheard=unheard_of(writer.run),
        )

    def normalise(self, *, now: bool, progress: Progress | None = None) -> NormaliseResult:
        at = datetime.now(UTC)
        if not now and not is_due(self._store, at):
            return NormaliseResult(run=Run(id="", kind=NORMALISE, status="done", started_at=at))
        model = self._llm.name if self._llm is not None else ""
        writer = self._begin(NORMALISE, {"model": model})
        mappings: list[FieldMapping] = []
        with self._calls(writer) as llm:
            mappings = self._normaliser(writer, llm).run(progress)
        return NormaliseResult(
            run=writer.run,
            mappings=tuple(mappings),
            failed=tuple(failed_items(self._store, NORMALISE)),
        )

    # -- parts -------------------------------------------------------------------------------------

    def _hearing(self) -> Hearing:
        if self._engine.embedder is None:
            return Hearing()
        return Hearing(self._engine.sentence_vectors.of, self._engine.embedder_name)

    def _begin(self, kind: str, settings: dict[str, Any]) -> Writer:
        run = begin_run(self._store, kind, settings, dry_run=self._dry_run)
        engine = self._engine
        return Writer(
            self._store, engine.tenant, run, model=engine.embedder_name, dry_run=self._dry_run
        )

    @contextmanager
    def _calls(self, writer: Writer) -> Iterator[LLM | None]:
        """Yield what makes the calls of a run, and end the run when the work inside is over.

        A run that is begun again after it was killed is given the replies that it has paid for.
        """
        with run_to_end(writer):
            if self._llm is None:
                yield None
                return
            keep = not self._dry_run
            with self._llm.run(writer.id, self._budget, keep=keep, watch=writer.watch()) as llm:
                yield llm
            if not self._dry_run:
                # before the run ends: a process that is killed here resumes it, and deletes them
                # then
                self._llm.finish(writer.id)

    def _normaliser(self, writer: Writer, llm: LLM | None) -> Normaliser:
        return Normaliser(self._store, writer, self._beliefs, llm)
