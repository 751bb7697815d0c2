"""LlamaIndex's chat store, memory block and retriever over a memory."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from itertools import groupby
from typing import Any
from urllib.parse import unquote

from ..errors import MissingExtraError
from ..memory import Memory
from ..model import RecallHit, Resource
from ..sources.entries import words
from .conversation import Conversation

try:
    import llama_index.core  # noqa: F401
    from llama_index.core.llms import ChatMessage
    from llama_index.core.memory import BaseMemoryBlock
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from llama_index.core.storage.chat_store import BaseChatStore
    from pydantic import Field, InstanceOf
except ImportError as error:
    raise MissingExtraError("LlamaIndex's memory block and retriever", "llamaindex") from error

__all__ = ["RemloomChatStore", "RemloomMemoryBlock", "RemloomRetriever"]

_KIND = "llamaindex-chat"


_ROLES = ("user", "assistant")


class RemloomChatStore(BaseChatStore):
    """Chats in a memory, message by message; what was said in them is found by `recall`.

    Each is the chat `llamaindex-chat:<key>`. What is deleted is forgotten.

    Args:
        memory: where the messages go; it is not closed here.
    """

    memory: InstanceOf[Memory] = Field(exclude=True)

    @classmethod
    def class_name(cls) -> str:
        """Give the name by which LlamaIndex knows the class."""
        return "RemloomChatStore"

    def set_messages(self, key: str, messages: list[ChatMessage]) -> None:
        """Put messages in the place of those of a chat: first they are added, then the old go."""
        self._conversation(key).replace(map(item_of, messages))

    def get_messages(self, key: str) -> list[ChatMessage]:
        return [message_of(item) for item in self._conversation(key).items()]

    def add_message(self, key: str, message: ChatMessage) -> None:
        self._conversation(key).add([item_of(message)])

    def delete_messages(self, key: str) -> list[ChatMessage] | None:
        """Forget a chat; returns what was in it, or None if there was nothing."""
        return [message_of(item) for item in self._conversation(key).clear()] or None

    def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Forget the message at a position, from 0; returns it, or None if there is none."""
        item = self._conversation(key).remove(idx)
        return None if item is None else message_of(item)

    def delete_last_message(self, key: str) -> ChatMessage | None:
        """Forget the last message of a chat; returns it, or None if there is none."""
        item = self._conversation(key).pop()
        return None if item is None else message_of(item)

    def get_keys(self) -> list[str]:
        """List the keys of the chats that have messages."""
        found = self.memory.sql(
            f"SELECT DISTINCT uri FROM resources WHERE uri LIKE '{_KIND}:%' LIMIT 1000000"
        )
        names = (row[0].removeprefix(f"{_KIND}:").partition("#")[0] for row in found.rows)
        return sorted({unquote(name, errors="surrogatepass") for name in names})

    def _conversation(self, key: str) -> Conversation:
        return Conversation(self.memory, _KIND, key, text_of)


def item_of(message: ChatMessage) -> dict[str, Any]:
    return message.model_dump(mode="json")


def message_of(item: Any) -> ChatMessage:
    return ChatMessage.model_validate(item)


def text_of(item: Any) -> tuple[str, str]:
    """Who said an item, and the words; none of tools, and of the system."""
    role = item["role"]
    if role not in _ROLES:
        return "", ""
    # a part calls its type so here
    parts = [{**block, "type": block.get("block_type")} for block in item["blocks"]]
    return role, words(parts)


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
            conversation = Conversation(self.memory, "llamaindex", session, text_of)
            conversation.add(map(item_of, own))


def _session_of(message: ChatMessage) -> str:
    return str(message.additional_kwargs.get("session_id", "default"))


# for the reader of an answer, not for the model that writes it
_UNSHOWN = ["schema", "name"]


class RemloomRetriever(BaseRetriever):
    """Retrieves what `Memory.recall` finds: by words, meaning, names, relations and time.

    Metadata of a node: `source` (a citation), `name`, `schema`, `trust`, `at`. Nothing is retrieved
    when nothing answers the question.

    Args:
        memory: what is looked through; it is not closed here.
        similarity_top_k: nodes at most.
        options: further options of recall, by name: `{"mode": "iterated"}`. See `RecallOptions`.
        others: those of every retriever, such as `callback_manager`.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        similarity_top_k: int = 10,
        options: Mapping[str, Any] | None = None,
        **others: Any,
    ) -> None:
        self._memory = memory
        self._options = {"limit": similarity_top_k, **(options or {})}
        super().__init__(**others)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        recalled = self._memory.recall(query_bundle.query_str, **self._options)
        return [NodeWithScore(node=_node_of(hit), score=hit.score) for hit in recalled.hits]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _node_of(hit: RecallHit) -> TextNode:
    metadata = {"source": hit.source, "name": hit.name, "schema": hit.schema}
    record = hit.record
    if isinstance(record, Resource):
        metadata["trust"] = record.trust
        if record.starts_at is not None:
            metadata["at"] = record.starts_at.isoformat()
    if hit.stale is not None:
        metadata["stale"] = str(hit.stale)
    return TextNode(
        id_=hit.id,
        text=hit.content or hit.name,
        metadata=metadata,
        excluded_llm_metadata_keys=_UNSHOWN,
        excluded_embed_metadata_keys=list(metadata),
    )
