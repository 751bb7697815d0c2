"""LlamaIndex's memory block: what an agent's memory keeps for longer than its queue of messages."""

from __future__ import annotations

import asyncio
from itertools import groupby
from typing import Any

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemoryBlock
from pydantic import Field, InstanceOf

from ...memory import Memory
from ..conversation import Conversation
from .chat_store import item_of, text_of

_KIND = "llamaindex"
_LONGEST = 4000  # characters of a message by which is recalled: the last ones


class RemloomMemoryBlock(BaseMemoryBlock[str]):
    """A memory block that keeps what leaves the queue of messages, and recalls by the last one.

    Messages become turns of the chat `llamaindex:<session id>`. What is recalled is quoted text
    with sources, from everything that the memory has: other sessions, documents, files.

    Args:
        memory: where the messages go; it is not closed here.
        budget_tokens: of what is recalled.
        options: further options of `Memory.context`, by name: `{"profile": True}`.
        name, description, priority, accept_short_term_memory: as of any block.
    """

    name: str = Field(default="remloom")
    memory: InstanceOf[Memory] = Field(exclude=True)
    budget_tokens: int = Field(default=1500, gt=0)
    options: dict[str, Any] = Field(default_factory=dict)

    async def _aget(self, messages: list[ChatMessage] | None = None, **_: Any) -> str:
        """Recall what fits the last message that has words, minding those before it."""
        items = [item_of(message) for message in messages or ()]
        turns = [
            {"role": speaker, "content": text} for speaker, text in map(text_of, items) if text
        ]
        if not turns:
            return ""
        question = turns[-1]["content"][-_LONGEST:]
        options = {"history": turns[:-1], "budget_tokens": self.budget_tokens, **self.options}
        return await asyncio.to_thread(self.memory.context, question, **options)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Keep messages, each in its session."""
        await asyncio.to_thread(self._put, messages)

    def _put(self, messages: list[ChatMessage]) -> None:
        for session, own in groupby(messages, _session_of):
            conversation = Conversation(self.memory, _KIND, session, text_of)
            conversation.add(map(item_of, own))


def _session_of(message: ChatMessage) -> str:
    return str(message.additional_kwargs.get("session_id", "default"))
