"""Vaults: folders of notes as Obsidian keeps them, with templates and daily notes."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

MARK = ".obsidian"  # the folder that makes a vault of the one that it is in
# where a vault says which of its folders has the templates: file, and key in it
_SETTINGS = (
    ("templates.json", "folder"),
    ("plugins/templater-obsidian/data.json", "templates_folder"),
)
_USUAL = "templates"  # the name of that folder where none is set
_LARGEST = 1_000_000  # bytes of a file of settings
# a day, alone or before words: `2026-03-02`, `2026_03_02`, `2026-03-02 Monday`
_DAY = re.compile(r"(\d{4})([-_])(\d\d)\2(\d\d)(?![\d])")


def is_inside(path: Path) -> bool:
    """Whether a file is in a vault, at whatever depth."""
    return any((folder / MARK).is_dir() for folder in path.parents)


def templates_folder(vault: Path) -> set[str]:
    """The folders of a vault's templates, below it, in lower case: they are not notes yet."""
    found = {_setting(vault / MARK / file, key) for file, key in _SETTINGS}
    return (found - {""}) or {_USUAL}


def day_of(uri: str) -> datetime | None:
    """The day that a note is of by its name, as daily notes are named; None for others.

    >>> day_of("/vault/2026-03-02.md").isoformat(), day_of("2026-13-02.md"), day_of("q1.md")
    ('2026-03-02T00:00:00+00:00', None, None)
    """
    day = _DAY.match(_name(uri))
    if not day:
        return None
    try:
        return datetime(int(day[1]), int(day[3]), int(day[4]), tzinfo=UTC)
    except ValueError:
        return None


def _name(uri: str) -> str:
    return uri.replace("\\", "/").rpartition("/")[2]


def _setting(file: Path, key: str) -> str:
    """Read a folder's name from a file of settings; empty when there is none."""
    try:
        with file.open("rb") as stream:
            values: Any = msgspec.json.decode(stream.read(_LARGEST))
    except (OSError, msgspec.DecodeError, RecursionError):
        return ""
    folder = values.get(key) if isinstance(values, dict) else None
    return folder.strip("/ ").lower() if isinstance(folder, str) else ""
