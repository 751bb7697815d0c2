"""Cursor: hooks in `~/.cursor/hooks.json`, servers in `mcp.json`. As its documentation says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from ..events import Event, Kind
from ..installing.changes import Change, JsonEntries, JsonEntry
from .client import SECONDS, CodingAgent, Hook, Server, server_entry, text


class Cursor(CodingAgent):
    """It takes context when a session starts, and none with a prompt."""

    name = "cursor"
    title = "Cursor"
    program = "cursor"
    kinds: ClassVar[Mapping[str, Kind]] = {
        "sessionStart": "start",
        "stop": "stop",
        "preCompact": "compact",
        "sessionEnd": "end",
    }

    def folder(self, environ: Mapping[str, str]) -> Path:
        return Path(environ["HOME"]) / ".cursor"

    def changes(
        self, hook: Hook, server: Server | None, environ: Mapping[str, str]
    ) -> list[Change]:
        folder = self.folder(environ)
        entries = [JsonEntry(("version",), 1)]
        for event in self.kinds:
            one = {"command": hook.line(self.name, event), "timeout": SECONDS}
            entries.append(JsonEntry(("hooks", event), one, item=True))
        changes: list[Change] = [JsonEntries(str(folder / "hooks.json"), tuple(entries), hook.file)]
        if server:
            changes.append(server_entry(folder / "mcp.json", "mcpServers", server.entry()))
        return changes

    def parse(self, name: str, payload: Mapping[str, Any]) -> Event | None:
        roots = payload.get("workspace_roots")
        folder = roots[0] if isinstance(roots, list) and roots else ""
        session = text(payload, "conversation_id", "session_id")
        return super().parse(
            name, {**payload, "session_id": session, "cwd": folder or payload.get("cwd")}
        )

    def reply(self, name: str, text: str) -> dict[str, Any]:
        return {"additional_context": text}
