"""`learn` and `dream` on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import scripted_models
from click.testing import CliRunner, Result

from remloom import Memory
from remloom.serve.cli.app import program
from remloom.testing.embedder import WordEmbedder
from remloom.testing.models import ScriptedModel

pytest.importorskip("langgraph")

Command = Callable[..., Result]


@pytest.fixture
def remloom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The program, with an embedder and a model that need no network, opened as the command line
    opens its own."""
    opened = Memory.open

    def open_scripted(**given: object) -> Memory:
        return opened(**given, embedder=WordEmbedder(), llm=ScriptedModel(scripted_models.reply))  # type: ignore[arg-type]

    monkeypatch.setattr(Memory, "open", open_scripted)

    def call(*arguments: str) -> Result:
        return CliRunner().invoke(program, [*arguments, "--home", str(tmp_path / "home")])

    return call


def test_learning_prints_each_dream_with_its_question_and_source_lines(
    remloom: Command, tmp_path: Path
) -> None:
    source = scripted_models.folder(tmp_path / "essays")
    done = remloom("learn", str(source), "--dreams", "1")
    assert done.exit_code == 0, done.output
    assert "learn done: " in done.output
    assert "6 documents" in done.output
    assert done.output.count("What binds") == 3
    assert "2021-01-05-tea.md:6" in done.output
    assert "rollback" in done.output


def test_learning_again_when_there_is_nothing_new_says_so(remloom: Command, tmp_path: Path) -> None:
    source = scripted_models.folder(tmp_path / "essays")
    assert remloom("learn", str(source), "--dreams", "1").exit_code == 0
    again = remloom("learn", str(source), "--dreams", "1")
    assert again.exit_code == 0, again.output
    assert "nothing to do" in again.output
    assert len(json.loads(remloom("dream", "runs", "--json").output)) == 1


def test_a_dry_run_the_run_its_sources_and_its_rollback(remloom: Command, tmp_path: Path) -> None:
    source = scripted_models.folder(tmp_path / "essays")
    assert remloom("read", str(source)).exit_code == 0
    dry = remloom("dream", "--dreams", "1", "--seed", "a", "--dry-run")
    assert "nothing was; the model was called all the same" in dry.output
    assert "nothing ran yet" in remloom("dream", "runs").output
    told = json.loads(remloom("dream", "--dreams", "1", "--seed", "a", "--json").output)
    (dream,) = told["dreams"]
    assert dream["question"] in dry.output
    assert all(".md:" in source for source in dream["sources"])
    shown = remloom("show", dream["id"]).output
    assert all(source in shown.replace("\n", "").replace(" ", "") for source in dream["sources"])
    run = told["run"]["id"]
    assert "dream" in remloom("dream", "runs").output
    assert json.loads(remloom("dream", "runs", "--json").output)[0]["id"] == run
    back = remloom("dream", "rollback", run[-8:])
    assert back.exit_code == 0, back.output
    assert "rolled back dream run" in back.output
    assert "1 record removed" in back.output
    assert remloom("show", dream["id"]).exit_code == 3
    assert remloom("dream", "rollback", run).exit_code == 4


def test_wrong_arguments_are_told_with_a_remedy(remloom: Command, tmp_path: Path) -> None:
    source = scripted_models.folder(tmp_path / "essays")
    for given in (
        ["--period", "week"],
        ["--dreams", "many"],
        ["--order", "loose"],
        ["--budget-tokens", "0"],
    ):
        done = remloom("learn", str(source), *given)
        assert done.exit_code == 2, done.output
    assert remloom("learn", str(tmp_path / "nowhere")).exit_code == 2
    assert remloom("dream", "rollback", "nothing").exit_code == 3
    unknown = remloom("dream", "runs", "--kind", "lern")
    assert (unknown.exit_code, "did you mean 'learn'" in unknown.output) == (2, True), (
        unknown.output
    )
    assert remloom("usage", "--run", "nothing").exit_code == 3
