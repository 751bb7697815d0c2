"""Points the tests of the Agents SDK's `SQLiteSession` at `RemloomSession`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import agents
import agents.memory

from remloom import Memory
from remloom.adapters.openai_agents import RemloomSession

_memories: dict[str, Memory] = {}  # by the file that theirs would have


class FreshSession(RemloomSession):
    """Made as theirs is: `SQLiteSession(session_id, db_path)`; in memory, without a path."""

    def __init__(
        self, session_id: str, db_path: str | Path = ":memory:", *, session_settings: Any = None
    ) -> None:
        path = str(db_path)
        if path == ":memory:":
            path = tempfile.mkdtemp(prefix="conformance-")
        if path not in _memories:
            home = tempfile.mkdtemp(prefix="conformance-")
            _memories[path] = Memory.open(home, embedder="none")
        super().__init__(session_id, _memories[path], session_settings=session_settings)

    def close(self) -> None:
        """Do nothing: the memory may have other sessions."""


agents.SQLiteSession = FreshSession  # type: ignore[misc, assignment]
agents.memory.SQLiteSession = FreshSession  # type: ignore[misc, assignment]
