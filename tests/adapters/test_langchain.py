"""LangChain: documents are kept and found by meaning, and what the memory has is retrieved."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from remloom import Memory
from remloom.adapters.langchain import RemloomRetriever, RemloomVectorStore
from remloom.errors import EmbedderError, EmbedderMismatchError, InvalidInputError, UnknownNameError
from remloom.testing.embedder import WordEmbedder


class WordEmbeddings(Embeddings):
    """LangChain's embeddings of which texts with the same words are alike."""

    def __init__(self, model: str = "words") -> None:
        self.model = model
        self._embedder = WordEmbedder()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [list(map(float, row)) for row in self._embedder.embed_documents(texts)]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


CAT = Document(id="cat", page_content="a cat sleeps", metadata={"year": 2020, "tags": ["pet"]})
DOG = Document(id="dog", page_content="a dog barks", metadata={"year": 2022, "by": {"name": "Bo"}})
CAR = Document(id="car", page_content="a car honks", metadata={"lines": "odd", "speaker": 7})
DOCUMENTS = [CAT, DOG, CAR]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RemloomVectorStore]:
    with RemloomVectorStore.open(tmp_path, WordEmbeddings()) as store:
        store.add_documents(DOCUMENTS)
        yield store


def ids(documents: list[Document]) -> set[str | None]:
    return {document.id for document in documents}


def test_documents_are_found_by_meaning_in_the_next_process_too(tmp_path: Path) -> None:
    embeddings = WordEmbeddings()
    RemloomVectorStore.from_documents(DOCUMENTS, embeddings, home_or_url=tmp_path).close()
    with RemloomVectorStore.open(tmp_path, embeddings) as store:
        assert store.similarity_search("the dog barks", k=1) == [DOG]
        assert store.similarity_search_by_vector(embeddings.embed_query("a cat"), k=1) == [CAT]
        [(found, score)] = store.similarity_search_with_relevance_scores("a car honks", k=1)
        assert (found, round(score, 3)) == (CAR, 1.0)
        assert store.embeddings is embeddings
        assert asyncio.run(store.asimilarity_search("the dog barks", k=1)) == [DOG]


def test_many_documents_are_found_at_once(tmp_path: Path) -> None:
    with RemloomVectorStore.open(tmp_path, WordEmbeddings()) as store:
        store.add_texts([f"word{number} is here" for number in range(200)])
        assert store.similarity_search("word150", k=1)[0].page_content == "word150 is here"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"year": 2020}, {"cat"}),
        ({"year": {"$gte": 2020, "$lt": 2022}}, {"cat"}),
        ({"year": {"$in": [2020, 2022]}}, {"cat", "dog"}),
        ({"year": {"$nin": [2020]}}, {"dog"}),
        ({"year": {"$ne": 2020}}, {"dog"}),
        ({"year": {"$exists": False}}, {"car"}),
        ({"by.name": "Bo"}, {"dog"}),
        ({"tags": {"$in": ["pet"]}}, {"cat"}),
        ({"$or": [{"year": 2020}, {"lines": "odd"}]}, {"cat", "car"}),
        ({"$not": {"year": 2020}}, {"dog", "car"}),
        ({"$and": [{"year": {"$gt": 2000}}, {"by.name": {"$exists": True}}]}, {"dog"}),
        ({"nothing": 1}, set()),
        ({}, {"cat", "dog", "car"}),
    ],
)
def test_filters_are_over_the_metadata(
    store: RemloomVectorStore, wanted: dict[str, Any], found: set[str]
) -> None:
    assert ids(store.similarity_search("a cat dog car", filter=wanted)) == found


@pytest.mark.parametrize(
    "wanted",
    [
        {"a'b": 1},
        {'a") OR 1=1 --': 1},
        {"a\0": 1},
        {"a[0]": 1},
        {"": 1},
        {"a..b": 1},
        {"$or": {"a": 1}},
        {"$not": [1]},
        {"year": {"$in": 2020}},
    ],
)
def test_a_filter_that_is_none_is_refused(
    store: RemloomVectorStore, wanted: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInputError):
        store.similarity_search("a", filter=wanted)


@pytest.mark.parametrize("wanted", [{"$nor": []}, {"year": {"$near": 1}}])
def test_an_unknown_operator_is_named(store: RemloomVectorStore, wanted: dict[str, Any]) -> None:
    with pytest.raises(UnknownNameError, match="known: "):
        store.similarity_search("a", filter=wanted)


@given(key=st.text(max_size=8), value=st.text(max_size=4))
@settings(max_examples=60)
def test_no_key_of_a_filter_finds_more_than_it_says(
    store: RemloomVectorStore, key: str, value: str
) -> None:
    try:
        found = store.similarity_search("a", filter={key: value or "x"})
    except InvalidInputError:
        return
    assert found == []


def test_a_text_takes_the_place_of_the_one_with_its_id(store: RemloomVectorStore) -> None:
    assert store.add_texts(["a cat runs", "a new one"], ids=["cat", None])[0] == "cat"
    assert store.get_by_ids(["dog", "none", "cat"]) == [
        DOG,
        Document(id="cat", page_content="a cat runs", metadata={}),
    ]
    assert store.get_by_ids(["CAT", "cat "]) == []


def test_marginal_relevance_prefers_what_is_new(store: RemloomVectorStore) -> None:
    store.add_texts(["a cat sleeps well", "a cat sleeps now"])
    retriever = store.as_retriever(
        search_type="mmr", search_kwargs={"k": 2, "fetch_k": 5, "lambda_mult": 0.1}
    )
    first, second = retriever.invoke("a cat sleeps")
    assert "cat" in first.page_content
    assert "cat" not in second.page_content
    with pytest.raises(EmbedderError, match="LangChain's embeddings"):
        RemloomVectorStore(store.memory).max_marginal_relevance_search("a cat")


def test_collections_are_apart_and_may_be_called_anything(store: RemloomVectorStore) -> None:
    other = RemloomVectorStore(store.memory, collection="documents/x %")
    other.add_texts(["a cat elsewhere"], ids=["cat"])
    assert ids(store.similarity_search("a cat elsewhere", k=9)) == {"cat", "dog", "car"}
    assert [found.page_content for found in other.similarity_search("cat")] == ["a cat elsewhere"]
    other.delete()
    assert other.similarity_search("cat") == []
    assert store.get_by_ids(["cat"]) == [CAT]


def test_what_is_deleted_is_forgotten(store: RemloomVectorStore) -> None:
    assert store.delete(["cat", "none"])
    assert not store.memory.search_text("cat sleeps").records
    assert ids(store.similarity_search("cat")) == {"dog", "car"}


def test_lists_of_different_lengths_are_refused_and_nothing_is_added(
    store: RemloomVectorStore,
) -> None:
    with pytest.raises(InvalidInputError, match="2 texts, 1 metadatas"):
        store.add_texts(["b1", "b2"], [{}])
    with pytest.raises(InvalidInputError, match="metadata"):
        store.add_texts(["b1", "b2"], [{}, {"at": object()}])
    assert not store.memory.search_text("b1").records


def test_vectors_of_two_models_are_never_mixed(tmp_path: Path) -> None:
    RemloomVectorStore.from_texts(["a cat"], WordEmbeddings(), home_or_url=tmp_path).close()
    with (
        RemloomVectorStore.open(tmp_path, WordEmbeddings("others")) as store,
        pytest.raises(EmbedderMismatchError),
    ):
        store.add_texts(["a dog"])


def test_without_an_embedder_what_is_missing_is_named(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        store = RemloomVectorStore(memory)
        store.add_texts(["a cat"], ids=["cat"])
        assert RemloomRetriever(memory=memory).invoke("Where is the cat?")[0].id == "cat"
        with pytest.raises(EmbedderError, match="REMLOOM_EMBEDDER"):
            store.similarity_search("cat")


# -- retriever -----------------------------------------------------------------------------------


def test_a_retriever_finds_documents_and_all_else(store: RemloomVectorStore) -> None:
    store.memory.read_text("The board approved the merger.", uri="minutes.md", name="Minutes")
    retriever = RemloomRetriever(memory=store.memory, k=1)
    [minutes] = retriever.invoke("Did the board approve the merger?")
    assert minutes.page_content == "The board approved the merger."
    assert (minutes.metadata["source"], minutes.metadata["trust"]) == ("minutes.md:1", "read")
    [cat] = retriever.invoke("Who sleeps, the cat?")
    assert (cat.id, cat.metadata["year"]) == ("cat", 2020)
    assert len(retriever.invoke("cat dog car?", k=3, abstain=False)) == 3
    assert asyncio.run(retriever.ainvoke("Who sleeps, the cat?")) == [cat]


def test_a_retriever_takes_options_of_recall_and_refuses_others(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.read_text("The board approved the merger.", uri="minutes.md")
        retriever = RemloomRetriever(memory=memory, options={"where": "uri = 'menu.md'"})
        assert retriever.invoke("Did the board approve the merger?") == []
        with pytest.raises(UnknownNameError, match="limit"):
            retriever.invoke("Did the board?", limits=3)
