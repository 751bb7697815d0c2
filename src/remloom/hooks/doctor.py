"""What keeps hooks from working, and what mends it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from ..errors import RemloomError
from ..settings import Settings
from . import running
from .clients import CLIENTS
from .install import HOOK, hook_text
from .installing import files, manifest
from .installing.changes import JsonEntries
from .installing.manifest import InstalledFile
from .place import socket_of
from .switch import load

_ROOM = 16 << 20  # bytes that have to be free
_WAITING = 64  # transcripts that are to be read: more are not read any more


class Fault(Struct, frozen=True, kw_only=True):
    """Something that is wrong."""

    problem: str
    remedy: str
    client: str = ""  # which it is about; empty: all


def examine(folder: Path, environ: Mapping[str, str]) -> list[Fault]:
    """Look for what keeps the hooks of a folder from working."""
    try:
        installed = manifest.load(folder).clients
    except RemloomError as error:
        return [Fault(problem=error.message, remedy=error.remedy)]
    if not installed:
        remedy = "remloom install all"
        return [Fault(problem="hooks are installed in no program", remedy=remedy)]
    found = [*_of_folder(folder), *_of_switch(folder), *_of_process(folder), *_of_key(folder)]
    for name, records in installed.items():
        found += _of_client(name, records, environ)
    return found


def _of_folder(folder: Path) -> Iterator[Fault]:
    again = "remloom install all"
    try:
        if (folder / HOOK).read_bytes() != hook_text():
            yield Fault(problem=f"{folder / HOOK} is of another version", remedy=again)
    except OSError:
        yield Fault(problem=f"{folder / HOOK} is missing", remedy=again)
    try:
        socket_of(folder)
    except OSError as error:
        yield Fault(problem=str(error), remedy="choose a home with a shorter path: --home")
    if not os.access(folder, os.W_OK | os.X_OK) or not folder.stat().st_mode & 0o200:
        yield Fault(problem=f"{folder} cannot be written", remedy=f"chmod u+rwx {folder}")
    elif shutil.disk_usage(folder).free < _ROOM:
        yield Fault(
            problem=f"the disk with {folder} is full: nothing is kept", remedy="make room on it"
        )


def _of_switch(folder: Path) -> Iterator[Fault]:
    if load(folder).everywhere:
        yield Fault(problem="hooks are off everywhere", remedy="remloom hooks on")


def _of_process(folder: Path) -> Iterator[Fault]:
    state = running.state_of(folder)
    pid = running.pid_of(folder)
    if state == "hangs":
        yield Fault(
            problem=f"process {pid} of the hooks does not answer",
            remedy=f"kill -KILL {pid}: the next event starts another",
        )
    try:
        waiting = len(list((folder / "waiting").iterdir()))
    except OSError:
        remedy = "remloom install all"
        yield Fault(problem=f"{folder / 'waiting'} is missing", remedy=remedy)
        return
    if waiting > _WAITING:
        yield Fault(
            problem=f"{waiting} sessions wait to be read",
            remedy=f"see {folder / 'resident.log'} for what stops it",
        )


def _of_key(folder: Path) -> Iterator[Fault]:
    from ..memory import Home

    home = str(folder.parent)
    try:
        settings = Settings.load(home=home)
        tenants = Home(home, key=settings.key or None).tenants()
    except RemloomError as error:
        yield Fault(problem=error.message, remedy=error.remedy)
        return
    if not settings.key and any(tenant.encrypted for tenant in tenants):
        yield Fault(
            problem="the memory is encrypted, and there is no key: nothing is kept or given",
            remedy='put key = "file:PATH" into remloom.toml of the home, or set REMLOOM_KEY where '
            "agents are started",
        )


def _of_client(
    name: str, records: list[InstalledFile], environ: Mapping[str, str]
) -> Iterator[Fault]:
    client = CLIENTS[name]
    again = f"remloom install {name}"
    for python in sorted(_pythons(records)):
        if not os.access(python, os.X_OK):
            yield Fault(problem=f"{python} is gone", remedy=again, client=name)
    for record in records:
        path = Path(record.change.path)
        try:
            missing = record.change.missing(files.read(path))
        except RemloomError as error:
            message = f"{path}: {error.message}"
            yield Fault(problem=message, remedy=error.remedy, client=name)
            continue
        if missing:
            what = f"{path} is without {', '.join(missing)}, or has it otherwise"
            yield Fault(problem=what, remedy=again, client=name)
    if why := client.disabled(environ):
        remedy = client.note or f"take that out, or the hooks: remloom uninstall {name}"
        yield Fault(problem=why, remedy=remedy, client=name)


def _pythons(records: list[InstalledFile]) -> set[str]:
    """The interpreters that entries call."""
    import shlex

    found = set()
    for record in records:
        if isinstance(record.change, JsonEntries):
            for entry in record.change.entries:
                line = entry.value.get("hooks", [entry.value])[0] if entry.item else {}
                words = shlex.split(str(line.get("command", "")))
                found |= {words[words.index("&&") + 1]} if "&&" in words else set()
    return found
