"""Which project a folder belongs to: its memory is a tenant of its own.

What names a project is, in this order: the setting `hooks_projects`, the address of its remote
repository, its local repository, the folder. So clones and worktrees share a memory, and two
projects whose folders have one name do not. Nothing in a project's files chooses another: a
repository that was cloned cannot ask for the memory of one that was not.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

USER = "user"  # the tenant of what is of no single project

_SECONDS = 2.0  # that git may take
_NAME = 24  # characters of a folder's name in the tenant's
_SCP = re.compile(r"(?:[^@/\s]+@)?(?P<host>[^:/\s]+):(?P<path>(?!//).+)")
_NOT_OF_NAMES = re.compile(r"[^a-z0-9]+")


class Project(Struct, frozen=True, kw_only=True):
    """A project, and where in it an agent works."""

    tenant: str
    title: str
    part: str = ""  # of it that the agent works in: "packages/api"; empty: its root
    branch: str = ""
    commit: str = ""
    worktree: str = ""  # root of the working tree; empty: no repository


def find_project(folder: str, names: Mapping[str, str]) -> Project:
    """Find the project of a folder.

    Args:
        names: tenants by folder or remote address, as the setting `hooks_projects` has them; the
            longest folder wins.
    """
    path = Path(folder).expanduser().resolve()
    root, common, remote, branch, commit = _repository(str(path))
    tenant = _named(path, remote, names)
    address = normalised(remote)
    title = address.rpartition("/")[2] or (Path(common).parent.name if common else path.name)
    if not tenant:
        identity = address or common or str(path)
        name = _NOT_OF_NAMES.sub("-", title.casefold()).strip("-")[:_NAME] or "project"
        tenant = f"{name}-{sha256(identity.encode()).hexdigest()[:12]}"
    part = path.relative_to(root).as_posix() if root and path.is_relative_to(root) else ""
    return Project(
        tenant=tenant,
        title=title or tenant,
        part="" if part == "." else part,
        branch=branch,
        commit=commit,
        worktree=root,
    )


def normalised(remote: str) -> str:
    """An address of a repository without what differs between two clones of it.

    >>> normalised("git@Example.com:acme/api.git"), normalised("https://u:t@example.com/acme/api/")
    ('example.com/acme/api', 'example.com/acme/api')
    """
    text = remote.strip()
    if not text:
        return ""
    if "://" in text:
        parts = urlsplit(text)
        host, path = parts.hostname or "", parts.path
    elif match := _SCP.fullmatch(text):
        host, path = match["host"], match["path"]
    else:
        # a folder of this machine
        return str(Path(text).expanduser().resolve())
    path = path.strip("/").removesuffix(".git").rstrip("/")
    return f"{host.casefold()}/{path}" if host else path


def _named(path: Path, remote: str, names: Mapping[str, str]) -> str:
    folders = []
    for name, tenant in names.items():
        if normalised(name) == normalised(remote) and remote:
            return tenant
        if path.is_relative_to(Path(name).expanduser().resolve()):
            folders.append((len(name), tenant))
    return max(folders, default=(0, ""))[1]


@cache
def _environment() -> dict[str, str]:
    # a variable of the agent's must not point git at another repository
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


def _repository(folder: str) -> tuple[str, str, str, str, str]:
    """Root, common folder, remote address, branch and commit; empty where there are none."""
    found = _git(
        folder, "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir"
    )
    if len(found) != 2:
        return "", "", "", "", ""
    root, common = found
    remotes = dict(
        line.partition(" ")[::2]
        for line in _git(folder, "config", "--get-regexp", r"^remote\..*\.url$")
    )
    remote = remotes.get("remote.origin.url") or next(iter(remotes.values()), "")
    branch = _git(folder, "symbolic-ref", "--quiet", "--short", "HEAD")
    commit = _git(folder, "rev-parse", "--quiet", "--verify", "--short=12", "HEAD")
    return root, common, remote, "".join(branch[:1]), "".join(commit[:1])


def _git(folder: str, *arguments: str) -> list[str]:
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and git is asked for names only
            ["git", "-C", folder, *arguments],  # noqa: S607 - the user's git
            capture_output=True,
            check=False,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=_SECONDS,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []
