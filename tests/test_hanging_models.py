"""Embedders and token encoders that hang: questions are answered without, and nothing is lost."""

from __future__ import annotations

import asyncio
import gc
import logging
import re
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from remloom import Memory, Resource, deadline
from remloom.errors import EmbedderError, EmbedderTimeoutError
from remloom.ingest import embedding_worker
from remloom.settings import Settings
from remloom.testing.embedder import WordEmbedder, WordTokenEncoder
from waiting import PATIENCE, until

NOTES = [
    Resource(name="cost", content="The flooring costs ninety euros, and Ines pays for it."),
    Resource(name="colour", content="The flooring is grey, like the walls of the studio."),
]
QUESTION = "Who pays for the flooring?"


class Gate:
    """What a model waits for before it answers."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self.calls = 0
        self.open()

    def open(self) -> None:
        self._open.set()

    def shut(self) -> None:
        self._open.clear()

    def wait(self) -> None:
        self.calls += 1
        assert self._open.wait(PATIENCE)


class HangingEmbedder(WordEmbedder):
    def __init__(self, gate: Gate) -> None:
        super().__init__()
        self.gate = gate

    def embed_documents(self, texts: Sequence[str]) -> Any:
        self.gate.wait()
        return super().embed_documents(texts)

    def embed_query(self, text: str) -> Any:
        self.gate.wait()
        return super().embed_query(text)


class HangingEncoder(WordTokenEncoder):
    def __init__(self, gate: Gate) -> None:
        super().__init__()
        self.gate = gate

    def encode_documents(self, texts: Sequence[str]) -> list[Any]:
        self.gate.wait()
        return super().encode_documents(texts)

    def encode_query(self, text: str) -> Any:
        self.gate.wait()
        return super().encode_query(text)


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.open()


def opened(home: Path, seconds: float = 1, **models: Any) -> Memory:
    given = {"embedder": WordEmbedder(), "token_encoder": WordTokenEncoder(), **models}
    settings = Settings.load(home=str(home), embedder_timeout=seconds)
    return Memory.open(settings=settings, **given)


def test_a_question_whose_token_vectors_take_too_long_is_answered_without(
    tmp_path: Path, gate: Gate
) -> None:
    with opened(tmp_path, token_encoder=HangingEncoder(gate)) as memory:
        memory.write(NOTES, wait=True)
        gate.shut()
        recall = memory.recall(QUESTION, explain=True)
        assert recall.hits[0].name == "cost"
        assert recall.note == "no late interaction: word-tokens-64 took longer than 1 seconds"
        assert "vector" in recall.explained["found"]
        with pytest.raises(EmbedderTimeoutError, match="embedder_timeout"):
            memory.search(QUESTION, mode="late")
        gate.open()
        assert memory.recall(QUESTION).note == ""


def test_what_is_forgotten_leaves_the_disk_while_a_question_waits_for_its_token_vectors(
    tmp_path: Path, gate: Gate
) -> None:
    with opened(tmp_path, 10 * PATIENCE, token_encoder=HangingEncoder(gate)) as memory:
        memory.write(NOTES, wait=True)
        calls = gate.calls
        gate.shut()
        asking = threading.Thread(target=memory.recall, args=(QUESTION,))
        asking.start()
        until(lambda: gate.calls > calls)
        receipt = memory.forget("colour")
        gate.open()
        asking.join()
        assert receipt.verified
        assert not receipt.pending


def test_a_question_whose_vector_takes_too_long_is_answered_by_words(
    tmp_path: Path, gate: Gate
) -> None:
    with opened(tmp_path, embedder=HangingEmbedder(gate)) as memory:
        memory.write(NOTES, wait=True)
        gate.shut()
        recall = memory.recall(QUESTION, explain=True)
        assert recall.hits[0].name == "cost"
        assert recall.note == "no search by meaning: words-256 took longer than 1 seconds"
        assert {"text", "late"} <= set(recall.explained["found"])
        assert "vector" not in recall.explained["found"]
        with pytest.raises(EmbedderTimeoutError, match="took longer"):
            memory.search(QUESTION)
        gate.open()
        assert memory.recall(QUESTION).note == ""


def test_texts_that_a_search_embeds_first_are_bounded_too(tmp_path: Path, gate: Gate) -> None:
    with opened(tmp_path) as memory:
        memory.write(NOTES, wait=True)
    gate.shut()
    with opened(
        tmp_path, embedder=HangingEmbedder(gate), token_encoder=HangingEncoder(gate)
    ) as memory:
        # the thread hangs with it, and holds what a search waits for
        memory.write([Resource(name="cat", content="A cat sleeps on the sofa.")])
        recall = memory.recall(QUESTION)
        assert recall.hits[0].name == "cost"
        assert "no search by meaning" in recall.note
        gate.open()
        memory.embed_pending()
        assert memory.recall("Where does the cat sleep?").hits[0].name == "cat"
        assert memory.admin.stats().pending == memory.admin.stats().parked == 0


@pytest.mark.parametrize("hanging", ["embedder", "token_encoder"])
def test_closing_does_not_wait_for_a_model_that_hangs_and_nothing_is_lost(
    tmp_path: Path,
    gate: Gate,
    hanging: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(embedding_worker, "_JOIN_TIMEOUT", 0.2)
    model = HangingEmbedder(gate) if hanging == "embedder" else HangingEncoder(gate)
    gate.shut()
    with caplog.at_level(logging.WARNING), opened(tmp_path, **{hanging: model}) as memory:
        memory.write(NOTES)
        until(lambda: gate.calls)
    assert "is left to itself: the texts that it was given wait" in caplog.text
    # it comes back to a memory that is closed
    gate.open()
    with opened(tmp_path) as memory:
        memory.embed_pending()
        stats = memory.admin.stats()
        assert (stats.pending, stats.parked) == (0, 0)
        assert stats.token_vectors["word-tokens-64"].count == len(NOTES)
        assert memory.recall(QUESTION).hits[0].name == "cost"


def test_a_model_that_never_comes_back_is_asked_no_further(
    tmp_path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadline, "_MOST_LEFT", 2)
    with opened(tmp_path, token_encoder=HangingEncoder(gate)) as memory:
        memory.write(NOTES, wait=True)
        gate.shut()
        before = gate.calls
        notes = [memory.recall(QUESTION).note for _ in range(4)]
        assert gate.calls == before + 2
        assert notes[-1].endswith("word-tokens-64 has not come back from 2 earlier calls")
        gate.open()
        until(lambda: memory.recall(QUESTION).note == "")


def test_without_a_limit_a_question_waits(tmp_path: Path, gate: Gate) -> None:
    with opened(tmp_path, 0, token_encoder=HangingEncoder(gate)) as memory:
        memory.write(NOTES, wait=True)
        gate.shut()
        threading.Timer(0.2, gate.open).start()
        recall = memory.recall(QUESTION, explain=True)
        assert recall.note == ""
        assert "late" in recall.explained["found"]


def test_a_model_of_the_same_name_in_another_memory_is_asked_still(
    tmp_path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadline, "_MOST_LEFT", 1)
    with (
        opened(tmp_path / "one", embedder=HangingEmbedder(gate)) as one,
        opened(tmp_path / "other", 10 * PATIENCE) as other,
    ):
        one.write(NOTES, wait=True)
        other.write(NOTES, wait=True)
        gate.shut()
        for message in ("took longer", "has not come back from 1 earlier calls"):
            assert message in one.recall(QUESTION).note
        assert other.recall(QUESTION).note == ""


def test_a_model_that_came_back_is_held_by_nobody(tmp_path: Path, gate: Gate) -> None:
    encoder = HangingEncoder(gate)
    with opened(tmp_path, token_encoder=encoder) as memory:
        memory.write(NOTES, wait=True)
        gate.shut()
        assert "took longer" in memory.recall(QUESTION).note
    held = weakref.ref(encoder)
    del memory, encoder
    gate.open()

    def is_gone() -> bool:
        gc.collect()
        return held() is None

    until(is_gone)


class SlowEmbedder(WordEmbedder):
    """Each call takes a while, and less than a question waits."""

    def embed_documents(self, texts: Sequence[str]) -> Any:
        time.sleep(0.3)
        return super().embed_documents(texts)

    def embed_query(self, text: str) -> Any:
        time.sleep(0.3)
        return WordEmbedder.embed_query(self, text)


class SlowEncoder(WordTokenEncoder):
    """Each call takes a while, and less than a question waits."""

    def encode_documents(self, texts: Sequence[str]) -> list[Any]:
        time.sleep(0.3)
        return super().encode_documents(texts)


def test_several_calls_of_a_question_have_one_time_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # none is embedded beside the question
    monkeypatch.setattr(embedding_worker.EmbeddingQueue, "start", lambda queue: None)
    walls = [Resource(name=f"wall {n}", content=f"Wall {n} is grey.") for n in range(33)]
    with opened(tmp_path, token_encoder="none") as memory:
        memory.write(NOTES, wait=True)
    with opened(tmp_path, 0.5, embedder=SlowEmbedder(), token_encoder="none") as memory:
        memory.write(walls)
        recall = memory.recall(QUESTION)
        assert recall.hits[0].name == "cost"
        assert recall.note.startswith("no search by meaning: words-256 ")
        memory.embed_pending()
    with opened(tmp_path, 0.5, token_encoder=SlowEncoder()) as memory:
        with pytest.raises(EmbedderTimeoutError, match="word-tokens-64"):
            memory.search("Which walls are grey?", mode="late")

        def found() -> bool:
            with suppress(EmbedderTimeoutError):
                return bool(memory.search("Which walls are grey?", mode="late").records)
            return False

        # what was made in time is there, so that it ends
        until(found)


def test_a_text_is_not_blamed_for_a_model_that_hangs(tmp_path: Path, gate: Gate) -> None:
    class Fussy(HangingEncoder):
        """Refuses several texts at once, and hangs with one."""

        def encode_documents(self, texts: Sequence[str]) -> list[Any]:
            if len(texts) > 1:
                raise ValueError("one at a time")
            return super().encode_documents(texts)

    with opened(tmp_path) as memory:
        memory.write(NOTES, wait=True)
    with opened(tmp_path, token_encoder=Fussy(gate)) as memory:
        memory.admin.store.token_vectors.drop()
        gate.shut()
        for _ in range(4):
            with pytest.raises(EmbedderTimeoutError):
                memory.search(QUESTION, mode="late")
        gate.open()
        waiting = memory.admin.store.token_vectors.pending("word-tokens-64", 9)
        assert [(text.attempts, text.error) for text in waiting] == [(0, ""), (0, "")]


@pytest.mark.parametrize("hanging", ["embedder", "token_encoder"])
def test_stats_tell_of_a_model_that_keeps_the_background_waiting(
    tmp_path: Path, gate: Gate, hanging: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remloom.ingest.token_worker._LONG", 0.05)
    model = HangingEmbedder(gate) if hanging == "embedder" else HangingEncoder(gate)
    name = model.name
    gate.shut()
    with opened(tmp_path, **{hanging: model}) as memory:
        memory.write(NOTES)
        until(lambda: re.fullmatch(rf"has waited \d+ s for {name}", error_of(memory)))
        gate.open()
        memory.embed_pending()
        until(lambda: error_of(memory) == "")


@pytest.mark.parametrize("seconds", [0, 30])
@pytest.mark.parametrize("error", [asyncio.CancelledError("gone"), GeneratorExit("gone")])
def test_whatever_a_model_raises_is_its_error(
    tmp_path: Path, error: BaseException, seconds: float
) -> None:
    class Odd(WordEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> Any:
            raise error

        def embed_query(self, text: str) -> Any:
            raise error

    with opened(tmp_path) as memory:
        memory.write(NOTES, wait=True)
    with opened(tmp_path, seconds, embedder=Odd()) as memory:
        with pytest.raises(EmbedderError, match=r"words-256 failed: .*gone"):
            memory.search(QUESTION)
        memory.write([Resource(content="Something new.")])
        until(lambda: "gone" in error_of(memory))


@pytest.mark.parametrize("method", ["embed_query", "embed_documents"])
def test_what_is_known_of_a_person_is_given_by_words_when_the_embedder_hangs_or_errs(
    tmp_path: Path, gate: Gate, method: str
) -> None:
    embedder = HangingEmbedder(gate)
    embedder.name = f"hanging-{method}"  # slots are embedded once for a name
    with opened(tmp_path, embedder=embedder, token_encoder="none") as memory:
        memory.profile.set("identity.health", "asthma")
        gate.shut()
        assert "asthma" in memory.profile.context("How is my health?").text
        gate.open()
        setattr(embedder, method, lambda _: None)
        assert "asthma" in memory.profile.context("How is my health?").text


def test_a_context_waits_once_for_what_is_known_of_the_user_and_once_for_the_rest(
    tmp_path: Path, gate: Gate
) -> None:
    embedder = HangingEmbedder(gate)
    with opened(tmp_path, embedder=embedder, token_encoder="none") as memory:
        memory.write(NOTES, wait=True)
        memory.profile.set("identity.health", "asthma")
        gate.shut()
        calls = gate.calls
        assert "asthma" in memory.context("How is my health?", profile=True)
        assert gate.calls == calls + 2


def error_of(memory: Memory) -> str:
    return memory.admin.stats().embedding_error


def test_a_question_is_searched_by_meaning_though_what_it_has_to_heed_takes_too_long(
    tmp_path: Path, gate: Gate
) -> None:
    class HangsOnPreferences(WordEmbedder):
        def embed_query(self, text: str) -> Any:
            if "prefer" in text:
                gate.wait()
            return super().embed_query(text)

    with opened(tmp_path, embedder=HangsOnPreferences()) as memory:
        memory.write(NOTES, wait=True)
        gate.shut()
        recall = memory.recall("Could you suggest who pays?", abstain=False, explain=True)
        assert recall.note.startswith("no further look for what is to be heeded: words-256 ")
        assert recall.explained["found"]["vector"]
        gate.open()
