"""The example of an agent with a memory over MCP: what its docstring shows is what it says."""

import re
import runpy
import shlex
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "mcp" / "assistant.py"


def test_an_agent_remembers_corrects_itself_and_forgets(tmp_path):
    # each conversation has a server of its own, in a process of its own
    assistant = runpy.run_path(str(EXAMPLE))
    shown = re.findall(r"assistant\.py (.+)\n((?: {4}[^$\n].*\n)+)", assistant["__doc__"])
    assert len(shown) == 3
    for said, answers in shown:
        expected = [line.strip() for line in answers.splitlines()]
        assert assistant["main"](*shlex.split(said), home=str(tmp_path)) == expected
