"""A server process to measure, and a client that costs little beside it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import msgspec

_TICK = os.sysconf("SC_CLK_TCK")
START = 60.0  # seconds that a server may take until it answers


class Server:
    """`remloom serve` of a home, in a process of its own, without a limit on the rate."""

    def __init__(self, home: str, key: str) -> None:
        self.port = _free_port()
        settings = {"HOME": home, "KEY": key, "EMBEDDER": "none", "SERVE_RATE": "0"}
        named = {f"REMLOOM_{name}": value for name, value in settings.items()}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "remloom", "serve", "--bind", f"127.0.0.1:{self.port}"],
            env={**os.environ, **named},
            stderr=subprocess.DEVNULL,
        )
        self._folder = Path(f"/proc/{self._process.pid}")

    def __enter__(self) -> Self:
        deadline = time.monotonic() + START
        while True:
            try:
                with Connection(self.port, "") as client:
                    client.ask("GET", "/health/live")
                return self
            except OSError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    self.__exit__()
                    raise
                time.sleep(0.1)

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def cpu(self) -> float:
        """Seconds of CPU that it has used; exact to a hundredth."""
        stat = (self._folder / "stat").read_text(encoding="utf-8")
        # the name, in brackets, may hold blanks
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    def memory(self) -> float:
        """Its resident memory, in MB."""
        status = (self._folder / "status").read_text(encoding="utf-8")
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def files(self) -> int:
        """How many file descriptors it has open."""
        return len(list((self._folder / "fd").iterdir()))


class Connection:
    """A connection that is kept: requests go out, and answers come back, as plain bytes.

    Libraries that do more take longer over a request than the server does.
    """

    def __init__(self, port: int, key: str) -> None:
        self._head = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {key}\r\n"
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> bytes:
        """Send a request, and give the body of the answer.

        Raises:
            ValueError: the server did not do it; has its answer.
        """
        content = b"" if body is None else msgspec.json.encode(body)
        given = {"Content-Type": "application/json", **(headers or {})}
        lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
        start = f"{method} {path} HTTP/1.1\r\n{self._head}{lines}"
        self._socket.sendall(f"{start}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        return self._answer()

    def _answer(self) -> bytes:
        got = b""
        while b"\r\n\r\n" not in got:
            got += self._received()
        head, _, body = got.partition(b"\r\n\r\n")
        _, _, after = head.lower().partition(b"content-length:")
        length = int(after.split(b"\r\n")[0] or 0)
        while len(body) < length:
            body += self._received()
        if not head.startswith(b"HTTP/1.1 2"):
            raise ValueError(f"{head.splitlines()[0].decode()}: {body[:300].decode()}")
        return body

    def _received(self) -> bytes:
        part = self._socket.recv(1 << 16)
        if not part:
            raise ConnectionError("the server closed the connection")
        return part


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
