"""Exclusions: what is inside a folder and is not read, with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from . import vaults


class Exclusions:
    """What is not read of a folder: what somebody excludes, and the templates of vaults."""

    def __init__(self, root: Path, patterns: Sequence[str] = ()) -> None:
        """Exclude what has these names, or paths below `root`; `*` and `?` stand for others."""
        self._root = root
        self._patterns = [pattern.strip("/ ").lower() for pattern in patterns]
        # paths of folders, below the root or not, in lower case
        self._templates: set[str] = set()
        for folder in (root, *root.parents):
            self.enter(folder)

    def enter(self, folder: Path) -> None:
        """Note where the templates are, if a folder that is read is a vault."""
        if (folder / vaults.MARK).is_dir():
            for name in vaults.templates_folder(folder):
                self._templates.add(f"{folder.as_posix()}/{name}".lower())

    def reason(self, path: Path) -> str:
        """Say why a file or folder is not read; empty for what is."""
        # what was asked for by its own path is read, whatever it is called
        below = path.relative_to(self._root).as_posix().lower()
        name = path.name.lower()
        for pattern in self._patterns:
            if pattern and (fnmatchcase(name, pattern) or fnmatchcase(below, pattern)):
                return f"excluded by {pattern!r}; name it to have it read"
        if path.as_posix().lower() in self._templates:
            return "templates of a vault of notes; name the folder to have it read"
        return ""
