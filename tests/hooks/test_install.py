"""Hooks come into the settings of programs, and go again: all else in them stays, to the byte."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest

from coding_agent import Agent
from remloom.hooks import install as installing
from remloom.hooks.clients import CLIENTS, Hook, Server
from remloom.hooks.install import Done, install, uninstall
from remloom.hooks.installing import json_text, manifest

SERVER = Server(command=("remloom", "mcp", "--project"), environment={"REMLOOM_HOME": "/home/ann"})
OWN = '{\n\t// mine\n\t"model": "opus",\n\t"hooks": {"Stop": [{"hooks": [{"command": "beep"}]}]},\n}\n'


class User:
    """A user with programs, and what these have in their settings."""

    def __init__(self, tmp_path: Path) -> None:
        self.at = tmp_path / "user"
        self.at.mkdir(parents=True)
        self.folder = self.at / "data" / "remloom" / "hooks"
        self.environ: Mapping[str, str] = {"HOME": str(self.at), "PATH": "/nowhere"}

    def has(self, name: str, text: str) -> Path:
        path = self.at / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def files(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.at)): path.read_bytes() if path.is_file() else b""
            for path in self.at.rglob("*")
        }

    def install(self, *names: str, server: Server | None = SERVER) -> list[Done]:
        return install(self.folder, names, server, self.environ)

    def uninstall(self, *names: str) -> list[Done]:
        return uninstall(self.folder, names)


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


SETTINGS = {
    "none": {},
    "formatted": {
        ".claude/settings.json": OWN,
        ".claude.json": '{"numStartups": 3, "mcpServers": {}, "projects": {"/a": {"x": [1,2]}}}',
        ".codex/hooks.json": '{"hooks": {}}\n',
        ".codex/config.toml": '# mine\nmodel = "gpt" # best\n[features]\nx = true',
        ".gemini/settings.json": '{\r\n  "mcpServers": {\r\n    "a": {"command": "b"}\r\n  }\r\n}',
        ".config/opencode/opencode.jsonc": '{ /* small */ "mcp": {} }',
        ".cursor/hooks.json": '{\n  "version": 1,\n  "hooks": {\n    "stop": []\n  }\n}\n',
        ".cursor/mcp.json": "",
        ".copilot/mcp-config.json": "{}",
    },
    "with a mark": {".gemini/settings.json": '\ufeff{"a": "{\\"[,"}\n// end'},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_what_was_installed_into_all_programs_goes_without_a_trace(
    user: User, settings: dict[str, str]
) -> None:
    for name, text in settings.items():
        user.has(name, text)
    before = user.files()
    assert [done.error for done in user.install(*CLIENTS)] == [""] * 6
    assert user.files() != before
    user.uninstall()
    assert user.files() == before


def test_installing_twice_changes_nothing(user: User) -> None:
    user.has(".claude/settings.json", OWN)
    user.install(*CLIENTS)
    before = user.files()
    assert {done.outcome for done in user.install(*CLIENTS)} == {"unchanged"}
    assert user.files() == before


def test_a_dry_run_says_what_would_be_written_and_writes_nothing(user: User) -> None:
    user.has(".claude/settings.json", OWN)
    before = user.files()
    [done] = install(user.folder, ["claude-code"], SERVER, user.environ, dry_run=True)
    assert user.files() == before
    assert '+\t\t"SessionStart": [' in done.diff or '"SessionStart"' in done.diff
    assert '-\t"hooks"' in done.diff


def test_all_programs_are_those_that_are_there(user: User) -> None:
    user.has(".codex/config.toml", "")
    outcomes = {done.client: done.outcome for done in user.install()}
    assert outcomes.pop("codex") == "installed"
    assert set(outcomes.values()) == {"not found"}


def test_programs_are_told_to_call_the_hook_and_to_start_the_server(user: User) -> None:
    user.install(*CLIENTS)
    claude = json.loads((user.at / ".claude/settings.json").read_text())
    [group] = claude["hooks"]["UserPromptSubmit"]
    assert group["hooks"][0]["command"].endswith("claude-code UserPromptSubmit || true")
    servers = json.loads((user.at / ".claude.json").read_text())["mcpServers"]
    assert servers["remloom"]["args"] == ["mcp", "--project"]
    codex = tomllib.loads((user.at / ".codex/config.toml").read_text())
    assert codex["mcp_servers"]["remloom"]["env"] == {"REMLOOM_HOME": "/home/ann"}
    hooks = json.loads((user.at / ".codex/hooks.json").read_text())["hooks"]
    assert hooks["SessionEnd"][0]["hooks"][0]["timeout"] == 3
    gemini = json.loads((user.at / ".gemini/settings.json").read_text())
    assert gemini["hooks"]["BeforeAgent"][0]["hooks"][0]["timeout"] == 5000
    assert gemini["mcpServers"]["remloom"]["command"] == "remloom"
    assert "hook.py" in (user.at / ".config/opencode/plugin/remloom.js").read_text()


def test_settings_that_were_changed_since_lose_only_what_is_ours(user: User) -> None:
    path = user.has(".claude/settings.json", OWN)
    user.install("claude-code")
    text = path.read_text().replace('"opus"', '"haiku"')
    # the user's own hooks: beside ours, and within its group; and ours is waited for longer
    text, _ = json_text.put(text, ("hooks", "Stop"), {"hooks": [{"command": "x"}]}, item=True)
    ours = 'claude-code SessionEnd || true", "timeout": 5}'
    text = text.replace(ours, ours + ', {"command": "bye"}')
    path.write_text(text.replace('"timeout": 5', '"timeout": 50'))
    user.uninstall("claude-code")
    assert json_text.parse(path.read_text()) == {
        "model": "haiku",
        "hooks": {
            "Stop": [{"hooks": [{"command": "beep"}]}, {"hooks": [{"command": "x"}]}],
            "SessionEnd": [{"hooks": [{"command": "bye"}]}],
        },
    }
    assert path.read_text().startswith('{\n\t// mine\n\t"model": "haiku",\n')


def test_a_server_of_the_same_name_stays_the_users(user: User) -> None:
    text = '{"mcpServers": {"remloom": {"command": "mine"}}}'
    path = user.has(".claude.json", text)
    table = user.has(".codex/config.toml", '[mcp_servers.remloom]\ncommand = "mine"\n')
    user.install("claude-code", "codex")
    assert path.read_text() == text
    user.uninstall()
    assert (path.read_text(), table.read_text().count("mine")) == (text, 1)


def test_without_the_server_only_hooks_are_put_in(user: User) -> None:
    user.install("claude-code")
    user.install("claude-code", server=None)
    assert not (user.at / ".claude.json").exists()
    assert (user.at / ".claude/settings.json").exists()


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('{"a": 1,, }', "not JSON at line 1, column 9"),
        ('{\n "a": tru}', "not JSON at line 2, column 7"),
        ('{"hooks": []}', "hooks is not an object"),
        ('{"hooks": {"Stop": {}}}', "hooks.Stop is not an array"),
        ("[" * 5000, "not JSON"),
    ],
)
def test_settings_that_are_none_are_left_as_they_are_and_others_go_on(
    user: User, text: str, wrong: str
) -> None:
    path = user.has(".claude/settings.json", text)
    claude, codex = user.install("claude-code", "codex")
    assert (claude.outcome, codex.outcome) == ("failed", "installed")
    assert str(path) in claude.error
    assert wrong in claude.error
    assert claude.remedy
    assert path.read_text() == text
    assert not (user.at / ".claude.json").exists()
    user.uninstall()
    assert path.read_text() == text


def test_a_link_a_folder_and_a_file_that_may_not_be_written_are_refused(user: User) -> None:
    elsewhere = user.has("dotfiles/settings.json", "{}")
    (user.at / ".claude").mkdir()
    (user.at / ".claude/settings.json").symlink_to(elsewhere)
    (user.at / ".gemini/settings.json").mkdir(parents=True)
    user.has(".codex/hooks.json", "{}").chmod(0o400)
    before = user.files()
    done = user.install("claude-code", "gemini", "codex")
    assert [one.outcome for one in done] == ["failed"] * 3
    for one, what in zip(done, ("a link to", "not a file", "read-only"), strict=True):
        assert what in one.error
    user.uninstall()
    assert user.files() == before


def test_what_was_begun_when_the_process_was_killed_is_mended_by_the_next(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = user.has(".claude/settings.json", OWN)
    write = installing.files.write

    def killed(path: Path, text: str, *, expected: str | None) -> list[str]:
        if path.name == ".claude.json":
            raise KeyboardInterrupt
        return write(path, text, expected=expected)

    monkeypatch.setattr(installing.files, "write", killed)
    with pytest.raises(KeyboardInterrupt):
        user.install("claude-code")
    monkeypatch.undo()
    user.has(".claude/.settings.json.remloom-part", "half")
    user.uninstall()
    assert path.read_text() == OWN
    assert list(user.files()) == [".claude", ".claude/settings.json"]


def killed_at(number: int, folder: str, work: Callable[[], object]) -> bool:
    """Do something in a process that is killed at a call of the system that writes into a folder;
    whether it came so far."""
    child = os.fork()
    if child == 0:
        calls = iter(range(number))
        writing = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.chmod")

        def watch(event: str, arguments: tuple[object, ...]) -> None:
            is_here = event in writing and str(arguments[0]).startswith(folder)
            if is_here and next(calls, None) is None:
                os._exit(9)

        sys.addaudithook(watch)
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.crash
@pytest.mark.parametrize("installed", [False, True])
def test_wherever_it_is_killed_the_settings_come_back_as_they_were(
    tmp_path: Path, installed: bool
) -> None:
    number, came = 0, True
    while came:
        user = User(tmp_path / str(number))
        for name, text in SETTINGS["formatted"].items():
            user.has(name, text)
        before = settings_of(user)
        if installed:
            user.install("claude-code", "codex")
        work = user.uninstall if installed else partial(user.install, "claude-code", "codex")
        came = killed_at(number, str(user.at), work)
        for name, text in settings_of(user).items():
            # whole: as it was, or with all of ours
            assert before.get(name, b"") == text or b"remloom" in text, number
        user.install("claude-code", "codex")
        user.uninstall()
        assert settings_of(user) == before, number
        assert not [name for name in user.files() if name.endswith("-part")]
        number += 1
    assert number > 20


def settings_of(user: User) -> dict[str, bytes]:
    return {
        name: text
        for name, text in user.files().items()
        if not name.startswith("data") and not name.endswith("-part")
    }


def test_hooks_of_a_home_whose_manifest_is_gone_are_not_put_in_twice(user: User) -> None:
    user.install(*CLIENTS)
    before = user.files()
    (user.folder / "installed.json").unlink()
    user.install(*CLIENTS)
    after = user.files()
    assert {name: text for name, text in after.items() if "data" not in name} == {
        name: text for name, text in before.items() if "data" not in name
    }
    user.uninstall()
    assert not any(b"hook.py" in text for text in user.files().values())


def test_the_command_does_nothing_where_the_hook_or_python_is_gone(tmp_path: Path) -> None:
    for hook, python in (("/nowhere/hook's.py", "/bin/python"), (__file__, "/nowhere/python")):
        one = Hook(file=hook, folder=str(tmp_path), socket="", python=python)
        line = one.line("claude-code", "Stop")
        done = subprocess.run(["sh", "-c", line], capture_output=True, input=b"{}", check=False)
        assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.parametrize(
    ("name", "client"), [("claude-code", "claude-code"), ("gemini-cli", "gemini")]
)
def test_a_plugin_calls_the_hook_once_it_is_on_and_not_beside_the_settings(
    user: User, name: str, client: str
) -> None:
    plugin = Path(__file__).parents[2] / "examples" / name
    hooks = json.loads((plugin / "hooks" / "hooks.json").read_text())["hooks"]
    assert set(hooks) == set(CLIENTS[client].kinds)
    line = hooks["SessionStart"][0]["hooks"][0]["command"]
    environ = {**os.environ, "REMLOOM_HOME": str(user.folder.parent), "HOME": str(user.at)}
    environ |= {"CLAUDE_PLUGIN_ROOT": str(plugin), "extensionPath": str(plugin)}
    environ["REMLOOM_HOOKS_IDLE"] = "0.1"

    def called() -> str:
        done = subprocess.run(
            ["sh", "-c", line], input=b"{}", capture_output=True, env=environ, check=True
        )
        return done.stdout.decode()

    assert called() == ""
    installing.prepare(user.folder)
    assert called() == "{}"
    user.install(client)
    assert called() == ""
    user.uninstall()
    assert called() == ""


def test_uninstalling_ends_the_process_even_one_that_was_stopped(agent: Agent) -> None:
    environ = {"HOME": str(agent.home.parent), "PATH": ""}
    install(agent.folder, ["claude-code"], None, environ)
    agent.start()
    pid = agent.pid
    os.kill(pid, signal.SIGSTOP)
    uninstall(agent.folder, ["claude-code"])
    assert agent.pid == 0
    assert not list(agent.folder.rglob("*"))
    assert not manifest.load(agent.folder).clients
