"""Sessions of Arcturus (`session_*.json`): what the user asked, and what the agents put out.

There are two shapes: a graph of steps, `{"graph": {"original_query": …}, "nodes": [{agent,
description, output}, …]}`, and `{"query": …, "history": […], "summary": …}`. Left out: the
descriptions of steps, which a planner wrote, and steps without an output.
"""

from __future__ import annotations

import json
from typing import Any

from ..model import Message
from ..text import dates
from .document import Turn
from .parts import words

__all__ = ["session_id", "turns"]

_SPEAKERS = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}


def turns(value: dict[str, Any]) -> tuple[Turn, ...]:
    """Read the turns of a session; none if the value is something else."""
    graph, nodes = value.get("graph"), value.get("nodes")
    if isinstance(graph, dict) and isinstance(nodes, list) and "original_query" in graph:
        asked = _turn("user", graph["original_query"], graph.get("created_at"))
        return _known((asked, *map(_step, nodes))) if asked else ()
    if isinstance(value.get("history"), list) and {"query", "summary"} <= value.keys():
        asked = _turn("user", value["query"], value.get("created_at"))
        if asked is None:
            return ()
        history = [_said(message) for message in value["history"]]
        # the question may be in its history too
        repeated = any(turn and turn.message.text == asked.message.text for turn in history)
        summary = _turn("assistant", value["summary"])
        return _known((None if repeated else asked, *history, summary))
    return ()


def session_id(value: dict[str, Any]) -> str:
    """The id of a session, if it has one."""
    graph = value.get("graph")
    return str((graph if isinstance(graph, dict) else value).get("session_id") or "")


def _known(turns: tuple[Turn | None, ...]) -> tuple[Turn, ...]:
    return tuple(turn for turn in turns if turn)


def _step(node: Any) -> Turn | None:
    """The output of a step."""
    if not isinstance(node, dict) or "agent" not in node:
        return None
    time = node.get("end_time") or node.get("start_time")
    return _turn("assistant", node.get("output"), time, str(node.get("id") or ""))


def _said(message: Any) -> Turn | None:
    """A message of the history."""
    if not isinstance(message, dict):
        return None
    speaker = _SPEAKERS.get(str(message.get("role")).lower())
    text = words(message.get("content"))
    return _turn(speaker, text, message.get("timestamp")) if speaker else None


def _turn(speaker: str, value: Any, time: Any = None, id: str = "") -> Turn | None:
    """A turn of a text, or of values as JSON; None if there is nothing."""
    if not value:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if not text.strip():
        return None
    said = Message(speaker=speaker, text=text.strip(), id=id, at=dates.parse(time))
    return Turn(message=said)
