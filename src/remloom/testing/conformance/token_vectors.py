"""The store contract as tests: the token vectors of texts, and the queue of texts without them."""

from __future__ import annotations

import random
import threading

import pytest

from ...errors import VectorError
from ...model import Entity, Resource, Row
from ...store.batch import Batch, TokenVectorBatch
from ...store.contract import Reads, Store
from ...store.stats import TokenVectorStats
from .opening import Clock, Opened, Opening, put, register
from .rows import ORDERS

_MODEL = "tokens"
_ONE, _TWO = b"\x01\xff", b"\x80\x7f\x00\x02"  # one token and two, of two dimensions


class TokenVectorCases(Opened):
    def test_texts_wait_for_token_vectors_oldest_first_until_they_have_them(
        self, store: Store, reopen: Opening
    ) -> None:
        _write(store, "b", "a", "c")
        put(store, Entity(name="nothing to embed"))
        waiting = store.token_vectors.pending(_MODEL, 9)
        texts = [(text.id, text.text) for text in waiting]
        assert texts == [("b", "text b"), ("a", "text a"), ("c", "text c")]
        assert [text.id for text in store.token_vectors.pending(_MODEL, 2)] == ["b", "a"]
        assert store.token_vectors.queue_lengths(_MODEL) == (3, 0)
        assert store.token_vectors.models() == []
        _make(store, {"b": _TWO, "c": b"", "gone": _ONE})
        assert _waiting(store) == ["a"]
        assert store.token_vectors.queue_lengths(_MODEL) == (1, 0)
        # a text without tokens is not asked for again, and one that has none yet is left out
        again = reopen()
        found = again.token_vectors.of(["c", "a", "b", "b", "gone", "a\0b"], model=_MODEL)
        assert found == {"b": _TWO, "c": b""}
        assert again.token_vectors.of([], model=_MODEL) == {}
        assert again.token_vectors.of(["b"], model="other") == {}
        assert again.token_vectors.models() == [(_MODEL, 2)]
        assert again.admin.stats().token_vectors == {_MODEL: TokenVectorStats(2, 2, 1, 0)}
        assert again.admin.check() == []

    @pytest.mark.parametrize(("data", "dims"), [(b"\x01", 2), (b"\x01\x02\x03", 3), (b"", 0)])
    def test_token_vectors_that_do_not_fit_are_refused_and_nothing_is_written(
        self, store: Store, data: bytes, dims: int
    ) -> None:
        _write(store, "a", "b")
        _make(store, {"a": _ONE})
        bad = TokenVectorBatch({"b": _ONE * dims, "a": data}, model=_MODEL, dims=dims)
        with pytest.raises(VectorError):
            store.token_vectors.put(bad)
        assert _found(store) == {"a": _ONE}

    def test_a_changed_text_loses_its_token_vectors_as_it_changes(self, store: Store) -> None:
        put(store, Resource(id="a", content="text a", metadata={"speaker": "Ann"}))
        _write(store, "b")
        _make(store, {"a": _ONE, "b": _TWO})
        # what is embedded of it is the same
        put(store, Resource(id="a", content="text a", metadata={"speaker": "Ben"}))
        put(store, Resource(id="a", name="another name", content="text a", category="note"))
        assert (_found(store), _waiting(store)) == ({"a": _ONE, "b": _TWO}, [])
        put(store, Resource(id="b", content="another text"))
        assert (_found(store), _waiting(store)) == ({"a": _ONE}, ["b"])
        put(store, Entity(id="e", name="Ann", summary="A baker."))
        put(store, Resource(id="a", name="a", content=""))
        assert (_found(store), _waiting(store)) == ({}, ["b", "e"])

    def test_token_vectors_of_a_text_that_changed_meanwhile_are_passed_over(
        self, store: Store
    ) -> None:
        _write(store, "a", "b")
        texts = store.token_vectors.pending(_MODEL, 9)
        put(store, Resource(id="a", content="another text"))
        versions = {text.id: text.version for text in texts}
        batch = TokenVectorBatch({"a": _ONE, "b": _TWO}, _MODEL, 2, versions)
        store.token_vectors.put(batch)
        assert (_found(store), _waiting(store)) == ({"b": _TWO}, ["a"])
        (text,) = store.token_vectors.pending(_MODEL, 9)
        store.token_vectors.put(TokenVectorBatch({"a": _ONE}, _MODEL, 2, {"a": text.version}))
        assert (_found(store), _waiting(store)) == ({"a": _ONE, "b": _TWO}, [])

    def test_a_deleted_record_leaves_no_token_vectors(self, store: Store) -> None:
        _write(store, "a", "b")
        put(store, Resource(id="child", content="insight", parents=("a",), generation=1))
        _make(store, {"a": _ONE, "b": _TWO, "child": _ONE})
        assert store.delete(["a"]).remaining == ()
        assert _found(store) == {"b": _TWO}
        _write(store, "a")
        assert _waiting(store) == ["a"]

        def both(reads: Reads) -> Batch:
            return Batch(deleted=("b", "a"))

        assert store.erase(both).remaining == ()
        assert (_found(store), _waiting(store), store.admin.check()) == ({}, [], [])

    def test_a_text_that_failed_waits_behind_the_others_and_is_parked_in_the_end(
        self, store: Store
    ) -> None:
        _write(store, "a", "b", "c")
        for id in ("a", "a", "b", "gone"):
            store.token_vectors.park(id, "no answer", model=_MODEL)
        assert _waiting(store) == ["c", "b", "a"]
        failed = store.token_vectors.pending(_MODEL, 9)[2]
        assert (failed.attempts, failed.error) == (2, "no answer")
        store.token_vectors.park("a", "no answer", model=_MODEL)
        assert (_waiting(store), _waiting(store, "other")) == (["c", "b"], ["a", "b", "c"])
        assert store.token_vectors.queue_lengths(_MODEL) == (2, 1)
        _make(store, {"b": _ONE, "c": _ONE})
        assert (_waiting(store), store.token_vectors.queue_lengths(_MODEL)) == ([], (0, 1))
        assert store.admin.stats().token_vectors == {_MODEL: TokenVectorStats(2, 2, 0, 1)}
        assert (store.token_vectors.unpark("other"), store.token_vectors.unpark(_MODEL)) == (0, 1)
        (again,) = store.token_vectors.pending(_MODEL, 9)
        assert (again.id, again.attempts) == ("a", 0)

    def test_a_parked_text_is_tried_again_when_it_changes_and_forgotten_when_it_goes(
        self, store: Store
    ) -> None:
        _write(store, "a", "b")
        for id in ("a", "b") * 3:
            store.token_vectors.park(id, f"no answer to {id}", model=_MODEL)
        put(store, Resource(id="a", content="another text"))
        store.delete(["b"])
        assert [(text.id, text.attempts) for text in store.token_vectors.pending(_MODEL, 9)] == [
            ("a", 0)
        ]
        _make(store, {"a": _ONE})
        assert store.token_vectors.queue_lengths(_MODEL) == (0, 0)

    def test_some_texts_can_be_asked_for_wherever_they_stand_in_the_queue(
        self, store: Store
    ) -> None:
        _write(store, "a", "b", "c", "d")
        _make(store, {"b": _ONE})
        store.token_vectors.park("a", "why", model=_MODEL)
        for _ in range(3):
            store.token_vectors.park("d", "why", model=_MODEL)
        ids = ["d", "c", "a", "b", "c", "gone"]
        texts = store.token_vectors.pending(_MODEL, 9, ids=ids)
        assert [(text.id, text.attempts) for text in texts] == [("c", 0), ("a", 1)]
        (text,) = store.token_vectors.pending(_MODEL, 1, ids=ids)
        assert (text.id, text.text) == ("c", "text c")

    def test_what_has_expired_neither_waits_nor_is_found_nor_holds_up_the_others(
        self, store: Store, clock: Clock
    ) -> None:
        put(store, *(Resource(id=id, content=id, expires_at=clock.after(1)) for id in "abc"))
        _write(store, "d", "e")
        _make(store, {"b": _ONE, "d": _ONE})
        store.token_vectors.park("c", "why", model=_MODEL)
        assert _waiting(store) == ["a", "e", "c"]
        clock.advance(1)
        assert (_waiting(store), _found(store)) == (["e"], {"d": _ONE})
        assert store.token_vectors.pending(_MODEL, 9, ids=["a", "c", "e"])[0].id == "e"
        assert store.token_vectors.queue_lengths(_MODEL) == (1, 0)
        _make(store, {"e": _ONE})
        assert (_waiting(store), store.admin.check()) == ([], [])
        assert store.delete(["a", "b", "c"]).remaining == ()
        assert store.admin.stats().token_vectors == {_MODEL: TokenVectorStats(2, 2, 0, 0)}

    def test_models_have_theirs_side_by_side_until_others_are_dropped(self, store: Store) -> None:
        _write(store, "a", "b")
        _make(store, {"a": _ONE, "b": _TWO})
        wide = TokenVectorBatch({"a": _TWO}, model="wide", dims=4)
        store.token_vectors.put(wide)
        store.token_vectors.park("b", "why", model="wide")
        assert store.token_vectors.models() == [(_MODEL, 2), ("wide", 4)]
        assert _found(store) == {"a": _ONE, "b": _TWO}
        assert store.token_vectors.of(["a", "b"], model="wide") == {"a": _TWO}
        assert (_waiting(store), _waiting(store, "wide")) == ([], ["b"])
        store.token_vectors.drop(keep="wide")
        assert (_found(store), _waiting(store)) == ({}, ["a", "b"])
        assert store.token_vectors.of(["a", "b"], model="wide") == {"a": _TWO}
        assert store.token_vectors.queue_lengths("wide") == (1, 0)
        assert store.delete(["a"]).remaining == ()
        store.token_vectors.drop()
        assert (store.token_vectors.models(), _waiting(store, "wide")) == ([], ["b"])

    def test_what_is_whole_is_not_discarded(self, store: Store) -> None:
        assert store.token_vectors.discard_damaged(_MODEL) == 0
        _write(store, "a", "b", "c")
        _make(store, {"a": _ONE, "b": b""})
        for ids in (None, ["b", "a", "gone"], []):
            assert store.token_vectors.discard_damaged(_MODEL, ids=ids) == 0
        assert (_found(store), _waiting(store)) == ({"a": _ONE, "b": b""}, ["c"])

    def test_rows_of_registered_schemas_have_token_vectors(self, store: Store) -> None:
        register(store, ORDERS)
        row = Row(schema="orders", fields={"order_id": 7, "note": "Call first."})
        (id,) = put(store, row).ids
        put(store, Row(schema="orders", fields={"order_id": 8}))
        assert [text.text for text in store.token_vectors.pending(_MODEL, 9)] == ["Call first."]
        _make(store, {id: _ONE})
        assert store.token_vectors.of([id], model=_MODEL) == {id: _ONE}
        assert store.delete([id]).remaining == ()
        assert store.token_vectors.of([id], model=_MODEL) == {}

    @pytest.mark.parametrize("seed", range(3))
    def test_whatever_comes_in_whatever_order_exactly_the_texts_without_wait(
        self, store: Store, seed: int
    ) -> None:
        chance = random.Random(seed)
        texts: dict[str, str] = {}  # by id, in the order in which they were written or changed
        made: dict[str, bytes] = {}
        for step in range(60):
            id = f"r{chance.randrange(8)}"
            match chance.choice(["write", "write", "make", "make", "delete", "park"]):
                case "write":
                    put(store, Resource(id=id, content=f"text {step}"))
                    texts.pop(id, None)
                    texts[id] = f"text {step}"
                    made.pop(id, None)
                case "make" if texts:
                    some = chance.sample(list(texts), k=chance.randint(1, len(texts)))
                    vectors = {one: bytes([step, 0]) for one in some}
                    _make(store, vectors)
                    made |= vectors
                case "delete":
                    store.delete([id], erase=False)
                    texts.pop(id, None)
                    made.pop(id, None)
                case "park" if id in texts and id not in made:
                    store.token_vectors.park(id, "why", model=_MODEL)
                    store.token_vectors.unpark(_MODEL)
            waiting = {text.id: text.text for text in store.token_vectors.pending(_MODEL, 99)}
            assert waiting == {id: text for id, text in texts.items() if id not in made}
            assert store.token_vectors.of([f"r{n}" for n in range(8)], model=_MODEL) == made

    def test_texts_written_while_token_vectors_are_put_all_get_theirs(self, store: Store) -> None:
        def write(writer: int) -> None:
            for turn in range(6):
                _write(store, f"{writer}.{turn}")

        writers = [threading.Thread(target=write, args=(writer,)) for writer in range(3)]
        for thread in writers:
            thread.start()
        found = 0
        while True:
            # asked first: what they wrote by then is to be found
            writing = _alive(writers)
            texts = store.token_vectors.pending(_MODEL, 4)
            if not texts and not writing:
                break
            found += len(texts)
            _make(store, {text.id: _ONE for text in texts})
        assert (found, store.token_vectors.queue_lengths(_MODEL)) == (18, (0, 0))


def _write(store: Store, *ids: str) -> None:
    put(store, *(Resource(id=id, name=id, content=f"text {id}") for id in ids))


def _make(store: Store, vectors: dict[str, bytes]) -> None:
    store.token_vectors.put(TokenVectorBatch(vectors, model=_MODEL, dims=2))


def _found(store: Store) -> dict[str, bytes]:
    return store.token_vectors.of(["a", "b", "c", "d", "child"], model=_MODEL)


def _waiting(store: Store, model: str = _MODEL) -> list[str]:
    return [text.id for text in store.token_vectors.pending(model, 9)]


def _alive(threads: list[threading.Thread]) -> bool:
    """Whether one of them is at work still; those that are through are joined."""
    for thread in threads:
        thread.join(0.01)
    return any(thread.is_alive() for thread in threads)
