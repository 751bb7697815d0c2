"""The vector index against brute force."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remloom.store.indexes.hnsw import GRAPH_MINIMUM, VectorIndex
from remloom.store.indexes.segments import AllowedIds

DIMS = 32


def clustered(count: int, seed: int = 7) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(1).standard_normal((40, DIMS))
    vectors = centres[rng.integers(0, len(centres), count)] + 0.5 * rng.standard_normal(
        (count, DIMS)
    )
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def nearest(vectors: np.ndarray, query: np.ndarray, k: int, ids: np.ndarray) -> set[int]:
    scores = vectors[ids - 1] @ query
    return set(ids[np.argsort(-scores, kind="stable")[:k]].tolist())


def settle(index: VectorIndex) -> None:
    while index.advance(500):
        pass


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    return clustered(4_000)


@pytest.fixture(scope="module")
def grown(vectors: np.ndarray) -> VectorIndex:
    """An index whose every vector is in the graph; tests do not change it."""
    index = VectorIndex(DIMS)
    index.add(range(1, len(vectors) + 1), vectors)
    settle(index)
    return index


def recall(
    index: VectorIndex, vectors: np.ndarray, allowed: np.ndarray, *, allow: np.ndarray | None
) -> float:
    hits = 0
    queries = clustered(50, seed=9)
    for query in queries:
        only = None if allow is None else AllowedIds(allow)
        ids, _ = index.search(query, 10, allow=only)
        hits += len(set(ids.tolist()) & nearest(vectors, query, 10, allowed))
    return hits / (10 * len(queries))


def test_an_empty_index_finds_nothing() -> None:
    ids, scores = VectorIndex(DIMS).search(np.ones(DIMS, np.float32), 5)
    assert (ids.tolist(), scores.tolist()) == ([], [])


def test_a_vector_is_found_as_soon_as_it_was_added(vectors: np.ndarray) -> None:
    index = VectorIndex(DIMS)
    for number, vector in enumerate(vectors[:20], 1):
        index.add([number], vector[None])
        ids, scores = index.search(vector, 1)
        assert ids.tolist() == [number]
        assert scores[0] == pytest.approx(1, abs=1e-4)


def test_a_small_index_has_no_graph_and_is_exact(vectors: np.ndarray) -> None:
    index = VectorIndex(DIMS)
    index.add(range(1, GRAPH_MINIMUM), vectors[: GRAPH_MINIMUM - 1])
    assert index.advance(10_000) == 0
    assert index.exact_share == 1
    assert recall(index, vectors, np.arange(1, GRAPH_MINIMUM), allow=None) > 0.99
    assert index.dump_graph() == b""


def test_vectors_so_wide_that_few_are_compared_at_once_are_compared_exactly() -> None:
    wide = np.random.default_rng(3).standard_normal((600, 1_536)).astype(np.float32)
    wide /= np.linalg.norm(wide, axis=1, keepdims=True)
    index = VectorIndex(1_536)
    index.add(range(1, 601), wide)
    ids, scores = index.search(wide[400], 10)
    expected = np.sort(wide @ wide[400])[::-1][:10]
    assert ids[0] == 401
    assert scores == pytest.approx(expected, abs=1e-3)


def test_the_exact_share_falls_as_the_graph_advances(vectors: np.ndarray) -> None:
    index = VectorIndex(DIMS)
    index.add(range(1, 2_501), vectors[:2_500])
    shares = [index.exact_share]
    while waiting := index.advance(1_000):
        shares.append(index.exact_share)
        assert index.tail_size == waiting
    assert shares == pytest.approx([1, 0.6, 0.2])
    assert index.exact_share == 0


def test_the_graph_finds_nearly_all_of_the_nearest(grown: VectorIndex, vectors: np.ndarray) -> None:
    assert grown.exact_share == 0
    assert recall(grown, vectors, np.arange(1, len(vectors) + 1), allow=None) >= 0.97


@pytest.mark.parametrize("kept", [0.9, 0.5, 0.12, 0.1, 0.01, 0.001])
def test_no_filter_costs_recall(grown: VectorIndex, vectors: np.ndarray, kept: float) -> None:
    every = np.arange(1, len(vectors) + 1)
    allow = np.sort(np.random.default_rng(3).choice(every, int(len(every) * kept), replace=False))
    assert recall(grown, vectors, allow, allow=allow) >= (0.97 if kept > 0.1 else 0.99) * min(
        1, len(allow) / 10
    )


def test_a_filter_that_keeps_only_what_is_far_away_is_answered_exactly(
    grown: VectorIndex, vectors: np.ndarray
) -> None:
    query = vectors[0]
    allow = np.sort(np.argsort(vectors @ query)[:2_000] + 1)
    ids, _ = grown.search(query, 10, allow=AllowedIds(allow))
    assert len(set(ids.tolist()) & nearest(vectors, query, 10, allow)) >= 9


def test_scores_are_cosines_best_first(grown: VectorIndex, vectors: np.ndarray) -> None:
    ids, scores = grown.search(vectors[5], 20)
    assert scores == pytest.approx(vectors[ids - 1] @ vectors[5], abs=2e-4)
    assert (np.diff(scores) <= 0).all()
    assert scores[0] <= 1


def test_more_may_be_asked_for_than_there_is(grown: VectorIndex, vectors: np.ndarray) -> None:
    ids, _ = grown.search(vectors[5], len(vectors) + 10)
    assert sorted(ids.tolist()) == list(range(1, len(vectors) + 1))


def test_tail_and_graph_are_searched_together(vectors: np.ndarray) -> None:
    index = VectorIndex(DIMS)
    index.add(range(1, 3_001), vectors[:3_000])
    settle(index)
    index.add(range(3_001, 4_001), vectors[3_000:])
    assert index.tail_size == 1_000
    every = np.arange(1, 4_001)
    assert recall(index, vectors, every, allow=None) >= 0.97
    allow = every[::3]
    assert recall(index, vectors, allow, allow=allow) >= 0.97


def test_removed_vectors_are_gone_from_graph_and_tail(vectors: np.ndarray) -> None:
    index = VectorIndex(DIMS)
    index.add(range(1, 3_001), vectors[:3_000])
    settle(index)
    index.add(range(3_001, 3_101), vectors[3_000:3_100])
    gone = [*range(1, 3_101, 7), 5_000]
    index.remove(gone)
    index.remove(gone)
    left = np.setdiff1d(np.arange(1, 3_101), gone)
    assert index.ids.tolist() == left.tolist()
    assert len(index) == len(left)
    assert recall(index, vectors, left, allow=None) >= 0.97
    assert recall(index, vectors, left, allow=np.arange(1, 3_101)) >= 0.97
    assert not set(index.search(vectors[0], 3_100)[0].tolist()) & set(gone)


def test_a_graph_of_many_dead_is_built_anew_while_it_serves(vectors: np.ndarray) -> None:
    index = VectorIndex(DIMS)
    index.add(range(1, 4_001), vectors)
    settle(index)
    index.remove(range(1, 1_501))
    left = np.arange(1_501, 4_001)
    while waiting := index.advance(500):
        assert waiting > 0
        assert recall(index, vectors, left, allow=None) >= 0.97
    assert index.exact_share == 0
    assert recall(index, vectors, left, allow=None) >= 0.97


def test_all_but_a_few_may_be_removed(vectors: np.ndarray) -> None:
    index = VectorIndex(DIMS)
    index.add(range(1, 3_001), vectors[:3_000])
    settle(index)
    index.remove(range(6, 3_001))
    assert sorted(index.search(vectors[0], 10)[0].tolist()) == [1, 2, 3, 4, 5]
    settle(index)
    assert sorted(index.search(vectors[0], 10)[0].tolist()) == [1, 2, 3, 4, 5]


def test_a_graph_survives_dump_and_load(grown: VectorIndex, vectors: np.ndarray) -> None:
    again = VectorIndex(DIMS)
    again.add(range(1, len(vectors) + 1), vectors)
    again.load_graph(grown.dump_graph())
    assert again.exact_share == 0
    for query in vectors[:20]:
        assert again.search(query, 10)[0].tolist() == grown.search(query, 10)[0].tolist()
    again.add([len(vectors) + 1], vectors[:1])
    assert set(again.search(vectors[0], 2)[0].tolist()) == {1, len(vectors) + 1}


def test_a_graph_may_have_nodes_whose_vectors_are_gone_and_lack_newer_ones(
    grown: VectorIndex, vectors: np.ndarray
) -> None:
    again = VectorIndex(DIMS)
    kept = np.arange(1, len(vectors) + 1)[::2]
    again.add(kept, vectors[::2])
    again.add([len(vectors) + 5], vectors[:1])
    again.load_graph(grown.dump_graph())
    assert again.tail_size == 1
    assert set(again.search(vectors[0], 2)[0].tolist()) == {1, len(vectors) + 5}
    assert recall(again, vectors, kept, allow=kept) >= 0.97


def test_a_damaged_or_foreign_graph_is_refused(grown: VectorIndex, vectors: np.ndarray) -> None:
    blob = grown.dump_graph()
    index = VectorIndex(DIMS)
    index.add(range(1, len(vectors) + 1), vectors)
    for position in (0, 20, len(blob) // 2, len(blob) - 1):
        damaged = bytearray(blob)
        damaged[position] ^= 1
        with pytest.raises(ValueError):
            index.load_graph(bytes(damaged))
    for wrong in (b"", blob[:10], blob[:-9]):
        with pytest.raises(ValueError):
            index.load_graph(wrong)
    with pytest.raises(ValueError, match="dims"):
        VectorIndex(DIMS * 2).load_graph(blob)
    with pytest.raises(ValueError, match="connectivity"):
        VectorIndex(DIMS, m=8).load_graph(blob)
    assert index.exact_share == 1


def test_a_graph_that_lacks_vectors_of_the_store_is_refused(vectors: np.ndarray) -> None:
    index = VectorIndex(DIMS)
    index.add(range(2, 4_001), vectors[1:])
    settle(index)
    other = VectorIndex(DIMS)
    other.add(range(1, 4_001), vectors)
    with pytest.raises(ValueError, match="lacks"):
        other.load_graph(index.dump_graph())


@pytest.mark.parametrize("ids", [[3, 4], [5, 5], [7, 6]])
def test_ids_must_increase(ids: list[int], vectors: np.ndarray) -> None:
    index = VectorIndex(DIMS)
    index.add([1, 4], vectors[:2])
    with pytest.raises(ValueError, match="increase"):
        index.add(ids, vectors[:2])
    assert index.ids.tolist() == [1, 4]


def test_vectors_of_another_dimension_are_refused(vectors: np.ndarray) -> None:
    with pytest.raises(ValueError, match="shape"):
        VectorIndex(DIMS * 2).add([1], vectors[:1])


def test_half_precision_is_enough(vectors: np.ndarray) -> None:
    index = VectorIndex(DIMS)
    index.add(range(1, 101), vectors[:100].astype(np.float16))
    assert [index.search(v, 1)[0][0] for v in vectors[:100]] == list(range(1, 101))


def test_searches_go_on_while_others_add_remove_and_advance(vectors: np.ndarray) -> None:
    index = VectorIndex(DIMS)
    index.add(range(1, 2_001), vectors[:2_000])
    done, wrong = threading.Event(), []

    def search() -> None:
        while not done.is_set():
            for number in (1_001, 1_500, 1_999):
                ids, _ = index.search(vectors[number - 1], 5)
                if number not in ids or len(set(ids.tolist())) != len(ids):
                    wrong.append((number, ids.tolist()))

    def advance() -> None:
        while not done.is_set():
            index.advance(50)

    threads = [threading.Thread(target=target) for target in (search, search, advance)]
    for thread in threads:
        thread.start()
    for start in range(2_001, 4_001, 50):
        index.add(range(start, start + 50), vectors[start - 1 : start + 49])
        index.remove(range((start - 2_000) // 2, (start - 2_000) // 2 + 25))
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    settle(index)
    assert index.tail_size == 0
    assert len(index) == len(index.ids)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from(["add", "remove"]), st.integers(1, 30)), max_size=30),
    st.integers(0, 99),
)
def test_whatever_is_added_and_removed_search_is_exact(
    steps: list[tuple[str, int]], probe: int
) -> None:
    vectors = clustered(1_000, seed=11)
    index, alive, last = VectorIndex(DIMS), set(), 0
    for action, number in steps:
        if action == "add":
            ids = range(last + 1, last + 1 + number)
            index.add(ids, vectors[last : last + number])
            alive.update(ids)
            last += number
        else:
            gone = sorted(alive)[::number]
            index.remove(gone)
            alive.difference_update(gone)
            index.advance(100)
    assert set(index.ids.tolist()) == alive
    expected = sorted(alive, key=lambda i: (-float(vectors[i - 1] @ vectors[probe]), i))[:5]
    ids, scores = index.search(vectors[probe], 5)
    assert scores == pytest.approx(
        [float(vectors[i - 1] @ vectors[probe]) for i in expected], abs=2e-4
    )
    assert set(ids.tolist()) <= alive


def test_a_model_can_be_loaded_after_a_graph_was_searched() -> None:
    script = (
        "import numpy as np; from remloom.store.indexes.hnsw import VectorIndex;"
        "rows = np.eye(4, dtype=np.float32).repeat(600, axis=0);"
        "index = VectorIndex(4); index.add(range(1, 2401), rows); index.advance(2400);"
        "index.search(rows[0], 3);"
        "import onnxruntime"
    )
    # in a process of its own: what has been loaded before decides
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
