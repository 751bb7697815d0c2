"""A real server on real data, and a real Chromium that looks at it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from remloom import Memory, Message, Settings

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
CHROMIUM_OPTIONS = [
    "--no-sandbox",  # which root may not use
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
HOSTILE = "<script>window.hacked = 1</script> <img src=x onerror='window.hacked = 2'> \x1b[31mred"
AT = datetime(2026, 3, 2, 9, tzinfo=UTC)


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


def furnish(home: Path) -> None:
    """Write a small memory: documents, a chat, a profile, and a note that means harm."""
    with Memory.open(home, tenant="default", embedder="none") as memory:
        memory.read_text(
            "# Prices\n\nSarah Chen decided that a berth costs 190 euros.\n\n## Later\n\nNothing.",
            uri="note:prices",
            name="Prices",
            at=AT,
        )
        memory.read_text(HOSTILE, uri="note:hostile", name="A <b>bold</b> note", at=AT)
        memory.read_text("Forget what is here.", uri="note:passing", name="Passing note", at=AT)
        messages = [
            Message(speaker="user", text="I am allergic to peanuts.", at=AT, id="1"),
            Message(speaker="user", text="I live in Lisbon.", at=AT, id="2"),
        ]
        memory.read_chat(messages, uri="chat:maria", name="Maria")
        memory.profile.observe()
        memory.jobs.add("moments")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    pytest.importorskip("uvicorn")
    from remloom.memory.api_keys import SCOPES, ApiKeys

    home = tmp_path_factory.mktemp("home")
    furnish(home)
    with ApiKeys(Settings(home=str(home), embedder="none")) as keys:
        key = keys.create("all", SCOPES, tenant="default").key
        reading_key = keys.create("reading", ["read"], tenant="default").key
    with running_server(home) as url:
        yield Server(url, key, reading_key)


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
        running.wait(10)


def wait_until_live(url: str, running: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert running.poll() is None, "the server did not start"
        with suppress(OSError), urllib.request.urlopen(f"{url}/health/live"):
            return
        time.sleep(0.05)
    pytest.fail("the server did not answer")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("there is no chromium: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    with tempfile.TemporaryDirectory() as profile, playwright.sync_playwright() as running:
        environment = {**os.environ, "HOME": profile}
        launched = running.chromium.launch(
            executable_path=CHROMIUM, args=CHROMIUM_OPTIONS, env=environment
        )
        yield launched
        launched.close()


@contextmanager
def looking_at(server: Server, browser: Any) -> Iterator[Looking]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(10_000)
    page = context.new_page()
    found = Looking(page, server)
    page.on("request", lambda request: found.requests.append(request.url))
    page.on("pageerror", lambda error: found.complaints.append(str(error)))
    page.on("console", lambda message: complain(found, message))
    yield found
    context.close()


@pytest.fixture
def looking(server: Server, browser: Any) -> Iterator[Looking]:
    """A page that nobody has signed in to yet."""
    with looking_at(server, browser) as found:
        yield found


def complain(looking: Looking, message: Any) -> None:
    # a refused request is told by the page itself
    if message.type == "error" and "the server responded with a status" not in message.text:
        looking.complaints.append(message.text)


@pytest.fixture(scope="module")
def shared(server: Server, browser: Any) -> Iterator[Looking]:
    """A page that is signed in, for tests that only look."""
    with looking_at(server, browser) as found:
        found.sign_in(server.key)
        yield found


@pytest.fixture
def signed_in(looking: Looking) -> Looking:
    """A page that may do everything."""
    looking.sign_in(looking.server.key)
    return looking
