"""The retrieval benchmarks still run. What they measure is not judged here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.quality import heldout, locomo, speed, tables, xquad


def test_the_speed_of_recall_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["speed", "60", "--questions", "4"])
    assert speed.main() == 0
    assert capsys.readouterr().out.count("\n") == len(speed.WAYS)


@pytest.mark.parametrize("bench", [heldout, locomo, xquad])
def test_without_its_data_a_benchmark_is_skipped_and_says_so(
    bench: object,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["bench", str(tmp_path / "nowhere")])
    assert bench.main() == 0  # type: ignore[attr-defined]
    assert capsys.readouterr().out.startswith("skipped")


def test_paragraphs_and_questions_are_loaded_from_the_datasets_form(tmp_path: Path) -> None:
    article = {
        "paragraphs": [
            {"context": "One.", "qas": [{"question": "Which?"}]},
            {"context": "Two.", "qas": []},
        ]
    }
    (tmp_path / "xquad.en.json").write_text(json.dumps({"data": [article]}))
    assert xquad.load(tmp_path / "xquad.en.json") == (["One.", "Two."], [("Which?", 0)])


def test_a_table_replaces_the_one_before_it_in_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- speed -->\nold\n<!-- /speed -->\nafter\n")
    tables.put_into_page({"speed": "| new |"}, page)
    assert page.read_text() == "before\n<!-- speed -->\n\n| new |\n\n<!-- /speed -->\nafter\n"


def test_the_share_of_evidence_and_its_rank_are_scored() -> None:
    asked = locomo.QuestionScore("c", 1, ranks=[2, 12], gold=2)
    assert (asked.all_at(10), asked.frac_at(10), asked.all_at(20), asked.reciprocal) == (
        0.0,
        0.5,
        1.0,
        1 / 3,
    )
