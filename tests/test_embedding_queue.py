"""The thread that embeds what waits."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from remloom import Entity, Memory, Resource
from remloom.ingest.token_worker import TokenQueue
from remloom.testing.embedder import WordEmbedder, WordTokenEncoder
from waiting import PATIENCE


def test_a_text_that_comes_while_the_thread_is_about_to_end_is_embedded_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_its_end, go_on, ended = threading.Event(), threading.Event(), threading.Event()
    run_batch = TokenQueue.run_batch

    def wait_once(queue: TokenQueue) -> int:
        count = run_batch(queue)
        if not count and at_its_end.is_set():
            ended.set()
        elif not count:
            at_its_end.set()
            assert go_on.wait(PATIENCE)
        return count

    monkeypatch.setattr(TokenQueue, "run_batch", wait_once)
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=WordTokenEncoder()) as memory:
        memory.read_text("A text about plums.", uri="a", wait=False)
        assert at_its_end.wait(PATIENCE)
        memory.read_text("A text about pears.", uri="b", wait=False)
        go_on.set()
        assert ended.wait(PATIENCE)
        assert memory.admin.stats().pending == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_that_was_forked_while_texts_were_embedded_embeds_its_own(
    tmp_path: Path,
) -> None:
    asked, go_on = threading.Event(), threading.Event()

    class Waiting(WordEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> Any:
            asked.set()
            assert go_on.wait(PATIENCE)
            return super().embed_documents(texts)

    with Memory.open(tmp_path, embedder=Waiting(), token_encoder=WordTokenEncoder()) as memory:
        memory.write([Resource(name="parent", content="A pear.")])
        assert asked.wait(PATIENCE)
        child = os.fork()
        if not child:
            signal.alarm(20)
            go_on.set()
            memory.write([Resource(name="child", content="A plum.")])
            memory.embed_pending()
            is_found = memory.search("plum").records[0].name == "child"
            os._exit(0 if is_found and not memory.admin.stats().pending else 1)
        _, status = os.waitpid(child, 0)
        go_on.set()
        assert status == 0
        memory.embed_pending()
        assert {hit.name for hit in memory.search("pear plum").records} == {"parent", "child"}


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path) if request.param == "sqlite" else request.getfixturevalue("postgres")


@pytest.mark.parametrize("how", ["write", "write and wait", "read", "embed_pending", "reembed"])
def test_what_was_written_without_an_embedder_is_found_by_meaning_once_there_is_one(
    place: str, tmp_path: Path, how: str
) -> None:
    tenant = f"{tmp_path.name[-30:]}-{how.replace(' ', '-').replace('_', '-')}"
    with Memory.open(place, tenant=tenant, embedder="none") as memory:
        memory.write([
            Resource(name="old", content="The kettle stands on the stove."),
            Entity(name="Bob", type="person", summary="Bakes rye bread."),
        ])  # fmt: skip
    with Memory.open(place, tenant=tenant, embedder=WordEmbedder()) as memory:
        new = [Resource(name="new", content="It rains in Bergen.")]
        match how:
            case "write":
                memory.write(new)
            case "write and wait":
                memory.write(new, wait=True)
            case "read":
                memory.read_text("It rains in Bergen.", uri="new.txt")
            case "embed_pending":
                memory.embed_pending()
            case _:
                memory.admin.reembed()
        # what the background has begun, or was left to it
        memory.embed_pending()
        assert memory.search("kettle on the stove").records[0].name == "old"
        assert memory.search("bakes bread", schema="entities").records[0].name == "Bob"
        assert memory.admin.stats().pending == 0
