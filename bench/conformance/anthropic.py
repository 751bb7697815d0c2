"""Points the tests of Anthropic's memory tool for a folder at `RemloomMemoryTool`."""

from __future__ import annotations

import tempfile
from types import SimpleNamespace
from typing import Any

import anthropic.lib.tools._beta_builtin_memory_tool as theirs
import pytest

from remloom import Memory, Query
from remloom.adapters.anthropic import AsyncRemloomMemoryTool, RemloomMemoryTool
from remloom.predicates import Eq

_memories: dict[str, Memory] = {}  # by the folder that theirs would have


class Place:
    """Where a file or folder would be, for tests that look past the tool."""

    def __init__(self, tool: Any, path: str) -> None:
        self._tool = tool
        self._path = path

    def __truediv__(self, name: str) -> Place:
        return Place(self._tool, f"{self._path}/{name}")

    def is_dir(self) -> bool:
        """Say whether the folder is shown."""
        shown = self._tool.view(SimpleNamespace(path=self._path, view_range=None))
        return shown.startswith("Here're the files")

    def write_bytes(self, data: bytes) -> None:
        """Write the file by the tool."""
        self._tool.create(SimpleNamespace(path=self._path, file_text=data.decode()))

    def read_bytes(self) -> bytes:
        """Read the file from the memory."""
        files = snapshot(self._tool.base_path)
        return files[self._path.removeprefix("/")].encode()


class AsyncPlace(Place):
    """The same for the asynchronous tool."""

    async def is_dir(self) -> bool:  # type: ignore[override]
        shown = await self._tool.view(SimpleNamespace(path=self._path, view_range=None))
        return bool(shown.startswith("Here're the files"))


def _open(base_path: str) -> Memory:
    folder = tempfile.mkdtemp(prefix="conformance-")
    return _memories.setdefault(str(base_path), Memory.open(folder, embedder="none"))


class SyncTool(RemloomMemoryTool):
    """Made as theirs is: `BetaLocalFilesystemMemoryTool(base_path=…)`."""

    def __init__(self, base_path: str) -> None:
        super().__init__(_open(base_path))
        self.base_path = base_path
        self.memory_root = Place(self, "/memories")


class AsyncTool(AsyncRemloomMemoryTool):
    """Made as theirs is: `BetaAsyncLocalFilesystemMemoryTool(base_path=…)`."""

    def __init__(self, base_path: str) -> None:
        super().__init__(_open(base_path))
        self.base_path = base_path
        self.memory_root = AsyncPlace(self, "/memories")


theirs.BetaLocalFilesystemMemoryTool = SyncTool  # type: ignore[misc, assignment]
theirs.BetaAsyncLocalFilesystemMemoryTool = AsyncTool  # type: ignore[misc, assignment]


def snapshot(base_path: str) -> dict[str, str]:
    """Take what is in the files, by their paths, as their tests look into the folder."""
    files = Query().filter(Eq("category", "memory-file"))
    found = _memories[str(base_path)].query_resources(files)
    return {file.name.removeprefix("/"): file.content for file in found}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    module: Any = next(
        (item.module for item in items if hasattr(item, "module")), SimpleNamespace()
    )
    module.get_directory_snapshot = snapshot
