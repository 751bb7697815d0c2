"""The commands of docs/serving.md, one after another, with a server as it starts by itself."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "serving.md"
MARK = "@@@"


@pytest.fixture
def server(tmp_path):
    """The address and the key of a server that has just been started for the first time."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, "-m", "remloom", "serve", "--bind", place]
    environment = os.environ | {"REMLOOM_HOME": str(tmp_path / "home"), "REMLOOM_EMBEDDER": "none"}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        yield place, re.search(r"rlm_\S+", process.stderr.readline()).group()
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def test_the_commands_of_the_page_do_what_it_says(tmp_path, server):
    place, key = server
    page = PAGE.read_text(encoding="utf-8").replace("127.0.0.1:8765", place).replace("rlm_…", key)
    blocks = [one for one in re.findall(r"^```sh\n(.*?)^```$", page, re.M | re.S) if "curl" in one]
    # the server may not listen yet when the first of them is called
    wait = f"curl -s --retry 50 --retry-delay 1 --retry-connrefused http://{place}/health/live\n"
    script = "set -e\n" + wait + "\n".join(blocks).replace("curl -sf", f"echo {MARK}; curl -sf")
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    answers = done.stdout.split(MARK)[1:]
    shown = (
        '"uri":"notes/team.md","status":"read"',
        "Sarah Chen manages Bob.",
        '"uri":"depot.md","status":"read"',
        "The depot in Riga opens at 6.",
        '"verified":true',
        "event: result",
        '"kind":"moments"',
        '"kind":"moments"',
    )
    for answer, expected in zip(answers, shown, strict=True):
        assert expected in answer
