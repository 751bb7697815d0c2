"""The programs whose hooks are understood: what each says, and how each takes what it is told."""

from __future__ import annotations

from typing import Any

from ..events import Event
from .claude_code import ClaudeCode
from .client import CodingAgent, Hook, Server
from .codex import Codex
from .copilot import Copilot
from .cursor import Cursor
from .gemini import Gemini
from .opencode import OpenCode

__all__ = ["CLIENTS", "CodingAgent", "Hook", "Server", "parse", "reply"]

_ALL: tuple[CodingAgent, ...] = (
    ClaudeCode(),
    Codex(),
    Gemini(),
    OpenCode(),
    Cursor(),
    Copilot(),
)
CLIENTS = {client.name: client for client in _ALL}


def parse(client: str, name: str, payload: dict[str, Any]) -> Event | None:
    """What a payload says; None where nothing is done for it."""
    known = CLIENTS.get(client)
    return known.parse(name, payload) if known else None


def reply(client: str, name: str, text: str) -> dict[str, Any]:
    """What the program takes as context for the model; nothing for an empty text."""
    return CLIENTS[client].reply(name, text) if text else {}
