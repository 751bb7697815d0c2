"""Searches by vector that find many windows of one long text."""

from __future__ import annotations

import pytest

from remloom import Home, Memory, Resource
from remloom.testing.embedder import WordEmbedder


class InLines(WordEmbedder):
    """Each line of a text is a window of its own."""

    def windows(self, text: str) -> list[tuple[int, int]]:
        starts = [0, *(place + 1 for place, sign in enumerate(text) if sign == "\n")]
        return list(zip(starts, [*starts[1:], len(text)], strict=True))


@pytest.mark.usefixtures("hnsw")
def test_a_long_text_is_whole_whichever_of_its_windows_is_nearest(postgres: str) -> None:
    texts = {"long": "plum jam\npear\n" * 2_000, "short": "plum jam\npear cake\n"}
    with Memory.open(postgres, tenant="long", embedder=InLines(), token_encoder="none") as memory:
        memory.write([Resource(name=name, content=text) for name, text in texts.items()], wait=True)
        for limit in (1, 2, 10):
            for where in (None, "content LIKE '%plum%'"):
                hits = memory.search("plum jam", limit=limit, where=where).records
                assert len(hits) == min(limit, 2)
                assert all(hit.content == texts[hit.name] for hit in hits)
    Home(postgres).delete("long")
