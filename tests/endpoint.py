"""An OpenAI-compatible endpoint on loopback that answers as it is told to, for what real ones
seldom do on demand."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Endpoint", "endpoint", "said"]


def said(text: str, finish: str = "stop") -> tuple[int, dict[str, str], dict[str, Any]]:
    """An answer with this reply."""
    return 200, {}, {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "tiny-1",
        "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }  # fmt: skip


def failed(
    status: int, message: str = "no", **headers: str
) -> tuple[int, dict[str, str], dict[str, Any]]:
    """An answer with this error."""
    return status, headers, {"error": {"message": message, "type": "error", "code": None}}


class Endpoint:
    """What was asked of it: `bodies`, and the `keys` that came with them."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.at: list[float] = []


@contextmanager
def endpoint(answer: Callable[[int, dict[str, Any]], Any]) -> Iterator[Endpoint]:
    """An endpoint for as long as the context lasts. `answer(n, body)` says what the nth request
    (from 0) gets: what `said` or `failed` return, bytes as they are, or seconds to say nothing."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                number = len(served.bodies)
                served.bodies.append(body)
                served.keys.append(self.headers.get("Authorization", ""))
                served.at.append(time.monotonic())
            answered = answer(number, body)
            if isinstance(answered, int | float):
                over.wait(answered)
                self.close_connection = True
                return
            status, headers, content = (
                (200, {}, answered) if isinstance(answered, bytes) else answered
            )
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    lock = threading.Lock()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = Endpoint(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield served
    finally:
        over.set()
        server.shutdown()
        thread.join()
        server.server_close()
