"""The benchmark still runs, and its report says what was measured. The numbers themselves are not judged here."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench import report, run, targets
from bench.hot import Hot
from bench.measure import Results

SIZE = 200


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> targets.Found:
    folder = tmp_path_factory.mktemp("bench")
    bench = run.Bench(folder, Results("remloom", folder), encrypted=True, calls=50)
    for section in (run.chunks, run.names, run.graph, run.singles):
        section(bench, SIZE)
    return Results("remloom", folder).found


def test_every_section_keeps_its_measurements_beside_a_reference(measured: targets.Found) -> None:
    raced = {id.split("/")[0] for id, row in measured.items() if "reference" in row}
    assert {"get", "lookup", "fuzzy-1", "search", "search-keep-1%", "text", "traverse", "write-edges"} <= raced


def test_exact_searches_of_a_small_store_find_everything(measured: targets.Found) -> None:
    for what in ("search", "search-keep-10%", "fuzzy-1"):
        assert measured[f"{what}/{SIZE}/encrypted"]["recall"] > 0.9, what


def test_the_report_shows_what_was_measured_and_says_what_was_not(measured: targets.Found) -> None:
    at_full_size = {id.replace(f"/{SIZE}/", "/100000/"): row for id, row in measured.items()}
    page = report.targets_table(at_full_size)
    assert "| get by id, typed |" in page
    assert "| `make demo` from a bare clone | under 3 minutes | not measured | | |" in page
    assert "met |" in page


def test_every_hot_path_runs(tmp_path: Path) -> None:
    hot = Hot(str(tmp_path), "turns", SIZE)
    for call, _ in hot.paths().values():
        call()
    hot.memory.close()
