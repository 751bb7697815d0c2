"""The thread that embeds what waits."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from remloom import Memory, Resource
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
