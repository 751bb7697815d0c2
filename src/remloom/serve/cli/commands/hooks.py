"""`install`, `uninstall` and `hooks`: memory that runs by itself in coding agents."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from click.exceptions import Exit

from ....errors import InvalidInputError, UnknownNameError
from ..frame.call import Invocation
from ..frame.command import Report
from ..frame.results import FAILED, fields_of
from .mcp import server_command

if TYPE_CHECKING:
    from ....hooks.doctor import Fault
    from ....hooks.injections import Injected
    from ....hooks.install import Done
    from ....hooks.project import Project
    from ....hooks.switch import Switch

_ALL = "all"


def install(
    call: Invocation, clients: list[str], *, dry_run: bool = False, mcp: bool = True
) -> None:
    """Have coding agents remember: put hooks and the MCP server into their settings.

    CLIENT is claude-code, codex, gemini, opencode, cursor or copilot, or all: those that are there.
    Only the settings of the user are written, never a project's; `remloom uninstall` gives them
    back.

    Args:
        dry_run: show what would be written, and write nothing.
        mcp: put in the MCP server, too.
    """
    from ....hooks.clients import Server
    from ....hooks.install import install as put_in

    folder = _folder(call)
    environment = {"REMLOOM_HOME": str(folder.parent)}
    server = Server(command=(*server_command(["--project"]),), environment=environment)
    done = put_in(folder, _names(clients), server if mcp else None, dry_run=dry_run)
    _show(call, done)


def uninstall(call: Invocation, clients: list[str], *, dry_run: bool = False) -> None:
    """Take hooks and the MCP server out of the settings of coding agents.

    Settings that were not changed since are as they were, byte for byte. With the last client the
    process and the log of the hooks go, too; what is remembered stays.

    Args:
        dry_run: show what would be written, and write nothing.
    """
    from ....hooks.install import uninstall as take_out

    _show(call, take_out(_folder(call), _names(clients), dry_run=dry_run))


def status(call: Invocation) -> Report:
    """Say where hooks are installed, whether they are on here, and whether their process is up."""
    from ....hooks.installing import manifest
    from ....hooks.running import pid_of, state_of
    from ....hooks.switch import load
    from ..views.hooks import draw_status

    folder = _folder(call)
    installed = manifest.load(folder).clients
    switch = load(folder)
    project = _project(call)
    data = {
        "home": str(folder.parent),
        "installed": {name: [one.change.path for one in some] for name, some in installed.items()},
        "project": project.title,
        "tenant": project.tenant,
        "on": not switch.is_off(project.tenant, ""),
        "off": switch,
        "process": {"state": state_of(folder), "pid": pid_of(folder)},
    }
    return Report(data, lambda: draw_status(data))


def doctor(call: Invocation) -> None:
    """Look for what keeps hooks from working, and say what mends it.

    Exits with 1 if something does.
    """
    from ....hooks.doctor import examine
    from ..views.hooks import draw_findings

    found: list[Fault] = examine(_folder(call), os.environ)
    data = {"home": call.settings().shown_home, "findings": found}
    call.show(fields_of(data), lambda: draw_findings(found))
    if found:
        raise Exit(FAILED)


def on(call: Invocation, *, project: bool = False, session: str | None = None) -> Report:
    """Turn hooks on again: everywhere, in the project of this folder, or in a session.

    Programs that have Remloom as a plugin call hooks from then on.

    Args:
        project: in the project of this folder.
        session: in a session, by its id: `remloom hooks log` shows it.
    """
    return _switch(call, project, session, off=False)


def off(call: Invocation, *, project: bool = False, session: str | None = None) -> Report:
    """Turn hooks off: nothing is kept, and nothing given, until they are turned on again.

    Args:
        project: in the project of this folder.
        session: in a session, by its id: `remloom hooks log` shows it.
    """
    return _switch(call, project, session, off=True)


def log(call: Invocation, *, limit: int = 20) -> Report:
    """List what agents were given, newest first: where, why, tokens, milliseconds; not the words.

    `remloom show ID --tenant TENANT` shows what was given.
    """
    from ....hooks.injections import Injections
    from ..views.hooks import draw_log

    found: list[Injected] = Injections(_folder(call)).newest(limit)
    return Report(found, lambda: draw_log(found))


def _switch(call: Invocation, project: bool, session: str | None, *, off: bool) -> Report:
    from ....hooks import switch as switches
    from ....hooks.install import prepare

    if project and session:
        raise InvalidInputError(
            "--project and --session contradict each other", remedy="give one of them"
        )
    folder = _folder(call)
    if not off:
        prepare(folder)
    before = switches.load(folder)
    here = _project(call)
    after, where = _turned(before, here, project, session, off=off)
    switches.save(folder, after)
    done = "off" if off else "on"
    data = {"hooks": done, "where": where, "off": after}
    return Report(data, f"hooks are {done} {where}")


def _turned(
    before: Switch, here: Project, project: bool, session: str | None, *, off: bool
) -> tuple[Switch, str]:
    from msgspec.structs import replace

    if session:
        sessions = _with(before.sessions, session, there=off)
        return replace(before, sessions=sessions), f"in session {session}"
    if project:
        projects = _with(before.projects, here.tenant, there=off)
        return replace(before, projects=projects), f"in {here.title}"
    return replace(before, everywhere=off), "everywhere"


def _with(names: Sequence[str], name: str, *, there: bool) -> tuple[str, ...]:
    others = [one for one in names if one != name]
    return (*others, name) if there else (*others,)


def _names(clients: Sequence[str]) -> list[str]:
    from ....hooks.clients import CLIENTS

    if _ALL in clients:
        return []
    for name in clients:
        if name not in CLIENTS:
            raise UnknownNameError("client", name, [*CLIENTS, _ALL])
    return list(dict.fromkeys(clients))


def _folder(call: Invocation) -> Path:
    from ....hooks.place import folder_of

    home = call.settings().home
    if "://" in home:
        raise InvalidInputError(
            "hooks need a home that is a folder", remedy="give one with --home or REMLOOM_HOME"
        )
    return folder_of(home)


def _project(call: Invocation) -> Project:
    from ....hooks.project import find_project

    return find_project(os.getcwd(), call.settings().hooks_projects)


def _show(call: Invocation, done: list[Done]) -> None:
    from ..views.hooks import draw_done

    call.show(fields_of(done), lambda: draw_done(done))
    if any(one.outcome == "failed" for one in done):
        raise Exit(FAILED)
