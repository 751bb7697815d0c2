"""The example of an agent that remembers: what its docstring shows is what it says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "openai-agents" / "companion.py"


def test_a_companion_remembers_corrects_itself_and_forgets(tmp_path: Path) -> None:
    # opened and closed for each sentence, as by a process of its own
    companion = runpy.run_path(str(EXAMPLE))
    shown = re.findall(r'companion\.py "(.+)"\n +(.+)', companion["__doc__"])
    assert len(shown) == 6
    assert [(said, companion["main"](said, str(tmp_path))) for said, _ in shown] == shown
