"""What expires: gone from every answer at once, and erased by the sweep."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from remloom import Edge, Entity, Home, Memory, Moment, Query, Resource
from remloom.errors import InvalidInputError, NotFoundError
from remloom.serve.cli.app import program
from remloom.store.encoding import micros
from remloom.store.sqlite.file.database import migrations
from remloom.testing.disk import on_disk
from remloom.testing.embedder import WordEmbedder

SECRET = "quibbleworth"
HOUR = timedelta(hours=1)


class Clock:
    """The time by which records expire, set by hand."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.at = datetime.now(UTC)
        patch.setattr("remloom.store.encoding.time_ns", lambda: (micros(self.at) or 0) * 1000)

    def after(self, hours: int) -> datetime:
        return self.at + hours * HOUR


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory.open(tmp_path, embedder=WordEmbedder())


def fill(memory: Memory, at: datetime) -> str:
    """Write a note that expires, with what was made of it, beside one that lasts."""
    note, _, derived = memory.write(
        [
            Resource(name="note", content=f"Sarah paid with {SECRET} money.", expires_at=at),
            Resource(name="other", content="Sarah drinks tea.", uri="other.md"),
            Resource(id="d", name="insight", content=f"It is {SECRET}.", trust="derived"),
        ]
    )
    memory.write(
        [
            Resource(
                id=derived, name="insight", content=f"It is {SECRET}.", generation=1,
                parents=(note,),
            ),
            Moment(name="paid", starts_at=datetime(2026, 1, 5, tzinfo=UTC), resource_refs=(note,)),
            Edge(src="note", rel_type="mentions", dst="Sarah"),
        ]
    )  # fmt: skip
    memory.embed_pending()
    return note


def test_no_answer_has_what_has_expired(memory: Memory, clock: Clock) -> None:
    with memory:
        note = fill(memory, clock.after(1))
        question = "What did Sarah pay with?"
        assert note in {hit.record.id for hit in memory.recall(question).hits}
        clock.at = clock.after(1)
        with pytest.raises(NotFoundError):
            memory.get_resource(note)
        assert memory.lookup("note").records == []
        assert memory.fuzzy("note", threshold=0.9).records == []
        assert note not in {hit.record.id for hit in memory.recall(question).hits}
        assert "Sarah paid" not in memory.context(question)
        assert note not in {hit.record.id for hit in memory.search(question).records}
        assert "note" not in {found.name for found in memory.query_resources(Query())}
        assert ("note",) not in memory.sql("SELECT name FROM resources").rows
        answer = memory.query("TRAVERSE WITH LOOKUP Sarah DIRECTION both")
        assert [node["name"] for node in answer.nodes] == ["Sarah"]
        with pytest.raises(NotFoundError):
            memory.admin.describe("note")


def test_the_sweep_erases_what_has_expired_and_what_was_made_of_it(
    memory: Memory, clock: Clock, tmp_path: Path
) -> None:
    with memory:
        note = fill(memory, clock.after(1))
        assert memory.admin.sweep().records == 0
        clock.at = clock.after(1)
        receipt = memory.admin.sweep()
        assert (receipt.records, receipt.derived, receipt.verified) == (2, 1, True)
        assert {note, "d"} <= set(receipt.ids)
        assert memory.get_moments_by_type("")[0].resource_refs == ()
        assert memory.lookup("other").records
        assert memory.admin.check() == []
        assert memory.admin.sweep().records == 0
    assert SECRET.encode() not in on_disk(tmp_path)


def test_a_sweep_goes_on_where_it_was_broken_off(
    memory: Memory, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remloom.engine.writing._SWEPT", 2)
    with memory:
        memory.write([Entity(name=f"e{n}", expires_at=clock.after(n)) for n in range(1, 10)])
        clock.at = clock.after(7)
        assert memory.admin.stats().expired == 7
        assert memory.admin.sweep(limit=1).records == 1
        assert memory.admin.sweep(limit=3).records == 3
        receipt = memory.admin.sweep()
        assert (receipt.records, len(receipt.ids), receipt.verified) == (3, 3, True)
        assert {record.name for record in memory.admin.records()} == {"e8", "e9"}
        with pytest.raises(InvalidInputError):
            memory.admin.sweep(limit=0)


def test_when_a_record_expires_can_be_set_moved_and_removed(memory: Memory, clock: Clock) -> None:
    with memory:
        ids = memory.write([Resource(name=f"n{n}", content=f"tea {n}") for n in range(3)])
        memory.embed_pending()
        before = memory.get_resource(ids[0])
        # any time zone will do
        at = clock.after(1).astimezone(tz=None)
        assert memory.admin.set_expiry(ids, at) == 3
        assert memory.get_resource(ids[0]).expires_at == at
        assert memory.admin.set_expiry(ids[:2], clock.after(5)) == 2
        assert memory.admin.set_expiry([ids[0], "nobody"], None) == 1
        found = memory.get_resource(ids[0])
        assert replace(found, revision=before.revision) == before
        assert memory.admin.stats().pending == 0
        clock.at = clock.after(2)
        assert {record.name for record in memory.admin.records()} == {"n0", "n1"}
        assert memory.admin.set_expiry([ids[2]], None) == 0
        for wrong in ("id", [1], None, {"a": 1}):
            with pytest.raises(InvalidInputError, match="list of texts"):
                memory.admin.set_expiry(wrong, None)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match="time zone"):
            memory.admin.set_expiry(ids, datetime(2026, 1, 1))


def test_a_time_without_a_zone_is_refused(memory: Memory) -> None:
    with memory, pytest.raises(InvalidInputError, match=r"expires_at .* has no time zone"):
        memory.write([Entity(name="a", expires_at=datetime(2026, 1, 1))])


def test_what_is_brought_elsewhere_expires_there(
    memory: Memory, clock: Clock, tmp_path: Path
) -> None:
    with memory, Memory.open(tmp_path / "other", embedder="none") as other:
        soon, later = clock.after(1), clock.after(2)
        memory.write([Entity(name="soon", expires_at=soon), Entity(name="later", expires_at=later)])
        clock.at = soon
        # what has expired by then does not leave the house
        assert memory.admin.export(tmp_path / "all.jsonl").records == 1
        other.admin.import_(tmp_path / "all.jsonl")
        (record,) = other.lookup("later").records
        assert record.record.expires_at == later
        clock.at = later
        assert other.lookup("later").records == []
        assert other.admin.sweep().records == 1


def test_a_copy_has_what_expired_and_can_sweep_it(
    memory: Memory, clock: Clock, tmp_path: Path
) -> None:
    with memory:
        note = fill(memory, clock.after(1))
        memory.admin.set_expiry([note], clock.at)
    Home(tmp_path).copy(tmp_path / "copy")
    with Memory.open(tmp_path / "copy", embedder=WordEmbedder(), create=False) as copied:
        assert copied.lookup("note").records == []
        assert copied.lookup("insight").records
        assert copied.admin.sweep().records == 2
        assert copied.lookup("insight").records == []
        assert copied.admin.check() == []


def test_a_memory_from_before_there_was_expiry_is_opened(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as past:
        older = [step for step in migrations() if step[0] < 8]
        past.setattr("remloom.store.sqlite.file.database.migrations", lambda: older)
        Memory.open(tmp_path, embedder="none").close()
    with Memory.open(tmp_path, embedder="none") as memory:
        (id,) = memory.write([Entity(name="Ann", expires_at=clock.after(1))])
        clock.at = clock.after(1)
        assert memory.lookup("Ann").records == []
        assert memory.admin.sweep().ids == (id,)


def test_what_changed_hands_keeps_its_past_apart(memory: Memory, clock: Clock) -> None:
    with memory:
        memory.write([Entity(name="Ann", type="person", summary=SECRET, expires_at=clock.after(1))])
        memory.write([Entity(name="Ann", type="person", properties={"age": 4})])
        clock.at = clock.after(1)
        (id,) = memory.write([Entity(name="Ann", type="person", summary="Another.")])
        assert SECRET not in str(memory.history(id).as_dict())
        assert memory.get_entity(id).expires_at is None


def test_a_job_and_a_command_sweep(clock: Clock, tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write([Entity(name=f"e{n}", expires_at=clock.after(1)) for n in range(3)])
        clock.at = clock.after(1)
        memory.jobs.add("sweep", {"limit": 1})
        memory.jobs.work(until_idle=True)
        (job,) = memory.jobs.list()
        assert (job.state, job.result["records"]) == ("done", 1)
    run = CliRunner().invoke(program, ["--home", str(tmp_path), "--json", "sweep"])
    assert (run.exit_code, json.loads(run.output)["records"]) == (0, 2)
    run = CliRunner().invoke(program, ["--home", str(tmp_path), "sweep"])
    assert (run.exit_code, run.output.strip()) == (0, "nothing has expired")


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.none() | st.integers(-1, 6)), max_size=12),
    st.lists(st.integers(0, 2), min_size=1, max_size=4),
)
def test_of_many_records_those_are_found_whose_time_has_not_come(
    tmp_path_factory: pytest.TempPathFactory,
    writes: list[tuple[int, int | None]],
    steps: list[int],
) -> None:
    with (
        pytest.MonkeyPatch.context() as patch,
        Memory.open(tmp_path_factory.mktemp("home"), embedder="none") as memory,
    ):
        clock = Clock(patch)
        model: dict[str, datetime | None] = {}
        for number, hours in writes:
            at = None if hours is None else clock.after(hours)
            memory.write(
                [
                    Resource(
                        id=f"id{number}", name=f"n{number}", content=f"tea {number}", expires_at=at
                    )
                ]
            )
            model[f"n{number}"] = at
        for step in steps:
            clock.at = clock.after(step)
            there = {name for name, at in model.items() if at is None or at > clock.at}
            assert {r.name for r in memory.query_resources(Query())} == there
            assert {hit.record.name for hit in memory.search_text("tea", limit=20).records} == there
            assert {name for name in model if memory.lookup(name).records} == there
            if step == 2:
                swept = memory.admin.sweep()
                assert swept.records == len(model) - len(there)
                model = {name: model[name] for name in there}
