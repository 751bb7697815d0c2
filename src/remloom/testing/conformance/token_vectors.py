"""The store contract as tests: the token vectors of texts, and the queue of texts without them."""

from __future__ import annotations

import pytest

from ...errors import VectorError
from ...model import Entity, Resource
from ...store.batch import TokenVectorBatch
from ...store.contract import Store
from .opening import Opened, put

__all__ = ["TokenVectors"]

_MODEL = "tokens"


class TokenVectors(Opened):
    """The token vectors of texts, and the queue of texts without them."""

    def test_texts_wait_for_token_vectors_oldest_first_until_they_have_them(
        self, store: Store
    ) -> None:
        _write(store, "b", "a", "c")
        put(store, Entity(name="nothing to embed"))
        waiting = store.token_vectors.pending(_MODEL, 9)
        assert [(text.id, text.text) for text in waiting] == [
            ("b", "text b"), ("a", "text a"), ("c", "text c"),
        ]  # fmt: skip
        assert [text.id for text in store.token_vectors.pending(_MODEL, 2)] == ["b", "a"]
        assert store.token_vectors.queue_lengths(_MODEL) == (3, 0)
        assert store.token_vectors.models() == []
        _make(store, {"b": b"\x01\xff\x80\x7f", "c": b"", "gone": b"\x01\x02"})
        assert _waiting(store) == ["a"]
        assert store.token_vectors.queue_lengths(_MODEL) == (1, 0)
        # a text without tokens is not asked for again, and one that has none yet is left out
        found = store.token_vectors.of(["c", "a", "b", "b", "gone"], model=_MODEL)
        assert found == {"b": b"\x01\xff\x80\x7f", "c": b""}
        assert store.token_vectors.of([], model=_MODEL) == {}
        assert store.token_vectors.of(["b"], model="other") == {}
        assert store.token_vectors.models() == [(_MODEL, 2)]
        assert store.admin.check() == []

    @pytest.mark.parametrize(("data", "dims"), [(b"\x01", 2), (b"\x01\x02\x03", 3), (b"", 0)])
    def test_token_vectors_that_do_not_fit_are_refused_and_nothing_is_written(
        self, store: Store, data: bytes, dims: int
    ) -> None:
        _write(store, "a", "b")
        _make(store, {"a": b"\x01\x02"})
        with pytest.raises(VectorError):
            store.token_vectors.put(
                TokenVectorBatch({"b": b"\x03\x04" * dims, "a": data}, model=_MODEL, dims=dims)
            )
        assert store.token_vectors.of(["a", "b"], model=_MODEL) == {"a": b"\x01\x02"}


def _write(store: Store, *ids: str) -> None:
    put(store, *(Resource(id=id, name=id, content=f"text {id}") for id in ids))


def _make(store: Store, vectors: dict[str, bytes], model: str = _MODEL) -> None:
    store.token_vectors.put(TokenVectorBatch(vectors, model=model, dims=2))


def _waiting(store: Store, model: str = _MODEL) -> list[str]:
    return [text.id for text in store.token_vectors.pending(model, 9)]
