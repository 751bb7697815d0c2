"""One conversation, as the exports of ChatGPT and Claude have it, as turns.

What the user and the model said to each other is read, and of ChatGPT the custom instructions,
which the user wrote. Left out: what the model remembers of the user, texts of the system, calls
of tools and what they returned, thoughts, hidden messages, and the texts of attachments.
"""

from __future__ import annotations

import re
from typing import Any

from ..model import Message
from ..text import dates
from .document import Turn
from .parts import words

__all__ = ["program", "turns"]

_TREE = "mapping"  # what a conversation of ChatGPT has
_LIST = "chat_messages"  # what one of Claude has
_ROLES = ("user", "assistant")
_SENDERS = ("human", "assistant")
_SAID = ("text", "multimodal_text", "code")  # types of content that are words
_INSTRUCTIONS = "user_editable_context"
# how ChatGPT wraps each half of the custom instructions for the model
_FENCED = re.compile(r"```(.*)```", re.S)
# marks of citations, which only ChatGPT's own page can show
_MARKS = re.compile("\ue200[^\ue201]*\ue201")


def program(value: Any) -> str:
    """Name the program that a conversation is of; empty if it is none."""
    if isinstance(value, dict) and isinstance(value.get(_TREE), dict):
        return "ChatGPT"
    if isinstance(value, dict) and isinstance(value.get(_LIST), list):
        return "Claude" if "uuid" in value else ""
    return ""


def turns(conversation: dict[str, Any]) -> tuple[Turn, ...]:
    """Read the turns of a conversation, of the branch that was on the screen last."""
    if program(conversation) == "Claude":
        branch = _branch_of_list(conversation)
        read = _turn_of_claude
    else:
        branch = _branch_of_tree(conversation[_TREE], conversation.get("current_node"))
        read = _turn_of_chatgpt
    return tuple(turn for turn in map(read, branch) if turn)


# -- ChatGPT -------------------------------------------------------------------------------------


def _branch_of_tree(mapping: dict[str, Any], current: Any) -> list[Any]:
    """The messages that lead to the node `current`; all, by time, if there is no such node."""
    branch: list[Any] = []
    node = mapping.get(str(current)) if current else None
    # from the leaf to the root; a damaged file may lead round in a circle
    while isinstance(node, dict) and len(branch) <= len(mapping):
        branch.append(node.get("message"))
        node = mapping.get(str(node.get("parent")))
    if not branch:
        nodes = [node for node in mapping.values() if isinstance(node, dict)]
        branch = [node["message"] for node in nodes if isinstance(node.get("message"), dict)]
        branch.sort(key=lambda message: str(dates.parse(message.get("create_time"))), reverse=True)
    return branch[::-1]


def _turn_of_chatgpt(message: Any) -> Turn | None:
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, dict):
        return None
    if content.get("content_type") == _INSTRUCTIONS:
        return _turn(message, "user", _instructions(message, content), "create_time")
    metadata = _dict(message.get("metadata"))
    if metadata.get("is_visually_hidden_from_conversation"):
        return None
    role = _dict(message.get("author")).get("role")
    # what goes to a tool is not said to the user
    if role not in _ROLES or message.get("recipient", "all") != "all":
        return None
    if content.get("content_type", "text") not in _SAID:
        return None
    text = _MARKS.sub("", _words_of_parts(content)).strip()
    return _turn(message, role, text, "create_time")


def _words_of_parts(content: dict[str, Any]) -> str:
    parts = content.get("parts")
    if not isinstance(parts, list):
        return str(content.get("text") or "").strip()
    texts = []
    for part in parts:
        # what was spoken comes as an object, and so do images
        if isinstance(part, dict) and part.get("content_type") == "audio_transcription":
            part = part.get("text")
        if isinstance(part, str) and part.strip():
            texts.append(part.strip())
    return "\n".join(texts)


def _instructions(message: dict[str, Any], content: dict[str, Any]) -> str:
    """The custom instructions as the user wrote them: about themselves, and about the answers."""
    written = _dict(_dict(message.get("metadata")).get("user_context_message_data"))
    halves = []
    for plain, wrapped in (
        ("about_user_message", "user_profile"),
        ("about_model_message", "user_instructions"),
    ):
        text = str(written.get(plain) or "")
        if not text:
            text = str(content.get(wrapped) or "")
            fenced = _FENCED.search(text)
            text = fenced[1] if fenced else text
        if text.strip():
            halves.append(text.strip())
    return "\n\n".join(halves)


# -- Claude --------------------------------------------------------------------------------------


def _branch_of_list(conversation: dict[str, Any]) -> list[Any]:
    """The messages that lead to the leaf, or else to the last; all, if they are not linked."""
    messages = [message for message in conversation[_LIST] if isinstance(message, dict)]
    by_id = {str(message.get("uuid")): message for message in messages}
    leaf = by_id.get(str(conversation.get("current_leaf_message_uuid")))
    branch: list[Any] = []
    node = leaf or (messages[-1] if messages else None)
    while node is not None and len(branch) <= len(messages):
        branch.append(node)
        node = by_id.get(str(node.get("parent_message_uuid")))
    # A branch that does not reach the first message is broken somewhere.
    if not branch or branch[-1] is not messages[0]:
        return messages
    return branch[::-1]


def _turn_of_claude(message: dict[str, Any]) -> Turn | None:
    sender = message.get("sender")
    if sender not in _SENDERS:
        return None
    text = words(message.get("content")) or words(message.get("text"))
    return _turn(message, sender, text, "created_at")


def _turn(message: dict[str, Any], speaker: str, text: str, time: str) -> Turn | None:
    """A turn with the message's id and time; None if nothing is said in it."""
    if not text:
        return None
    id = str(message.get("id") or message.get("uuid") or "")
    at = dates.parse(message.get(time))
    return Turn(message=Message(speaker=speaker, text=text, id=id, at=at))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
