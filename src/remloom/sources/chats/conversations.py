"""One conversation, as ChatGPT, Claude and Arcturus export it, as turns.

Read is what the user and the model said to each other, the custom instructions of ChatGPT, which
the user wrote, and what the agents of Arcturus put out. Left out: what the model remembers of the
user, texts of the system, calls of tools and what they returned, thoughts, plans, hidden messages,
and the texts of attachments."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any

from ...model import Message
from ...text import dates
from ..document import Turn
from ..entries import Entries, Note, is_message, time, words

_TREE = "mapping"  # what a conversation of ChatGPT has
_LIST = "chat_messages"  # what one of Claude has
_ROLES = ("user", "assistant")
_SENDERS = ("human", "assistant")
_TEXT_TYPES = ("text", "multimodal_text", "code")  # types of content that are words
_SPEAKERS = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}
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


def entries(conversation: dict[str, Any]) -> Entries:
    """Read the turns of a conversation, of the branch that was on the screen last."""
    entries = Entries("message")
    if program(conversation) == "Claude":
        for number, message in _branch_of_list(conversation):
            entries.read(number, message, _turn_of_claude)
    else:
        for id, node in _branch_of_tree(conversation[_TREE], conversation.get("current_node")):
            entries.read(id, node, _turn_of_chatgpt)
    return entries


# -- ChatGPT -------------------------------------------------------------------------------------


def _branch_of_tree(mapping: dict[str, Any], current: Any) -> list[tuple[str, Any]]:
    """The nodes that lead to the node `current`, with their ids; all by time if not linked."""
    branch: list[tuple[str, Any]] = []
    id, node = str(current), mapping.get(str(current))
    # from the leaf to the root; a damaged file may lead round in a circle
    while isinstance(node, dict) and len(branch) <= len(mapping):
        branch.append((id, node))
        id = str(node.get("parent"))
        node = mapping.get(id)
    roots = [one for one in mapping.values() if isinstance(one, dict) and not one.get("parent")]
    # A branch that does not reach the only root is broken somewhere.
    if branch and len(roots) == 1 and branch[-1][1] is roots[0]:
        return branch[::-1]
    return sorted(mapping.items(), key=_time_of_node)


def _time_of_node(item: tuple[str, Any]) -> str:
    at = dates.parse(_dict(_dict(item[1]).get("message")).get("create_time"))
    return at.isoformat() if at else ""


def _turn_of_chatgpt(node: Any, odd: Note) -> Turn | None:
    if not isinstance(node, dict):
        odd("no message")
        return None
    message = node.get("message")
    # the root has none
    if message is None:
        return None
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, dict):
        odd("no message")
        return None
    if content.get("content_type") == _INSTRUCTIONS:
        return _turn(message, "user", _instructions(message, content), "create_time", odd)
    metadata = _dict(message.get("metadata"))
    if metadata.get("is_visually_hidden_from_conversation"):
        return None
    role = _dict(message.get("author")).get("role")
    # what goes to a tool is not said to the user
    if not is_message(role, _ROLES, odd) or message.get("recipient", "all") != "all":
        return None
    kind = content.get("content_type", "text")
    if not isinstance(kind, str):
        odd("what it says is no text")
    if kind not in _TEXT_TYPES:
        return None
    text = _MARKS.sub("", _words_of_parts(content, odd)).strip()
    return _turn(message, str(role), text, "create_time", odd)


def _words_of_parts(content: dict[str, Any], odd: Note) -> str:
    parts = content.get("parts")
    if not isinstance(parts, list):
        return words(content.get("text"), odd)
    texts = []
    for part in parts:
        # what was spoken comes as an object, and so do images
        kind = part.get("content_type") if isinstance(part, dict) else None
        if kind == "audio_transcription":
            part = part.get("text")
        if not kind or kind == "audio_transcription":
            texts.append(words(part, odd))
    return "\n".join(text for text in texts if text)


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


def _branch_of_list(conversation: dict[str, Any]) -> list[tuple[int, Any]]:
    """The messages that lead to the leaf, or to the last; all if they are not linked."""
    entries = list(enumerate(conversation[_LIST], 1))
    messages = [entry for entry in entries if isinstance(entry[1], dict)]
    by_id = {str(message.get("uuid")): (number, message) for number, message in messages}
    leaf = by_id.get(str(conversation.get("current_leaf_message_uuid")))
    branch: list[tuple[int, Any]] = []
    entry = leaf or (messages[-1] if messages else None)
    while entry is not None and len(branch) <= len(messages):
        branch.append(entry)
        entry = by_id.get(str(entry[1].get("parent_message_uuid")))
    # A branch that does not reach the first message is broken somewhere.
    if not branch or branch[-1][0] != messages[0][0]:
        return entries
    odd = [entry for entry in entries if not isinstance(entry[1], dict)]
    return [*branch[::-1], *odd]


def _turn_of_claude(message: Any, odd: Note) -> Turn | None:
    if not isinstance(message, dict):
        odd("no message")
        return None
    sender = message.get("sender")
    if not is_message(sender, _SENDERS, odd):
        return None
    # exports of before have no parts
    content, text = message.get("content"), message.get("text")
    content_words = words(text if content is None else content, odd)
    if not content_words and isinstance(text, str):
        content_words = text.strip()
    return _turn(message, str(sender), content_words, "created_at", odd)


def _turn(message: dict[str, Any], speaker: str, text: str, at: str, odd: Note) -> Turn | None:
    if not text:
        return None
    id = str(message.get("id") or message.get("uuid") or "")
    parsed = Message(speaker=speaker, text=text, id=id, at=time(message.get(at), odd))
    return Turn(message=parsed)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


# -- Arcturus ------------------------------------------------------------------------------------
# A graph of steps, or a query with its history and summary.


def entries_of_arcturus(value: dict[str, Any]) -> Entries | None:
    """Read the turns of a session, of either shape; None if the value is something else."""
    graph, nodes = value.get("graph"), value.get("nodes")
    if isinstance(graph, dict) and isinstance(nodes, list) and "original_query" in graph:
        entries = Entries("step")
        user_turn = partial(_question, time_of=graph.get("created_at"))
        entries.read("0, the question", graph["original_query"], user_turn)
        for number, node in enumerate(nodes, 1):
            entries.read(number, node, _step)
        return entries
    if isinstance(value.get("history"), list) and {"query", "summary"} <= value.keys():
        entries = Entries("message")
        user_turn = partial(_question, time_of=value.get("created_at"))
        entries.read("0, the question", value["query"], user_turn)
        questions = len(entries.turns)
        for number, message in enumerate(value["history"], 1):
            entries.read(number, message, _past_message)
        # the question may be in its history too
        if questions:
            text = entries.turns[0].message.text
            if any(turn.message.text == text for turn in entries.turns[1:]):
                del entries.turns[0]
        entries.read("of the summary", value["summary"], partial(_turn_of_arcturus, "assistant"))
        return entries
    return None


def id_of_arcturus(value: dict[str, Any]) -> str:
    graph = value.get("graph")
    return str((graph if isinstance(graph, dict) else value).get("session_id") or "")


def _question(value: Any, odd: Note, time_of: Any) -> Turn | None:
    if not isinstance(value, str):
        odd("what it says is no text")
    return _turn_of_arcturus("user", value, odd, time_of)


def _step(node: Any, odd: Note) -> Turn | None:
    if not isinstance(node, dict) or "agent" not in node:
        odd("no step of an agent")
        return None
    at = node.get("end_time") or node.get("start_time")
    return _turn_of_arcturus("assistant", node.get("output"), odd, at, str(node.get("id") or ""))


def _past_message(message: Any, odd: Note) -> Turn | None:
    if not isinstance(message, dict):
        odd("no message")
        return None
    role = message.get("role")
    role = role.lower() if isinstance(role, str) else role
    if not is_message(role, tuple(_SPEAKERS), odd):
        return None
    text = words(message.get("content"), odd)
    return _turn_of_arcturus(_SPEAKERS[str(role)], text, odd, message.get("timestamp"))


def _turn_of_arcturus(
    speaker: str, value: Any, odd: Note, at: Any = None, id: str = ""
) -> Turn | None:
    """A turn of a text, or of values as JSON; None if there is nothing."""
    if not value:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if not text.strip():
        return None
    parsed = Message(speaker=speaker, text=text.strip(), id=id, at=time(at, odd))
    return Turn(message=parsed)
