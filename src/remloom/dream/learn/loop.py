"""Learning: documents in time order, and a REM cycle when a period has ended (seed 1's diagram).

What a section taught is written together with the note that it was learned: after a kill nothing is
lost or doubled, and the model's replies are kept, so that repeating a section costs nothing.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import UTC, datetime

from ...model.premises import premises_of
from ...runs.failures import failed_items
from ...runs.memos import holds
from ..context import DreamContext, LearnProgress
from ..periods import PeriodRule
from ..rem_cycle import run_cycle
from ..sampling import Cycle
from .lessons import LEARNED, Lesson, LessonSection, cut_passages, pending_by_passage
from .outcomes import RUN_KIND, StepOutcome, write_outcomes
from .steps import implant_learnings, implant_passages

_SECTION = 16  # passages learned together, at most


class Learner:
    """The steps of learning, and the loop through them.

    Args:
        lessons: what is to be learned, in order.
        rule: what a period is.
        dreams: of each REM cycle, see `sampling.number_of_dreams`.
        seed: of the dreams.
        progress: called after each lesson and each wave of dreams.
    """

    def __init__(
        self,
        context: DreamContext,
        lessons: Sequence[Lesson],
        rule: PeriodRule,
        *,
        dreams: int | float | str | None = None,
        seed: str = "",
        progress: Callable[[LearnProgress], None] | None = None,
    ) -> None:
        self.context = context
        self._rule = rule
        self._dreams = dreams
        self._seed = seed
        self._progress = progress
        self._lessons = deque(lessons)
        self._total = len(lessons)
        self._done = 0
        self._pending = pending_by_passage(failed_items(context.store, RUN_KIND))
        # of the lesson at hand
        self._sections: deque[LessonSection] = deque()
        # lessons to be learned before a period may have ended
        self._stretch = 0
        self._writing = threading.Lock()

    def run(self) -> None:
        # a period may have ended since the last run
        self.dream_about_ended_periods()
        while self.has_lessons:
            while (section := self.next_section()) is not None:
                self.learn(section)
            self.dream_about_ended_periods()

    def run_relaxed(self, window: int) -> None:
        """Learn everything, `window` lessons of a period at once."""
        self.dream_about_ended_periods()
        while self.has_lessons:
            self._learn_stretch(window)
            self.dream_about_ended_periods()

    @property
    def has_lessons(self) -> bool:
        return bool(self._lessons)

    def learn(self, section: LessonSection) -> None:
        outcomes, learnings = implant_passages(self.context, section)
        outcomes += implant_learnings(self.context, section, learnings)
        self.write(section, outcomes)

    def next_section(self) -> LessonSection | None:
        """The next section; None when a period may have ended first, or all is learned."""
        while not self._sections:
            if not self._lessons or self._stretch <= 0:
                return None
            self._stretch -= 1
            self._sections = deque(self._cut(self._lessons.popleft()))
        return self._sections.popleft()

    def write(self, section: LessonSection, outcomes: Sequence[StepOutcome]) -> None:
        """Write what came of a section, and count its lesson once that is whole."""
        context, whole = self.context, section.ends_lesson
        # of several lessons at once, each counts in its period
        with self._writing:
            period = self._rule.count_learned(
                context.store,
                section.at,
                section.ids,
                context.writer.id,
                whole=whole,
            )
            context.writer.count(documents=int(whole))
            entries = [period.entry] if period else []
            write_outcomes(context, section, outcomes, entries)
            if whole:
                self._done += 1
                if self._progress:
                    total = max(self._total, self._done)
                    self._progress(context.progress("learning", self._done, total, section.uri))

    def dream_about_ended_periods(self) -> None:
        """Go through the REM cycle of each ended period, then look how far the next one lasts."""
        store = self.context.store
        # the lesson that was at hand when the run was interrupted may have been written
        while self._lessons and all(map(self._was_learned, self._lessons[0].ids)):
            self._lessons.popleft()
        next_at = self._lessons[0].at if self._lessons else None
        for period in self._rule.ended(store, next_at, datetime.now(UTC)):
            cycle = Cycle(
                label=period.label,
                seed=self._seed,
                dreams=self._dreams,
                period=period,
                ids=period.ids,
            )
            run_cycle(self.context, cycle, self._progress)
        times = [lesson.at for lesson in self._lessons]
        self._stretch = self._rule.documents_left(store, times)

    def _learn_stretch(self, window: int) -> None:
        """Learn the lessons before a period may have ended, many at once."""
        count = min(self._stretch, len(self._lessons))
        lessons = [self._lessons.popleft() for _ in range(count)]
        self._stretch = 0
        with ThreadPoolExecutor(window, thread_name_prefix="remloom-learning") as threads:
            futures = [threads.submit(self._learn_lesson, lesson) for lesson in lessons]
            try:
                for future in as_completed(futures):
                    future.result()
            except BaseException:
                # those that have begun come to their end
                threads.shutdown(wait=False, cancel_futures=True)
                raise

    def _learn_lesson(self, lesson: Lesson) -> None:
        for section in self._cut(lesson):
            self.learn(section)

    def _cut(self, lesson: Lesson) -> list[LessonSection]:
        """The sections of what is not learned yet of a lesson."""
        unlearned = [id for id in lesson.ids if not self._was_learned(id)]
        passages = cut_passages(self.context.store, unlearned, self._pending)
        starts = range(0, len(passages), _SECTION)
        groups = [tuple(passages[start : start + _SECTION]) for start in starts]
        return [
            LessonSection(lesson.uri, group, ends_lesson=number == len(groups))
            for number, group in enumerate(groups, 1)
        ]

    def _was_learned(self, id: str) -> bool:
        store = self.context.store
        entry, record = store.kv.get(LEARNED, id), store.records.get("resources", id)
        return entry is not None and (record is None or holds(entry, premises_of([record])))
