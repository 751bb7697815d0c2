"""A coding agent, as its hooks see it: a home, a folder it works in, and what it says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from remloom.hooks import hook
from remloom.hooks.place import folder_of, socket_of
from waiting import until

TOLD = (
    ("user", "Which database does the order queue use?"),
    ("assistant", "Redis, or PostgreSQL?"),
    ("user", "PostgreSQL, as nobody is on call for Redis."),
    ("assistant", "The order queue uses PostgreSQL now."),
)


class Agent:
    """What a program does with its hooks, in a folder of its own."""

    def __init__(self, tmp_path: Path, environment: dict[str, str]) -> None:
        self.home = tmp_path / "home"
        self.folder = folder_of(self.home)
        self.work = tmp_path / "work" / "api"
        self.work.mkdir(parents=True)
        self._environment = {**os.environ, "REMLOOM_EMBEDDER": "none", **environment}
        for name in ("waiting", "briefs"):
            (self.folder / name).mkdir(parents=True)

    def call(self, event: str, *, cwd: Path | None = None, **payload: Any) -> dict[str, Any]:
        """Call the hook as a program does, and return what it prints."""
        cwd = cwd or self.work
        said = {"session_id": "one", "cwd": str(cwd), **payload}
        return self.call_with(event, json.dumps(said).encode(), cwd)

    def call_with(self, event: str, payload: bytes, cwd: Path) -> dict[str, Any]:
        """Call it with any bytes."""
        python = sys.executable
        done = subprocess.run(
            [
                *(python, "-I", "-S", hook.__file__),
                *(str(self.folder), socket_of(self.folder), python, "claude-code", event),
            ],
            input=payload,
            capture_output=True,
            cwd=cwd,
            env=self._environment,
            check=True,
        )
        assert done.stderr == b""
        printed: dict[str, Any] = json.loads(done.stdout)
        return printed

    def start(self) -> None:
        """Have the resident up, as a first call leaves it."""
        self.call("SessionStart", source="startup")
        until(lambda: Path(socket_of(self.folder)).exists() and self.pid, self.log())

    def answer(self, event: str, **payload: Any) -> str:
        """Call the hook until it is in time, on a machine that is busy with other tests."""
        found: list[str] = []

        def answered() -> bool:
            said = self.call(event, **payload)
            found.append(said.get("hookSpecificOutput", {}).get("additionalContext", ""))
            return bool(found[-1])

        until(answered, self.log())
        return found[-1]

    def transcript(self, told: tuple[tuple[str, str], ...] = TOLD, session: str = "one") -> str:
        """Write a session as the program does."""
        path = self.home.parent / f"{session}.jsonl"
        lines = []
        for number, (speaker, text) in enumerate(told):
            record = {
                "type": speaker,
                "sessionId": session,
                "uuid": f"{session}-{number}",
                "parentUuid": f"{session}-{number - 1}" if number else None,
                "cwd": str(self.work),
                "timestamp": f"2026-03-02T10:{number:02}:00Z",
                "message": {"role": speaker, "content": text},
            }
            lines.append(json.dumps(record))
        path.write_text("\n".join(lines) + "\n")
        return str(path)

    def keep(self) -> None:
        """Have a session read."""
        self.call("SessionEnd", transcript_path=self.transcript())
        until(lambda: self.folder.joinpath("socket").exists(), self.log())
        until(lambda: not list((self.folder / "waiting").iterdir()), self.log())

    @property
    def pid(self) -> int:
        try:
            return int((self.folder / "lock").read_text() or 0)
        except OSError:
            return 0

    def log(self) -> str:
        path = self.folder / "resident.log"
        return path.read_text() if path.exists() else "there is no log"

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End the resident, and wait until it has."""
        pid = self.pid
        if pid and _is_up(pid):
            os.kill(pid, signal.SIGCONT)
            os.kill(pid, how)
            until(lambda: not _is_up(pid), self.log())


def _is_up(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
