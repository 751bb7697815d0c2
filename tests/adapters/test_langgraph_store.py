"""LangGraph's store over a memory: what an agent puts is found as LangGraph promises, and is a part
of the memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from remloom import Memory, Resource
from remloom.adapters.langgraph import RemloomStore
from remloom.adapters.langgraph.items import address_of, id_of
from remloom.errors import InvalidInputError, UnknownNameError, VectorError
from remloom.predicates import Query

WORDS = ("tea", "chess", "dog", "garden", "music", "rain")


def embed(texts: Sequence[str]) -> list[list[float]]:
    """A dimension for each word, and one for all else."""
    return [[*(float(word in text) for word in WORDS), 0.1] for text in texts]


INDEX: Any = {"dims": len(WORDS) + 1, "embed": embed, "fields": ["text", "notes[*]"]}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RemloomStore]:
    with RemloomStore.open(tmp_path, embedder="none") as store:
        yield store


@pytest.fixture
def indexed(tmp_path: Path) -> Iterator[RemloomStore]:
    with RemloomStore.open(tmp_path, index=INDEX) as store:
        yield store


# -- items -----------------------------------------------------------------------------------------


def test_what_was_put_is_there_in_the_next_process(tmp_path: Path) -> None:
    with RemloomStore.open(tmp_path, embedder="none") as store:
        store.put(("users", "1"), "prefs", {"likes": ["tea", 3, None, {"deep": True}]})
    with RemloomStore.open(tmp_path, embedder="none") as store:
        item = store.get(("users", "1"), "prefs")
    assert item is not None
    assert item.value == {"likes": ["tea", 3, None, {"deep": True}]}
    assert (item.namespace, item.key) == (("users", "1"), "prefs")


def test_names_that_a_label_would_fold_are_different_items(store: RemloomStore) -> None:
    names = ["user_1", "user-1", "User_1", "user 1", "user__1", "ﬁ", "fi", ""]
    for number, name in enumerate(names):
        store.put(("n",), name, {"number": number})
        store.put((f"n{name}x", "ns"), "k", {"number": number})
    for number, name in enumerate(names):
        assert store.get(("n",), name).value == {"number": number}  # type: ignore[union-attr]
        found = store.search((f"n{name}x",))
        assert [item.value["number"] for item in found] == [number]


def test_no_two_namespaces_and_keys_share_an_address(store: RemloomStore) -> None:
    items = [
        (("a",), "b/c"),
        (("a", "b"), "c"),
        (("a/b",), "c"),
        (("a",), "/b/c"),
        (("a", "/b"), "c"),
        (("a%2Fb",), "c"),
        (("a",), "b//c"),
        (("a", "0"), "c"),
        (("a", "+"), "c"),
    ]
    for number, (namespace, key) in enumerate(items):
        store.put(namespace, key, {"number": number})
    for number, (namespace, key) in enumerate(items):
        assert store.get(namespace, key).value == {"number": number}  # type: ignore[union-attr]
    assert {item.value["number"] for item in store.search(("a",))} == {0, 1, 3, 4, 6, 7, 8}
    assert set(store.list_namespaces()) == {namespace for namespace, _ in items}


def test_put_again_keeps_when_it_was_created(store: RemloomStore) -> None:
    store.put(("a",), "k", {"v": 1})
    first = store.get(("a",), "k")
    store.put(("a",), "k", {"v": 2})
    second = store.get(("a",), "k")
    assert first is not None
    assert second is not None
    assert second.value == {"v": 2}
    assert second.created_at == first.created_at
    assert second.updated_at > first.updated_at


@pytest.mark.parametrize(
    "value", [{"v": "a\0b"}, {"v": float("nan")}, {"v": 2**70}, {1: "v"}, {"v": {1, 2}}, ["v"]]
)
def test_a_value_that_would_not_come_back_as_it_is_is_refused_whole(
    store: RemloomStore, value: Any
) -> None:
    with pytest.raises(InvalidInputError):
        store.batch([PutOp(("a",), "good", {"v": 1}), PutOp(("a",), "bad", value)])
    assert store.search(()) == []


@pytest.mark.parametrize("key", ["a\0b", "\ud800"])
def test_a_key_that_cannot_be_kept_is_refused(store: RemloomStore, key: Any) -> None:
    with pytest.raises(InvalidInputError):
        store.put(("a",), key, {"v": 1})


def test_a_batch_with_a_wrong_namespace_does_nothing(store: RemloomStore) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("a",), "k", {"v": 1}), GetOp(("a.b",), "k")])
    assert store.get(("a",), "k") is None


def test_reads_of_a_batch_see_what_was_there_before_it(store: RemloomStore) -> None:
    store.put(("a",), "k", {"v": 1})
    ops = [PutOp(("a",), "k", {"v": 2}), GetOp(("a",), "k"), PutOp(("a",), "k", {"v": 3})]
    assert store.batch(ops)[1].value == {"v": 1}  # type: ignore[union-attr]
    assert store.get(("a",), "k").value == {"v": 3}  # type: ignore[union-attr]


# -- a part of the memory --------------------------------------------------------------------------


def test_the_memory_recalls_what_an_agent_stored(store: RemloomStore) -> None:
    store.put(("users", "1"), "food", {"allergy": "peanuts", "since": 2019})
    hits = store.memory.recall("Who has an allergy to peanuts?").hits
    assert hits[0].content == "allergy: peanuts\nsince: 2019"
    assert hits[0].source == "langgraph:/users/1//food"


def test_what_is_forgotten_by_the_memory_is_gone_from_the_store(store: RemloomStore) -> None:
    store.put(("users", "1"), "food", {"allergy": "peanuts"})
    receipt = store.memory.forget("langgraph:/users/1//food")
    assert receipt.records == 1
    assert store.get(("users", "1"), "food") is None


def test_what_is_deleted_is_not_recalled(store: RemloomStore) -> None:
    store.put(("users", "1"), "food", {"allergy": "peanuts"})
    store.delete(("users", "1"), "food")
    store.delete(("users", "1"), "was never there")
    assert store.memory.recall("allergy peanuts").hits == []
    assert store.memory.query_resources(Query()) == []


def test_other_records_are_no_items(store: RemloomStore) -> None:
    forged = Resource(
        name="langgraph:/a//forged", content="tea", category="item", metadata={"value": {}}
    )
    store.memory.write([forged, Resource(name="langgraph:/a//note", content="tea")])
    others = ("langgraph:/b//none", "langgraph:/c", "langgraph:/c//%2F%25")
    store.memory.write([Resource(name=name, content="tea", category="item") for name in others])
    assert store.list_namespaces() == []
    store.put(("a",), "real", {"text": "tea"})
    assert [item.key for item in store.search(("a",), query="tea")] == ["real"]
    store.put(("c",), "0", {"text": "tea"})
    assert store.list_namespaces() == [("a",), ("c",)]


def test_a_memory_that_was_given_stays_open(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        with RemloomStore(memory) as store:
            store.put(("a",), "k", {"v": 1})
        assert memory.get_resource(id_of(address_of(("a",), "k"))).name == "langgraph:/a//k"


# -- search ----------------------------------------------------------------------------------------


def test_the_newest_come_first(store: RemloomStore) -> None:
    for number in range(5):
        store.put(("a",), str(number), {"n": number})
    store.put(("a",), "1", {"n": 10})
    assert [item.key for item in store.search(("a",), limit=3)] == ["1", "4", "3"]
    assert [item.key for item in store.search(("a",), limit=3, offset=3)] == ["2", "0"]


def test_a_search_by_words_ranks_what_fits_and_then_the_rest(store: RemloomStore) -> None:
    store.put(("a",), "1", {"text": "the cat sat"})
    store.put(("a",), "2", {"text": "green tea in the garden"})
    store.put(("b",), "3", {"text": "green tea"})
    found = store.search(("a",), query="green tea")
    assert [item.key for item in found] == ["2", "1"]
    assert found[0].score is not None
    assert found[1].score is None


def test_what_is_put_without_index_is_found_by_nothing_that_it_says(store: RemloomStore) -> None:
    store.put(("a",), "1", {"text": "green tea"}, index=False)
    assert store.search(("a",), query="green tea")[0].score is None
    assert store.memory.recall("green tea").hits == []


def test_of_several_texts_of_an_item_the_best_counts(indexed: RemloomStore) -> None:
    indexed.put(("a",), "both", {"text": "chess", "notes": ["rain", "tea"]})
    indexed.put(("a",), "mixed", {"text": "tea with chess and music"})
    indexed.put(("a",), "none", {"other": "tea"})
    found = indexed.search(("a",), query="tea")
    assert [item.key for item in found] == ["both", "mixed", "none"]
    assert found[0].score == pytest.approx(1.0, abs=1e-3)
    assert found[2].score is None


def test_items_of_one_text_are_all_found(indexed: RemloomStore) -> None:
    for number in range(12):
        indexed.put(("a", str(number)), "k", {"text": "tea"})
    found = indexed.search(("a",), query="tea", limit=20)
    assert len({item.namespace for item in found}) == 12
    assert all(item.score == pytest.approx(1.0, abs=1e-3) for item in found)


def test_a_text_that_was_replaced_is_not_found_any_more(indexed: RemloomStore) -> None:
    indexed.put(("a",), "k", {"text": "tea", "notes": ["dog"]})
    indexed.put(("a",), "k", {"text": "chess"})
    scores = [indexed.search(("a",), query=word)[0].score for word in ("tea", "dog", "chess")]
    assert scores == pytest.approx([0.01, 0.01, 1.0], abs=1e-2)
    indexed.put(("a",), "k", {"text": "chess"}, index=False)
    assert indexed.search(("a",), query="chess")[0].score is None


def test_fields_may_be_chosen_for_each_item(indexed: RemloomStore) -> None:
    indexed.put(("a",), "k", {"text": "tea", "title": "dog"}, index=["title"])
    assert indexed.search(("a",), query="dog")[0].score == pytest.approx(1.0, abs=1e-3)
    assert indexed.search(("a",), query="tea")[0].score < 0.1  # type: ignore[operator]


def test_the_memory_is_asked_by_the_same_embedder(indexed: RemloomStore) -> None:
    indexed.put(("a",), "k", {"text": "tea"})
    assert indexed.memory.search("tea please").records[0].name == "langgraph:/a//k"


def test_an_embedder_of_other_dimensions_than_promised_is_refused(tmp_path: Path) -> None:
    with RemloomStore.open(tmp_path, index={**INDEX, "dims": 3}) as store:
        with pytest.raises(VectorError):
            store.put(("a",), "k", {"text": "tea"})
        assert store.get(("a",), "k") is None


def test_methods_that_are_async_await_the_embedder(tmp_path: Path) -> None:
    async def aembed(texts: Sequence[str]) -> list[list[float]]:
        await asyncio.sleep(0)
        return embed(texts)

    async def go(store: RemloomStore) -> list[str]:
        await store.aput(("a",), "1", {"text": "rain"})
        await asyncio.gather(*(store.aput(("a",), f"n{n}", {"text": WORDS[n]}) for n in range(5)))
        await store.adelete(("a",), "n0")
        assert await store.aget(("a",), "n0") is None
        assert await store.alist_namespaces() == [("a",)]
        return [item.key for item in await store.asearch(("a",), query="rain", limit=1)]

    with RemloomStore.open(tmp_path, index={**INDEX, "embed": aembed}) as store:
        assert asyncio.run(go(store)) == ["1"]


def test_the_latest_of_a_namespace_are_found_in_an_index_alone(store: RemloomStore) -> None:
    store.put(("a",), "k", {"v": 1})
    scope = "name >= 'langgraph:/a/' AND name < 'langgraph:/a0'"
    statement = f"EXPLAIN SELECT id FROM resources WHERE {scope} ORDER BY updated_at DESC LIMIT 3"
    plan = [text for kind, text in store.memory.query(statement).rows if kind == "plan"]
    assert any("COVERING INDEX user_" in step for step in plan), plan


# -- expiry ----------------------------------------------------------------------------------------


class Clock:
    """The time by which records expire, moved by hand."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.ahead = 0.0  # minutes
        patch.setattr("remloom.store.encoding.time_ns", self.time_ns)

    def time_ns(self) -> int:
        return time.time_ns() + int(self.ahead * 60e9)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_what_has_expired_is_gone_from_everything_and_then_swept(
    tmp_path: Path, clock: Clock
) -> None:
    with RemloomStore.open(tmp_path, embedder="none", ttl={"default_ttl": 10}) as store:
        store.put(("a",), "short", {"text": "tea"})
        store.put(("a", "b"), "long", {"text": "tea"}, ttl=30)
        store.put(("a",), "for ever", {"text": "tea"}, ttl=None)
        clock.ahead = 20
        assert store.get(("a",), "short") is None
        assert {item.key for item in store.search(("a",), query="tea")} == {"long", "for ever"}
        assert len(store.memory.recall("tea").hits) == 1
        assert store.sweep_ttl() == 1
        clock.ahead = 40
        assert store.list_namespaces() == [("a",)]
        assert store.sweep_ttl() == 1
        assert store.sweep_ttl() == 0


@pytest.mark.parametrize("refresh_on_read", [True, False])
def test_reading_lets_the_time_begin_anew_where_it_is_asked_for(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, refresh_on_read: bool
) -> None:
    ttl: Any = {"default_ttl": 10, "refresh_on_read": refresh_on_read}
    with RemloomStore.open(tmp_path, embedder="none", ttl=ttl) as store:
        for key in ("got", "found", "only looked at", "unread"):
            store.put(("a",), key, {"key": key})
        clock.ahead = 8

        def time_after(minutes: float) -> datetime:
            return datetime.now(UTC) + timedelta(minutes=clock.ahead + minutes)

        monkeypatch.setattr("remloom.adapters.langgraph.items.time_after", time_after)
        store.get(("a",), "got")
        store.search(("a",), filter={"key": "found"})
        store.get(("a",), "only looked at", refresh_ttl=False)
        clock.ahead = 15
        left = {item.key for item in store.search(("a",), refresh_ttl=False)}
        assert left == ({"got", "found"} if refresh_on_read else set())


def test_putting_again_without_a_time_keeps_for_ever(store: RemloomStore, clock: Clock) -> None:
    store.put(("a",), "k", {"v": 1}, ttl=1)
    store.put(("a",), "k", {"v": 1})
    clock.ahead = 5
    assert store.get(("a",), "k") is not None


def test_the_sweeper_sweeps_until_the_store_is_closed(tmp_path: Path) -> None:
    with RemloomStore.open(tmp_path, embedder="none") as store:
        store.put(("a",), "k", {"v": 1}, ttl=0)
        store.start_ttl_sweeper(0.01 / 60)
        for _ in range(500):
            time.sleep(0.01)
            if not store.memory.admin.stats().types.get("resources"):
                break
        assert not store.memory.admin.stats().types.get("resources")
        sweeper = store._sweeper
    assert sweeper is not None
    assert not sweeper.is_running


@pytest.mark.parametrize("ttl", [float("nan"), 1e20, "soon"])
def test_a_time_that_is_none_is_refused(store: RemloomStore, ttl: Any) -> None:
    with pytest.raises(InvalidInputError, match="minutes"):
        store.put(("a",), "k", {"v": 1}, ttl=ttl)
    assert store.get(("a",), "k") is None


# -- filters ---------------------------------------------------------------------------------------

VALUES = [
    {"n": 1, "tag": "a", "user": {"name": "Ada", "access-level": 3}},
    {"n": 2.5, "tag": "b", "list": ["x", "y"], "a.b": "dotted"},
    {"n": "3", "tag": "", "ok": True, "größe": 7},
    {"n": None, "tag": "a", "ok": 1},
    {"tag": "2026-01-01", "a": {"b": "nested"}},
]


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        ({"tag": "a"}, [0, 3]),
        ({"tag": ""}, [2]),
        ({"tag": {"$ne": "a"}}, [1, 2, 4]),
        ({"tag": {"$gte": "2026", "$lt": "2027"}}, [4]),
        ({"n": {"$gt": 0}}, [0, 1]),
        ({"n": {"$gte": 1, "$lte": 2}}, [0]),
        ({"n": {"$lt": float("inf")}}, [0, 1]),
        ({"n": {"$eq": float("nan")}}, []),
        ({"n": 1.0}, [0]),
        ({"n": None}, [3, 4]),
        ({"n": 10**100}, []),
        ({"ok": True}, [2]),
        ({"ok": 1}, [3]),
        ({"user": {"name": "Ada"}}, [0]),
        ({"user": {"access-level": {"$gt": 2}}}, [0]),
        ({"user.access-level": 3}, [0]),
        ({"list": ["x", "y"]}, [1]),
        ({"list": ["x"]}, []),
        ({"a.b": "dotted"}, [1]),
        ({"a.b": "nested"}, [4]),
        ({"größe": 7}, [2]),
        ({"tag": "a\0"}, []),
        ({"n[0]": 1}, []),
        ({"$.n": 1}, []),
        ({"tag": "a' OR '1'='1"}, []),
        ({}, [0, 1, 2, 3, 4]),
    ],
)
def test_filters_pick_values(
    store: RemloomStore, wanted: dict[str, Any], numbers: list[int]
) -> None:
    for number, value in enumerate(VALUES):
        store.put(("a",), str(number), value)
    # too many others for a glance at the newest
    store.batch([PutOp(("b",), str(number), {"other": True}) for number in range(70)])
    found = store.search(("a",), filter=wanted)
    assert sorted(int(item.key) for item in found) == numbers
    rare = store.search((), filter={**wanted, "other": None}, limit=5)
    assert sorted(int(item.key) for item in rare) == numbers


@pytest.mark.parametrize(
    "key", ["a'b", 'a"b', "a\\b", "a\0b", "a`b", "access') = 'public' OR '1'='1", "", 3]
)
@pytest.mark.parametrize("nested", [False, True])
def test_filter_keys_that_no_name_has_are_refused(
    store: RemloomStore, key: Any, nested: bool
) -> None:
    with pytest.raises(InvalidInputError, match="filter key"):
        store.search((), filter={"user": {key: 1}} if nested else {key: 1})


def test_an_operator_that_there_is_not_is_refused(store: RemloomStore) -> None:
    with pytest.raises(UnknownNameError, match=r"\$like"):
        store.search((), filter={"n": {"$like": "a%"}})


@pytest.mark.parametrize("window", [{"limit": -1}, {"offset": -1}])
def test_a_window_is_not_negative(store: RemloomStore, window: dict[str, int]) -> None:
    with pytest.raises(InvalidInputError):
        store.search((), **window)  # type: ignore[arg-type]


# -- beside the original ---------------------------------------------------------------------------

LABELS = st.sampled_from(["a", "A", "a b", "b", "0", "+", "/", "%2F", "ü", "*x", "a_%", "\n"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
ITEM = st.fixed_dictionaries(
    {"n": st.integers(0, 3), "tag": st.sampled_from(["x", "y", ""])},
    optional={"deep": st.fixed_dictionaries({"n": st.integers(0, 2)})},
)
PUTS = st.tuples(NAMESPACES, st.sampled_from(["k", "K", "", "/", "k/0"]), st.none() | ITEM)
WILD = st.lists(LABELS | st.just("*"), min_size=1, max_size=2).map(tuple)
WANTED = st.sampled_from(
    [None, {"n": 1}, {"n": {"$gt": 1}}, {"tag": "x", "n": {"$ne": 2}}, {"deep": {"n": 1}}]
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemloomStore]:
    with RemloomStore.open(tmp_path_factory.mktemp("shared"), embedder="none") as store:
        yield store


@settings(max_examples=25)
@given(puts=st.lists(PUTS, max_size=12), prefix=NAMESPACES, wild=WILD, suffix=WILD, wanted=WANTED)
def test_it_answers_as_the_original_does(
    shared: RemloomStore,
    puts: list[tuple[tuple[str, ...], str, Any]],
    prefix: tuple[str, ...],
    wild: tuple[str, ...],
    suffix: tuple[str, ...],
    wanted: dict[str, Any] | None,
) -> None:
    root = uuid4().hex
    theirs = InMemoryStore()
    shared.batch([PutOp((root, *namespace), key, value) for namespace, key, value in puts])
    last = {(namespace, key): value for namespace, key, value in puts}
    # the original goes on listing namespaces of which everything was deleted
    kept = [(*place, value) for place, value in last.items() if value is not None]
    theirs.batch([PutOp((root, *namespace), key, value) for namespace, key, value in kept])

    def keys(found: Any) -> set[Any]:
        return {(item.namespace, item.key, item.value["n"]) for item in found}

    for scope in ((root,), (root, *prefix)):
        search = SearchOp(scope, filter=wanted, limit=100)
        assert keys(shared.batch([search])[0]) == keys(theirs.batch([search])[0])
    listings: list[dict[str, Any]] = [
        {"prefix": (root,)},
        {"prefix": (root, *wild)},
        {"prefix": (root,), "suffix": suffix},
        {"prefix": (root, *wild), "max_depth": 2},
    ]
    for listing in listings:
        listed = shared.list_namespaces(**listing)
        assert len(listed) == len(set(listed))
        assert set(listed) == set(theirs.list_namespaces(**listing))
