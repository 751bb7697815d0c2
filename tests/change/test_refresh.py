"""What is stale is made again by the step that made it, or confirmed, and all of it can be undone."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from test_race import MAY, RACES, Racer, changed, facts, notes, prepare_consolidate

from remloom import Memory, Moment, Resource
from remloom.dream.refresh import RefreshResult
from remloom.errors import InvalidInputError, ModelRefusedError, NotFoundError
from remloom.llm import Budget, Request
from remloom.model.premises import SUPERSEDED, premises_of
from remloom.runs.writer import Writer
from remloom.serve.cli.app import program
from remloom.store.batch import Batch
from remloom.store.premises import find_stale
from remloom.store.results import Written
from remloom.testing.embedder import WordEmbedder
from remloom.testing.models import ScriptedModel, ScriptedReply


class Model:
    """Repeats the facts that it is shown, or replies by task as it is told."""

    def __init__(self) -> None:
        self.racer = Racer("")
        self.replies: dict[str, Callable[[Request], ScriptedReply]] = {}
        self.asked: list[str] = []

    def __call__(self, request: Request) -> ScriptedReply:
        self.asked.append(request.task)
        own = self.replies.get(request.task)
        return own(request) if own else self.racer(request)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture(params=["sqlite", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path, model: Model) -> Iterator[Memory]:
    home = tmp_path / "home" if request.param == "sqlite" else request.getfixturevalue("postgres")
    with Memory.open(
        home, tenant=uuid4().hex, embedder=WordEmbedder(), llm=ScriptedModel(model)
    ) as opened:
        opened.write(notes())
        opened.embed_pending()
        yield opened


def shown(memory: Memory) -> dict[str, Resource | Moment]:
    """What was derived and is not hidden, by name."""
    store = memory.admin.store
    found: dict[str, Resource | Moment] = {}
    for schema in ("resources", "moments"):
        for record in store.records.all(schema):
            made = isinstance(record, Moment) or bool(getattr(record, "generation", 0))
            if made and SUPERSEDED not in record.metadata:  # type: ignore[union-attr]
                found[record.name] = record  # type: ignore[assignment]
    return found


def texts(memory: Memory) -> dict[str, tuple[str, str]]:
    return {
        name: (one.id, text(one)) for name, one in shown(memory).items() if one.metadata.get("run")
    }


def stale(memory: Memory) -> set[str]:
    ids = {one.id: name for name, one in shown(memory).items()}
    return {ids[id] for id in find_stale(memory.admin.store.records, ids)}


def outcomes(result: RefreshResult) -> dict[str, str]:
    return {one.name: one.outcome for one in result.stale}


def exported(memory: Memory) -> bytes:
    stream = io.BytesIO()
    memory.admin.export(stream)
    return stream.getvalue()


def text(record: Resource | Moment) -> str:
    return record.content if isinstance(record, Resource) else record.summary


MADE = {
    "learn": lambda memory: memory.learn(dreams=1),
    "dream": RACES["dream"][1],
    "moments": RACES["moments"][1],
    "rules": lambda memory: memory.dreams.moments(hours=None, model=False),
    "consolidate": RACES["consolidate"][1],
}


@pytest.mark.parametrize("kind", MADE)
def test_it_is_made_again_of_what_its_premises_say_now(memory: Memory, kind: str) -> None:
    premises = prepare_consolidate(memory) if kind == "consolidate" else notes()
    memory.embed_pending()
    MADE[kind](memory)
    before = texts(memory)
    memory.write(changed(premises))
    assert stale(memory)
    memory.embed_pending()
    made = exported(memory)
    would = memory.dreams.refresh(dry_run=True)
    assert exported(memory) == made
    done = memory.dreams.refresh()
    assert {(one.id, one.outcome, one.after) for one in would.stale} == {
        (one.id, one.outcome, one.after) for one in done.stale
    }
    assert set(outcomes(done).values()) <= {"again", "retired", "same"}
    assert "again" in outcomes(done).values()
    assert stale(memory) == set()
    for one in shown(memory).values():
        assert not any(fact.endswith("a") for fact in facts(text(one)))
    written = exported(memory)
    again = memory.dreams.refresh()
    assert again.stale == []
    assert exported(memory) == written
    assert memory.admin.check() == []
    for run in (again.run, done.run):
        memory.runs.rollback(run.id)
    assert texts(memory) == before
    assert stale(memory)
    assert memory.admin.check() == []


def test_an_affinity_is_judged_again(memory: Memory, model: Model) -> None:
    RACES["affinity"][1](memory)
    edges = memory.get_edges("Note 0", edge_types=["related"])
    assert edges
    assert not any("stale" in edge.properties for edge in edges)
    memory.write(changed(notes())[:1])
    old = memory.get_edges("Note 0", edge_types=["related"])
    assert all(edge.properties["stale"] for edge in old)
    # what is shown is not kept, whoever writes it back
    memory.write(old)
    done = memory.dreams.refresh()
    assert {one.outcome for one in done.stale} == {"again"}
    now = memory.get_edges("Note 0", edge_types=["related"])
    assert not any("stale" in edge.properties for edge in now)
    assert memory.admin.describe("Note 0").edges_out
    assert all("fact0b" in edge.properties["context"] for edge in now)
    model.replies["affinity"] = lambda _: {"related": False}
    memory.write([replace(notes()[0], content="the tidb migration is over")])
    assert {one.outcome for one in memory.dreams.refresh().stale} == {"retired"}
    assert memory.get_edges("Note 0", edge_types=["related"]) == []
    assert memory.dreams.refresh().stale == []


def test_an_equal_text_ends_the_cascade(memory: Memory, model: Model) -> None:
    model.replies["synthesis"] = lambda _: "Herons nest at weirs in spring."
    memory.learn(dreams=1)
    names = [name for name, one in shown(memory).items() if getattr(one, "kind", "") == "synthesis"]
    assert names
    top = Resource(name="Top", content="Herons.", parents=(shown(memory)[names[0]].id,))
    memory.write([top])
    premises = memory.admin.store.records.parents(shown(memory)[names[0]].id)
    memory.write([one for one in changed(notes()) if one.id in premises])
    assert "Top" in stale(memory)
    found = outcomes(memory.dreams.refresh())
    assert found[names[0]] == "same"
    assert "Top" not in found
    assert stale(memory) == set()


@pytest.mark.parametrize("reply", ["Herons nest at weirs in spring.", "Herons left the weirs."])
@pytest.mark.parametrize("is_replaced", [False, True], ids=["rewritten", "replaced"])
def test_what_is_written_while_the_model_thinks_stays(
    memory: Memory, model: Model, reply: str, is_replaced: bool
) -> None:
    model.replies["synthesis"] = lambda _: "Herons nest at weirs in spring."
    memory.learn(dreams=1)
    made = next(one for one in shown(memory).values() if getattr(one, "kind", "") == "synthesis")
    own = Resource(id=made.id, name="Own", content="Herons nest in trees.")
    if is_replaced:
        own = replace(own, id="own", replaces=made.id, reason="wrong")
    memory.write(changed(notes()))

    def think(_: Request) -> ScriptedReply:
        if memory.get_resource(made.id).content == "Herons nest at weirs in spring.":
            memory.write([own])
        return reply

    model.replies["synthesis"] = think
    done = memory.dreams.refresh()
    assert [one.outcome for one in done.stale if one.id == made.id] == ["waits"]
    assert memory.get_resource(own.id).content == "Herons nest in trees."
    assert (SUPERSEDED in memory.get_resource(made.id).metadata) == is_replaced


def test_a_moment_that_is_written_while_the_model_thinks_stays(
    memory: Memory, model: Model
) -> None:
    RACES["moments"][1](memory)
    made = [one for one in shown(memory).values() if isinstance(one, Moment)]
    own = [replace(one, summary="The herons are mine.", metadata={}) for one in made]
    memory.write(changed(notes()))

    def think(request: Request) -> ScriptedReply:
        memory.write(own)
        return model.racer(request)

    model.replies = {"moment": think}
    memory.dreams.refresh()
    assert model.asked.count("moment") > 1
    assert {memory.get_moment(one.id).summary for one in made} == {"The herons are mine."}


def test_what_nothing_follows_from_is_retired(memory: Memory, model: Model) -> None:
    memory.learn(dreams=1)
    model.replies = dict.fromkeys(("synthesis", "entity_synthesis"), lambda _: "NOTHING")
    memory.write(changed(notes()))
    done = memory.dreams.refresh()
    assert "retired" in outcomes(done).values()
    assert stale(memory) == set()
    gone = [one.id for one in done.stale if one.outcome == "retired"]
    for id in gone:
        record = memory.get_resource(id)
        assert record.content == ""
        assert record.metadata[SUPERSEDED]["reason"] == "stale"
    memory.runs.rollback(done.run.id)
    assert all(memory.get_resource(id).content for id in gone)


def test_what_no_run_made_is_yours_and_what_rests_on_it_waits(memory: Memory) -> None:
    own = Resource(id="own", name="Own", content="Herons like weirs.", parents=("note0",))
    memory.write([own, replace(own, id="top", name="Top", parents=("own",))])
    memory.write(changed(notes()))
    assert outcomes(memory.dreams.refresh()) == {"Own": "yours", "Top": "waits"}
    run = memory.confirm("own", by="Ann")
    assert stale(memory) == set()
    told = memory.get_resource("own").metadata["confirmed"]
    assert told["by"] == "Ann"
    assert memory.history("own").entries[0].confirmed == told
    assert "run" not in memory.get_resource("own").metadata
    assert memory.dreams.refresh().stale == []
    memory.runs.rollback(run.id)
    assert stale(memory) == {"Own", "Top"}
    assert "confirmed" not in memory.get_resource("own").metadata


def test_confirming_refuses_what_was_derived_from_nothing(memory: Memory) -> None:
    with pytest.raises(NotFoundError):
        memory.confirm("nobody")
    with pytest.raises(InvalidInputError, match="derived from nothing"):
        memory.confirm("note0")
    with pytest.raises(InvalidInputError):
        memory.confirm()
    assert memory.runs.list("confirm") == []


@pytest.mark.parametrize("newer", ["own", "other"])
def test_confirming_loses_nothing_that_is_written_meanwhile(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, newer: str
) -> None:
    own = Resource(id="own", name="Own", content="Herons like weirs.", parents=("note0",))
    memory.write([own])
    memory.write(changed(notes()))
    replaces = "own" if newer == "other" else ""
    mine = replace(own, id=newer, content="Herons like ponds.", replaces=replaces)
    write = Writer.write

    def write_late(writer: Writer, *args: Any, **options: Any) -> Any:
        monkeypatch.setattr(Writer, "write", write)
        memory.write([mine])
        return write(writer, *args, **options)

    monkeypatch.setattr(Writer, "write", write_late)
    memory.confirm("own")
    found = memory.get_resource("own")
    assert found.content == ("Herons like ponds." if newer == "own" else "")
    assert ("superseded" in found.metadata) == (newer == "other")
    assert "confirmed" in found.metadata


def test_a_hidden_duplicate_comes_back_when_the_other_changes(memory: Memory) -> None:
    first = Resource(
        id="first",
        name="First",
        content="roses bloom in the palace garden",
        kind="synthesis",
        parents=("note0",),
        created_at=MAY,
    )
    memory.write([first, replace(first, id="second", name="Second", created_at=None)])
    memory.embed_pending()
    memory.dreams.consolidate(model=False)
    assert "Second" not in shown(memory)
    memory.write([replace(memory.get_resource("first"), content="tulips bloom at night")])
    done = memory.dreams.refresh(model=False)
    assert done.run.counts["restored"] == 1
    assert text(shown(memory)["Second"]) == "roses bloom in the palace garden"
    memory.runs.rollback(done.run.id)
    assert "Second" not in shown(memory)
    memory.dreams.consolidate(model=False)
    assert "Second" in shown(memory)


def test_a_summary_is_made_again_by_the_next_run_when_an_insight_changes(memory: Memory) -> None:
    insights = prepare_consolidate(memory)
    memory.embed_pending()
    memory.dreams.consolidate(min_score=0.999)
    memory.write(changed(insights)[:1])
    memory.embed_pending()
    memory.dreams.consolidate(min_score=0.999)
    [summary] = [one for one in shown(memory).values() if getattr(one, "kind", "") == "summary"]
    assert "fact10b" in text(summary)
    assert stale(memory) == set()


def test_what_was_learned_is_learned_again_when_it_changes(memory: Memory) -> None:
    memory.learn(dreams=1)
    memory.write(changed(notes()))
    memory.embed_pending()
    memory.learn(dreams=1)
    read = [one for one in shown(memory).values() if getattr(one, "kind", "") == "synthesis"]
    assert read
    assert not any(fact.endswith("a") for one in read for fact in facts(text(one)))


def test_a_budget_stops_it_and_the_next_goes_on(memory: Memory) -> None:
    memory.learn(dreams=1)
    memory.write(changed(notes()))
    first = memory.dreams.refresh(budget=Budget(calls=1))
    assert first.run.status == "stopped"
    assert stale(memory)
    second = memory.dreams.refresh()
    assert second.run.id == first.run.id
    assert second.run.status == "done"
    assert stale(memory) == set()
    memory.runs.rollback(second.run.id)
    assert stale(memory)
    assert memory.admin.check() == []


class DeathError(BaseException):
    """A process that was killed: it writes nothing any more."""


def test_one_that_is_killed_goes_on_between_any_two_of_its_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(home: Path) -> Memory:
        return Memory.open(home, embedder=WordEmbedder(), llm=ScriptedModel(Model()))

    def refreshed(home: Path, kill_at: int = 0) -> int:
        """Refresh; returns the number of writes."""
        count = 0
        with opened(home) as memory:
            write = memory.admin.store.write

            def counted(batch: Batch) -> Written:
                nonlocal count
                count += 1
                if kill_at and count >= kill_at:
                    raise DeathError
                return write(batch)

            monkeypatch.setattr(memory.admin.store, "write", counted)
            with suppress(DeathError):
                memory.dreams.refresh()
        return count

    with opened(tmp_path / "before") as memory:
        memory.write(notes())
        memory.embed_pending()
        memory.learn(dreams=2)
        memory.write(changed(notes()))
        memory.embed_pending()
    shutil.copytree(tmp_path / "before", tmp_path / "whole")
    writes = refreshed(tmp_path / "whole")
    with opened(tmp_path / "whole") as memory:
        whole = texts(memory)
        assert stale(memory) == set()
    assert writes > 4
    for kill_at in range(1, writes + 1):
        home = tmp_path / f"{kill_at}"
        shutil.copytree(tmp_path / "before", home)
        monkeypatch.setattr("remloom.runs.run._process", lambda at=kill_at: f"killed {at}")
        refreshed(home, kill_at)
        monkeypatch.setattr("remloom.runs.run._process", lambda at=kill_at: f"next {at}")
        refreshed(home)
        with opened(home) as memory:
            assert texts(memory) == whole
            assert stale(memory) == set()
            assert memory.admin.check() == []
            runs = memory.runs.list("refresh")
            assert [run.status for run in runs] == ["done"]
            memory.runs.rollback(runs[0].id)
            assert stale(memory)


def test_a_job_makes_it_again_at_night(memory: Memory) -> None:
    memory.learn(dreams=1)
    memory.write(changed(notes()))
    memory.jobs.add("refresh", {"budget": {"calls": 100}}, every="0 3 * * *")
    memory.jobs.add("refresh")
    memory.jobs.work(until_idle=True)
    assert stale(memory) == set()


def test_what_fails_is_named_and_tried_again(memory: Memory, model: Model) -> None:
    memory.learn(dreams=1)
    memory.write(changed(notes()))

    def fail(_: Request) -> ScriptedReply:
        return ModelRefusedError("busy")

    model.replies = {"synthesis": fail, "entities": fail, "question": fail}
    done = memory.dreams.refresh()
    assert set(outcomes(done).values()) <= {"failed", "waits"}
    assert {one.reason for one in done.stale if one.outcome == "failed"} == {"busy"}
    model.replies = {}
    memory.dreams.refresh()
    assert stale(memory) == set()


def test_only_what_is_asked_for_is_made_again_with_what_it_rests_on(memory: Memory) -> None:
    memory.learn(dreams=1)
    memory.write(changed(notes()))
    one = next(one for one in shown(memory).values() if getattr(one, "kind", "") == "synthesis")
    done = memory.dreams.refresh([one.id])
    assert one.id in {item.id for item in done.stale}
    assert len(done.stale) < len(shown(memory))
    with pytest.raises(NotFoundError):
        memory.dreams.refresh(["nobody"])


def test_what_changes_while_it_is_made_again_stays_stale(memory: Memory, model: Model) -> None:
    memory.learn(dreams=1)
    memory.write(changed(notes()))
    third = [replace(one, content=f"{one.content[:-1]}a again") for one in notes()]
    model.racer = Racer("synthesis")
    model.racer.change = lambda: memory.write(third) and None
    memory.dreams.refresh()
    quoted = {name for name, one in shown(memory).items() if "b" in "".join(facts(text(one)))}
    assert quoted
    assert quoted <= stale(memory)


def test_a_premise_that_replaced_another_is_read_in_its_place(memory: Memory) -> None:
    memory.learn(dreams=1)
    [insight] = [one for one in shown(memory).values() if getattr(one, "kind", "") == "synthesis"][
        :1
    ]
    premises = memory.admin.store.records.parents(insight.id)
    memory.write([one for one in changed(notes()) if one.id in premises])
    done = memory.dreams.refresh([insight.id])
    made = memory.get_resource(next(one.by for one in done.stale if one.id == insight.id))
    there = [memory.get_resource(id) for id in memory.admin.store.records.parents(made.id)]
    assert made.premises == premises_of(there)


def test_what_is_made_of_what_is_gone_is_retired_or_confirmed(
    memory: Memory, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_text("the tidb migration begins with a cluster of nine nodes fact9a\n")
    memory.read(page)
    memory.learn(dreams=1)
    own = memory.get_resource(
        next(one.id for one in memory.admin.store.records.all("resources") if one.name == "page")  # type: ignore[union-attr]
    )
    memory.write([Resource(id="own", name="Own", content="Nine nodes.", parents=(own.id,))])
    page.write_text("the tidb migration is over\n")
    memory.read(page)
    assert "Own" in stale(memory)
    done = memory.dreams.refresh()
    assert outcomes(done)["Own"] == "yours"
    assert "retired" in outcomes(done).values()
    assert stale(memory) == {"Own"}
    run = memory.confirm("own")
    assert stale(memory) == set()
    memory.runs.rollback(run.id)
    assert stale(memory) == {"Own"}
    memory.runs.rollback(done.run.id)
    assert stale(memory) > {"Own"}
    assert memory.admin.check() == []


def test_the_command_line_makes_again_and_confirms(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write(notes())
        memory.write([Resource(id="own", name="Own", content="Herons.", parents=("note0",))])
        memory.write(changed(notes()))

    def run(*words: str) -> str:
        done = CliRunner().invoke(program, [*words, "--home", str(tmp_path)])
        assert done.exit_code == 0, done.output
        return done.output

    assert "yours to mend or confirm" in run("refresh", "--dry-run")
    assert "note 0 changed" in run("refresh", "own").lower()
    assert "confirmed 1 record" in run("confirm", "own", "--by", "Ann")
    assert "nothing is stale" in run("refresh")
