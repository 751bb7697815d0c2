"""A server in a process of its own, and a page of a browser that looks at it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from waiting import PATIENCE, until

__all__ = ["Looking", "Server", "looking_at", "running_server"]


@dataclass
class Server:
    """Where it listens, and keys that may do everything, or only read."""

    url: str
    key: str
    reading_key: str


@dataclass
class Looking:
    """A page of the browser that is signed in, and what it asked for and complained of."""

    page: Any
    server: Server
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def sign_in(self, key: str) -> None:
        self.page.goto(f"{self.server.url}/ui/")
        self.page.get_by_label("Key").fill(key)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.locator(".brand").wait_for()

    def open(self, address: str) -> None:
        """Open a page by its address, "ask?q=who", and wait until it has what it shows."""
        self.page.evaluate("hash => { location.hash = hash }", f"#/{address}")
        self.page.locator("#main h1").wait_for()
        self.page.wait_for_function("() => !document.querySelector('.busy')")


@contextmanager
def running_server(home: Path, **environment: str) -> Iterator[str]:
    """A server of a home, in a process of its own, as people run it; gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {"REMLOOM_HOME": str(home), "REMLOOM_EMBEDDER": "none", **environment}
    running = subprocess.Popen(
        [sys.executable, "-m", "remloom", "serve", "--bind", f"127.0.0.1:{port}"],
        env={**os.environ, **own},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until_live(url, running)
        yield url
    finally:
        running.terminate()
        running.wait(PATIENCE)


def wait_until_live(url: str, running: subprocess.Popen[bytes]) -> None:
    def lives() -> bool:
        assert running.poll() is None, "the server did not start"
        with suppress(OSError), urllib.request.urlopen(f"{url}/health/live"):
            return True
        return False

    until(lives, "the server did not answer")


@contextmanager
def looking_at(server: Server, browser: Any) -> Iterator[Looking]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(60_000)
    page = context.new_page()
    found = Looking(page, server)
    page.on("request", lambda request: found.requests.append(request.url))
    page.on("pageerror", lambda error: found.complaints.append(str(error)))
    page.on("console", lambda message: complain(found, message))
    yield found
    context.close()


def complain(looking: Looking, message: Any) -> None:
    # a refused request is told by the page itself
    if message.type == "error" and "the server responded with a status" not in message.text:
        looking.complaints.append(message.text)


def call(looking: Looking, method: str, path: str, **values: Any) -> Any:
    """Call the server without its pages, with the key that may do everything."""
    bearer = {"Authorization": f"Bearer {looking.server.key}"}
    answer = httpx.request(method, f"{looking.server.url}/v1/{path}", headers=bearer, **values)
    return answer.raise_for_status().json()


def violations(page: Any) -> list[str]:
    """What of a page not everybody can use."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]
