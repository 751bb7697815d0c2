"""Gemini CLI: hooks and servers in `~/.gemini/settings.json`. Seen with 0.61.0."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from ..events import Kind
from ..installing.changes import Change, JsonEntries, JsonEntry
from .client import NAME, SECONDS, CodingAgent, Hook, Server, read_json


class Gemini(CodingAgent):
    """Its limits are in milliseconds, and the end of a session does not wait for its hook.

    PreCompress comes before each request, whether anything is compressed or not, and is not needed:
    each turn is noted when it is done.
    """

    name = "gemini"
    title = "Gemini CLI"
    program = "gemini"
    kinds: ClassVar[Mapping[str, Kind]] = {
        "SessionStart": "start",
        "BeforeAgent": "prompt",
        "AfterAgent": "stop",
        "SessionEnd": "end",
    }

    def folder(self, environ: Mapping[str, str]) -> Path:
        return Path(environ.get("GEMINI_CLI_HOME") or environ["HOME"]) / ".gemini"

    def changes(
        self, hook: Hook, server: Server | None, environ: Mapping[str, str]
    ) -> list[Change]:
        entries = self.groups(hook, SECONDS * 1000)
        if server:
            entries.append(JsonEntry(("mcpServers", NAME), server.entry()))
        path = self.folder(environ) / "settings.json"
        return [JsonEntries(str(path), tuple(entries), hook.file)]

    def disabled(self, environ: Mapping[str, str]) -> str:
        path = self.folder(environ) / "settings.json"
        settings = read_json(path)
        config = settings.get("hooksConfig") if isinstance(settings, dict) else None
        off = isinstance(config, dict) and config.get("enabled") is False
        return f"{path} has hooksConfig.enabled false" if off else ""
