"""The steps of learning as a LangGraph state machine, with checkpoints (seed 1).

    START -> rem -> chunk -> implant -> entity_implant -> chunk … -> rem -> … -> END

It goes through the same steps as `Learner.run`. The state is checkpointed after each document, and
holds no text then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langsmith import tracing_context

from .checkpoint import CheckpointSaver
from .loop import Learner
from .outcomes import StepOutcome
from .pending import EntityLearning
from .steps import implant_learnings, implant_passages
from .units import Section

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph


_STEPS_LIMIT = 1_000_000_000  # LangGraph asks for one


class REMState(TypedDict):
    """Where learning stands (seed 1, "LangGraph State Definition")."""

    current_document: str  # its uri
    current_chunk: Section | None  # None: a period may have ended, or all is learned
    outcomes: list[StepOutcome]  # of the chunk's steps so far
    entity_queue: list[EntityLearning]  # what the chunk teaches of which entities


def run_graph(learner: Learner) -> None:
    """Learn everything, as the state machine; from its checkpoint on, if the run has one."""
    context = learner.context
    run_id = context.writer.id
    saver = CheckpointSaver(context.store.kv)
    config: RunnableConfig = {
        "configurable": {"thread_id": run_id},
        "recursion_limit": _STEPS_LIMIT,
    }
    start = None if saver.get_tuple(config) else _state()
    # LangGraph would send what it does away, were the environment to say so
    with tracing_context(enabled=False):
        learning_graph(learner, saver).invoke(start, config, durability="sync")
    saver.delete_thread(run_id)


def learning_graph(
    learner: Learner,
    saver: CheckpointSaver,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The state machine."""

    def rem(state: REMState) -> REMState:
        learner.dream_about_ended_periods()
        return _state(state["current_document"])

    def chunk(state: REMState) -> REMState:
        section = learner.next_section()
        if section is None:
            return _state(state["current_document"])
        # a killed run does the document at hand again: what it half did is not checkpointed
        saver.paused = True
        saver.record_ids = section.ids
        return _state(section.uri, section)

    def implant(state: REMState) -> REMState:
        section = _section(state)
        outcomes, queue = implant_passages(learner.context, section.passages, section.at)
        return _state(section.uri, section, outcomes, queue)

    def entity_implant(state: REMState) -> REMState:
        section, queue = _section(state), state["entity_queue"]
        outcomes = implant_learnings(learner.context, section.passages, queue, section.at)
        learner.write(section, [*state["outcomes"], *outcomes])
        saver.paused = not section.ends_lesson
        return _state(section.uri)

    graph = StateGraph(REMState)
    graph.add_node("rem", rem)
    graph.add_node("chunk", chunk)
    graph.add_node("implant", implant)
    graph.add_node("entity_implant", entity_implant)

    def after_rem(_: REMState) -> str:
        return "chunk" if learner.has_lessons else END

    def after_chunk(state: REMState) -> str:
        return "implant" if state["current_chunk"] else "rem"

    graph.add_edge(START, "rem")
    graph.add_conditional_edges("rem", after_rem, ["chunk", END])
    graph.add_conditional_edges("chunk", after_chunk, ["implant", "rem"])
    graph.add_edge("implant", "entity_implant")
    graph.add_edge("entity_implant", "chunk")
    return graph.compile(checkpointer=saver)


def _state(
    document: str = "",
    section: Section | None = None,
    outcomes: list[StepOutcome] | None = None,
    queue: list[EntityLearning] | None = None,
) -> REMState:
    return REMState(
        current_document=document,
        current_chunk=section,
        outcomes=outcomes or [],
        entity_queue=queue or [],
    )


def _section(state: REMState) -> Section:
    section = state["current_chunk"]
    assert section is not None  # noqa: S101 - "chunk" leads elsewhere then
    return section
