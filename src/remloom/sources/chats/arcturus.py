"""Sessions of Arcturus (`session_*.json`): what the user asked, and what the agents put out.

There are two shapes: a graph of steps, `{"graph": {"original_query": …}, "nodes": [{agent,
description, output}, …]}`, and `{"query": …, "history": […], "summary": …}`. Left out: the
descriptions of steps, which a planner wrote, and steps without an output.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from ...model import Message
from ..document import Turn
from ..entries import Entries, Note, is_message, time, words

_SPEAKERS = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}


def entries(value: dict[str, Any]) -> Entries | None:
    """Read the turns of a session; None if the value is something else."""
    graph, nodes = value.get("graph"), value.get("nodes")
    if isinstance(graph, dict) and isinstance(nodes, list) and "original_query" in graph:
        entries = Entries("step")
        user_turn = partial(_asked, time_of=graph.get("created_at"))
        entries.read("0, the question", graph["original_query"], user_turn)
        for number, node in enumerate(nodes, 1):
            entries.read(number, node, _step)
        return entries
    if isinstance(value.get("history"), list) and {"query", "summary"} <= value.keys():
        entries = Entries("message")
        user_turn = partial(_asked, time_of=value.get("created_at"))
        entries.read("0, the question", value["query"], user_turn)
        questions = len(entries.turns)
        for number, message in enumerate(value["history"], 1):
            entries.read(number, message, _said)
        # the question may be in its history too
        if questions:
            text = entries.turns[0].message.text
            if any(turn.message.text == text for turn in entries.turns[1:]):
                del entries.turns[0]
        entries.read("of the summary", value["summary"], partial(_turn, "assistant"))
        return entries
    return None


def session_id(value: dict[str, Any]) -> str:
    """The id of a session, if it has one."""
    graph = value.get("graph")
    return str((graph if isinstance(graph, dict) else value).get("session_id") or "")


def _asked(value: Any, odd: Note, time_of: Any) -> Turn | None:
    """The question of a session."""
    if not isinstance(value, str):
        odd("what it says is no text")
    return _turn("user", value, odd, time_of)


def _step(node: Any, odd: Note) -> Turn | None:
    """The output of a step."""
    if not isinstance(node, dict) or "agent" not in node:
        odd("no step of an agent")
        return None
    at = node.get("end_time") or node.get("start_time")
    return _turn("assistant", node.get("output"), odd, at, str(node.get("id") or ""))


def _said(message: Any, odd: Note) -> Turn | None:
    """A message of the history."""
    if not isinstance(message, dict):
        odd("no message")
        return None
    role = message.get("role")
    role = role.lower() if isinstance(role, str) else role
    if not is_message(role, tuple(_SPEAKERS), odd):
        return None
    text = words(message.get("content"), odd)
    return _turn(_SPEAKERS[str(role)], text, odd, message.get("timestamp"))


def _turn(speaker: str, value: Any, odd: Note, at: Any = None, id: str = "") -> Turn | None:
    """A turn of a text, or of values as JSON; None if there is nothing."""
    if not value:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if not text.strip():
        return None
    parsed = Message(speaker=speaker, text=text.strip(), id=id, at=time(at, odd))
    return Turn(message=parsed)
