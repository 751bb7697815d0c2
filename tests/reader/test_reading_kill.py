"""A reading that is killed at any point, and asked again, ends as if it had not been."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# where the script finds its modules
PATH = os.pathsep.join((str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH", "")))
KILLS = int(os.environ.get("REMLOOM_TEST_KILLS", "4"))


@pytest.mark.crash
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_killed_reading_goes_on_where_it_was_and_pays_for_nothing_twice(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, HERE / "reading_killing.py", tmp_path, str(KILLS), "7"],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": PATH},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert len(told["whole"]["reading"][1]) == 4
    for trial in told["trials"]:
        assert trial["killed"], trial
        assert trial["reading"] == told["whole"]["reading"], trial
        assert set(trial["asked"]) == {told["whole"]["reading"][0]}, trial
        assert trial["open"] == "", trial
        assert trial["kept"] == trial["problems"] == [], trial
        assert trial["paid_twice"] == 0, trial
