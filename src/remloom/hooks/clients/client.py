"""A program that calls hooks: how it calls them, what it says, and how it takes a reply."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from msgspec import Struct

from ..events import Event, Kind
from ..installing.changes import Change, JsonEntries, JsonEntry

SECONDS = 5  # that a program waits for a hook; it answers within a fraction of one
NAME = "remloom"  # of what is ours in a program's settings


class Hook(Struct, frozen=True, kw_only=True):
    """The hook as it is installed in a home."""

    file: str
    folder: str
    socket: str
    python: str

    def arguments(self, client: str) -> list[str]:
        """The command as a list, but for the name of the event."""
        return [
            *(self.python, "-I", "-S", self.file),
            *(self.folder, self.socket, self.python, client),
        ]

    def line(self, client: str, event: str) -> str:
        """The command for a shell; nothing where the file is gone: 2 would stop a prompt."""
        command = shlex.join([*self.arguments(client), event])
        return f"test -r {shlex.quote(self.file)} && {command} || true"


class Server(Struct, frozen=True, kw_only=True):
    """The MCP server, as a program starts it."""

    command: tuple[str, ...]
    environment: Mapping[str, str]

    def entry(self, **more: Any) -> dict[str, Any]:
        """What most programs take."""
        entry = {**more, "command": self.command[0], "args": [*self.command[1:]]}
        return entry | ({"env": dict(self.environment)} if self.environment else {})


class CodingAgent:
    """A program, with hooks in the form of Claude Code's: several others have taken it over."""

    name: ClassVar[str]
    title: ClassVar[str]
    program: ClassVar[str]  # that is on the PATH where it is installed
    kinds: ClassVar[Mapping[str, Kind]]  # by the name of an event
    note: ClassVar[str] = ""  # what is left to do for the user

    def folder(self, environ: Mapping[str, str]) -> Path:
        """Where the program's settings of the user are."""
        raise NotImplementedError

    def changes(
        self, hook: Hook, server: Server | None, environ: Mapping[str, str]
    ) -> list[Change]:
        """What is put into its settings."""
        raise NotImplementedError

    def disabled(self, environ: Mapping[str, str]) -> str:
        """Why the program does not call hooks, in spite of its entries; empty: it does."""
        return ""

    def parse(self, name: str, payload: Mapping[str, Any]) -> Event | None:
        """What a payload says; None where nothing is done for it."""
        kind = self.kinds.get(name)
        if kind is None:
            return None
        return Event(
            client=self.name,
            kind=kind,
            session=text(payload, "session_id"),
            folder=text(payload, "cwd"),
            transcript=text(payload, "transcript_path"),
            prompt=text(payload, "prompt"),
            source=text(payload, "source"),
        )

    def reply(self, name: str, text: str) -> dict[str, Any]:
        """What the program takes as context for the model."""
        return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}

    def groups(
        self, hook: Hook, timeout: int, most: Mapping[str, int] | None = None
    ) -> list[JsonEntry]:
        """Entries below `hooks`: each event has groups, and each of these hooks.

        Args:
            timeout: in the program's unit.
            most: by event, where it takes no more.
        """
        entries = []
        for event in self.kinds:
            one = {
                "type": "command",
                "command": hook.line(self.name, event),
                "timeout": min(timeout, (most or {}).get(event, timeout)),
            }
            entries.append(JsonEntry(("hooks", event), {"hooks": [one]}, item=True))
        return entries


def server_entry(path: Path, table: str, entry: Mapping[str, Any]) -> JsonEntries:
    """The server in a file of JSON."""
    return JsonEntries(str(path), (JsonEntry((table, NAME), dict(entry)),))


def read_json(path: Path) -> Any:
    """A file of settings as a value; None if there is none, or it is none."""
    from ..installing.json_text import parse

    try:
        return parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def text(payload: Mapping[str, Any], *names: str) -> str:
    """The first of some fields that is there, as a text."""
    found = (payload.get(name) for name in names)
    return next((str(value) for value in found if value), "")


def toml_value(value: Any) -> str:
    """A text, or a list of texts, in TOML: it is written as in JSON."""
    return json.dumps(value, ensure_ascii=False)
