"""The walks of docs/architecture.md are the ways that calls really take: each is called, and what it enters is compared."""

from __future__ import annotations

import re
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from msgspec.structs import replace
from starlette.testclient import TestClient

import remloom
from guarded import HERE, bearer
from remloom import Edge, Entity, Memory
from remloom.memory import Home
from remloom.serve.http.app import create_app
from remloom.tenancy.api_keys import ApiKeys
from remloom.testing.embedder import WordEmbedder
from remloom.testing.models import ScriptedModel

PAGE = Path(__file__).parent.parent / "docs" / "architecture.md"
SOURCE = Path(remloom.__file__).parent
_STEP = re.compile(r"^1\. `([\w/]+\.py)` `([\w.<>]+)`", re.MULTILINE)


def documented(title: str) -> list[tuple[str, str]]:
    """The steps of one walk: file and function, in order."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n### {title}\n")[1]
    return _STEP.findall(re.split(r"\n##", section)[0])


@contextmanager
def entered() -> Iterator[list[tuple[str, str]]]:
    """Collects each function of the source, in the order in which it is first entered, by any
    thread."""
    functions: dict[tuple[str, str], None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            file = Path(frame.f_code.co_filename).relative_to(SOURCE).as_posix()
            name = (
                frame.f_code.co_qualname
                if hasattr(frame.f_code, "co_qualname")
                else frame.f_code.co_name
            )
            functions.setdefault((file, name))

    walk: list[tuple[str, str]] = []
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield walk
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
        walk.extend(functions)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    model = ScriptedModel(
        lambda request: f"An insight of {request.task} number {len(request.prompt)}."
    )
    with Memory.open(tmp_path, embedder=WordEmbedder(), llm=model) as memory:
        memory.write(
            [
                Entity(name="Sarah Chen", type="person"),
                Edge(src="Sarah Chen", rel_type="manages", dst="Bob Smith"),
            ]
        )
        for number, text in enumerate(
            ("Tea was taxed.", "Ships carried tea.", "Sarah Chen drank tea.")
        ):
            memory.read_text(text, uri=f"{number}.md")
        yield memory


def send(memory: Memory) -> None:
    """Recall over a server of the same home, in a tenant of its own."""
    settings = replace(memory.admin.settings, tenant="served", embedder="none", llm_model="")
    Home(settings.home).create("served")
    with ApiKeys(settings) as keys:
        key = keys.create("walk", ["read"], tenant="served").key
    app = create_app(settings)
    # a client that is not entered answers each request in a thread that is begun for it
    client = TestClient(app, base_url=HERE)
    question = {"question": "What did Sarah Chen drink?"}
    reply = client.post("/v1/recall", json=question, headers=bearer(key))
    app.state.service.close()
    assert reply.status_code == 200


def register(memory: Memory) -> str:
    """A database of two tables beside the memory, registered as a source; returns its address."""
    file = Path(memory.admin.settings.home) / "crm.db"
    with closing(sqlite3.connect(file)) as crm:
        crm.executescript("""
            CREATE TABLE companies(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE people(id INTEGER PRIMARY KEY, name TEXT, company_id INTEGER REFERENCES companies(id));
            INSERT INTO companies VALUES (1, 'Acme Paper');
            INSERT INTO people VALUES (1, 'Sarah Chen', 1);
        """)
    url = f"sqlite:///{file}"
    memory.schemas.register_from_discovery(memory.schemas.discover(url, "crm"), url=url)
    return url


WALKS: dict[str, Callable[[Memory], object]] = {
    # no other test parses this statement: what is parsed once is kept
    "A statement": lambda memory: memory.query(
        'TRAVERSE manages WITH LOOKUP "Sarah Chen" MEMO "a walk"'
    ),
    "A document": lambda memory: memory.read_text(
        "# Kickoff\n\nSarah Chen met Ann in Paris.", uri="kickoff.md"
    ),
    "A question": lambda memory: memory.recall("What did Sarah Chen drink?"),
    "A dream": lambda memory: memory.dream(1),
    "A request": send,
    "A context of what is known of the user": lambda memory: memory.profile.context(
        "What should I eat?"
    ),
    "A synced row": lambda memory: memory.schemas.sync("crm"),
}
# what is there before a walk begins
BEFORE: dict[str, Callable[[Memory], object]] = {
    "A context of what is known of the user": lambda memory: memory.profile.set(
        "allergies", "peanuts"
    ),
    "A synced row": register,
}


@pytest.mark.parametrize("title", WALKS)
def test_a_call_takes_the_way_that_the_page_shows(memory: Memory, title: str) -> None:
    steps = documented(title)
    if title in BEFORE:
        BEFORE[title](memory)
    with entered() as walk:
        WALKS[title](memory)
    missing = [step for step in steps if step not in walk]
    assert len(steps) >= 5
    assert not missing
    assert [walk.index(step) for step in steps] == sorted(walk.index(step) for step in steps)
