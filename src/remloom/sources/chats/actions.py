"""What a coding agent did between the turns of a chat, in a compact form that only grows.

A turn keeps what was done after it was said, as `Turn.actions`, JSON-ready:

* `files`: those that were edited, below the session's folder if they are there;
* `failed`: `{"command": …, "exit": …}` for each command that failed; without `exit` if that is not
  known;
* `mended`: `{"command": …, "files": […], "commands": […]}` for each of those that then succeeded,
  with what was edited and run between;
* `folder`, `branch`, `commit`: where the agent worked from then on, if that changed.

A command that is in no `mended` of a later turn, or of the same one, failed last.
"""

from __future__ import annotations

import shlex
from pathlib import PurePath, PurePosixPath
from typing import Any

from msgspec.structs import replace

from ..entries import Entries

_MOST_FILES = 20  # of one turn
_MOST_COMMANDS = 8  # of one turn that failed, and that were mended
_MOST_BETWEEN = 3  # commands that are kept of those between a failure and its mend
_LONGEST = 300  # characters of a command or path
_SHELLS = ("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh")


class Actions:
    """Collects what is done between the turns of `entries`, which `keep` gives to them."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries
        self._of: dict[int, dict[str, Any]] = {}  # number of a turn -> what was done after it
        self._at: dict[str, str] = {}  # folder, branch and commit
        # command that failed -> the files and commands since
        self._open: dict[str, tuple[list[str], list[str]]] = {}
        self.start: dict[str, str] = {}  # where the session began

    def move(self, **at: Any) -> None:
        """Note where the agent works: `folder`, `branch`, `commit`, as far as they are known."""
        for name, value in at.items():
            if not isinstance(value, str) or not value or value == self._at.get(name):
                continue
            if name not in self._at:
                self.start[name] = value
            elif self._entries.turns:
                self._here()[name] = value[:_LONGEST]
            self._at[name] = value

    def edit(self, path: Any) -> None:
        """Note a file that was edited, made or deleted."""
        if not isinstance(path, str) or not path:
            return
        path = _below(path, self.start.get("folder", ""))[:_LONGEST]
        for files, _ in self._open.values():
            _add(files, path, _MOST_FILES)
        _add(self._here().setdefault("files", []), path, _MOST_FILES)

    def run(self, command: Any, exit_code: Any = None, *, failed: bool | None = None) -> None:
        """Note a command that ended; `failed` where its exit code is not known."""
        command = _command(command)
        has_code = isinstance(exit_code, int) and not isinstance(exit_code, bool)
        if failed is None:
            failed = has_code and exit_code != 0
        if not command:
            return
        if failed:
            self._open[command] = ([], [])
            failure = {"command": command} | ({"exit": exit_code} if has_code else {})
            _add(self._here().setdefault("failed", []), failure, _MOST_COMMANDS)
            return
        mended = self._open.pop(command, None)
        for _, commands in self._open.values():
            _add(commands, command, _MOST_BETWEEN)
        if mended is not None:
            files, commands = mended
            by: dict[str, Any] = {"command": command}
            by |= {"files": files} if files else {}
            by |= {"commands": commands} if commands else {}
            _add(self._here().setdefault("mended", []), by, _MOST_COMMANDS)

    def keep(self) -> None:
        """Give the turns what was done after them."""
        turns = self._entries.turns
        for number, actions in self._of.items():
            if number < len(turns):
                turns[number] = replace(turns[number], actions=actions)

    def _here(self) -> dict[str, Any]:
        return self._of.setdefault(max(0, len(self._entries.turns) - 1), {})


def _add(items: list[Any], item: Any, most: int) -> None:
    if item not in items and len(items) < most:
        items.append(item)


def _command(command: Any) -> str:
    """A command as one line; what a shell was given, if it was run by one."""
    if isinstance(command, list) and all(isinstance(part, str) for part in command):
        is_shell = len(command) == 3 and command[0] in _SHELLS and command[1] in ("-c", "-lc")
        command = command[2] if is_shell else shlex.join(command)
    return " ".join(command.split())[:_LONGEST] if isinstance(command, str) else ""


def _below(path: str, folder: str) -> str:
    try:
        return PurePath(path).relative_to(folder).as_posix() if folder else path
    except ValueError:
        return PurePosixPath(path).as_posix()
