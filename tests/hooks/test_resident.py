"""The hook answers whatever happens, and the resident keeps what was said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from coding_agent import Agent
from remloom import Home, Memory
from remloom.hooks.injections import Injections
from remloom.hooks.project import find_project
from remloom.hooks.switch import Switch, save
from remloom.predicates import Query
from waiting import until

SYMPTOM = "the order queue is slow"


def test_what_was_said_in_one_session_is_given_in_the_next(agent: Agent) -> None:
    agent.start()
    agent.keep()
    given = agent.answer("UserPromptSubmit", session_id="two", prompt=SYMPTOM)
    assert "PostgreSQL, as nobody is on call for Redis." in given
    assert given.startswith("<remloom-memory>")
    assert given.endswith("</remloom-memory>")


def test_nothing_is_given_twice_in_a_session(agent: Agent) -> None:
    agent.start()
    agent.keep()
    agent.answer("UserPromptSubmit", session_id="two", prompt=SYMPTOM)
    until(lambda: Injections(agent.folder).given("two"))
    assert agent.call("UserPromptSubmit", session_id="two", prompt=SYMPTOM) == {}
    assert agent.answer("UserPromptSubmit", session_id="three", prompt=SYMPTOM)


def test_what_was_given_is_logged_without_its_words(agent: Agent) -> None:
    agent.start()
    agent.keep()
    agent.answer("UserPromptSubmit", session_id="two", prompt=SYMPTOM)
    until(lambda: Injections(agent.folder).given("two"))
    [injection] = [one for one in Injections(agent.folder).newest() if one.ids]
    tenant = find_project(str(agent.work), {}).tenant
    assert (injection.client, injection.kind, injection.tenant) == ("claude-code", "prompt", tenant)
    agent.end()
    with Memory.open(agent.home, tenant=tenant, embedder="none") as memory:
        texts = [memory.get_resource(id).content for id in injection.ids]
        assert any("PostgreSQL" in text for text in texts)
    for path in agent.folder.rglob("*"):
        if path.is_file() and path.parent.name != "briefs":
            assert b"nobody is on call" not in path.read_bytes(), path


@pytest.mark.crash
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_resident_that_ends_loses_no_session(agent: Agent, how: signal.Signals) -> None:
    agent.start()
    agent.end(how)
    # there is none: the hook leaves word of it, and starts one
    (agent.folder / "started").unlink()
    assert agent.call("SessionEnd", transcript_path=agent.transcript()) == {}
    given = agent.answer("UserPromptSubmit", session_id="two", prompt=SYMPTOM)
    assert "PostgreSQL" in given


@pytest.mark.crash
def test_a_resident_that_hangs_is_not_felt(agent: Agent) -> None:
    agent.start()
    os.kill(agent.pid, signal.SIGSTOP)
    assert agent.call("UserPromptSubmit", prompt=SYMPTOM) == {}
    os.kill(agent.pid, signal.SIGCONT)


@pytest.mark.parametrize("payload", [b"", b"{", b"[]", b'{"cwd": 7}', b"\xff" * 100, b"[" * 9999])
def test_whatever_a_program_sends_is_answered(agent: Agent, payload: bytes) -> None:
    agent.start()
    for event in ("SessionStart", "UserPromptSubmit", "SessionEnd", "NoSuchEvent"):
        assert agent.call_with(event, payload, agent.work) == {}


def test_a_home_that_is_gone_is_not_felt(agent: Agent) -> None:
    agent.folder = Path("/nowhere/hooks")
    assert agent.call("SessionStart", source="startup") == {}


def test_a_session_begins_with_the_last_brief_while_nobody_is_up(agent: Agent) -> None:
    agent.start()
    agent.keep()
    brief = agent.answer("SessionStart", session_id="two", source="startup")
    agent.end()
    printed = agent.call("SessionStart", session_id="three", source="startup")
    assert printed["hookSpecificOutput"]["additionalContext"] == brief
    elsewhere = agent.work.parent / "other"
    elsewhere.mkdir()
    assert agent.call("SessionStart", cwd=elsewhere, session_id="four", source="startup") == {}


def test_what_is_forgotten_is_in_no_file_beside_the_memory(agent: Agent) -> None:
    agent.start()
    agent.keep()
    brief = agent.answer("SessionStart", session_id="two", source="startup")
    assert "nobody is on call for Redis" in brief
    tenant = find_project(str(agent.work), {}).tenant
    with Memory.open(agent.home, tenant=tenant, embedder="none") as memory:
        memory.forget(*(turn.id for turn in memory.query_resources(Query())))
    for path in agent.folder.rglob("*"):
        assert not path.is_file() or b"on call" not in path.read_bytes(), path
    assert agent.call("SessionStart", session_id="three", source="startup") == {}


def test_what_a_destroyed_memory_had_is_in_no_file_beside_it(agent: Agent) -> None:
    agent.start()
    agent.keep()
    assert "on call" in agent.answer("SessionStart", session_id="two", source="startup")
    agent.end()
    Home(agent.home).delete(find_project(str(agent.work), {}).tenant)
    assert agent.call("SessionStart", session_id="three", source="startup") == {}
    for path in agent.folder.rglob("*"):
        assert not path.is_file() or b"on call" not in path.read_bytes(), path


def test_off_is_off(agent: Agent) -> None:
    agent.start()
    agent.keep()
    agent.answer("UserPromptSubmit", session_id="two", prompt=SYMPTOM)
    tenant = find_project(str(agent.work), {}).tenant
    for switch in (
        Switch(everywhere=True),
        Switch(projects=(tenant,)),
        Switch(sessions=("three",)),
    ):
        save(agent.folder, switch)
        assert agent.call("UserPromptSubmit", session_id="three", prompt=SYMPTOM) == {}
    save(agent.folder, Switch())
    assert agent.answer("UserPromptSubmit", session_id="three", prompt=SYMPTOM)


def test_there_is_one_resident_and_it_ends_when_it_is_idle(agent: Agent) -> None:
    agent.start()
    pid = agent.pid
    command = [sys.executable, "-m", "remloom.hooks.resident", str(agent.folder)]
    subprocess.run(command, check=True)  # a second one ends at once
    assert agent.pid == pid
    agent.end()
    subprocess.run(command, check=True, env={**os.environ, "REMLOOM_HOOKS_IDLE": "0.01"})
    assert not (agent.folder / "socket").exists()
