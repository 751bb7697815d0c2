"""Runs the servers that MCP's suites speak to, each in a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from .suite import HERE

__all__ = ["serving"]

_ROOT = HERE.parent.parent
_START = 60.0  # seconds until a server must listen


@contextmanager
def serving(*arguments: str) -> Iterator[str]:
    """Serve one of `mcp_application`; gives the address of its MCP.

    Raises:
        SystemExit: it does not start.
    """
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    kind, *rest = arguments
    command = [sys.executable, "-m", "bench.conformance.mcp_application", kind, str(port), *rest]
    paths = [str(_ROOT), str(_ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, env=environment, cwd=_ROOT, stdout=quiet, stderr=quiet)
    try:
        _wait(process, port)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(30)


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + _START
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit("the server of the suite did not start")
