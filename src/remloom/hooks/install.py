"""Hooks put into programs' settings, and taken out again."""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import unified_diff
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from .._version import __version__
from ..errors import InvalidInputError, RemloomError
from . import running
from .clients import CLIENTS, CodingAgent, Hook, Server
from .installing import files, json_text, manifest
from .installing.changes import Change, JsonEntries, OwnFile
from .installing.manifest import InstalledFile
from .place import socket_of

HOOK = "hook.py"
CALL = "call"  # what plugins run: the command for a shell, with the client and the event behind
# what hooks leave in their folder: all of it goes when the last program is uninstalled
_LEFT = (
    HOOK, CALL, "installed.json", "installing", "lock", "started", "socket", "off.json",
    "resident.log", "resident.log.1", "injections.jsonl", "injections.former.jsonl",
)  # fmt: skip
_FOLDERS = ("waiting", "briefs")


class Done(Struct, frozen=True, kw_only=True):
    """What was done with the settings of a program.

    Attributes:
        outcome: installed | uninstalled | unchanged | not found | failed.
        files: that were written, or would be.
        error: why it failed; nothing of the program was written then.
        note: what is left to do.
        diff: what would be written, of a dry run.
    """

    client: str
    outcome: str
    files: tuple[str, ...] = ()
    error: str = ""
    remedy: str = ""
    note: str = ""
    diff: str = ""


class _Step(Struct, frozen=True):
    """A file as it is, and as it is to be."""

    path: Path
    now: str | None
    then: str | None
    written: InstalledFile | None = None  # None: it is given back


def hook_of(folder: Path) -> Hook:
    """The hook as programs call it."""
    return Hook(
        file=str(folder / HOOK),
        folder=str(folder),
        socket=socket_of(folder),
        python=sys.executable,
    )


def hook_text() -> bytes:
    """The hook of this version."""
    return Path(__file__).with_name(HOOK).read_bytes()


def install(
    folder: Path,
    names: Sequence[str],
    server: Server | None,
    environ: Mapping[str, str] = os.environ,
    *,
    dry_run: bool = False,
) -> list[Done]:
    """Install into programs; one that fails does not keep the others from it.

    Args:
        names: of programs; empty: all that are there.
        server: the MCP server, if it is to be known to them, too.
    """
    wanted = [CLIENTS[name] for name in names] or list(CLIENTS.values())
    if not dry_run:
        made = files.missing_folders(folder / HOOK)
        prepare(folder)
        if made:
            manifest.save(folder, replace(manifest.load(folder), folders=made))
    with _alone(folder, dry_run=dry_run):
        return [
            _install_one(folder, client, server, environ, dry_run=dry_run)
            if names or is_there(client, environ)
            else Done(client=client.name, outcome="not found")
            for client in wanted
        ]


def uninstall(folder: Path, names: Sequence[str], *, dry_run: bool = False) -> list[Done]:
    """Take out what was installed; with the last program all that hooks have left goes, too."""
    with _alone(folder, dry_run=dry_run or not folder.exists()):
        known = manifest.load(folder).clients
        done = [_uninstall_one(folder, name, dry_run=dry_run) for name in names or list(known)]
        if not dry_run and folder.exists() and not manifest.load(folder).clients:
            made = manifest.load(folder).folders
            running.end(folder)
            _clear(folder)
            files.remove_folders([*made, str(folder)])
    return done


def is_there(client: CodingAgent, environ: Mapping[str, str]) -> bool:
    """Whether a program is installed, or has been used."""
    found = shutil.which(client.program, path=environ.get("PATH"))
    return bool(found) or client.folder(environ).is_dir()


def prepare(folder: Path) -> None:
    """Make the folder of the hooks, with the hook in it."""
    for each in (folder, *(folder / name for name in _FOLDERS)):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
    hook = hook_of(folder)
    command = shlex.join(hook.arguments("")[:-1])
    _leave(folder / HOOK, hook_text())
    _leave(folder / CALL, f'{command} "$1" "$2"\n'.encode())


def _leave(path: Path, data: bytes) -> None:
    if not path.exists() or path.read_bytes() != data:
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        part.write_bytes(data)
        part.chmod(0o600)
        part.replace(path)


def _install_one(
    folder: Path,
    client: CodingAgent,
    server: Server | None,
    environ: Mapping[str, str],
    *,
    dry_run: bool,
) -> Done:
    try:
        before = manifest.load(folder)
        former = {one.change.path: one for one in before.clients.get(client.name, [])}
        changes = client.changes(hook_of(folder), server, environ)
        steps = [_put(change, former.pop(change.path, None)) for change in changes]
        # a file that an earlier version wrote, or the server that is not wanted any more
        steps += [step for one in former.values() if (step := _give_back(one))]
        changed = [step for step in steps if step.now != step.then]
        written = [step.written for step in steps if step.written]
        if not dry_run and (changed or written != before.clients.get(client.name)):
            clients = {**before.clients, client.name: written}
            manifest.save(folder, replace(before, version=__version__, clients=clients))
        return _carry_out(client.name, "installed", changed, client.note, dry_run=dry_run)
    except (RemloomError, OSError) as error:
        return _failed(client.name, error)


def _uninstall_one(folder: Path, name: str, *, dry_run: bool) -> Done:
    try:
        before = manifest.load(folder)
        records = before.clients.get(name, [])
        steps = [step for one in records if (step := _give_back(one))]
        done = _carry_out(name, "uninstalled", steps, "", dry_run=dry_run)
        if not dry_run and records:
            for one in records:
                files.remove_leftover(Path(one.change.path))
                files.remove_folders(one.folders)
            clients = {key: value for key, value in before.clients.items() if key != name}
            manifest.save(folder, replace(before, clients=clients))
        return done
    except (RemloomError, OSError) as error:
        return _failed(name, error)


def _put(change: Change, former: InstalledFile | None) -> _Step:
    """What becomes of a file: what is there of ours is taken out, and the change is put in."""
    path = Path(change.path)
    now = files.read(path)
    with _named(path):
        base = now if former is None else _without(former, now)
        if former is None and now is not None:
            # what is left by an installation whose manifest is gone
            base = _without_manifest(change, now)
        change = change.needed(base)
        then, insertions = change.apply(base)
        written = InstalledFile(
            change=change,
            before=files.digest(base),
            after=files.digest(then),
            insertions=insertions,
            made=change.made(base),
            folders=former.folders if former else files.missing_folders(path),
        )
    return _Step(path, now, then, written)


def _without_manifest(change: Change, now: str) -> str | None:
    if isinstance(change, OwnFile):
        return None if now == change.text else now
    return change.hooks().take(now, []) if isinstance(change, JsonEntries) else now


def _give_back(written: InstalledFile) -> _Step | None:
    """What becomes of a file from which ours is taken; None if nothing of it is there."""
    path = Path(written.change.path)
    now = files.read(path)
    with _named(path):
        then = _without(written, now)
    return None if now == then else _Step(path, now, then)


def _without(written: InstalledFile, now: str | None) -> str | None:
    """A file without ours: as it was, or, where it was changed since, all else as it is."""
    if now is None or files.digest(now) == written.before:
        return now
    if files.digest(now) == written.after:
        then = json_text.undo(now, written.insertions)
        if then is not None:
            return then if written.before or then else None
    then = written.change.take(now, written.made)
    return then if written.before or not _is_empty(written.change, then) else None


def _is_empty(change: Change, text: str) -> bool:
    """Whether nothing is left in a file that was made for ours."""
    if isinstance(change, JsonEntries):
        return json_text.parse(text) in (None, {})
    return not text.strip()


def _carry_out(
    name: str, outcome: str, steps: Sequence[_Step], note: str, *, dry_run: bool
) -> Done:
    paths = tuple(str(step.path) for step in steps)
    if dry_run:
        diff = "".join(line for step in steps for line in _diff(step))
        return Done(client=name, outcome=outcome if steps else "unchanged", files=paths, diff=diff)
    for step in steps:
        if step.then is not None:
            files.write(step.path, step.then, expected=step.now)
        elif step.now is not None:
            files.remove(step.path, expected=step.now)
    outcome = outcome if steps else "unchanged"
    return Done(client=name, outcome=outcome, files=paths, note=note if steps else "")


def _diff(step: _Step) -> Iterator[str]:
    old, new = ((text or "").splitlines(keepends=True) for text in (step.now, step.then))
    for line in unified_diff(old, new, str(step.path), str(step.path)):
        yield line if line.endswith("\n") else f"{line}\n\\ no newline at the end\n"


def _failed(name: str, error: Exception) -> Done:
    if isinstance(error, RemloomError):
        return Done(client=name, outcome="failed", error=error.message, remedy=error.remedy)
    return Done(client=name, outcome="failed", error=str(error), remedy="see what is there")


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Have errors in a file name it."""
    try:
        yield
    except InvalidInputError as error:
        message = f"{path} is {error.message}: nothing was written"
        raise InvalidInputError(message, remedy=error.remedy) from error


@contextmanager
def _alone(folder: Path, *, dry_run: bool) -> Iterator[None]:
    """Let one process at a time change settings."""
    if dry_run:
        yield
        return
    file = os.open(folder / "installing", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _clear(folder: Path) -> None:
    """Remove what hooks have left, and the folder."""
    for name in _FOLDERS:
        shutil.rmtree(folder / name, ignore_errors=True)
    for name in _LEFT:
        (folder / name).unlink(missing_ok=True)
    for part in folder.glob("*.part"):
        part.unlink(missing_ok=True)
