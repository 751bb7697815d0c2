"""Codex: hooks in `$CODEX_HOME/hooks.json`, servers in `config.toml`. Seen with 0.169.0."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from ..events import Kind
from ..installing.changes import Change, JsonEntries, TomlTable
from .client import NAME, SECONDS, CodingAgent, Hook, Server, toml_value


class Codex(CodingAgent):
    """It skips a hook, without a word, until its user has trusted it."""

    name = "codex"
    title = "Codex"
    program = "codex"
    kinds: ClassVar[Mapping[str, Kind]] = {
        "SessionStart": "start",
        "UserPromptSubmit": "prompt",
        "Stop": "stop",
        "PreCompact": "compact",
        "SessionEnd": "end",
    }
    note = (
        "Codex calls hooks only when they are on and trusted: start codex, type /hooks, trust them"
    )

    def folder(self, environ: Mapping[str, str]) -> Path:
        own = environ.get("CODEX_HOME")
        return Path(own) if own else Path(environ["HOME"]) / ".codex"

    def changes(
        self, hook: Hook, server: Server | None, environ: Mapping[str, str]
    ) -> list[Change]:
        folder = self.folder(environ)
        entries = tuple(self.groups(hook, SECONDS, {"SessionEnd": 3}))
        changes: list[Change] = [JsonEntries(str(folder / "hooks.json"), entries, hook.file)]
        if server:
            lines = [
                f"[mcp_servers.{NAME}]",
                f"command = {toml_value(server.command[0])}",
                f"args = {toml_value(server.command[1:])}",
            ]
            if server.environment:
                pairs = [f"{name} = {toml_value(it)}" for name, it in server.environment.items()]
                lines.append(f"env = {{ {', '.join(pairs)} }}")
            table = TomlTable(
                str(folder / "config.toml"), ("mcp_servers", NAME), "\n".join(lines) + "\n"
            )
            changes.append(table)
        return changes

    def disabled(self, environ: Mapping[str, str]) -> str:
        path = self.folder(environ) / "config.toml"
        try:
            settings = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            settings = {}
        features = settings.get("features")
        if isinstance(features, dict) and features.get("hooks") is False:
            return f"{path} has hooks = false below [features]"
        trusted = settings.get("hooks", {}).get("state", {})
        hooks = self.folder(environ) / "hooks.json"
        missing = [
            event
            for event in self.kinds
            if not any(key.startswith(f"{hooks}:{_key(event)}:") for key in trusted)
        ]
        return f"Codex was not told to trust its hooks of {', '.join(missing)}" if missing else ""


def _key(event: str) -> str:
    """An event as the settings name it: SessionStart is session_start."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in event).lstrip("_")
