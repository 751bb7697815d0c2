"""The runner of other projects' suites: what it reads, what it writes down, and the page of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.conformance import runner
from bench.conformance.conformance_report import page_of
from bench.conformance.outcomes import Outcome, Outcomes, load_outcomes
from bench.conformance.suite import HERE, Suite, load_suite, suite_names

TESTS = """
import pytest

def test_passes(): pass
def test_fails(): raise ValueError("what was wrong")
def test_skips(): pytest.skip("why not")
@pytest.mark.parametrize("n", [1, 2])
def test_left_out(n): raise AssertionError
"""


@pytest.mark.parametrize("name", suite_names())
def test_every_suite_names_its_tests_and_has_a_plugin(name: str) -> None:
    suite = load_suite(name)
    assert suite.version
    assert suite.tests or suite.runner == "module"
    assert (HERE / f"{name.replace('-', '_')}.py").exists()
    assert all(suite.not_applicable.values())


def test_what_became_of_each_test_is_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # plugins take seconds to load
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (tmp_path / "test_theirs.py").write_text(TESTS)
    suite = Suite(
        name="outcomes",  # a module of the runner that is there already, and changes nothing
        title="Theirs",
        package="theirs",
        version="1.0",
        tests=("test_theirs.py",),
        not_applicable={"test_left_out": "not ours", "test_gone": "left behind"},
    )
    outcomes = runner._run_pytest(suite, tmp_path, verbose=False)
    outcomes.save(tmp_path)
    assert load_outcomes(tmp_path / "outcomes.json") == outcomes
    assert not outcomes.is_passed
    assert [outcome.test for outcome in outcomes.of("passed")] == ["test_theirs.py::test_passes"]
    assert outcomes.count("not applicable") == 2
    failed = {outcome.test: outcome.reason for outcome in outcomes.of("failed")}
    assert "what was wrong" in failed["test_theirs.py::test_fails"]
    assert "no such test" in failed["test_gone"]


def test_the_page_counts_and_gives_reasons() -> None:
    tests = (
        Outcome("t.py::test_a", "passed"),
        *(Outcome(f"t.py::test_b[{number}]", "not applicable", "needs X") for number in range(3)),
        Outcome("t.py::test_c", "skipped", "needs Y"),
        Outcome("t.py::test_d", "failed", "is slow"),
    )
    page = page_of([Outcomes("s", "Theirs", "theirs", "1.0", tests)])
    assert "| Theirs | theirs 1.0 | 1 | 1 | 1 | 3 |" in page
    assert "- 3 not applicable: needs X\n" in page
    assert "- 1 failed: is slow\n" in page
    assert "- 1 for reasons of one or two tests each\n" in page
