"""LangGraph checkpoints in the journal of a tenant, so that they are as sealed as the memory is.

A thread's entries are `checkpoint`, with the id `<thread>/<namespace>/<checkpoint id>`, and
`checkpoint.write`, with the task and number behind that. Only the latest checkpoints of a thread
are kept, as many as `keep` says: to go on takes no more than one.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)

from ...runs.cleanup import CHECKPOINT
from ...runs.cleanup import encode_part as _part
from ...store.contract import JournalEntry

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from ...kv import Journal

__all__ = ["CHECKPOINT", "JournalSaver"]

WRITE = "checkpoint.write"


class _Stored(msgspec.Struct, frozen=True):
    """A checkpoint, or a pending write, as it is noted: typed by LangGraph's serializer."""

    kind: str
    data: bytes
    meta_kind: str = ""
    meta: bytes = b""
    parent: str = ""
    channel: str = ""
    task: str = ""


class JournalSaver(BaseCheckpointSaver[str]):
    """A LangGraph checkpointer over a journal.

    Args:
        journal: where the checkpoints are noted.
        keep: checkpoints of a thread and namespace that stay; None: all.
        partial: note also what a task wrote before the step it belongs to was over.

    Attributes:
        subjects: ids of the records that the state speaks of now.
        paused: while it is set no checkpoint is noted: a run that is killed goes on from the last
            one before.
    """

    def __init__(self, journal: Journal, *, keep: int | None = 1, partial: bool = True) -> None:
        super().__init__()
        self._journal = journal
        self._keep = keep
        self._partial = partial
        self.subjects: tuple[str, ...] = ()
        self.paused = False

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Versions that sort as text."""
        number = int(current.partition(".")[0]) if isinstance(current, str) else int(current or 0)
        return f"{number + 1:032}.0"

    # -- reading -----------------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint of the config's id, or else the latest of its thread."""
        thread, space = _thread(config)
        if id := get_checkpoint_id(config):
            found = self._journal.journal_entry(CHECKPOINT, _place(thread, space, id))
        else:
            found = next(
                iter(
                    self._journal.journal(
                        CHECKPOINT, prefix=_place(thread, space), limit=1, newest_first=True
                    )
                ),
                None,
            )
        return self._tuple(found) if found else None

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, the newest first."""
        prefix = ""
        if config is not None:
            thread, space = _thread(config)
            named = "checkpoint_ns" in config["configurable"]
            prefix = _place(thread, space) if named else f"{_part(thread)}/"
        given = get_checkpoint_id(config) if config else None
        earlier = get_checkpoint_id(before) if before else None
        for entry in self._journal.journal(CHECKPOINT, prefix=prefix, newest_first=True):
            id = entry.id.rpartition("/")[2]
            if (given and id != given) or (earlier and id >= earlier):
                continue
            found = self._tuple(entry)
            if filter and any(found.metadata.get(name) != value for name, value in filter.items()):
                continue
            if limit is not None:
                if limit <= 0:
                    return
                limit -= 1
            yield found

    def _tuple(self, entry: JournalEntry) -> CheckpointTuple:
        stored = msgspec.json.decode(entry.data, type=_Stored)
        thread, space, id = entry.id.split("/")
        thread, space = _whole(thread), _whole(space)
        configured = {"thread_id": thread, "checkpoint_ns": space}
        writes = [
            (write.task, write.channel, self.serde.loads_typed((write.kind, write.data)))
            for item in self._journal.journal(WRITE, prefix=f"{entry.id}/")
            for write in [msgspec.json.decode(item.data, type=_Stored)]
        ]
        return CheckpointTuple(
            config={"configurable": {**configured, "checkpoint_id": id}},
            checkpoint=self.serde.loads_typed((stored.kind, stored.data)),
            metadata=self.serde.loads_typed((stored.meta_kind, stored.meta)),
            parent_config={"configurable": {**configured, "checkpoint_id": stored.parent}}
            if stored.parent
            else None,
            pending_writes=writes,
        )

    # -- writing -----------------------------------------------------------------------------------

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Note a checkpoint, and strike those that are not to be kept."""
        thread, space = _thread(config)
        place: RunnableConfig = {
            "configurable": {
                "thread_id": thread,
                "checkpoint_ns": space,
                "checkpoint_id": checkpoint["id"],
            }
        }
        if self.paused:
            return place
        kind, data = self.serde.dumps_typed(checkpoint)
        meta_kind, meta = self.serde.dumps_typed(get_checkpoint_metadata(config, metadata))
        stored = _Stored(kind, data, meta_kind, meta, parent=get_checkpoint_id(config) or "")
        entry = JournalEntry(
            CHECKPOINT,
            _place(thread, space, checkpoint["id"]),
            msgspec.json.encode(stored),
            self.subjects,
        )
        self._journal.note([entry], struck=self._outdated(thread, space))
        return place

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Note what a task wrote before the step it belongs to was over."""
        if not self._partial:
            return
        thread, space = _thread(config)
        at = _place(thread, space, str(get_checkpoint_id(config)))
        entries = []
        for number, (channel, value) in enumerate(writes):
            kind, data = self.serde.dumps_typed(value)
            stored = _Stored(kind, data, channel=channel, task=task_id)
            place = f"{at}/{task_id}/{WRITES_IDX_MAP.get(channel, number) + 100:06}"
            entries.append(JournalEntry(WRITE, place, msgspec.json.encode(stored), self.subjects))
        self._journal.note(entries)

    def delete_thread(self, thread_id: str) -> None:
        """Strike everything of a thread."""
        self._journal.note(
            [],
            struck=[
                (kind, entry.id)
                for kind in (CHECKPOINT, WRITE)
                for entry in self._journal.journal(kind, prefix=f"{_part(thread_id)}/")
            ],
        )

    def _outdated(self, thread: str, space: str) -> Sequence[tuple[str, str]]:
        """What goes when one more checkpoint comes."""
        if self._keep is None:
            return ()
        there = self._journal.journal(CHECKPOINT, prefix=_place(thread, space), newest_first=True)
        gone = [entry.id for entry in there[self._keep - 1 :]]
        writes = [
            (WRITE, entry.id)
            for id in gone
            for entry in self._journal.journal(WRITE, prefix=f"{id}/")
        ]
        return [*((CHECKPOINT, id) for id in gone), *writes]

    # -- from an event loop ------------------------------------------------------------------------

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        for found in await asyncio.to_thread(
            lambda: [*self.list(config, filter=filter, before=before, limit=limit)]
        ):
            yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        await asyncio.to_thread(self.delete_thread, thread_id)


def _thread(config: RunnableConfig) -> tuple[str, str]:
    configured = config["configurable"]
    return str(configured["thread_id"]), str(configured.get("checkpoint_ns", ""))


def _place(thread: str, space: str, id: str = "") -> str:
    return f"{_part(thread)}/{_part(space)}/{id}"


def _whole(part: str) -> str:
    return base64.urlsafe_b64decode(part.encode()).decode()
