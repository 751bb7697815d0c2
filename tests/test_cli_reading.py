"""`remloom read`, and the demo, which is the first thing most people see."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from remloom.serve.cli.app import program
from remloom.serve.cli.commands.demo import STEPS, documents


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in [name for name in os.environ if name.startswith("REMLOOM_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("REMLOOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REMLOOM_EMBEDDER", "none")
    return tmp_path / "home"


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "alpha.md").write_text(
        "# Project Alpha\n\nSarah Chen leads Project Alpha since January.\n"
    )
    (folder / "beta.txt").write_text("Bob Smith and Sarah Chen looked at the berths in Aveiro.\n")
    monkeypatch.chdir(tmp_path)
    return folder


def run(*words: str | Path, stdin: str | None = None) -> Result:
    return CliRunner().invoke(program, [str(word) for word in words], input=stdin)


def test_a_folder_is_read_and_can_be_asked_about(home: Path, notes: Path) -> None:
    result = run("read", "notes")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("2 read in ")
    assert "Project Alpha" in run("lookup", "project alpha").stdout
    assert "notes/beta.txt:1" in run("search", "berths", "--text").stdout


def test_what_did_not_change_is_not_read_again(home: Path, notes: Path) -> None:
    run("read", "notes")
    again = run("read", "notes")
    assert again.exit_code == 0
    assert again.stdout.startswith("2 unchanged in ")


def test_a_document_that_fails_is_named_with_its_reason_and_stops_no_other(
    home: Path, notes: Path
) -> None:
    (notes / "broken.docx").write_bytes(b"PK\x03\x04 but no archive")
    result = run("read", notes, notes / "not there.md")
    assert result.exit_code == 1
    assert "2 read" in result.stdout
    assert "not there.md" in result.stdout
    assert "broken.docx" in result.stdout


def test_reading_nothing_exits_with_1(home: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert run("read", tmp_path / "empty").exit_code == 1


def test_the_report_is_there_as_json(home: Path, notes: Path) -> None:
    report = json.loads(run("read", notes / "alpha.md", notes / "beta.txt", "--json").stdout)
    assert [item["status"] for item in report["items"]] == ["read", "read"]
    assert report["resources"] == len(report["ids"]) == 2


def test_category_and_glob_choose_what_is_read_and_as_what(home: Path, notes: Path) -> None:
    run("read", notes, "--glob", "*.md", "--category", "minutes")
    assert run("query", "SELECT DISTINCT category FROM resources").stdout.split()[-1] == "minutes"
    assert "nothing found" in run("search", "berths", "--text").stdout


def test_a_source_is_shown_and_forgotten_by_the_path_one_would_type(
    home: Path, notes: Path
) -> None:
    run("read", "notes")
    assert "Project Alpha" in run("show", "notes/alpha.md").stdout
    assert run("forget", "notes/alpha.md", "--yes").exit_code == 0
    assert "nothing found" in run("search", "january", "--text").stdout
    assert run("forget", "notes/alpha.md", "--yes").exit_code == 3


def test_what_is_piped_in_is_read(home: Path) -> None:
    assert (
        run("read", "-", stdin="The harbour master of Varberg is Karin Lindqvist.\n").exit_code == 0
    )
    assert "Karin Lindqvist" in run("search", "varberg", "--text").stdout


@pytest.mark.model
def test_the_demo_shows_every_kind_of_query_and_cites_lines(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMLOOM_EMBEDDER", "minilm")
    monkeypatch.chdir(documents().parent.parent)
    result = run("demo", "--home", tmp_path / "kept")
    assert result.exit_code == 0, result.output
    for step in STEPS:
        assert step.what in result.stdout
    assert "$ remloom lookup 'Sarah Chen'" in result.stdout
    assert "Tomás Oliveira  entities/person" in result.stdout
    assert "├── authored_by → Priya Nair  entities/person" in result.stdout
    assert "examples/demo/pricing-decision.md:" in result.stdout
    assert (tmp_path / "kept" / "tenants" / "demo" / "memory.db").exists()


@pytest.mark.model
def test_the_demo_as_json_has_an_answer_for_every_command(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMLOOM_EMBEDDER", "minilm")
    steps = json.loads(run("demo", "--json").stdout)
    assert len(steps) == len(STEPS)
    assert all(step["command"].startswith("remloom ") and step["answer"] for step in steps)
    assert not home.exists()


def test_what_is_piped_in_next_does_not_replace_it(home: Path) -> None:
    run("read", "-", stdin="The harbour master of Varberg is Karin Lindqvist.\n")
    run("read", "-", stdin="The harbour master of Aveiro is Rui Costa.\n")
    assert "Karin Lindqvist" in run("search", "varberg", "--text").stdout
    assert "Rui Costa" in run("search", "aveiro", "--text").stdout
