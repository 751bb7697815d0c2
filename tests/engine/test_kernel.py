"""The kernel needs no feature: its suite passes where none can be imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
# nothing of the run that this is a part of: its options, its plugins, its workers
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
    "PYTHONPATH": str(HERE),
}


def test_the_kernel_works_without_any_feature(tmp_path: Path) -> None:
    suite = [sys.executable, "-m", "pytest", "-q", "--noconftest", "-p", "no_features"]
    suite += ["-p", "no:cacheprovider", "-p", "no:cov", f"--rootdir={tmp_path}", "-c", os.devnull]
    run = subprocess.run(
        [*suite, str(HERE / "kernel_suite.py")],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-4_000:] + run.stderr[-2_000:]
    assert " passed" in run.stdout


def test_where_no_feature_can_be_imported_a_memory_cannot_be(tmp_path: Path) -> None:
    program = "import no_features; no_features.pytest_configure(); from remloom import Memory"
    run = subprocess.run(
        [sys.executable, "-c", program],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "the kernel imports remloom.memory" in run.stderr
