"""A server that is killed, or told to stop, has what it acknowledged."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import suppress

import httpx
import pytest

from remloom import Memory
from waiting import PATIENCE, until

pytestmark = pytest.mark.crash


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
def test_what_was_acknowledged_is_there_when_the_server_is_gone(tmp_path, how):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "remloom", "serve", "--bind", f"127.0.0.1:{port}"]
    environment = os.environ | {"REMLOOM_HOME": str(tmp_path), "REMLOOM_EMBEDDER": "none"}
    server = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        key = re.search(r"rlm_\S+", server.stderr.readline()).group()
        url = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}) as client:

            def lives():
                with suppress(httpx.TransportError):
                    return client.get("/health/live").is_success

            until(lives)
            for number in range(10):
                sent = {"text": f"Note {number}.", "uri": f"note-{number}"}
                assert client.post("/v1/texts", json=sent).status_code == 200
        server.send_signal(how)
        assert server.wait(PATIENCE) == (0 if how == signal.SIGTERM else -how)
        lines = [json.loads(line) for line in server.stderr if line.startswith("{")]
        read = [line for line in lines if line["operation"] == "read_text"]
        # one that is killed may not come to the last
        assert len(read) in (9, 10)
        assert {line["status"] for line in read} == {200}
        assert all(line["request_id"] for line in lines)
    finally:
        server.kill()
        server.wait()
        server.stderr.close()
    with Memory.open(tmp_path, embedder="none") as memory:
        assert len(list(memory.admin.records("resources"))) == 10
