"""What the kernel does without any feature; `test_kernel` runs this where none can be imported."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from remloom import Edge, Entity, Message, Resource, Settings
from remloom.engine.engine import Engine
from remloom.engine.hooks import Hooks
from remloom.engine.ingesting import Ingesting
from remloom.engine.queries import Queries
from remloom.engine.recall import Recalling
from remloom.engine.writing import Writing
from remloom.store.sqlite import SqliteStore
from remloom.store.tenants.backends import backend_for
from remloom.testing.conformance import Opening, StoreConformance
from remloom.testing.dialect import CaseFile, DialectCase, check, load, prepare
from remloom.testing.embedder import WordEmbedder, WordTokenEncoder

# a schema of one's own is a feature
FILES = {name: file for name, file in load().items() if not file.given.schemas}


class TestStore(StoreConformance):
    @pytest.fixture
    def opening(self, tmp_path: Path) -> Opening:
        return lambda: SqliteStore(tmp_path / "memory.db")


class Kernel:
    """The nouns of the kernel over one engine, as the dialect's cases call them."""

    def __init__(self, home: Path) -> None:
        settings = Settings(home=str(home), tenant=f"t{uuid4().hex}")
        self.engine = Engine(
            backend_for(settings).open(settings, create=True),
            settings,
            WordEmbedder(),
            token_encoder=WordTokenEncoder(),
            hooks=Hooks(),
        )
        self.writing = Writing(self.engine)
        self.queries = Queries(self.engine)
        self.ingesting = Ingesting(self.engine, self.writing)
        self.recalling = Recalling(self.engine)
        self.write = self.writing.write
        self.query = self.queries.run_text

    def rem_query(self, query_type: str, parameters: dict[str, Any] | None) -> Any:
        if parameters is None:
            return self.queries.run_text(query_type)
        return self.queries.run_json(query_type, parameters)


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    kernel = Kernel(tmp_path)
    yield kernel
    kernel.engine.close()


@pytest.mark.parametrize("file", FILES.values(), ids=FILES)
def test_the_dialect_means_what_its_cases_say(file: CaseFile, kernel: Any) -> None:
    prepare(kernel, file.given)
    for case in file.cases:
        _check(kernel, case)


def _check(kernel: Any, case: DialectCase) -> None:
    try:
        check(kernel, case)
    except AssertionError as error:
        raise AssertionError(f"{case.name}: {error}") from error


def test_a_text_and_a_chat_are_read_recalled_and_forgotten(kernel: Kernel) -> None:
    ferry = "The ferry leaves at noon."
    kernel.ingesting.read_text(ferry, "ferry.md", "ferry", "document", None, wait=True)
    said = [Message(speaker="Ann", text="I came by ferry.")]
    kernel.ingesting.read_chat(said, "chat:1", None, append=False)
    assert kernel.recalling.recall("When does the ferry leave?", None, {}).hits
    assert ferry in kernel.recalling.context("When does the ferry leave?", None, {})
    kernel.writing.forget(("ferry.md",))
    assert ferry not in kernel.recalling.context("When does the ferry leave?", None, {})


def test_a_text_is_read_again_with_other_words(kernel: Kernel) -> None:
    for text in ("The ferry leaves at noon.", "The ferry leaves at one."):
        kernel.ingesting.read_text(text, "ferry.md", "ferry", "document", None, wait=True)
    assert "at one" in kernel.recalling.context("When does the ferry leave?", None, {})


def test_a_resource_is_written_again_with_other_words(kernel: Kernel) -> None:
    kernel.write([Resource(id="r1", name="note", content="The ferry leaves at noon.")])
    kernel.write([Resource(id="r1", name="note", content="The ferry leaves at one.")])
    kernel.write([Entity(name="Ferry"), Edge(src="note", rel_type="about", dst="Ferry")])
    assert [node["name"] for node in kernel.query('TRAVERSE about WITH LOOKUP "note"').nodes]
