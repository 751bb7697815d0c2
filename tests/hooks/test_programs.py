"""The real programs call the hooks: what one session decided, the next has in its request."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from coding_programs import Model, Program, find, scripted_model
from remloom.hooks import running
from waiting import until

PROGRAMS = ("claude-code", "codex", "gemini", "opencode")


@pytest.fixture
def model() -> Iterator[Model]:
    with scripted_model() as made:
        yield made


def remloom(program: Program, *arguments: str) -> str:
    command = [sys.executable, "-m", "remloom", *arguments]
    done = subprocess.run(command, env=program.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def settings(home: Path) -> dict[str, bytes]:
    """What a home has, but for what the programs write themselves as they run."""
    names = (".codex/config.toml", ".gemini/settings.json", ".config/opencode/opencode.json")
    return {name: (home / name).read_bytes() for name in names}


def repository(folder: Path) -> Path:
    folder.mkdir()
    for arguments in (
        ("init", "-q"),
        ("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "--allow-empty", "-m", "x"),
        ("worktree", "add", "-q", str(folder.parent / "tree")),
    ):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("client", PROGRAMS)
def test_a_decision_of_one_session_is_in_the_request_of_the_next(
    client: str, model: Model, tmp_path: Path
) -> None:
    if not find(client):
        pytest.skip(f"{client} is not in the folder that REMLOOM_TEST_PROGRAMS names")
    program = Program(client, tmp_path / "home", model)
    before = settings(program.home)
    remloom(program, "install", client)
    work = repository(tmp_path / "api")
    hooks = program.home / "data" / "hooks"
    try:
        program.run("use PostgreSQL for the order queue", work)
        until(lambda: running.state_of(hooks) == "up", "no process was started")
        until(lambda: not list((hooks / "waiting").iterdir()), "the session was not read")
        for folder in (work, tmp_path / "tree"):
            model.requests.clear()
            program.run("what did we decide?", folder)
            said = [json.dumps(request) for request in model.requests]
            assert any("remloom-memory" in one and "PostgreSQL" in one for one in said)
    finally:
        remloom(program, "uninstall", "all")
    assert running.pid_of(hooks) == 0
    assert settings(program.home) == before
