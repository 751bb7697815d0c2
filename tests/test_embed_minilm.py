"""The bundled model itself."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from remloom.embed.bundled.sentence_embedder import MiniLM

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return MiniLM()


def test_vectors_are_unit_rows_in_the_order_of_the_texts(minilm: MiniLM):
    texts = [
        "A much longer text about ships and harbours and the people who plan berths.",
        "Ships.",
        "Bread rises.",
    ]
    rows = minilm.embed_documents(texts)
    assert rows.shape == (3, 384)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    for text, row in zip(texts, rows, strict=True):
        assert np.allclose(minilm.embed_query(text), row, atol=1e-4)


def test_a_question_is_nearest_to_what_answers_it(minilm: MiniLM):
    texts = [
        "The cat sleeps on the sofa.",
        "Prices rise by five percent in April.",
        "The database moved to TiDB.",
    ]
    scores = minilm.embed_documents(texts) @ minilm.embed_query("how much more will it cost?")
    assert scores.argmax() == 1


def test_vectors_are_those_of_the_official_model(minilm: MiniLM):
    # first numbers of the sentence-transformers model's vector of this sentence
    vector = minilm.embed_query("This is an example sentence")
    assert np.allclose(vector[:4], [0.06765691, 0.06349581, 0.04871311, 0.07930495], atol=0.02)


def test_no_texts_make_no_rows(minilm: MiniLM):
    assert minilm.embed_documents([]).shape == (0, 384)


def test_a_long_text_has_windows_that_fit_and_cover_it(minilm: MiniLM):
    text = "The harbour master moved the vessel to another berth. " * 80
    spans = minilm.windows(text)
    assert len(spans) > 2
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(text[:end].endswith(". ") for _, end in spans)
    assert all(
        len(minilm._model.tokens(text[start:end])) <= minilm.max_tokens for start, end in spans
    )


def test_a_short_text_is_one_window(minilm: MiniLM):
    assert minilm.windows("Short.") == [(0, 6)]


def test_a_text_beyond_the_limit_is_cut_not_refused(minilm: MiniLM):
    assert minilm.embed_documents(["word " * 5000]).shape == (1, 384)


def test_threads_may_share_it(minilm: MiniLM):
    wanted = minilm.embed_query("shared")
    found: list[np.ndarray] = []
    threads = [
        threading.Thread(target=lambda: found.append(minilm.embed_query("shared")))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(np.allclose(vector, wanted, atol=1e-5) for vector in found)
