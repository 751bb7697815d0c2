"""GitHub Copilot CLI: hooks in `~/.copilot/hooks`, a file each, servers in `mcp-config.json`.

As its documentation says. Events are named as Claude Code's, so that payloads are like its, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from ..events import Event, Kind
from ..installing.changes import Change, OwnFile
from .client import NAME, SECONDS, CodingAgent, Hook, Server, read_json, server_entry


class Copilot(CodingAgent):
    """It takes context when a session starts, and none with a prompt."""

    name = "copilot"
    title = "GitHub Copilot CLI"
    program = "copilot"
    kinds: ClassVar[Mapping[str, Kind]] = {
        "SessionStart": "start",
        "Stop": "stop",
        "PreCompact": "compact",
        "SessionEnd": "end",
    }

    def folder(self, environ: Mapping[str, str]) -> Path:
        own = environ.get("COPILOT_HOME")
        return Path(own) if own else Path(environ["HOME"]) / ".copilot"

    def changes(
        self, hook: Hook, server: Server | None, environ: Mapping[str, str]
    ) -> list[Change]:
        folder = self.folder(environ)
        hooks = {}
        for event in self.kinds:
            line = hook.line(self.name, event)
            hooks[event] = [{"type": "command", "bash": line, "timeoutSec": SECONDS}]
        shown = json.dumps({"version": 1, "hooks": hooks}, indent=2, ensure_ascii=False) + "\n"
        changes: list[Change] = [OwnFile(str(folder / "hooks" / f"{NAME}.json"), shown)]
        if server:
            entry = server.entry(type="local", tools=["*"])
            changes.append(server_entry(folder / "mcp-config.json", "mcpServers", entry))
        return changes

    def disabled(self, environ: Mapping[str, str]) -> str:
        path = self.folder(environ) / "settings.json"
        settings = read_json(path)
        off = isinstance(settings, dict) and settings.get("disableAllHooks")
        return f"{path} has disableAllHooks" if off else ""

    def parse(self, name: str, payload: Mapping[str, Any]) -> Event | None:
        # the end of a session does not say where its transcript is
        session = payload.get("session_id")
        if not payload.get("transcript_path") and name == "SessionEnd" and session:
            import os

            at = self.folder(os.environ) / "session-state" / str(session) / "events.jsonl"
            payload = {**payload, "transcript_path": str(at)}
        return super().parse(name, payload)

    def reply(self, name: str, text: str) -> dict[str, Any]:
        return {"additionalContext": text}
