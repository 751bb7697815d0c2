"""The programs whose hooks are understood: what each says, and how each takes what it is told."""

from __future__ import annotations

from typing import Any

from ..events import Event, Kind

# of Claude Code, by the name of its event
_KINDS: dict[str, Kind] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "PostToolUseFailure": "failure",
    "Stop": "stop",
    "PreCompact": "compact",
    "SessionEnd": "end",
}


def parse(client: str, name: str, payload: dict[str, Any]) -> Event | None:
    """What a payload says; None where nothing is done for it."""
    kind = _KINDS.get(name)
    if kind is None:
        return None
    return Event(
        client=client,
        kind=kind,
        session=str(payload.get("session_id") or ""),
        folder=str(payload.get("cwd") or ""),
        transcript=str(payload.get("transcript_path") or ""),
        prompt=str(payload.get("prompt") or ""),
        source=str(payload.get("source") or ""),
    )


def reply(client: str, name: str, text: str) -> dict[str, Any]:
    """What the program takes as context for the model; nothing for an empty text."""
    if not text:
        return {}
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}
