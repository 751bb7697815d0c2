"""What each part is for, on a made-up company; and the small sets of questions that the benchmarks
ship."""

from __future__ import annotations

from pathlib import Path

from bench.quality import constructed, form
from bench.quality.heldout import OPTIONS, options

import remloom.bench
from remloom import Memory
from remloom.retrieve import recall

STUDIO = Path(remloom.bench.__file__).with_name("studio.json")


def test_names_relations_hops_and_time_each_help_the_questions_they_are_for(tmp_path: Path) -> None:
    items, asked = constructed.built()
    some = [question for n, question in enumerate(asked) if n % 5 == n // 5 % 5]
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write(items)

        def reached(**options: object) -> dict[str, float]:
            return dict(
                zip(constructed.KINDS, constructed.measured(memory, some, **options), strict=True)
            )

        whole, hops = reached(exclude=("hops",)), reached(mode="iterated")
        assert whole["plain"] == 100
        assert reached(exclude=("graph",))["related"] < whole["related"] - 50
        assert reached(exclude=("entity",))["alias"] < whole["alias"] - 50
        assert reached(exclude=("time",))["dated"] < whole["dated"] - 30
        assert hops["bridge"] > whole["bridge"] + 30
        assert reached()["bridge"] == hops["bridge"]
        assert all(hops[kind] >= whole[kind] for kind in constructed.KINDS)


def test_the_shipped_questions_name_turns_that_exist() -> None:
    (studio,) = form.load(STUDIO)
    assert len(studio.messages) == 46
    answerable = [question for question in studio.questions if question.category != 5]
    assert len(answerable) == 20
    assert all(question.gold for question in answerable)


def test_malformed_evidence_is_read_as_it_was_meant(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    turns = ", ".join(f'{{"speaker": "A", "dia_id": "D1:{n}", "text": "t"}}' for n in range(1, 13))
    file.write_text(
        '[{"sample_id": "x", "conversation": {"session_1_date_time": "1:00 pm on 3 March, 2024", "session_1": ['
        + turns
        + ']}, "qa": [{"question": "Q", "category": 1, "evidence": ["D1:02; D1:3", "D:1:12", "D9:1"]}]}]'
    )
    (question,) = form.load(tmp_path)[0].questions
    assert question.gold == {"D1:2", "D1:3", "D1:12"}


def test_options_that_are_tried_are_put_back() -> None:
    before = dict(recall.WEIGHTS), recall.POOL
    with options(tuple((name, values[-1]) for name, values in OPTIONS.items())):
        assert (dict(recall.WEIGHTS), recall.POOL) != before
    assert (dict(recall.WEIGHTS), recall.POOL) == before
