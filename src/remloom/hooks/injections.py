"""What was given to agents, and why: without its words, which are where they were recalled from.

So what is forgotten is forgotten here too, and no secret comes to stand in a log.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from threading import Lock

import msgspec
from msgspec import Struct

_LARGEST = 1 << 20  # bytes, from which on a file is the former one
_FILES = ("injections.jsonl", "injections.former.jsonl")


class Injected(Struct, frozen=True, kw_only=True):
    """One reply to a hook."""

    at: datetime
    client: str
    kind: str  # start | prompt
    session: str
    tenant: str
    ids: tuple[str, ...] = ()  # of the records that were given; none: nothing was
    why: str = ""
    tokens: int = 0
    milliseconds: float = 0.0


class Injections:
    """The log of a folder: appended to, and never above two megabytes."""

    def __init__(self, folder: Path) -> None:
        self._paths = [folder / name for name in _FILES]
        self._lock = Lock()

    def add(self, injection: Injected) -> None:
        """Append one. A disk that is full, or may not be written, loses it and nothing else."""
        line = msgspec.json.encode(injection) + b"\n"
        now, former = self._paths
        with self._lock:
            try:
                if now.exists() and now.stat().st_size + len(line) > _LARGEST:
                    now.replace(former)
                file = os.open(now, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                try:
                    os.write(file, line)
                finally:
                    os.close(file)
            except OSError:
                pass

    def newest(self, limit: int = 50) -> list[Injected]:
        """The newest, the newest first."""
        found: list[Injected] = []
        for path in self._paths:
            found += reversed(list(_read(path)))
            if len(found) >= limit:
                break
        return found[:limit]

    def given(self, session: str) -> set[str]:
        """Ids of what a session has been given."""
        both = (injection for path in self._paths for injection in _read(path))
        return {id for injection in both if injection.session == session for id in injection.ids}


def _read(path: Path) -> Iterator[Injected]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=Injected)
        except msgspec.MsgspecError:
            # broken off while it was written
            continue
