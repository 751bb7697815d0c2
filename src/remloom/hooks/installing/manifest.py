"""What was installed: by program, the files that were changed and how they are given back."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from ...errors import RemloomError
from .changes import Change
from .json_text import Insertion


class InstalledFile(Struct, frozen=True, kw_only=True):
    """A file, by the digests of what it was (empty: none was there) and of what was written."""

    change: Change
    before: str
    after: str
    insertions: list[Insertion]
    made: list[tuple[str, ...]] = []  # containers that the change needed
    folders: list[str] = []  # that were made for it


class Manifest(Struct, frozen=True, kw_only=True):
    """What was installed in a home, by the names of programs."""

    version: str = ""  # of Remloom that installed last
    clients: dict[str, list[InstalledFile]] = {}
    folders: list[str] = []  # that were made for the home


def load(folder: Path) -> Manifest:
    """The manifest of a folder of hooks; an empty one if nothing is installed."""
    path = _path(folder)
    try:
        return msgspec.json.decode(path.read_bytes(), type=Manifest)
    except FileNotFoundError:
        return Manifest()
    except msgspec.MsgspecError as error:
        raise RemloomError(
            f"{path} cannot be read: {error}",
            remedy="move it away, then install and uninstall once more",
        ) from error


def save(folder: Path, manifest: Manifest) -> None:
    """Write it in one step."""
    part = _path(folder).with_suffix(f".{os.getpid()}.part")
    part.write_bytes(msgspec.json.format(msgspec.json.encode(manifest)))
    part.chmod(0o600)
    part.replace(_path(folder))


def _path(folder: Path) -> Path:
    return folder / "installed.json"
