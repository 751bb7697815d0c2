"""Messages of LlamaIndex as items of a conversation."""

from __future__ import annotations

from typing import Any

from llama_index.core.llms import ChatMessage

from ...sources.parts import words

_ROLES = ("user", "assistant")


def item_of(message: ChatMessage) -> dict[str, Any]:
    """A message as JSON."""
    return message.model_dump(mode="json")


def message_of(item: Any) -> ChatMessage:
    """The message that was kept as JSON."""
    return ChatMessage.model_validate(item)


def said(item: Any) -> tuple[str, str]:
    """Who said an item, and the words; none of tools, and of the system."""
    role = item["role"]
    if role not in _ROLES:
        return "", ""
    # a part calls its type so here
    parts = [{**block, "type": block.get("block_type")} for block in item["blocks"]]
    return role, words(parts)
