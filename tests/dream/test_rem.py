"""REM cycles: what is dreamt about together, what a dream keeps, and when one is due."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import scripted_models

from remloom import Memory, Resource
from remloom.dream.sampling import SamplePool, draw, number_of_dreams
from remloom.errors import ConflictError, InvalidInputError, ModelUnavailableError
from remloom.llm import Request
from remloom.testing.embedder import WordEmbedder
from remloom.testing.models import ScriptedModel, ScriptedReply

pytest.importorskip("langgraph")


def opened(home: Path, reply: object = scripted_models.reply) -> Memory:
    from remloom.settings import Settings

    model = ScriptedModel(reply)  # type: ignore[arg-type]
    return Memory.open(
        embedder=WordEmbedder(), llm=model, settings=Settings.load(home=str(home), llm_retries=0)
    )  # fmt: skip


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path / "home") as memory:
        memory.read(scripted_models.folder(tmp_path / "essays"))
        yield memory


def dreams(memory: Memory) -> list[Resource]:
    return [
        r
        for r in memory.admin.store.records.all("resources")
        if isinstance(r, Resource) and r.kind == "rem_dream"
    ]


def test_three_different_records_are_drawn_the_first_of_the_current_period() -> None:
    found = SamplePool(("e", "f"), tuple("abcdef"))
    for number in range(200):
        drawn = draw(found, str(number))
        assert len(set(drawn)) == 3
        assert drawn[0] in found.current
    assert {draw(found, str(number))[0] for number in range(50)} == {"e", "f"}
    assert draw(found, "x") == draw(found, "x")


def test_a_small_memory_gives_what_it_has() -> None:
    assert len(draw(SamplePool((), ("a", "b")), "x")) == 2
    assert draw(SamplePool((), ("a",)), "x") == ("a",)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, 0.0, "0%", "101%", "many", "", True])
def test_a_number_of_dreams_that_is_none_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidInputError, match="not a number of dreams"):
        number_of_dreams(wrong, SamplePool((), ()))  # type: ignore[arg-type]


def test_by_default_there_are_a_hundred_dreams_at_most() -> None:
    ids = tuple(str(number) for number in range(500))
    assert number_of_dreams(None, SamplePool(ids, ids)) == 100
    assert number_of_dreams(None, SamplePool(ids[:7], ids)) == 7


def test_a_dream_keeps_its_question_its_parents_and_the_years_it_spans(tmp_path: Path) -> None:
    essays = {
        "1999-01-05-a.md": "Tea was cheap.",
        "2005-01-05-b.md": "Tea was dear.",
        "2011-01-05-c.md": "Tea is gone.",
    }
    with opened(tmp_path / "home") as memory:
        memory.read(scripted_models.folder(tmp_path / "essays", essays))
        (dream,) = memory.dream(1, seed="a").dreams
        assert dream.name == dream.metadata["question"]
        assert dream.name.startswith("What binds")
        assert dream.metadata["years"] == [1999, 2005, 2011]
        assert dream.generation == 1
        parents = {
            memory.get_resource(id).uri for id in memory.admin.store.records.parents(dream.id)
        }
        assert len(parents) == 3
        assert dream.starts_at == datetime(2011, 1, 5, tzinfo=UTC)
        walked = memory.history(dream.id).entries
        assert {Path(entry.source.rpartition(":")[0]).name for entry in walked[1:]} == set(essays)
        assert memory.search(dream.content).records[0].id == dream.id


def test_the_synthesis_sees_the_question_and_the_implant_the_synthesis(memory: Memory) -> None:
    memory.dream(1, seed="a")
    model = memory._engine.required_llm._models.default
    assert isinstance(model, ScriptedModel)
    question, dream, implant = model.requests
    assert (question.task, dream.task, implant.task) == ("question", "dream", "synthesis")
    assert str(scripted_models.reply(question)) in dream.prompt
    assert str(scripted_models.reply(dream)) in implant.prompt
    assert "2021" in question.prompt


def test_a_period_that_is_over_is_dreamt_about_once(tmp_path: Path) -> None:
    essays = scripted_models.folder(
        tmp_path / "essays", {n: t for n, t in scripted_models.ESSAYS.items() if n < "2021-02-10"}
    )
    with opened(tmp_path / "home") as memory:
        memory.learn(essays, dreams=2)
        first = {dream.id: dream.metadata["period"] for dream in dreams(memory)}
        assert set(first.values()) <= {"2021-01", "2021-02"}
        scripted_models.folder(essays)
        memory.learn(essays, dreams=2)
        later = {dream.id: dream.metadata["period"] for dream in dreams(memory)}
        assert first.items() <= later.items()
        assert {period for id, period in later.items() if id not in first} <= {"2021-03"}


def test_a_dream_of_a_period_knows_nothing_later(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as memory:
        memory.learn(scripted_models.folder(tmp_path / "essays"), dreams=5)
        known = [
            (f"{at:%Y-%m}", dream.metadata["period"])
            for dream in dreams(memory)
            for id in memory.admin.store.records.parents(dream.id)
            if (at := memory.get_resource(id).starts_at)
        ]
        assert known
        assert all(month <= period for month, period in known)


def test_every_so_many_documents_are_a_period_also_across_runs(tmp_path: Path) -> None:
    essays = scripted_models.folder(
        tmp_path / "essays", {f"{n}.md": f"Note {n} on tea and Boston." for n in range(3)}
    )
    with opened(tmp_path / "home") as memory:
        memory.learn(essays, period=2, dreams=1)
        assert {dream.metadata["period"] for dream in dreams(memory)} <= {"documents 00001"}
        (essays / "3.md").write_text("Note 3 on tea and London.\n")
        memory.learn(essays, period=2, dreams=1)
        periods = [entry.key for entry in memory.admin.store.kv.list("period")]
        assert periods == ["documents 00001", "documents 00002"]


def test_the_period_and_its_records_can_be_chosen(memory: Memory) -> None:
    found = memory.dream(4, seed="a", period="2021-01").dreams
    assert found
    for dream in found:
        first = memory.get_resource(dream.metadata["nodes"][0])
        assert first.starts_at is not None
        assert f"{first.starts_at:%Y-%m}" == "2021-01"
    with pytest.raises(InvalidInputError, match="not a month or year"):
        memory.dream(1, period="January")


def test_a_dry_run_shows_the_dreams_and_writes_nothing(memory: Memory) -> None:
    before, entries = scripted_models.exported(memory), dict(memory.admin.stats().entries)
    shown = memory.dream(3, seed="a", dry_run=True).dreams
    assert len(shown) + 0 >= 1
    assert all(dream.parents for dream in shown)
    assert scripted_models.exported(memory) == before
    after = dict(memory.admin.stats().entries)
    assert after.pop("usage") > 0
    assert after == {kind: count for kind, count in entries.items() if kind != "usage"}
    assert [dream.name for dream in memory.dream(3, seed="a").dreams] == [
        dream.name for dream in shown
    ]


def test_rolling_a_dream_back_leaves_no_trace_and_a_later_one_is_named(memory: Memory) -> None:
    before = scripted_models.exported(memory)
    first = memory.dream(2, seed="a").run
    dreamt = {dream.id for dream in dreams(memory)}
    second = memory.dream("100%", seed="b").run
    built = any(
        dreamt & set(memory.admin.store.records.parents(id))
        for id in (record.id for record in memory.runs.records(second.id))
    )
    if built:
        with pytest.raises(ConflictError, match=second.id):
            memory.runs.rollback(first.id)
    memory.runs.rollback(second.id)
    memory.runs.rollback(first.id)
    assert scripted_models.exported(memory) == before
    assert memory.admin.check() == []
    assert [run.status for run in memory.runs.list()] == ["rolled_back", "rolled_back"]


def test_a_dream_that_failed_waits_and_is_dreamt_next_time(tmp_path: Path) -> None:
    def failing(request: Request) -> ScriptedReply:
        return (
            ModelUnavailableError("busy")
            if request.task == "dream" and failing.fails
            else scripted_models.reply(request)
        )  # type: ignore[attr-defined]

    failing.fails = True  # type: ignore[attr-defined]
    with opened(tmp_path / "home", failing) as memory:
        memory.read(scripted_models.folder(tmp_path / "essays"))
        report = memory.dream(1, seed="a")
        assert report.dreams == []
        (item,) = report.failed
        assert item.name.startswith("What binds")
        assert "busy" in item.reason
        failing.fails = False  # type: ignore[attr-defined]
        again = memory.dream(1, seed="b")
        assert again.failed == []
        assert len(again.dreams) + again.run.counts["nothing"] == 2


def test_an_empty_memory_dreams_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as memory:
        report = memory.dream(5)
        assert (report.dreams, report.run.status) == ([], "done")


def test_two_runs_of_a_kind_do_not_go_on_at_once(memory: Memory) -> None:
    from remloom.runs.run import begin_run

    begin_run(memory.admin.store, "dream", {})
    with pytest.raises(ConflictError, match="going on"):
        memory.dream(1)
