"""Claude Code: hooks in `~/.claude/settings.json`, servers in `~/.claude.json`.

Seen with 2.1.197.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from ..events import Kind
from ..installing.changes import Change, JsonEntries
from .client import SECONDS, CodingAgent, Hook, Server, read_json, server_entry


class ClaudeCode(CodingAgent):
    """Its hooks' limits are in seconds; a context of over 10,000 characters becomes a file."""

    name = "claude-code"
    title = "Claude Code"
    program = "claude"
    kinds: ClassVar[Mapping[str, Kind]] = {
        "SessionStart": "start",
        "UserPromptSubmit": "prompt",
        "PostToolUseFailure": "failure",
        "Stop": "stop",
        "PreCompact": "compact",
        "SessionEnd": "end",
    }

    def folder(self, environ: Mapping[str, str]) -> Path:
        own = environ.get("CLAUDE_CONFIG_DIR")
        return Path(own) if own else Path(environ["HOME"]) / ".claude"

    def changes(
        self, hook: Hook, server: Server | None, environ: Mapping[str, str]
    ) -> list[Change]:
        folder = self.folder(environ)
        entries = tuple(self.groups(hook, SECONDS))
        changes: list[Change] = [JsonEntries(str(folder / "settings.json"), entries, hook.file)]
        if server:
            # beside the folder, or in one of the user's choice
            at = folder if environ.get("CLAUDE_CONFIG_DIR") else Path(environ["HOME"])
            entry = server.entry(type="stdio")
            changes.append(server_entry(at / ".claude.json", "mcpServers", entry))
        return changes

    def disabled(self, environ: Mapping[str, str]) -> str:
        for name in ("settings.json", "settings.local.json"):
            path = self.folder(environ) / name
            settings = read_json(path)
            if isinstance(settings, dict) and settings.get("disableAllHooks"):
                return f"{path} has disableAllHooks"
        return ""
