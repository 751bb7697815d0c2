"""The term index against BM25 computed the plain way."""

from __future__ import annotations

import math
import threading
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remloom.store.indexes.bm25 import TermIndex
from remloom.store.indexes.postings import K1, B
from remloom.store.indexes.segments import AllowedIds
from remloom.text import analysis
from remloom.text.analysis import STOP_WORDS

WORDS = np.array([f"w{number:x}q" for number in range(3_000)])


def zipf_texts(count: int, seed: int = 5) -> list[str]:
    rng = np.random.default_rng(seed)
    chances = 1 / (np.arange(len(WORDS)) + 5)
    chances /= chances.sum()
    return [" ".join(rng.choice(WORDS, rng.integers(5, 80), p=chances)) for _ in range(count)]


def bm25(
    texts: dict[int, str], query: str, allow: set[int] | None = None
) -> list[tuple[int, float]]:
    counted = {id: Counter(analysis.terms(text)) for id, text in texts.items()}
    lengths = {id: sum(c.values()) for id, c in counted.items()}
    average = sum(lengths.values()) / max(len(texts), 1)
    scores: Counter[int] = Counter()
    for term in set(analysis.terms(query)):
        df = sum(term in c for c in counted.values())
        idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
        for id, c in counted.items():
            if c[term] and (allow is None or id in allow):
                scores[id] += (
                    idf * c[term] * (K1 + 1) / (c[term] + K1 * (1 - B + B * lengths[id] / average))
                )
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def agrees(
    index: TermIndex,
    texts: dict[int, str],
    query: str,
    allow: set[int] | None = None,
    limit: int = 10,
) -> None:
    expected = bm25(texts, query, allow)[:limit]
    ids = None if allow is None else AllowedIds(np.array(sorted(allow), np.int64))
    found = index.search(query, limit=limit, allow=ids)
    assert [score for _, score in found] == pytest.approx(
        [score for _, score in expected], rel=1e-4
    )
    truth = dict(bm25(texts, query, allow))
    assert all(truth[id] == pytest.approx(score, rel=1e-4) for id, score in found)
    assert len({id for id, _ in found}) == len(found)


QUERIES = [
    "w0q", "w1q w2q w3q", "w0q w5q w900q", "w2500q w10q", "w400q w800q w1200q", "w1q w1q w7q", "w0q w1q w2q w3q w4q",
    "nothing here", "w3q nothing", "",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Meetings, MEETING; meet!", ["meet", "meet", "meet"]),
        ("The lease isn't signed", ["leas", "sign"]),
        ("Sarah's plan for Q4 2024", ["sarah", "plan", "q4", "2024"]),
        ("東京タワー", ["東京", "京タ", "タワ", "ワー"]),
        ("東", ["東"]),
        ("API東京v2", ["api", "東京", "v2"]),
        ("Größe STRASSE straße", ["grösse", "strass", "strass"]),
        ("naïve snake_case a-b", ["naïve", "snake", "case", "b"]),
        ("\uff43\uff41\uff46é cafe\u0301", ["café", "café"]),
        ("Привет мир", ["привет", "мир"]),
        ("…!?", []),
        ("", []),
    ],
)
def test_a_text_is_analysed_into_terms(text: str, terms: list[str]) -> None:
    assert analysis.terms(text) == terms


def test_stop_words_alone_find_nothing() -> None:
    index = TermIndex()
    index.add([1], ["to be or not to be"])
    assert index.search("to be", limit=5) == []
    assert "not" in STOP_WORDS


def test_an_empty_index_finds_nothing() -> None:
    index = TermIndex()
    assert index.search("lease", limit=5) == []
    assert not index.compact()
    assert TermIndex.load(index.dump()).search("lease", limit=5) == []


def test_a_text_is_found_as_soon_as_it_was_added() -> None:
    index = TermIndex()
    for number, text in enumerate(["alpha lease", "beta lease", "gamma"], 1):
        index.add([number], [text])
        assert index.search(text.split()[0], limit=1)[0][0] == number


def test_equal_scores_come_in_the_order_of_their_ids() -> None:
    index = TermIndex()
    index.add(range(1, 41), ["same words"] * 40)
    assert [id for id, _ in index.search("words", limit=5)] == [1, 2, 3, 4, 5]
    index.compact()
    assert [id for id, _ in index.search("words", limit=5)] == [1, 2, 3, 4, 5]


def test_a_word_of_another_script_is_found_by_its_pairs() -> None:
    index = TermIndex()
    index.add([1, 2], ["昨日は東京タワーに行った", "京都の朝"])
    assert [id for id, _ in index.search("タワー", limit=5)] == [1]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("where", ["tail", "segment", "segments and tail"])
def test_the_best_are_those_of_exact_bm25(query: str, where: str) -> None:
    texts = dict(enumerate(zipf_texts(600), 1))
    index = TermIndex()
    cuts = {"tail": [600], "segment": [600], "segments and tail": [400, 480, 500, 600]}[where]
    start = 0
    for stop in cuts:
        index.add(range(start + 1, stop + 1), [texts[id] for id in range(start + 1, stop + 1)])
        if where == "segment" or (where == "segments and tail" and stop < 600):
            index.compact()
        start = stop
    assert index.tail_size == {"tail": 600, "segment": 0, "segments and tail": 100}[where]
    agrees(index, texts, query)
    agrees(index, texts, query, allow=set(range(1, 600, 20)))
    agrees(index, texts, query, allow=set(range(1, 600, 2)))
    agrees(index, texts, query, limit=1)


def test_pruning_loses_nothing_where_terms_are_frequent() -> None:
    texts = dict(enumerate(zipf_texts(2_000, seed=6), 1))
    index = TermIndex()
    index.add(texts, texts.values())
    index.compact()
    rng = np.random.default_rng(2)
    for _ in range(8):
        agrees(index, texts, " ".join(WORDS[rng.integers(0, 60, 3)]))


def test_an_average_length_that_changed_since_sealing_loses_nothing() -> None:
    texts = dict(enumerate(zipf_texts(400), 1))
    index = TermIndex()
    index.add(range(1, 401), [texts[id] for id in range(1, 401)])
    index.compact()
    texts |= {id: " ".join(zipf_texts(30, seed=id)) for id in range(401, 431)}
    index.add(range(401, 431), [texts[id] for id in range(401, 431)])
    for query in QUERIES:
        agrees(index, texts, query)


def test_removed_texts_are_gone_and_after_compaction_from_the_statistics_too() -> None:
    texts = dict(enumerate(zipf_texts(500), 1))
    index = TermIndex()
    index.add(range(1, 401), [texts[id] for id in range(1, 401)])
    index.compact()
    index.add(range(401, 501), [texts[id] for id in range(401, 501)])
    gone = [*range(1, 501, 3), 9_999]
    index.remove(gone)
    for id in gone:
        texts.pop(id, None)
    assert len(index) == len(texts)
    assert index.ids.tolist() == sorted(texts)
    for query in QUERIES:
        assert not {id for id, _ in index.search(query, limit=500)} & set(gone)
        first = AllowedIds(np.arange(1, 50))
        assert not {id for id, _ in index.search(query, limit=500, allow=first)} & set(gone)
    index.compact()
    for query in QUERIES:
        agrees(index, texts, query)


def test_sealing_in_many_small_blocks_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remloom.store.indexes.postings._BLOCK", 50)  # postings
    texts = dict(enumerate(zipf_texts(200), 1))
    index = TermIndex()
    for start in (1, 101, 181):
        ids = range(start, {1: 101, 101: 181, 181: 201}[start])
        index.add(ids, [texts[id] for id in ids])
        index.remove([start])
        texts.pop(start)
        index.compact()
    assert index.tail_size == 0
    index = TermIndex.load(index.dump())
    index.remove([2])
    texts.pop(2)
    monkeypatch.setattr("remloom.store.indexes.segments._DEAD_SHARE", 0.0)
    index.compact()
    for query in QUERIES:
        agrees(index, texts, query)


def test_everything_may_be_removed() -> None:
    index = TermIndex()
    index.add([1, 2], ["alpha", "beta"])
    index.compact()
    index.remove([1, 2])
    assert index.search("alpha", limit=5) == []
    index.compact()
    assert (len(index), index.ids.tolist(), index.search("alpha", limit=5)) == (0, [], [])


def test_an_index_survives_dump_and_load_with_its_tail_and_its_dead() -> None:
    texts = dict(enumerate(zipf_texts(300), 1))
    index = TermIndex()
    index.add(range(1, 251), [texts[id] for id in range(1, 251)])
    index.compact()
    index.add(range(251, 301), [texts[id] for id in range(251, 301)])
    index.remove([7])
    again = TermIndex.load(index.dump())
    assert (again.last, len(again), again.tail_size) == (300, 299, 0)
    for query in QUERIES:
        assert again.search(query, limit=10) == index.search(query, limit=10)
    again.add([301], ["unheard of"])
    again.remove([8])
    assert [id for id, _ in again.search("unheard", limit=3)] == [301]
    assert 8 not in {id for id, _ in again.search(texts[8], limit=300)}


def test_a_damaged_or_foreign_snapshot_is_refused() -> None:
    index = TermIndex()
    index.add([1], ["alpha beta"])
    blob = index.dump()
    for position in (0, 5, 9, 30, len(blob) - 1):
        damaged = bytearray(blob)
        damaged[position] ^= 1
        with pytest.raises(ValueError):
            TermIndex.load(bytes(damaged))
    for wrong in (b"", b"RLMX", blob[:-1]):
        with pytest.raises(ValueError):
            TermIndex.load(wrong)


def test_ids_must_increase_and_match_their_texts() -> None:
    index = TermIndex()
    index.add([5], ["alpha"])
    for ids in ([5], [3], [7, 6]):
        with pytest.raises(ValueError, match="increase"):
            index.add(ids, ["beta"] * len(ids))
    with pytest.raises(ValueError, match="texts"):
        index.add([8, 9], ["beta"])
    assert index.ids.tolist() == [5]


def test_merging_leaves_few_segments() -> None:
    index = TermIndex()
    for start in range(1, 2_000, 20):
        index.add(range(start, start + 20), ["some text"] * 20)
        index.compact()
        assert len(index._state.segments) <= 1 + math.log(start + 20, 4)
    assert len(index.search("text", limit=3_000)) == 2_000


def test_searches_go_on_while_others_add_remove_and_compact() -> None:
    index = TermIndex()
    index.add(range(1, 101), [f"fixed common number{id}" for id in range(1, 101)])
    done, wrong = threading.Event(), []

    def search() -> None:
        while not done.is_set():
            for id in (1, 50, 100):
                found = [i for i, _ in index.search(f"number{id} fixed", limit=3)]
                if not found or found[0] != id or len(set(found)) < len(found):
                    wrong.append((id, found))

    def compact() -> None:
        while not done.is_set():
            index.compact()

    threads = [threading.Thread(target=target) for target in (search, search, compact)]
    for thread in threads:
        thread.start()
    for start in range(101, 3_001, 50):
        index.add(
            range(start, start + 50), [f"moving common {id}" for id in range(start, start + 50)]
        )
        index.remove(range(start, start + 50, 2))
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert index.ids.tolist() == [*range(1, 101), *range(102, 3_001, 2)]
    assert len(index) == len(index.ids)


@settings(max_examples=50)
@given(
    st.lists(
        st.one_of(
            st.lists(st.text("ab cd東京é", max_size=12), min_size=1, max_size=5),
            st.just("compact"),
            st.just("reload"),
        ),
        max_size=8,
    ),
    st.sets(st.integers(1, 20)),
    st.text("ab cd東京é", max_size=8),
)
def test_whatever_happens_to_it_the_index_agrees_with_bm25(
    steps: list, gone: set[int], query: str
) -> None:
    index, texts = TermIndex(), {}
    for step in steps:
        if step == "compact":
            index.compact()
        elif step == "reload":
            index = TermIndex.load(index.dump())
        else:
            fresh = dict(enumerate(step, len(texts) + 1))
            index.add(fresh, fresh.values())
            texts |= fresh
    agrees(index, texts, query)
    index.remove(gone)
    left = {id for id, _ in bm25(texts, query)} - gone
    assert {id for id, _ in index.search(query, limit=100)} == left
