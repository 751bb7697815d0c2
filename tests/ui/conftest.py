"""A real server on real data, and a real Chromium that looks at it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from browsing import Looking, Server, looking_at, running_server
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
    from remloom.tenancy.api_keys import SCOPES, ApiKeys

    home = tmp_path_factory.mktemp("home")
    furnish(home)
    with ApiKeys(Settings(home=str(home), embedder="none")) as keys:
        key = keys.create("all", SCOPES, tenant="default").key
        reading_key = keys.create("reading", ["read"], tenant="default").key
    with running_server(home) as url:
        yield Server(url, key, reading_key)


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


@pytest.fixture
def looking(server: Server, browser: Any) -> Iterator[Looking]:
    """A page that nobody has signed in to yet."""
    with looking_at(server, browser) as found:
        yield found


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
