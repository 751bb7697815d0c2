"""What keeps hooks from working is found, each with what mends it."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections import namedtuple
from pathlib import Path

import pytest

from coding_agent import Agent
from remloom import Home
from remloom.hooks import doctor, install, running
from remloom.hooks.doctor import examine
from remloom.hooks.place import folder_of, socket_of


class Machine:
    """A machine on which hooks are installed in Claude Code."""

    def __init__(self, tmp_path: Path) -> None:
        self.user = tmp_path / "user"
        self.user.mkdir(parents=True)
        self.folder = folder_of(tmp_path / "home")
        self.environ = {"HOME": str(self.user), "PATH": ""}
        self.settings = self.user / ".claude" / "settings.json"
        self.install()

    def install(self) -> None:
        install.install(self.folder, ["claude-code"], None, self.environ)

    def problems(self) -> str:
        found = examine(self.folder, self.environ)
        assert all(one.remedy for one in found)
        return "\n".join(f"{one.problem}: {one.remedy}" for one in found)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_where_all_is_well_nothing_is_found(machine: Machine) -> None:
    assert machine.problems() == ""


def test_nothing_installed_is_said(tmp_path: Path) -> None:
    [found] = examine(tmp_path / "hooks", {})
    assert found.remedy == "remloom install all"


def test_a_python_that_is_gone(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install.sys, "executable", "/nowhere/python")
    machine.install()
    assert "/nowhere/python is gone: remloom install claude-code" in machine.problems()


def test_a_hook_that_is_missing_or_of_another_version(machine: Machine) -> None:
    hook = machine.folder / "hook.py"
    hook.write_text("print('{}')")
    assert "of another version" in machine.problems()
    hook.unlink()
    assert "is missing: remloom install all" in machine.problems()
    machine.install()
    assert machine.problems() == ""


def test_a_process_that_hangs(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"HOME": str(agent.home.parent), "PATH": ""}
    install.install(agent.folder, ["claude-code"], None, environ)
    agent.start()
    pid = agent.pid
    os.kill(pid, signal.SIGSTOP)
    monkeypatch.setattr(running, "_ANSWER", 0.2)
    [found] = examine(agent.folder, environ)
    assert found.remedy.startswith(f"kill -KILL {pid}")
    os.kill(pid, signal.SIGCONT)


def test_a_place_of_the_socket_that_is_another_users(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(folder: Path) -> str:
        raise PermissionError("/tmp/remloom-0 is another user's")

    monkeypatch.setattr(doctor, "socket_of", refused)
    assert "another user's: choose a home with a shorter path" in machine.problems()


def test_a_long_path_of_the_home_is_no_problem(tmp_path: Path) -> None:
    machine = Machine(tmp_path / ("long" * 30))
    assert machine.problems() == ""
    assert len(socket_of(machine.folder)) < 104


def test_a_disk_that_is_full_and_a_folder_that_cannot_be_written(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", lambda path: usage(10, 10, 0))
        assert "is full: nothing is kept: make room" in machine.problems()
    machine.folder.chmod(0o500)
    assert f"cannot be written: chmod u+rwx {machine.folder}" in machine.problems()
    machine.folder.chmod(0o700)


def test_an_encrypted_memory_without_a_key(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REMLOOM_KEY", raising=False)
    Home(machine.folder.parent, key="ab" * 32).create("api")
    assert "there is no key" in machine.problems()
    monkeypatch.setenv("REMLOOM_KEY", "ab" * 32)
    assert machine.problems() == ""


def test_settings_of_which_only_some_entries_stand(machine: Machine) -> None:
    settings = json.loads(machine.settings.read_text())
    del settings["hooks"]["UserPromptSubmit"]
    machine.settings.write_text(json.dumps(settings))
    assert "without hooks.UserPromptSubmit" in machine.problems()
    machine.settings.write_text("{")
    assert "not JSON at line 1" in machine.problems()
    machine.settings.unlink()
    assert "hooks.SessionStart, hooks.UserPromptSubmit" in machine.problems()


def test_hooks_that_are_off(machine: Machine) -> None:
    text = machine.settings.read_text()
    machine.settings.write_text(text.replace("{", '{"disableAllHooks": true,', 1))
    assert "disableAllHooks" in machine.problems()
    machine.settings.write_text(text)
    (machine.folder / "off.json").write_text('{"everywhere": true}')
    assert machine.problems() == "hooks are off everywhere: remloom hooks on"


def test_sessions_that_are_not_read(machine: Machine) -> None:
    for number in range(100):
        (machine.folder / "waiting" / f"read-{number}.json").write_text("{}")
    assert "100 sessions wait to be read" in machine.problems()


def test_a_manifest_that_is_broken(machine: Machine) -> None:
    (machine.folder / "installed.json").write_text("{")
    assert "installed.json cannot be read" in machine.problems()


def test_hooks_that_codex_was_not_told_to_trust(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    install.install(machine.folder, ["codex"], None, machine.environ)
    assert "trust its hooks of SessionStart, UserPromptSubmit" in machine.problems()
    hooks = machine.user / ".codex" / "hooks.json"
    events = ("session_start", "user_prompt_submit", "stop", "pre_compact", "session_end")
    states = [f'[hooks.state."{hooks}:{event}:0:0"]\ntrusted_hash = "x"\n' for event in events]
    (machine.user / ".codex" / "config.toml").write_text("".join(states))
    assert machine.problems() == ""
    (machine.user / ".codex" / "config.toml").write_text("[features]\nhooks = false\n")
    assert "hooks = false" in machine.problems()
