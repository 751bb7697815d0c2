"""Where hooks are off: everywhere, in a project, in a session."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec import Struct


class Switch(Struct, frozen=True, kw_only=True):
    """What `remloom hooks off` has turned off, until `on`."""

    everywhere: bool = False
    projects: tuple[str, ...] = ()  # tenants
    sessions: tuple[str, ...] = ()

    def is_off(self, tenant: str, session: str) -> bool:
        return self.everywhere or tenant in self.projects or session in self.sessions


def _path(folder: Path) -> Path:
    return folder / "off.json"


def load(folder: Path) -> Switch:
    """The switch of a folder. One that cannot be read is off: nothing is kept against a wish."""
    try:
        return msgspec.json.decode(_path(folder).read_bytes(), type=Switch)
    except FileNotFoundError:
        return Switch()
    except (OSError, msgspec.MsgspecError):
        return Switch(everywhere=True)


def save(folder: Path, switch: Switch) -> None:
    """Write it in one step."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = _path(folder).with_suffix(f".{os.getpid()}.part")
    part.write_bytes(msgspec.json.encode(switch))
    part.replace(_path(folder))
