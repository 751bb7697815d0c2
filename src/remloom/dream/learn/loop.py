"""Learning: documents in time order, and a REM cycle whenever a period is over (seed 1's diagram).

The state machine is LangGraph's. In strict order it goes through one section of a document at a
time:

    START -> rem -> chunk -> implant + entities -> entity_implant -> (period over?) -> rem -> chunk
    … -> END

In relaxed order `window` stands for these four: many documents at once, up to the end of the
period. The state is checkpointed after each document; a run that was killed goes on from there, and
what its documents taught is written together with the note that they were learned, so that none is
lost and none doubled. What it does again of the document that was at hand costs nothing: the
model's replies are kept.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypedDict

import msgspec
from msgspec import Struct

from ... import labels
from ...errors import MissingExtraError
from ...runs.failures import failed_items
from ..context import DreamContext
from ..rem.cycle import Cycle, rem
from . import steps
from .pending import EntityLearning, rests
from .periods import Rule
from .steps import SECTION, StepOutcome
from .units import LEARNED, Lesson, Passage, passages

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph

    from .checkpoint import JournalSaver

__all__ = ["Learner", "Progress", "REMState", "learn"]

_REMEMBERED = 5  # insights in the short-term memory
_FOREVER = 1_000_000_000  # steps of a graph


class Progress(Struct, frozen=True, kw_only=True):
    """How far a run has come."""

    phase: str  # reading | learning | dreaming
    done: int  # documents, or dreams
    total: int
    name: str = ""  # of the document, or the period
    calls: int = 0  # of the model
    tokens: int = 0


class REMState(TypedDict):
    """Where a reading stands (seed 1, "LangGraph State Definition")."""

    current_document: str  # its uri; empty: there is none left
    current_chunk: list[str]  # ids of the resources of the section at hand
    current_year: int  # 0: undated
    month: int
    documents_processed: int
    short_term_memory: list[str]  # names of the last insights
    entity_queue: list[Any]  # what the section teaches of whom
    thoughts: list[Any]  # on the section's passages
    failed: list[Any]  # passages whose entities the model did not tell
    last: bool  # whether the section ends its document


def learn(
    mind: DreamContext,
    todo: Sequence[Lesson],
    *,
    rule: Rule,
    strict: bool = True,
    dreams: int | float | str | None = None,
    seed: str = "",
    window: int = 16,
    progress: Callable[[Progress], None] | None = None,
) -> None:
    """Learn these lessons, in order; see the module.

    Args:
        rule: what a period is.
        strict: one document after another, so that the outcome can be had again; else `window`
            documents at once.
        dreams: of each REM cycle, see `sampling.how_many`.
        seed: of the dreams.
        progress: called after each document and each wave of dreams.
    """
    try:
        from .checkpoint import JournalSaver
    except ImportError as error:
        raise MissingExtraError("learning", "dream") from error
    from langsmith import tracing_context

    saver = JournalSaver(mind.store, partial=False)
    learner = Learner(mind, todo, saver, rule, dreams, seed, window, progress)
    config: RunnableConfig = {
        "configurable": {"thread_id": mind.writer.id},
        "recursion_limit": _FOREVER,
    }
    graph = learner.graph(strict=strict)
    # LangGraph would send what it does away, were the environment to say so
    with tracing_context(enabled=False):
        graph.invoke(None if saver.get_tuple(config) else _start(), config, durability="sync")
    saver.delete_thread(mind.writer.id)


def _start() -> REMState:
    return REMState(
        current_document="",
        current_chunk=[],
        current_year=0,
        month=0,
        documents_processed=0,
        short_term_memory=[],
        entity_queue=[],
        thoughts=[],
        failed=[],
        last=False,
    )


class Learner:
    """The nodes of the graph, and what they share besides the state."""

    def __init__(
        self,
        mind: DreamContext,
        todo: Sequence[Lesson],
        saver: JournalSaver,
        rule: Rule,
        dreams: int | float | str | None,
        seed: str,
        window: int,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self._mind = mind
        self._saver = saver
        self._rule = rule
        self._dreams = dreams
        self._seed = seed
        self._window = window
        self._progress = progress
        self._todo = deque(todo)
        self._total = len(todo)
        self._rests = rests(failed_items(mind.store, "learn"))
        self._sections: deque[list[Passage]] = deque()  # of the document at hand
        self._lesson: Lesson | None = None
        # documents to be learned before a period may be over
        self._left = 0
        self._done = 0
        self._counting = threading.Lock()

    def graph(self, *, strict: bool) -> CompiledStateGraph[Any, Any, Any, Any]:
        """The state machine."""
        from langgraph.graph import END, START, StateGraph

        graph = StateGraph(REMState)
        graph.add_node("rem", self._rem)
        if strict:
            first, last = "chunk", "entity_implant"
            graph.add_node("chunk", self._chunk)
            graph.add_node("implant", self._implant)
            graph.add_node("entities", self._entities)
            graph.add_node("entity_implant", self._entity_implant)
            graph.add_conditional_edges("chunk", self._taken, ["implant", "entities", "rem"])
            graph.add_edge(["implant", "entities"], "entity_implant")
        else:
            first = last = "window"
            graph.add_node("window", self._stretch)
        graph.add_edge(START, "rem")  # a period may have ended since the last run
        graph.add_conditional_edges("rem", lambda _: first if self._todo else END, [first, END])
        graph.add_conditional_edges(
            last, lambda state: "rem" if self._over(state) else first, ["rem", first]
        )
        return graph.compile(checkpointer=self._saver)

    def _over(self, state: REMState) -> bool:
        """Whether a period may be over: its last document is done."""
        return state["last"] and self._left <= 0

    def _rem(self, state: REMState) -> dict[str, Any]:
        """Dream about the periods that are over."""
        # the one that was at hand when the run was killed
        while self._todo and self._is_learned(self._todo[0]):
            self._todo.popleft()
        mind, following = self._mind, self._todo[0] if self._todo else None
        for period in self._rule.over(mind.store, following, datetime.now(UTC)):

            def told(done: int, total: int, name: str = period.label) -> None:
                self._tell("dreaming", done, total, name)

            cycle = Cycle(
                label=period.label,
                seed=self._seed,
                dreams=self._dreams,
                period=period,
                ids=period.ids,
            )
            rem(mind, cycle, done=told)
        self._left = self._rule.stretch(mind.store, self._todo)
        return {"current_chunk": []}

    # -- strict order ------------------------------------------------------------------------------

    def _chunk(self, state: REMState) -> dict[str, Any]:
        """Take the next section."""
        while not self._sections:
            # none left: going on from a checkpoint, a period may be over by now
            if not self._todo or self._left <= 0:
                return {"current_document": "", "current_chunk": []}
            self._left -= 1
            self._begin(self._todo.popleft())
        section = self._sections.popleft()
        self._saver.paused = True
        assert self._lesson is not None  # noqa: S101 - _begin sets it with the sections
        at = self._lesson.at
        ids = [id for passage in section for id in passage.ids]
        self._saver.subjects = tuple(ids)
        return {
            "current_document": self._lesson.uri,
            "current_chunk": ids,
            "current_year": at.year if at else 0,
            "month": at.month if at else 0,
            "entity_queue": [],
            "thoughts": [],
            "failed": [],
            "last": not self._sections,
        }

    def _begin(self, lesson: Lesson) -> None:
        """Cut a document that was not learned yet into sections."""
        self._lesson = lesson
        found = self._unlearned(lesson)
        self._sections = deque(
            found[start : start + SECTION] for start in range(0, len(found), SECTION)
        )

    def _unlearned(self, lesson: Lesson) -> list[Passage]:
        return self._passages([id for id in lesson.ids if not self._known(id)])

    def _passages(self, ids: Sequence[str]) -> list[Passage]:
        return passages(self._mind.store, ids, self._rests)

    def _is_learned(self, lesson: Lesson) -> bool:
        return all(map(self._known, lesson.ids))

    def _known(self, id: str) -> bool:
        return self._mind.store.journal_entry(LEARNED, id) is not None

    def _taken(self, state: REMState) -> list[str]:
        return ["implant", "entities"] if state["current_chunk"] else ["rem"]

    def _implant(self, state: REMState) -> dict[str, Any]:
        section = self._section(state)
        found = steps.implants(self._mind, section, self._at(section))
        self._speak_of(found)
        return {"thoughts": msgspec.to_builtins(found)}

    def _entities(self, state: REMState) -> dict[str, Any]:
        told, failed = steps.entities(self._mind, self._section(state))
        return {"entity_queue": msgspec.to_builtins(told), "failed": msgspec.to_builtins(failed)}

    def _entity_implant(self, state: REMState) -> dict[str, Any]:
        """What is learned of each entity; then all that came of the section is written."""
        section = self._section(state)
        at = self._at(section)
        queue = msgspec.convert(state["entity_queue"], list[EntityLearning])
        thoughts = msgspec.convert([*state["thoughts"], *state["failed"]], list[StepOutcome])
        names = self._store(
            state["current_document"],
            at,
            section,
            [*thoughts, *steps.entity_implants(self._mind, section, queue, at)],
            last=state["last"],
        )
        self._saver.paused = not state["last"]
        remembered = [*state["short_term_memory"], *names][-_REMEMBERED:]
        self._saver.subjects = tuple({*self._saver.subjects, *self._called(remembered)})
        return {
            "documents_processed": state["documents_processed"] + state["last"],
            "short_term_memory": remembered,
            "entity_queue": [],
            "thoughts": [],
            "failed": [],
        }

    def _section(self, state: REMState) -> list[Passage]:
        return self._passages(state["current_chunk"])

    def _at(self, section: Sequence[Passage]) -> datetime | None:
        times = [resource.starts_at for passage in section for resource in passage.resources]
        return min((at for at in times if at), default=None)

    def _called(self, names: Sequence[str]) -> list[str]:
        """Ids of what has these names: the state speaks of them."""
        found = (
            self._mind.store.lookup([labels.key(name) for name in names], edges=0) if names else {}
        )
        return [record.id for records in found.values() for record in records]

    def _speak_of(self, thoughts: Sequence[StepOutcome]) -> None:
        parents = {id for thought in thoughts if thought.insight for id in thought.insight.parents}
        self._saver.subjects = tuple({*self._saver.subjects, *parents})

    # -- relaxed order -----------------------------------------------------------------------------

    def _stretch(self, state: REMState) -> dict[str, Any]:
        """Learn the documents of a period, many at once."""
        stretch = [self._todo.popleft() for _ in range(min(self._left, len(self._todo)))]
        self._left = 0
        with ThreadPoolExecutor(self._window, thread_name_prefix="remloom-learning") as threads:
            try:
                for future in as_completed(
                    [threads.submit(self._whole, lesson) for lesson in stretch]
                ):
                    future.result()
            except BaseException:
                # those that have begun come to their end
                threads.shutdown(wait=False, cancel_futures=True)
                raise
        return {"documents_processed": state["documents_processed"] + len(stretch), "last": True}

    def _whole(self, lesson: Lesson) -> None:
        """Learn one document."""
        found = self._unlearned(lesson)
        for start in range(0, len(found), SECTION):
            section = found[start : start + SECTION]
            thoughts, queue, failed = steps.implants_and_entities(self._mind, section, lesson.at)
            more = steps.entity_implants(self._mind, section, queue, lesson.at)
            last = start + SECTION >= len(found)
            self._store(lesson.uri, lesson.at, section, [*thoughts, *failed, *more], last=last)

    # -- both --------------------------------------------------------------------------------------

    def _store(
        self,
        uri: str,
        at: datetime | None,
        section: Sequence[Passage],
        thoughts: Sequence[StepOutcome],
        *,
        last: bool,
    ) -> list[str]:
        """Write what came of a section, and count its document once it is whole; names of the
        insights."""
        mind = self._mind
        with self._counting:
            lesson = Lesson(uri, at, tuple(id for passage in section for id in passage.ids))
            period = self._rule.after(mind.store, lesson, mind.writer.id, whole=last)
            mind.writer.count(documents=int(last))
            names = steps.store(mind, uri, section, thoughts, [period.entry] if period else [])
            if last:
                self._done += 1
                self._tell("learning", self._done, max(self._total, self._done), uri)
        return names

    def _tell(self, phase: str, done: int, total: int, name: str) -> None:
        if self._progress:
            calls = self._mind.writer.run.counts.get("calls", 0)
            tokens = self._mind.llm.spent
            self._progress(
                Progress(phase=phase, done=done, total=total, name=name, calls=calls, tokens=tokens)
            )
