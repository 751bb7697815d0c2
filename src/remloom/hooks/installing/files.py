"""Files of programs' settings: read as what they should be, written whole or not at all."""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from pathlib import Path

from ...errors import InvalidInputError

_MODE = 0o600  # of a file that is made: settings may hold keys


def read(path: Path) -> str | None:
    """The text of a settings file; None if there is none.

    Raises:
        InvalidInputError: it is a link, no file, another user's, not to be written, or no text.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refused(path, error.strerror or "cannot be read", "see what is there") from error
    if stat.S_ISLNK(found.st_mode):
        remedy = "put the lines that --dry-run shows into the file that it leads to"
        raise _refused(path, f"a link to {os.readlink(path)}", remedy)
    if not stat.S_ISREG(found.st_mode):
        raise _refused(path, "not a file", "move it away")
    if found.st_uid != os.getuid():
        raise _refused(path, "another user's", "run this as the user who uses the program")
    if not found.st_mode & 0o200:
        raise _refused(path, "read-only", f"chmod u+w {path}")
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise _refused(path, "not UTF-8", "mend the file") from error


def write(path: Path, text: str, *, expected: str | None) -> list[str]:
    """Write a file in one step, and return the folders that were made for it.

    Raises:
        InvalidInputError: what stands there is not `expected` any more.
    """
    made = _missing_folders(path.parent)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = _part(path)
    mode = _MODE if expected is None else stat.S_IMODE(path.lstat().st_mode)
    part.unlink(missing_ok=True)
    try:
        with open(part, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        part.chmod(mode)
        _check(path, expected)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        remove_folders(made)
        raise
    return made


def remove(path: Path, *, expected: str) -> None:
    """Remove a file that was made."""
    _check(path, expected)
    path.unlink()


def remove_leftover(path: Path) -> None:
    """Remove what a process that was killed had begun to write beside a file."""
    _part(path).unlink(missing_ok=True)


def remove_folders(folders: list[str]) -> None:
    """Remove folders that were made and are empty, the deepest first."""
    for folder in sorted(folders, key=len, reverse=True):
        try:
            os.rmdir(folder)
        except OSError:
            continue  # something else is in it by now, or it is gone


def digest(text: str | None) -> str:
    """By which a text is known again; empty for none."""
    return "" if text is None else sha256(text.encode()).hexdigest()


def missing_folders(path: Path) -> list[str]:
    """The folders that have to be made for a file."""
    return _missing_folders(path.parent)


def _missing_folders(folder: Path) -> list[str]:
    return [str(one) for one in (folder, *folder.parents) if not one.exists()]


def _part(path: Path) -> Path:
    return path.with_name(f".{path.name}.remloom-part")


def _check(path: Path, expected: str | None) -> None:
    if read(path) != expected:
        raise _refused(path, "changed meanwhile", "close the program, and try again")


def _refused(path: Path, what: str, remedy: str) -> InvalidInputError:
    return InvalidInputError(f"{path} is {what}: nothing was written", remedy=remedy)
