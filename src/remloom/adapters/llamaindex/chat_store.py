"""LlamaIndex's chat store: the messages of many chats, each by its key."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from llama_index.core.llms import ChatMessage
from llama_index.core.storage.chat_store import BaseChatStore
from pydantic import Field, InstanceOf

from ...memory import Memory
from ...sources.entries import words
from ..conversation import Conversation

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
        """List the messages of a chat, oldest first."""
        return [message_of(item) for item in self._conversation(key).items()]

    def add_message(self, key: str, message: ChatMessage) -> None:
        """Add a message to a chat."""
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
    """A message as JSON."""
    return message.model_dump(mode="json")


def message_of(item: Any) -> ChatMessage:
    """The message that was kept as JSON."""
    return ChatMessage.model_validate(item)


def text_of(item: Any) -> tuple[str, str]:
    """Who said an item, and the words; none of tools, and of the system."""
    role = item["role"]
    if role not in _ROLES:
        return "", ""
    # a part calls its type so here
    parts = [{**block, "type": block.get("block_type")} for block in item["blocks"]]
    return role, words(parts)
