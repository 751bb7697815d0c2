"""`moments`, `affinity` and `consolidate` on the command line: what they say, and what they refuse."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from remloom import Memory, Resource
from remloom.errors import InvalidInputError, ModelRefusedError
from remloom.serve.cli.app import program
from remloom.serve.cli.commands.dreams import window
from remloom.testing import ScriptedModel


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write(
            [
                Resource(name=f"Note {n}", content=f"note {n}", related_entities=("Sarah Chen",))
                for n in range(2)
            ]
        )
    return tmp_path


def call(home: Path, *given: str) -> Result:
    return CliRunner().invoke(
        program, [*given, "--home", str(home)], env={"REMLOOM_EMBEDDER": "none"}
    )


def test_affinity_says_what_it_wrote_and_how_to_undo_it(home: Path) -> None:
    result = call(home, "affinity")
    assert result.exit_code == 0, result.output
    assert "compared 2 resources" in result.output
    assert "wrote 2 edges" in result.output
    assert "undo: remloom dream rollback " in result.output
    assert "nothing new" in call(home, "affinity").output


def test_a_dry_run_prints_edges_as_paths_and_writes_nothing(home: Path) -> None:
    result = call(home, "affinity", "--dry-run")
    assert "would write 2 edges" in result.output
    assert "/resources/note-0/entity/Sarah Chen/Note 1  0." in result.output
    assert "wrote 2 edges" in call(home, "affinity").output


def test_moments_names_what_it_looked_at(home: Path) -> None:
    result = call(home, "moments")
    assert result.exit_code == 0, result.output
    assert "looked at 1 session" in result.output
    assert "wrote 1 record" in result.output


def test_the_outcome_is_one_json_document(home: Path) -> None:
    found = json.loads(call(home, "moments", "--all", "--dry-run", "--json").output)
    assert found["run"]["kind"] == "moments"
    assert found["diff"]["records"][0]["name"].startswith("Note 0, ")


def test_consolidate_without_insights_has_nothing_to_do(home: Path) -> None:
    assert "looked at 0 insights" in call(home, "consolidate").output


def test_a_model_that_is_wanted_and_missing_is_an_error_with_a_remedy(home: Path) -> None:
    result = call(home, "affinity", "--judge")
    assert result.exit_code != 0
    assert "REMLOOM_LLM_MODEL" in result.output


def test_what_was_parked_is_told_with_its_reason_and_is_exit_code_1(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Memory.open
    replies = [ModelRefusedError("not today"), {"items": []}]
    model = ScriptedModel(replies)  # type: ignore[arg-type]
    monkeypatch.setattr(Memory, "open", lambda **given: opened(**given, llm=model))
    failed = call(home, "moments")
    assert (failed.exit_code, "not today" in failed.output) == (1, True), failed.output
    assert "1 item parked: the next run tries again" in failed.output
    assert call(home, "moments").exit_code == 0


def test_a_lookback_is_an_age_or_a_date() -> None:
    assert window("36h") == {"hours": 36.0}
    assert window("2w") == {"hours": 336.0}
    assert window("2025-03-01") == {"hours": None, "since": datetime(2025, 3, 1, tzinfo=UTC)}
    with pytest.raises(InvalidInputError, match="not an age or date"):
        window("recently")
