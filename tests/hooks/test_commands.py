"""`remloom install`, `uninstall` and `hooks`, as they are typed."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from remloom.hooks.injections import Injected, Injections
from remloom.serve.cli.app import program

Typed = Callable[..., Result]


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Typed:
    user = tmp_path / "user"
    (user / "api").mkdir(parents=True)
    (user / ".claude").mkdir()
    monkeypatch.chdir(user / "api")
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("REMLOOM_HOME", str(user / "data"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return lambda *words: CliRunner().invoke(program, words)


def data(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_all_programs_that_are_there_are_installed_and_uninstalled(typed: Typed) -> None:
    shown = typed("install", "all", "--dry-run").stdout
    assert '+        "type": "command"' in shown or '"type": "command"' in shown
    done = {one["client"]: one["outcome"] for one in data(typed("install", "all", "--json"))}
    assert (done["claude-code"], done["codex"]) == ("installed", "not found")
    status = data(typed("hooks", "status", "--json"))
    assert list(status["installed"]) == ["claude-code"]
    assert (status["project"], status["on"], status["process"]["state"]) == ("api", True, "idle")
    assert data(typed("hooks", "doctor", "--json"))["findings"] == []
    assert "claude-code: uninstalled" in typed("uninstall", "all").stdout
    assert not list(Path(Path.home(), ".claude").iterdir())
    assert typed("uninstall", "claude-code").stdout.strip() == "claude-code: unchanged"


def test_what_cannot_be_done_has_an_exit_code(typed: Typed) -> None:
    assert typed("install", "emacs").exit_code == 2
    assert typed("hooks", "off", "--project", "--session", "s").exit_code == 2
    assert typed("install", "codex", "--home", "postgresql://nowhere/x").exit_code == 2
    Path(Path.home(), ".claude", "settings.json").write_text("{")
    failed = typed("install", "claude-code", "codex", "--json")
    assert failed.exit_code == 1
    claude, codex = json.loads(failed.stdout)
    assert "not JSON at line 1" in claude["error"]
    assert codex["note"].startswith("Codex calls hooks only when")
    found = typed("hooks", "doctor")
    assert found.exit_code == 1
    assert "trust" in found.stdout


def test_hooks_are_turned_off_for_everything_a_project_or_a_session(typed: Typed) -> None:
    assert typed("hooks", "off", "--project").stdout == "hooks are off in api\n"
    assert data(typed("hooks", "status", "--json"))["on"] is False
    off = data(typed("hooks", "off", "--session", "s-1", "--json"))["off"]
    assert off["sessions"] == ["s-1"]
    assert len(off["projects"]) == 1
    typed("hooks", "on", "--project")
    assert data(typed("hooks", "status", "--json"))["on"] is True
    typed("hooks", "off")
    assert "off: remloom hooks on" in typed("hooks", "status").stdout
    assert data(typed("hooks", "on", "--json"))["off"]["sessions"] == ["s-1"]


def test_the_log_has_what_was_given_the_newest_first(typed: Typed) -> None:
    assert typed("hooks", "log").stdout == "nothing was given yet\n"
    typed("install", "claude-code")
    injections = Injections(Path.home() / "data" / "hooks")
    for number, why in enumerate(("the first", "the second")):
        injection = Injected(
            at=datetime(2026, 3, 2, 10, number, tzinfo=UTC),
            client="claude-code",
            kind="prompt",
            session="s-1",
            tenant="api-1",
            ids=("0123456789abcdef",),
            why=why,
            tokens=120,
            milliseconds=4.5,
        )
        injections.add(injection)
    [newest] = data(typed("hooks", "log", "--limit", "1", "--json"))
    assert (newest["why"], newest["tokens"], newest["milliseconds"]) == ("the second", 120, 4.5)
    assert "the first" in typed("hooks", "log").stdout


def test_the_server_is_told_to_serve_the_memory_of_the_project(typed: Typed) -> None:
    config = data(typed("mcp", "--project", "--print-config", "cursor", "--json"))["config"]
    assert json.loads(config)["mcpServers"]["remloom"]["args"][-1] == "--project"
    assert typed("mcp", "--project", "--tenant", "x").exit_code == 2
