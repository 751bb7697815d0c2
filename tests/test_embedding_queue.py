"""The thread that embeds what waits."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from remloom import Memory
from remloom.ingest.token_worker import TokenQueue
from remloom.testing.embedder import WordEmbedder, WordTokenEncoder


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
            assert go_on.wait(20)
        return count

    monkeypatch.setattr(TokenQueue, "run_batch", wait_once)
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=WordTokenEncoder()) as memory:
        memory.read_text("A text about plums.", uri="a", wait=False)
        assert at_its_end.wait(20)
        memory.read_text("A text about pears.", uri="b", wait=False)
        go_on.set()
        assert ended.wait(20)
        assert memory.admin.stats().pending == 0
