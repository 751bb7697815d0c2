"""`remloom usage`: what was called, and what it cost, for people and programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from remloom import Memory
from remloom.errors import ModelRefusedError
from remloom.llm import Call
from remloom.serve.cli.app import program
from remloom.testing import ScriptedModel


@pytest.fixture
def home(tmp_path: Path) -> Path:
    model = ScriptedModel(["a?", "b?", ModelRefusedError("no", status=400)], dollars=0.001)
    with Memory.open(tmp_path, embedder="none", llm=model) as memory:
        assert memory.admin.llm is not None
        with memory.admin.llm.run("run-one") as run:
            run.ask("question", {"passages": ["one"]})
        memory.admin.llm.ask_all([Call("question", {"passages": ["two"]}), Call("dream", _dream())])
    return tmp_path


def _dream() -> dict[str, str]:
    return {"question": "?", "passages": "x", "related": "y"}


def run(home: Path, *words: str) -> str:
    done = CliRunner().invoke(program, ["usage", "--home", str(home), *words])
    assert done.exit_code == 0, done.output
    return done.output


def test_usage_shows_tasks_runs_and_the_total(home: Path) -> None:
    lines = [line.split() for line in run(home).splitlines()]
    assert ["task", "calls", "failed", "tokens", "in", "tokens", "out", "cost", "median"] in lines
    shown = {
        line[0]: line[1:3]
        for line in lines
        if line and line[0] in ("question", "dream", "total", "run-one")
    }
    assert shown["run-one"] == ["1", "0"]
    assert shown["total"] == ["3", "1"]


def test_usage_as_json_of_one_run_and_of_some_days(home: Path) -> None:
    found = json.loads(run(home, "--run", "run-one", "--json"))
    assert (found["total"]["calls"], [task["name"] for task in found["tasks"]]) == (1, ["question"])
    assert found["total"]["cost"] > 0
    assert json.loads(run(home, "--days", "1", "--json"))["total"]["calls"] == 3
    assert json.loads(run(home, "--run", "one", "--json"))["total"]["calls"] == 1
    unknown = CliRunner().invoke(program, ["usage", "--home", str(home), "--run", "nobody"])
    assert (unknown.exit_code, "no run has an id like 'nobody'" in unknown.output) == (3, True)


def test_a_price_that_is_not_known_is_said(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none", llm=ScriptedModel(["a?"])) as memory:
        assert memory.admin.llm is not None
        memory.admin.llm.ask("question", {"passages": ["one"]})
    assert "the price of the model is not known" in run(tmp_path)
