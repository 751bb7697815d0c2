"""The name index: what a person who mistypes or half remembers a name would expect to find."""

from __future__ import annotations

import random
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from remloom.store.indexes.trigrams import NameIndex

_FIRST = "james mary robert patricia sarah linda david karen nancy steven wei ana josé olga hiro"
_LAST = "smith johnson chen garcia miller davis nakamura wilson anderson thomas moore müller"
_FIRMS = "acme globex initech umbrella hooli stark wayne tyrell aperture oscorp"
FIRST, LAST, FIRMS = _FIRST.split(), _LAST.split(), _FIRMS.split()


def people() -> list[str]:
    names = [f"{a}-{b}" for a in FIRST for b in LAST]
    return names + [
        f"{name}-{FIRMS[number % 10]}-{number}" for number, name in enumerate(names * 10)
    ]


def mistyped(name: str, edits: int, rng: random.Random) -> str:
    letters = list(name)
    for _ in range(edits):
        at = rng.randrange(len(letters))
        kind = rng.randrange(4)
        if kind == 0:
            letters.insert(at, rng.choice("abcdefghijklmnopqrstuvwxyz"))
        elif kind == 1:
            del letters[at]
        elif kind == 2:
            letters[at] = rng.choice("abcdefghijklmnopqrstuvwxyz")
        else:
            letters[at : at + 2] = reversed(letters[at : at + 2])
    return "".join(letters)


def index_of(*names: str, sealed: bool) -> NameIndex:
    index = NameIndex()
    index.add(range(1, len(names) + 1), names)
    if sealed:
        index.compact()
    return index


def found(
    index: NameIndex, text: str, names: tuple[str, ...], threshold: float = 0.5, limit: int = 5
) -> list[str]:
    return [names[id - 1] for id, _ in index.search(text, threshold=threshold, limit=limit)]


@pytest.fixture(params=[False, True], ids=["tail", "segment"])
def sealed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_an_empty_index_finds_nothing() -> None:
    index = NameIndex()
    assert index.search("sarah", threshold=0.0, limit=5) == []
    assert not index.compact()
    assert NameIndex.load(index.dump()).search("sarah", threshold=0.5, limit=5) == []


@pytest.mark.parametrize("edits", [0, 1, 2])
def test_the_name_meant_is_among_the_first_five(edits: int, sealed: bool) -> None:
    names, rng = people(), random.Random(edits)
    index = index_of(*names, sealed=sealed)
    chosen = rng.sample(range(len(names)), 150)
    hits = sum(
        any(
            id == at + 1
            for id, _ in index.search(mistyped(names[at], edits, rng), threshold=0.5, limit=5)
        )
        for at in chosen
    )
    assert hits / len(chosen) >= 0.97


@pytest.mark.parametrize("accepts", [0.5, 0.02])
def test_a_filter_costs_no_recall(accepts: float, sealed: bool) -> None:
    names, rng = people(), random.Random(8)
    index = index_of(*names, sealed=sealed)
    allowed = {at + 1 for at in range(len(names)) if rng.random() < accepts}
    hits = 0
    for id in allowed:
        answer = index.search(
            mistyped(names[id - 1], 1, rng), threshold=0.5, limit=5, accept=allowed.__contains__
        )
        assert {i for i, _ in answer} <= allowed
        hits += any(i == id for i, _ in answer)
    assert hits / len(allowed) >= 0.97


def test_a_filter_finds_the_one_it_allows_among_hundreds_of_the_same_name(sealed: bool) -> None:
    index = index_of(*["daily-standup"] * 800, sealed=sealed)
    assert index.search("daily-standup", threshold=0.9, limit=5, accept=lambda id: id == 777) == [
        (777, 1.0)
    ]
    assert index.search("standup", threshold=0.5, limit=5, accept=lambda id: id == 777)[0][0] == 777


def test_the_same_key_scores_one_and_comes_first(sealed: bool) -> None:
    names = ("sarah-chan", "sarah-chen", "sara-chen")
    index = index_of(*names, sealed=sealed)
    assert index.search("sarah-chen", threshold=0.5, limit=3) == [(2, 1.0), (3, 0.9), (1, 0.9)]


def test_swapped_letters_are_one_mistake(sealed: bool) -> None:
    assert index_of("sarah", sealed=sealed).search("sarha", threshold=0.5, limit=1) == [(1, 0.8)]


def test_no_score_is_below_the_threshold(sealed: bool) -> None:
    index = index_of("sarah-chen", "sarah", "chen", sealed=sealed)
    for threshold in (0.5, 0.7, 0.9, 1.0):
        answer = index.search("sarah-chan", threshold=threshold, limit=5)
        assert all(score >= threshold for _, score in answer)
    assert index.search("sarah-chan", threshold=1.0, limit=5) == []


def test_part_of_a_name_finds_it(sealed: bool) -> None:
    names = (
        "sarah-chen",
        "bob-smith",
        "sarah-chen-acme-holdings",
        "tidb-migration-technical-specification",
    )
    index = index_of(*names, sealed=sealed)
    assert found(index, "sarah", names) == ["sarah-chen", "sarah-chen-acme-holdings"]
    assert found(index, "sarah-chen", names) == ["sarah-chen", "sarah-chen-acme-holdings"]
    assert found(index, "migration-specification", names) == [
        "tidb-migration-technical-specification"
    ]


def test_the_words_may_come_in_any_order(sealed: bool) -> None:
    names = ("sarah-chen", "sarah-miller")
    index = index_of(*names, sealed=sealed)
    assert found(index, "chen-sarah", names)[0] == "sarah-chen"
    assert 0.9 <= index.search("chen-sarah", threshold=0.5, limit=1)[0][1] < 1


def test_a_mistyped_word_of_a_long_name_finds_it() -> None:
    names = ("tidb-migration-technical-specification", "quarterly-review-of-the-sales-organisation")
    index = index_of(*names, sealed=True)
    assert found(index, "migartion", names) == [names[0]]
    assert found(index, "sales-organization", names) == [names[1]]


def test_half_remembered_moments_of_seed_5_are_found(sealed: bool) -> None:
    names = ("friday-afternoon", "monday-afternoon", "monday-morning", "kickoff")
    index = index_of(*names, sealed=sealed)
    assert set(found(index, "find-afternoon", names)[:2]) == {
        "friday-afternoon",
        "monday-afternoon",
    }


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a", "a"),
        ("ai", "ai"),
        ("al", "al-gore"),
        ("x", "planet-x"),
        ("7", "sector-7"),
        ("a1", "ai"),
    ],
)
def test_one_and_two_characters_work(text: str, name: str, sealed: bool) -> None:
    names = ("a", "ai", "al-gore", "planet-x", "sector-7", "sarah-chen")
    assert name in found(index_of(*names, sealed=sealed), text, names)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("東京タワー", "東京タワー"),
        ("東京タワ", "東京タワー"),
        ("タワー", "東京タワー"),
        ("李", "李"),
        ("李小明", "李小龍"),
    ],
)
def test_cjk_names_are_found_whole_and_in_part(text: str, name: str, sealed: bool) -> None:
    names = ("東京タワー", "京都", "李", "李小龍", "sarah-chen")
    assert name in found(index_of(*names, sealed=sealed), text, names)


@pytest.mark.parametrize(
    "name",
    ["john.doe@example.com", "docs/api/readme.md", "https://example.com/a?b=1", "c++", "👍", "!?"],
)
def test_names_that_are_no_words_are_found(name: str, sealed: bool) -> None:
    names = (name, "sarah-chen")
    index = index_of(*names, sealed=sealed)
    assert index.search(name, threshold=0.5, limit=1) == [(1, 1.0)]


def test_very_long_names_are_found_and_told_apart(sealed: bool) -> None:
    names = tuple("the-minutes-of-the-" * 20 + f"meeting-{number}" for number in range(5))
    assert found(index_of(*names, sealed=sealed), names[3], names)[0] == names[3]


def test_ties_come_shorter_first_then_by_name_then_by_id(sealed: bool) -> None:
    index = index_of("bob", "bab", "bob", "bobx", sealed=sealed)
    assert [id for id, _ in index.search("bub", threshold=0.1, limit=5)] == [2, 1, 3, 4]


def test_sealing_in_many_small_blocks_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    names = people()
    at_once = index_of(*names, sealed=True)
    monkeypatch.setattr("remloom.store.indexes.trigrams._BLOCK", 100)
    in_blocks = index_of(*names, sealed=True)
    assert in_blocks.dump() == at_once.dump()


def test_a_name_is_found_wherever_it_is_kept() -> None:
    index = NameIndex()
    names = people()
    for start in range(0, 900, 90):
        index.add(range(start + 1, start + 91), names[start : start + 90])
        if start < 810:
            index.compact()
    assert index.tail_size == 90
    assert all(
        index.search(names[at], threshold=0.9, limit=3)[0] == (at + 1, 1.0)
        for at in range(0, 900, 30)
    )


def test_removed_names_are_gone(sealed: bool) -> None:
    names = people()
    index = index_of(*names, sealed=sealed)
    gone = list(range(1, len(names), 2))
    index.remove([*gone, 99_999])
    index.remove(gone)
    assert len(index) == len(names) - len(gone)
    assert index.ids.tolist() == list(range(2, len(names) + 1, 2))
    assert not {id for id, _ in index.search("sarah-chen", threshold=0.0, limit=500)} & set(gone)
    index.compact()
    assert not {id for id, _ in index.search("sarah-chen", threshold=0.0, limit=500)} & set(gone)
    assert index.search(names[1], threshold=0.9, limit=1) == [(2, 1.0)]


def test_an_index_survives_dump_and_load() -> None:
    names = people()
    index = index_of(*names, sealed=True)
    index.remove([3])
    again = NameIndex.load(index.dump())
    rng = random.Random(4)
    for name in rng.sample(names, 30):
        text = mistyped(name, 1, rng)
        assert again.search(text, threshold=0.5, limit=5) == index.search(
            text, threshold=0.5, limit=5
        )
    assert (again.last, len(again)) == (len(names), len(names) - 1)
    again.add([again.last + 1], ["zaphod-beeblebrox"])
    again.remove([1])
    assert again.search("zaphod-beeblebrox", threshold=0.9, limit=1) == [(again.last, 1.0)]
    assert 1 not in again.ids


def test_a_damaged_or_foreign_snapshot_is_refused() -> None:
    blob = index_of("sarah-chen", sealed=True).dump()
    for position in (1, 6, 40, len(blob) - 1):
        damaged = bytearray(blob)
        damaged[position] ^= 0x10
        with pytest.raises(ValueError):
            NameIndex.load(bytes(damaged))
    with pytest.raises(ValueError):
        NameIndex.load(b"")


def test_searches_go_on_while_others_add_remove_and_compact() -> None:
    names = people()
    index = index_of(*names[:300], sealed=True)
    done, wrong = threading.Event(), []

    def search() -> None:
        while not done.is_set():
            for at in (0, 150, 299):
                if (at + 1, 1.0) not in index.search(names[at], threshold=0.9, limit=3):
                    wrong.append(names[at])

    def compact() -> None:
        while not done.is_set():
            index.compact()

    threads = [threading.Thread(target=target) for target in (search, search, compact)]
    for thread in threads:
        thread.start()
    for start in range(300, 1_500, 30):
        index.add(range(start + 1, start + 31), names[start : start + 30])
        index.remove(range(start + 1, start + 31, 3))
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(index) == len(index.ids) == 300 + 1_200 - 400


KEYS = st.text("ab-cé東京.👍", min_size=1, max_size=9).filter(lambda key: key.strip("-"))


@settings(max_examples=80)
@given(st.lists(KEYS, min_size=1, max_size=25), st.data())
def test_every_name_is_found_by_itself_and_every_score_is_right(
    keys: list[str], data: st.DataObject
) -> None:
    index = index_of(*keys, sealed=data.draw(st.booleans()))
    key = data.draw(st.sampled_from(keys))
    answer = index.search(key, threshold=0.3, limit=len(keys))
    scores = dict(answer)
    assert all(scores.get(id) == 1.0 for id, other in enumerate(keys, 1) if other == key)
    assert all(
        scores[id] >= OSA.normalized_similarity(key, keys[id - 1], score_cutoff=0.3) - 1e-4
        for id in scores
    )
    assert [score for _, score in answer] == sorted((score for _, score in answer), reverse=True)
    assert all((score == 1.0) == (keys[id - 1] == key) for id, score in answer)
