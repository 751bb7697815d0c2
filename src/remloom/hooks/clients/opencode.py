"""OpenCode: a plugin in `~/.config/opencode/plugin`, servers in `opencode.json`.

Seen with 1.18.33.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

from ..events import Event, Kind
from ..installing.changes import Change, OwnFile
from .client import NAME, CodingAgent, Hook, Server, server_entry, text


class OpenCode(CodingAgent):
    """It has no hooks that are commands: a plugin of a few lines calls ours."""

    name = "opencode"
    title = "OpenCode"
    program = "opencode"
    kinds: ClassVar[Mapping[str, Kind]] = {
        "start": "start",
        "chat.message": "prompt",
        "session.idle": "stop",
        "session.compacted": "compact",
    }

    def folder(self, environ: Mapping[str, str]) -> Path:
        own = environ.get("XDG_CONFIG_HOME")
        return (Path(own) if own else Path(environ["HOME"]) / ".config") / "opencode"

    def changes(
        self, hook: Hook, server: Server | None, environ: Mapping[str, str]
    ) -> list[Change]:
        folder = self.folder(environ)
        plugin = files(__package__).joinpath("opencode.js").read_text("utf-8")
        command = json.dumps(hook.arguments(self.name))
        shown = plugin.replace('["HOOK"]', command)
        changes: list[Change] = [OwnFile(str(folder / "plugin" / f"{NAME}.js"), shown)]
        if server:
            entry: dict[str, Any] = {"type": "local", "command": [*server.command]}
            if server.environment:
                entry["environment"] = dict(server.environment)
            names = (folder / name for name in ("opencode.jsonc", "opencode.json"))
            path = next((path for path in names if path.exists()), folder / "opencode.json")
            changes.append(server_entry(path, "mcp", entry))
        return changes

    def parse(self, name: str, payload: Mapping[str, Any]) -> Event | None:
        session = text(payload, "sessionID")
        # its database has the sessions of all projects
        said = {
            "session_id": session,
            "cwd": text(payload, "directory"),
            "transcript_path": f"{text(payload, 'transcript_path')}#{session}",
        }
        return super().parse(name, {**payload, **said})

    def reply(self, name: str, text: str) -> dict[str, Any]:
        return {"text": text}
