"""The examples of agents that remember: what their docstrings show is what they say."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*/companion.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.parent.name)
def test_a_companion_remembers_corrects_itself_and_forgets(example: Path, tmp_path: Path) -> None:
    # opened and closed for each sentence, as by a process of its own
    companion = runpy.run_path(str(example))
    shown = re.findall(r'companion\.py "(.+)"\n +(.+)', companion["__doc__"])
    assert len(shown) == 6
    assert [(said, companion["main"](said, str(tmp_path))) for said, _ in shown] == shown
