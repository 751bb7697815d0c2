"""Questions that are under way while a memory is moved to another embedder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from remloom import Edge, Home, Memory, Message, Resource
from remloom.errors import EmbedderError
from remloom.retrieve.reranking import Passage
from remloom.testing.embedder import WordEmbedder, WordTokenEncoder

NOTES = [
    Resource(name="cost", content="The flooring costs ninety euros."),
    Resource(name="cat", content="A cat sleeps on the sofa."),
]
QUESTION = "What does the flooring cost in euros?"


class Interrupted(WordEmbedder):
    """Something is done once between the vector of a question and the search by it."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Any = None

    def embed_query(self, text: str) -> Any:
        vector = super().embed_query(text)
        if self.meanwhile is not None and text == QUESTION:
            work, self.meanwhile = self.meanwhile, None
            work()
        return vector


class Turned(WordEmbedder):
    """As many dimensions, and other vectors: by those of the other embedder all is far."""

    def embed_query(self, text: str) -> Any:
        return -super().embed_query(text)


@pytest.mark.parametrize("other", [WordEmbedder("words-64", 64), Turned("turned")])
def test_a_question_is_asked_again_when_its_memory_is_moved_meanwhile(
    tmp_path: Path, other: WordEmbedder
) -> None:
    first = Interrupted()
    with Memory.open(tmp_path, embedder=first) as memory:
        memory.write(NOTES, wait=True)
        first.meanwhile = lambda: memory.admin.reembed(other)
        [hit, *_] = memory.search(QUESTION).records
        assert hit.name == "cost"
        assert hit.score > 0.3
        memory.admin.reembed(first)
        first.meanwhile = lambda: memory.admin.reembed(other)
        recall = memory.recall(QUESTION, explain=True)
        assert recall.hits[0].name == "cost"
        assert "vector" in recall.explained["found"]
        assert memory.query(f'SEARCH "{QUESTION}"').records[0].name == "cost"


class Moving:
    """A reranker while whose first look something is done."""

    name = "moving"

    def __init__(self, work: Callable[[], object]) -> None:
        self.work: Iterator[Callable[[], object]] = iter((work,))

    def scores(self, question: str, passages: Sequence[Passage]) -> list[float]:
        for work in self.work:
            work()
        return [1.0] * len(passages)


def test_a_question_that_follows_hops_is_asked_again_when_its_memory_is_moved_meanwhile(
    tmp_path: Path,
) -> None:
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        talk = Resource(name="talk", content="The price list.", related_entities=("Anvil",))
        memory.write([talk, Resource(name="shed", content="Made in a shed.")])
        memory.write([Edge(src="shed", rel_type="mentions", dst="Anvil")], wait=True)
        moving = Moving(lambda: memory.admin.reembed(WordEmbedder("words-32", 32)))
        hits = memory.recall("What of the price list?", mode="iterated", rerank=moving).hits
        assert [hit.name for hit in hits] == ["talk", "shed"]


class MovingEncoder(WordTokenEncoder):
    """Something is done once while a question is encoded."""

    def __init__(self) -> None:
        super().__init__()
        self.work: Iterator[Callable[[], object]] = iter(())

    def encode_query(self, text: str) -> Any:
        for work in self.work:
            work()
        return super().encode_query(text)


@pytest.mark.parametrize(
    ("question", "when"),
    [
        ("How much is my rent now?", "while its tokens are made"),
        ("What is Ann's rent?", "while its tokens are made"),
        ("How much is my rent now?", "at a second look"),
        # a request goes without tokens
        ("Can you plan my rent?", "at a second look"),
        ("What is Ann's rent?", "at a second look"),
    ],
)
def test_a_question_to_a_chat_is_asked_again_when_its_memory_is_moved_meanwhile(
    tmp_path: Path, question: str, when: str
) -> None:
    turns = [
        Message(speaker=speaker, text=text, id=f"m{n}", at=datetime(2024, 1 + n, 1, tzinfo=UTC))
        for n, (speaker, text) in enumerate(
            [
                ("Ann", "Always round my rent."),
                ("assistant", "Noted, your rent."),
                ("Ann", "My rent is 900 euros. Ben pays it with me."),
                ("assistant", "Noted."),
                ("Ann", "My rent is 950 euros as of March."),
            ]
        )
    ]
    encoder = MovingEncoder()
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=encoder) as memory:
        memory.read_chat(turns, uri="rent.json")
        memory.embed_pending()

        def move() -> None:
            memory.admin.reembed(WordEmbedder("words-32", 32))

        moving = Moving(move)
        if when == "while its tokens are made":
            encoder.work, moving.work = moving.work, encoder.work
        hits = memory.recall(question, rerank=moving).hits
        assert {id for hit in hits for id in hit.message_ids} >= {"m2", "m4"}
        assert memory.admin.embedder is not None
        assert memory.admin.embedder.name == "words-32"


class Choosy(WordEmbedder):
    """One that refuses some texts."""

    def embed_documents(self, texts: Sequence[str]) -> Any:
        if any("poison" in text for text in texts):
            raise EmbedderError("this text is too much")
        return super().embed_documents(texts)


class Down(WordEmbedder):
    """One whose endpoint does not answer."""

    def embed_documents(self, texts: Sequence[str]) -> Any:
        raise ConnectionError("refused")


@pytest.fixture(params=["sqlite", "postgres"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path)
        return
    url = request.getfixturevalue("postgres")
    yield url
    Home(url).delete("moved")


@pytest.mark.parametrize("refused", [1, 2, 40])
@pytest.mark.parametrize("others", [0, 40])
def test_a_memory_is_moved_though_the_new_embedder_refuses_texts(
    home: str, refused: int, others: int
) -> None:
    with Memory.open(home, tenant="moved", embedder=WordEmbedder(), token_encoder="none") as memory:
        memory.write(
            [Resource(name=f"n{n}", content=f"Apple number {n}.") for n in range(others)]
            + [Resource(name=f"p{n}", content=f"A poison number {n}.") for n in range(refused)],
            wait=True,
        )
        new = Choosy("choosy", 64)
        with pytest.raises(EmbedderError, match="ConnectionError"):
            memory.admin.reembed(Down("down", 64))
        assert memory.admin.reembed(new) == others
        stats = memory.admin.stats()
        assert (stats.pending, stats.parked) == (0, refused)
        assert memory.admin.store.vectors.model() == ("choosy", 64)
        assert {hit.name for hit in memory.search("apple", limit=50).records} == {
            f"n{n}" for n in range(others)
        }
        assert memory.search_text("poison").records
        # when it can, it is asked again
        assert memory.admin.reembed() == 0
        assert memory.admin.stats().parked == refused
        assert memory.admin.check() == []


@pytest.mark.parametrize("refused", [1, 3])
def test_texts_that_are_refused_are_parked_though_no_other_waits_and_those_of_an_embedder_that_is_down_are_not(
    home: str, refused: int
) -> None:
    texts = [Resource(name=f"p{n}", content=f"A poison number {n}.") for n in range(refused)]
    with Memory.open(home, tenant="moved", embedder="none") as memory:
        memory.write([Resource(name="apple", content="An apple.")])
    with Memory.open(home, tenant="moved", embedder=Choosy(), token_encoder="none") as memory:
        memory.embed_pending()
    with Memory.open(home, tenant="moved", embedder="none") as memory:
        memory.write(texts)
    with Memory.open(home, tenant="moved", embedder=Down(), token_encoder="none") as memory:
        for _ in range(5):
            with pytest.raises(EmbedderError, match="ConnectionError"):
                memory.embed_pending()
        assert memory.admin.stats().pending == refused
    with Memory.open(home, tenant="moved", embedder=Choosy(), token_encoder="none") as memory:
        memory.embed_pending()
        stats = memory.admin.stats()
        assert (stats.pending, stats.parked) == (0, refused)
