"""The learned correction of the order of turns: how trees are evaluated, what they may change, and
how they are switched off."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from remloom import Memory, Message, Resource
from remloom.model import Recall
from remloom.retrieve import recall
from remloom.retrieve.learned_order import MOST, Features, Trees, corrections, features_of, trees
from remloom.settings import Settings

BEGAN = datetime(2025, 3, 1, 9, tzinfo=UTC)
QUESTION = "What did we plant in the garden?"


def _chat(count: int = 40) -> list[Message]:
    said = ("beans by the garden wall", "the garden gate is broken", "plant food is on sale", "ok")
    return [
        Message(
            speaker=("Ada", "Ivo")[number % 2],
            text=f"{said[number % 4]} {number}",
            id=f"m{number}",
            at=BEGAN + timedelta(days=number // 6, minutes=number),
        )
        for number in range(count)
    ]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.read_chat(_chat(), uri="garden.json")
        memory.write([Resource(name="list", content="In the garden we plant beans and leeks.")])
        yield memory


def _learned(recall: Recall) -> dict[str, float]:
    return {
        hit.name: sum(reason.share for reason in hit.reasons if reason.part == "learned")
        for hit in recall.hits
    }


def test_a_tree_gives_the_leaf_that_its_tests_lead_to() -> None:
    # x <= 1 ? (y <= 5 ? 10 : 20) : 30
    features = np.array([[0, 1] + [0] * 5], np.int16)
    thresholds = np.array([[1.0, 5.0] + [np.inf] * 5], np.float32)
    masks = np.array([[0b11111100, 0b11111110] + [255] * 5], np.uint8)
    values = np.array([[10, 20, 30, 0, 0, 0, 0, 0]], np.float32)
    tree = Trees(("x", "y"), features, thresholds, masks, values)
    table = np.array([[0, 4], [1, 6], [2, 4], [2, 6]], np.float32)
    assert tree.sums(table).tolist() == [10, 20, 30, 30]


def test_no_correction_is_larger_than_allowed() -> None:
    learned = trees()
    table = np.random.default_rng(3).normal(0, 4, (500, len(learned.names))).astype(np.float32)
    assert np.abs(corrections(learned, table)).max() <= MOST


def test_what_fits_better_is_never_lowered_for_it() -> None:
    learned = trees()
    table = np.random.default_rng(5).normal(0, 1, (200, len(learned.names))).astype(np.float32)
    before = learned.sums(table)
    for name in ("score by vector", "score by late", "like question", "share of text"):
        better = table.copy()
        better[:, learned.names.index(name)] += 2
        assert (learned.sums(better) >= before - 1e-5).all(), name


def test_turns_are_corrected_and_documents_are_not(memory: Memory) -> None:
    without = ["dependencies"]
    plain = memory.recall(QUESTION, limit=100, neighbours=0, exclude=["learned", *without])
    learned = memory.recall(QUESTION, limit=100, neighbours=0, exclude=without)
    names = [[hit.name for hit in one.hits] for one in (plain, learned)]
    assert names[0] != names[1]
    assert names[0].index("list") == names[1].index("list")
    assert _learned(learned)["list"] == 0
    scores = [[hit.score for hit in one.hits] for one in (plain, learned)]
    assert scores[0] == pytest.approx(scores[1])


def test_it_is_switched_off_by_one_setting(tmp_path: Path) -> None:
    settings = Settings(home=str(tmp_path), embedder="none", recall_order="plain")
    with Memory.open(settings=settings) as memory:
        memory.read_chat(_chat(), uri="garden.json")
        assert not any(_learned(memory.recall(QUESTION)).values())


def test_few_turns_have_no_order_to_correct(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.read_chat(_chat(6), uri="garden.json")
        assert not any(_learned(memory.recall(QUESTION)).values())


def test_no_turn_is_lost_to_the_correction_of_the_first_hundred(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.read_chat(_chat(160), uri="garden.json")
        without = ["dependencies"]
        found = memory.recall(QUESTION, limit=150, neighbours=0, exclude=without)
        scores = [hit.score for hit in found.hits]
        assert scores == sorted(scores, reverse=True)
        plain = memory.recall(QUESTION, limit=150, neighbours=0, exclude=["learned", *without])
        assert [hit.id for hit in found.hits[100:]] == [hit.id for hit in plain.hits[100:]]


def test_ranks_keep_their_order(memory: Memory) -> None:
    assert not any(_learned(memory.recall(QUESTION, fusion="rrf")).values())


def test_what_else_its_speaker_said_counts_in_a_group_alone(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Features | None] = []
    monkeypatch.setattr(recall, "correct_order", lambda *asked: seen.append(features_of(*asked)))
    memory.recall(QUESTION)
    memory.read_chat(
        [
            Message(speaker="Ruth", text=f"We plant a garden of leeks {n}", id=f"r{n}")
            for n in (1, 2)
        ],
        uri="group.json",
    )
    memory.recall(QUESTION)
    of_two, of_three = seen
    assert of_two is not None
    assert of_three is not None
    assert not of_two.columns["speaker's best"].any()
    of_ruth = [turn.speaker == "Ruth" for turn in of_three.turns]
    assert of_three.columns["speaker's total"][of_ruth].max() < 0.5
    assert of_three.columns["speaker's best"].max() == 1
