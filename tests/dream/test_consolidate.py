"""Consolidation: insights that say the same become one, close ones are summed up, and nothing read
is touched."""

from __future__ import annotations

import builtins
import io
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from remloom import Memory, Resource
from remloom.errors import (
    InvalidInputError,
    MissingExtraError,
    ModelNotConfiguredError,
    ModelRefusedError,
)
from remloom.llm import LLM, Call
from remloom.testing.embedder import WordEmbedder
from remloom.testing.models import ScriptedModel

ROSES = "roses bloom garden palace summer sun"
TIDB = "tidb cluster keeps three replicas everywhere"
DAY = datetime(2024, 5, 1, tzinfo=UTC)


def source(name: str, content: str) -> Resource:
    return Resource(name=name, content=content, uri=f"{name}.md")


def insight(name: str, content: str, parent: str, **changes: Any) -> Resource:
    return Resource(
        name=name,
        content=content,
        kind="synthesis",
        generation=1,
        trust="derived",
        parents=(parent,),
        **changes,
    )


def filled(path: Path, model: ScriptedModel | None = None) -> Memory:
    memory = Memory.open(path, embedder=WordEmbedder(), llm=model)
    (read,) = memory.write([source("Source", "sources of knowledge")])
    memory.write([source(f"Other {n}", f"word{n} thing{n} item{n} part{n}") for n in range(12)])
    memory.write(
        [
            insight("First", f"{ROSES} one", read, created_at=DAY),
            insight("Second", f"{ROSES} one", read, created_at=DAY.replace(day=2)),
            insight("Third", f"{ROSES} two", read),
            insight("Fourth", f"{ROSES} three", read),
            insight("Fifth", TIDB, read),
        ]
    )
    memory.embed_pending()
    return memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with filled(tmp_path) as memory:
        yield memory


def exported(memory: Memory) -> bytes:
    stream = io.BytesIO()
    memory.admin.export(stream)
    return stream.getvalue()


def one(memory: Memory, name: str) -> Resource:
    (record,) = memory.admin.store.records.lookup([name.lower()])[name.lower()]
    assert isinstance(record, Resource)
    return record


def test_an_insight_that_says_what_an_older_one_says_is_superseded(memory: Memory) -> None:
    done = memory.dreams.consolidate(min_score=0.99)
    assert done.run.receipt["superseded"] == 1
    old = one(memory, "Second")
    assert (old.content, old.metadata["superseded"]["by"]) == ("", one(memory, "First").id)
    assert "Second" not in [hit.name for hit in memory.search(ROSES, limit=10).records]
    assert "First" in [hit.name for hit in memory.search(ROSES, limit=10).records]


def test_what_was_read_is_never_superseded(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        memory.write([source("One", ROSES), source("Two", ROSES)])
        (read,) = memory.write([source("Three", TIDB)])
        memory.write([insight("Derived", ROSES, read)])
        assert memory.dreams.consolidate().run.receipt.get("superseded", 0) == 0
        assert all(one(memory, name).content for name in ("One", "Two", "Derived"))


def test_what_is_told_of_one_entity_never_stands_for_another(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        (read,) = memory.write([source("Source", TIDB)])
        memory.write(
            [
                insight("Of Spain", ROSES, read, metadata={"entity": "Spain"}),
                insight("Of France", ROSES, read, metadata={"entity": "France"}),
            ]
        )
        assert memory.dreams.consolidate().run.receipt.get("superseded", 0) == 0


def test_without_a_model_clusters_are_told_and_nothing_is_summed_up(memory: Memory) -> None:
    done = memory.dreams.consolidate(min_score=0.99)
    (theme,) = done.themes
    assert set(theme.insights) == {"First", "Third", "Fourth"}
    assert "summaries" not in done.run.counts


def test_a_cluster_gets_a_summary_that_knows_its_parents(tmp_path: Path) -> None:
    model = ScriptedModel({"summary": "Roses bloom at the palace."})
    with filled(tmp_path, model) as memory:
        done = memory.dreams.consolidate(min_score=0.99)
        assert done.run.counts["summaries"] == 1
        (summary,) = [
            r
            for r in memory.admin.store.records.all("resources")
            if isinstance(r, Resource) and r.kind == "summary"
        ]
        members = {one(memory, name).id for name in ("First", "Third", "Fourth")}
        assert (set(summary.parents), summary.generation, summary.content) == (
            members,
            2,
            "Roses bloom at the palace.",
        )
        assert {edge.dst for edge in memory.get_edges(summary.name)} == {"first", "third", "fourth"}
        assert summary.name in [
            hit.name for hit in memory.search("roses bloom palace", limit=10).records
        ]


def test_a_second_run_writes_and_asks_nothing(tmp_path: Path) -> None:
    model = ScriptedModel({"summary": "Roses bloom at the palace."})
    with filled(tmp_path, model) as memory:
        memory.dreams.consolidate(min_score=0.99)
        before, asked = exported(memory), len(model.requests)
        memory.dreams.consolidate(min_score=0.99)
        assert (exported(memory) == before, len(model.requests)) == (True, asked)


def test_a_summary_of_more_supersedes_that_of_fewer(tmp_path: Path) -> None:
    texts = iter(
        ["Roses bloom at the palace.", "Roses of the palace bloom, and there are four of them."]
    )
    with filled(tmp_path, ScriptedModel(lambda request: next(texts))) as memory:
        memory.dreams.consolidate(min_score=0.99)
        read = one(memory, "Source").id
        memory.write([insight("Sixth", f"{ROSES} four", read)])
        assert memory.dreams.consolidate(min_score=0.99).run.receipt["superseded"] == 1
        summaries = [
            r
            for r in memory.admin.store.records.all("resources")
            if isinstance(r, Resource) and r.kind == "summary"
        ]
        assert sorted(bool(summary.content) for summary in summaries) == [False, True]


def test_a_failed_summary_is_parked_and_made_by_the_next_run(tmp_path: Path) -> None:
    replies: list[Any] = [ModelRefusedError("not today"), "Roses bloom at the palace."]
    with filled(tmp_path, ScriptedModel(replies)) as memory:
        assert [item.reason for item in memory.dreams.consolidate(min_score=0.99).failed] == [
            "not today"
        ]
        again = memory.dreams.consolidate(min_score=0.99)
        assert (again.failed, again.run.counts["summaries"]) == ([], 1)


def test_a_summary_is_forgotten_with_what_it_quotes_and_its_failure_with_all_of_its_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Call] = []
    ask_all = LLM.ask_all

    def watched(llm: LLM, calls: Sequence[Call], **how: Any) -> list[Any]:
        asked.extend(calls)
        return ask_all(llm, calls, **how)

    monkeypatch.setattr(LLM, "ask_all", watched)
    with filled(tmp_path, ScriptedModel({"summary": ModelRefusedError("not today")})) as memory:
        read = one(memory, "Source").id
        memory.write([insight(f"More {n}", f"{ROSES} more{n}", read) for n in range(30)])
        memory.write([source(f"Else {n}", f"a{n}x b{n}x c{n}x d{n}x") for n in range(150)])
        memory.embed_pending()
        memory.dreams.consolidate(min_score=0.99)
        (call,) = asked
        assert len(call.subjects) == len(call.slots["passages"]) == 24
        insights = [
            r
            for r in memory.admin.store.records.all("resources")
            if isinstance(r, Resource) and r.kind == "synthesis"
        ]
        quoted = set(call.subjects)
        unquoted = [r for r in insights if r.name.startswith("More") and r.id not in quoted]
        assert unquoted
        assert memory.runs.failed()
        memory.forget(unquoted[0].id)
        assert not memory.runs.failed()


def test_rolling_back_brings_superseded_insights_back(tmp_path: Path) -> None:
    with filled(tmp_path, ScriptedModel({"summary": "Roses bloom at the palace."})) as memory:
        before = exported(memory)
        memory.runs.rollback(memory.dreams.consolidate(min_score=0.99).run.id)
        assert exported(memory) == before


@pytest.fixture(params=["sqlite", "postgres"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path | str]:
    if request.param == "sqlite":
        yield tmp_path
        return
    from postgres_server import database

    with database(request.getfixturevalue("postgres")) as url:
        yield url


def test_what_stood_in_the_place_of_an_insight_goes_and_the_insight_is_found_again(
    home: Path | str,
) -> None:
    with Memory.open(home, embedder=WordEmbedder()) as memory:
        memory.read_text("Of roses and their gardens.", uri="one.md")
        memory.read_text("Of palaces and their summers.", uri="two.md")
        one_, two = (memory.admin.store.records.chunks(uri)[0].id for uri in ("one.md", "two.md"))
        memory.write(
            [
                insight("First", f"{ROSES} one", one_, created_at=DAY),
                insight("Second", f"{ROSES} one", two),
            ]
        )
        memory.write([insight("Third", f"{ROSES} one", one_), insight("Fourth", TIDB, two)])
        memory.embed_pending()
        assert memory.dreams.consolidate(min_score=0.99).run.receipt["superseded"] == 2
        before = [hit.name for hit in memory.search_text(ROSES, limit=10).records]
        assert "First" in before
        assert not {"Second", "Third"} & {*before}
        assert memory.forget("one.md").verified
        memory.embed_pending()
        found = [hit.name for hit in memory.search_text(ROSES, limit=10).records]
        assert "Second" in found
        assert not {"First", "Third"} & {*found}
        assert [hit.name for hit in memory.search(ROSES, limit=1).records] == ["Second"]
        assert one(memory, "Second").metadata.get("superseded") is None
        assert memory.admin.check() == []
        assert memory.forget("two.md").verified
        assert not {"Second", "Fourth"} & {
            hit.name for hit in memory.search_text(ROSES, limit=10).records
        }


def test_a_dry_run_names_what_would_be_superseded_and_writes_nothing(memory: Memory) -> None:
    before = exported(memory)
    done = memory.dreams.consolidate(min_score=0.99, dry_run=True)
    assert done.diff is not None
    assert done.diff.superseded == ((one(memory, "Second").id, one(memory, "First").id),)
    assert exported(memory) == before


def test_a_memory_without_insights_has_nothing_to_consolidate(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write([source("Source", ROSES)])
        assert memory.dreams.consolidate().run.counts["insights"] == 0


def test_a_missing_extra_says_what_to_install(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("scipy"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"remloom\[consolidate\]"):
        memory.dreams.consolidate()


@pytest.mark.parametrize("score", [0, 1, 1.5])
def test_a_cosine_that_cannot_mean_the_same_is_refused(memory: Memory, score: float) -> None:
    with pytest.raises(InvalidInputError):
        memory.dreams.consolidate(min_score=score)


def test_a_model_that_is_wanted_and_missing_is_named(memory: Memory) -> None:
    with pytest.raises(ModelNotConfiguredError):
        memory.dreams.consolidate(model=True)
