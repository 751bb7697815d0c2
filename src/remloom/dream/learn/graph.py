"""The steps of `Learner.run` as a LangGraph state machine, with checkpoints (seed 1):

    START -> rem -> chunk -> implant -> entity_implant -> chunk … -> rem -> … -> END

The state is checkpointed after each document, and holds no text then.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypedDict

import msgspec
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.graph import END, START, StateGraph
from langsmith import tracing_context

from ...errors import GoneError
from ...kv import Entry, KeyRange, quoting_refs
from ...runs.run import CHECKPOINT, encode_part
from .lessons import EntityLearning, LessonSection
from .loop import Learner
from .outcomes import StepOutcome
from .steps import implant_learnings, implant_passages

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph

    from ...kv import KeyValue

_STEPS_LIMIT = 1_000_000_000  # LangGraph asks for one


class REMState(TypedDict):
    """The state of learning (seed 1, "LangGraph State Definition")."""

    current_document: str  # its uri
    current_chunk: LessonSection | None  # None: a period may have ended, or all is learned
    outcomes: list[StepOutcome]  # of the chunk's steps so far
    entity_queue: list[EntityLearning]  # what the chunk teaches of which entities


def run_graph(learner: Learner) -> None:
    """Learn everything, as the state machine; from its checkpoint on, if the run has one."""
    context = learner.context
    run_id = context.writer.id
    saver = _CheckpointSaver(context.store.kv)
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
    learner: Learner, saver: _CheckpointSaver
) -> CompiledStateGraph[Any, Any, Any, Any]:
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
        outcomes, queue = implant_passages(learner.context, section)
        return _state(section.uri, section, outcomes, queue)

    def entity_implant(state: REMState) -> REMState:
        section, queue = _section(state), state["entity_queue"]
        outcomes = implant_learnings(learner.context, section, queue)
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
    section: LessonSection | None = None,
    outcomes: list[StepOutcome] | None = None,
    queue: list[EntityLearning] | None = None,
) -> REMState:
    return REMState(
        current_document=document,
        current_chunk=section,
        outcomes=outcomes or [],
        entity_queue=queue or [],
    )


def _section(state: REMState) -> LessonSection:
    section = state["current_chunk"]
    assert section is not None  # noqa: S101 - "chunk" leads elsewhere then
    return section


class _StoredCheckpoint(msgspec.Struct, frozen=True):
    kind: str
    data: bytes
    meta_kind: str = ""
    meta: bytes = b""
    parent: str = ""


class _CheckpointSaver(BaseCheckpointSaver[str]):
    """A LangGraph checkpointer over key-value entries.

    Attributes:
        record_ids: the records that the state speaks of; forgetting one drops the checkpoint.
        paused: while it is set no checkpoint is stored; a run that is killed resumes from the last
            one before.
    """

    def __init__(self, entries: KeyValue) -> None:
        super().__init__()
        self._entries = entries
        self.record_ids: tuple[str, ...] = ()
        self.paused = False

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Versions that sort as text."""
        number = int(current.partition(".")[0]) if isinstance(current, str) else int(current or 0)
        return f"{number + 1:032}.0"

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint with the config's id, or else the latest of its thread."""
        id = get_checkpoint_id(config)
        if id:
            entry = self._entries.get(CHECKPOINT, _prefix(config) + id)
        else:
            latest = self._entries.list(
                CHECKPOINT,
                KeyRange(prefix=_prefix(config), limit=1, newest_first=True),
            )
            entry = latest[0] if latest else None
        return self._decode(entry) if entry else None

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        configured = config["configurable"]
        stored_as: RunnableConfig = {
            "configurable": {
                "thread_id": str(configured["thread_id"]),
                "checkpoint_ns": str(configured.get("checkpoint_ns", "")),
                "checkpoint_id": checkpoint["id"],
            }
        }
        # LangGraph goes on with a checkpoint that is not stored as with any other
        if self.paused:
            return stored_as
        kind, data = self.serde.dumps_typed(checkpoint)
        meta_kind, meta = self.serde.dumps_typed(get_checkpoint_metadata(config, metadata))
        parent = get_checkpoint_id(config) or ""
        stored = _StoredCheckpoint(kind, data, meta_kind, meta, parent)
        prefix = _prefix(config)
        # in one transaction with what it replaces
        entry = Entry(
            CHECKPOINT,
            prefix + checkpoint["id"],
            msgspec.json.encode(stored),
            quoting_refs(self.record_ids),
        )
        # what it speaks of was forgotten: the last one went with it, and this one is not stored
        with suppress(GoneError):
            self._entries.put([entry], deleted=self._keys(prefix), existing=self.record_ids)
        return stored_as

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Nothing: what a task wrote before its step was over is done again."""

    def delete_thread(self, thread_id: str) -> None:
        keys = self._keys(f"{encode_part(thread_id)}/")
        self._entries.put([], deleted=keys)

    def _keys(self, prefix: str) -> list[tuple[str, str]]:
        return [
            (entry.namespace, entry.key)
            for entry in self._entries.list(CHECKPOINT, KeyRange(prefix=prefix))
        ]

    def _decode(self, entry: Entry) -> CheckpointTuple:
        stored = msgspec.json.decode(entry.value, type=_StoredCheckpoint)
        thread, namespace, id = entry.key.split("/")
        configured = {"thread_id": _decode_part(thread), "checkpoint_ns": _decode_part(namespace)}
        parent: RunnableConfig = {"configurable": {**configured, "checkpoint_id": stored.parent}}
        return CheckpointTuple(
            config={"configurable": {**configured, "checkpoint_id": id}},
            checkpoint=self.serde.loads_typed((stored.kind, stored.data)),
            metadata=self.serde.loads_typed((stored.meta_kind, stored.meta)),
            parent_config=parent if stored.parent else None,
            pending_writes=[],
        )


def _prefix(config: RunnableConfig) -> str:
    """How the keys of a thread's entries begin."""
    configured = config["configurable"]
    thread, namespace = str(configured["thread_id"]), str(configured.get("checkpoint_ns", ""))
    return f"{encode_part(thread)}/{encode_part(namespace)}/"


def _decode_part(part: str) -> str:
    return base64.urlsafe_b64decode(part.encode()).decode()
