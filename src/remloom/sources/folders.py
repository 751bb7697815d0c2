"""Folders: which of their files are read, and why others are not.

A vault is a folder of notes as Obsidian keeps them; its templates are not notes yet.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch, fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from .document import Skipped

_PRUNED = frozenset(("node_modules", "__pycache__", "venv", "site-packages", "CVS"))
# files that tell a virtual environment, or a tenant of ours
_MARKS = ("pyvenv.cfg", "memory.db")
_VAULT = ".obsidian"  # the folder that makes a vault of the one that it is in
# where a vault says which of its folders has the templates: file, and key in it
_SETTINGS = (
    ("templates.json", "folder"),
    ("plugins/templater-obsidian/data.json", "templates_folder"),
)
_USUAL_TEMPLATES = "templates"  # the name of that folder where none is set
_LARGEST_SETTINGS = 1_000_000  # bytes of a file of settings


def walk(
    root: Path, *, recursive: bool = True, glob: str | None = None, exclude: Sequence[str] = ()
) -> Iterator[Path | Skipped]:
    """Yield the files of a folder in the order of their names, and at last the folders that cannot
    be read. What is hidden, installed packages and tenants of ours are left out without a word.

    Args:
        recursive: whether folders inside it are read too.
        glob: only the files whose name, or path below `root`, matches.
        exclude: names, or paths below `root`, in any case, with `*` and `?`, that come as
        `Skipped`;
            so do templates of vaults.
    """
    exclusions = _Exclusions(root, exclude)
    errors: list[OSError] = []
    for folder, folders, files in os.walk(root, onerror=errors.append):
        exclusions.enter(Path(folder))
        inside = sorted(name for name in folders if recursive and _is_read(folder, name))
        excluded = {name for name in inside if exclusions.reason(Path(folder, name))}
        # what is taken out of this very list, os.walk does not enter
        folders[:] = [name for name in inside if name not in excluded]
        links = [name for name in folders if Path(folder, name).is_symlink()]
        names = sorted((*files, *links, *excluded))
        for path in (Path(folder, name) for name in names if not name.startswith(".")):
            reason = exclusions.reason(path)
            if reason:
                yield Skipped(uri=uri_of(path), reason=reason)
            elif not glob or _matches(path, root, glob):
                yield path
    for error in errors:
        reason = f"cannot be read: {error.strerror}"
        yield Skipped(uri=uri_of(error.filename), reason=reason, failed=True)


def uri_of(path: str | os.PathLike[str]) -> str:
    """Write a path as text that can be stored: bytes that are not UTF-8 become `\\xff`."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def is_in_vault(path: Path) -> bool:
    """Whether a file is in a vault, at whatever depth."""
    return any((folder / _VAULT).is_dir() for folder in path.parents)


def _is_read(folder: str, name: str) -> bool:
    if name.startswith(".") or name in _PRUNED:
        return False
    return not any(Path(folder, name, mark).exists() for mark in _MARKS)


def _matches(path: Path, root: Path, glob: str) -> bool:
    return fnmatch(path.name, glob) or fnmatch(path.relative_to(root).as_posix(), glob)


class _Exclusions:
    def __init__(self, root: Path, patterns: Sequence[str]) -> None:
        self._root = root
        self._patterns = [pattern.strip("/ ").lower() for pattern in patterns]
        # paths of folders, below the root or not, in lower case
        self._templates: set[str] = set()
        for folder in (root, *root.parents):
            self.enter(folder)

    def enter(self, folder: Path) -> None:
        """Note where the templates are, if a folder that is read is a vault."""
        if (folder / _VAULT).is_dir():
            found = {_setting(folder / _VAULT / file, key) for file, key in _SETTINGS} - {""}
            for name in found or {_USUAL_TEMPLATES}:
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


def _setting(file: Path, key: str) -> str:
    """Read a folder's name from a file of settings; empty when there is none."""
    try:
        with file.open("rb") as stream:
            values: Any = msgspec.json.decode(stream.read(_LARGEST_SETTINGS))
    except (OSError, msgspec.DecodeError, RecursionError):
        return ""
    folder = values.get(key) if isinstance(values, dict) else None
    return folder.strip("/ ").lower() if isinstance(folder, str) else ""
