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
    drop_others = TokenQueue.drop_others

    def wait_once(queue: TokenQueue) -> None:
        if at_its_end.is_set():
            ended.set()
        else:
            at_its_end.set()
            assert go_on.wait(20)
        drop_others(queue)

    monkeypatch.setattr(TokenQueue, "drop_others", wait_once)
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=WordTokenEncoder()) as memory:
        memory.read_text("A text about plums.", uri="a", wait=False)
        assert at_its_end.wait(20)
        memory.read_text("A text about pears.", uri="b", wait=False)
        go_on.set()
        assert ended.wait(20)
        assert memory.admin.stats().pending == 0
