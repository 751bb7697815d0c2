"""A learning run that is killed at any point, and started again, ends as if it had not been killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import scripted_models

HERE = Path(__file__).parent
# where the script finds its modules
PATH = os.pathsep.join((str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH", "")))
KILLS = int(os.environ.get("REMLOOM_TEST_KILLS", "4"))


@pytest.mark.parametrize("order", ["strict", "relaxed"])
@pytest.mark.crash
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_killed_run_goes_on_where_it_was_and_pays_for_nothing_twice(
    tmp_path: Path, order: str
) -> None:
    source = scripted_models.folder(tmp_path / "essays")
    done = subprocess.run(
        [sys.executable, HERE / "killing.py", source, tmp_path, str(KILLS), "7", order],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": PATH},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert len(told["trials"]) == KILLS
    for trial in told["trials"]:
        assert trial["killed"], trial
        assert trial["learned"], trial
        assert trial["problems"] == [], trial
        assert trial["left"] == 0, trial
        assert trial["runs"] == ["done"], trial
        assert trial["paid_twice"] == 0, trial
        if order == "strict":  # in relaxed order, what is near depends on which comes first
            assert trial["same"], trial
            assert trial["calls"] == told["calls"], trial
