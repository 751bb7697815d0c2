"""AS OF shows texts as they were, and nothing of what was forgotten."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from remloom import Entity, Memory, Moment, Person, Resource, Row
from remloom.errors import NotFoundError
from remloom.model import Record, SchemaDefinition
from remloom.runs.rollback import rollback
from remloom.runs.run import begin_run
from remloom.runs.writer import Writer
from remloom.serve.cli.app import program
from remloom.settings import Settings
from remloom.store import changes
from remloom.store.as_of import record_at
from remloom.store.copy import copy
from remloom.store.rules import merge, validation
from remloom.store.sqlite import SqliteStore

DAY = datetime(2024, 5, 1, tzinfo=UTC)
SECRET = "quagga"
LOCKS = SchemaDefinition(schema_name="locks", base_fields={"says": "string"})
TOLD = {
    "note": lambda says: Resource(id="it", name="It", content=says, trust="told"),
    "text of a source": lambda says: Resource(id="it", name="It", content=says, uri="remembered/1"),
    "insight": lambda says: Resource(id="it", name="It", content=says, parents=("premise",)),
    "moment": lambda says: Moment(id="it", name="It", starts_at=DAY, ends_at=DAY, summary=says),
    "dream": lambda says: Moment(
        id="it",
        name="It",
        summary=says,
        resource_refs=("premise",),
        metadata={"made_by": "model"},
    ),
    "row": lambda says: Row(schema="locks", handle="it", name="It", fields={"says": says}),
    "entity": lambda says: Entity(id="it", name="It", type="lock", summary=says),
}  # fmt: skip


@pytest.fixture(params=TOLD)
def make(request: pytest.FixtureRequest, memory: Memory) -> Any:
    memory.schemas.register(LOCKS)
    memory.write([Resource(id="premise", name="premise", content="Locks open and shut.")])
    return TOLD[request.param]


def written(memory: Memory, *records: Record) -> list[datetime]:
    """When each of these had been written, one after the other."""
    times = []
    for record in records:
        memory.write([record])
        times.append(datetime.now(UTC))
    return times


def shown(memory: Memory, at: datetime, label: str = "it") -> dict[str, Any]:
    (hit,) = memory.lookup(label, as_of=at).records
    return hit.as_dict()


def kept(memory: Memory) -> str:
    """All entries, as text."""
    kv = memory.admin.store.kv
    kinds = memory.admin.store.admin.stats().entries
    return str([(entry.key, entry.value, entry.refs) for kind in kinds for entry in kv.list(kind)])


def kept_changes(memory: Memory) -> int:
    return memory.admin.store.admin.stats().entries.get(changes.CHANGE, 0)


def test_each_version_is_shown_as_it_was(memory: Memory, make: Any) -> None:
    says = ("It is open.", "It is shut.", "It is gone.")
    times = written(memory, *map(make, says))
    for text, at in zip(says, times, strict=True):
        found = shown(memory, at)
        assert text in str(found)
        assert "written_later" not in found
    lineage = memory.history(memory.lookup("it").records[0].id)
    steps = [str(change.changed) for change in lineage.changes]
    assert ["It is shut." in step and "It is gone." in step for step in steps] == [True, False]
    assert [change.at for change in lineage.changes] == sorted(
        (change.at for change in lineage.changes), reverse=True
    )


def test_what_is_new_or_unchanged_keeps_nothing(memory: Memory, make: Any) -> None:
    written(memory, make("It is open."), make("It is open."))
    assert kept_changes(memory) == 0


def test_get_gives_what_was_or_says_that_it_is_not_kept(memory: Memory) -> None:
    note = Resource(id="it", name="It", content="open", created_at=DAY)
    moment = Moment(id="m", name="M", summary="open")
    (first, *_) = written(memory, note, replace(note, content="shut"))
    (second, *_) = written(memory, moment, replace(moment, summary="shut"))
    assert memory.get_resource("it", as_of=first).content == "open"
    assert memory.get_moment("m", as_of=second).summary == "open"
    with pytest.raises(NotFoundError, match="is not kept"):
        memory.get_resource("it", as_of=DAY)
    with pytest.raises(NotFoundError, match="was not there"):
        memory.get_resource("it", as_of=DAY - timedelta(days=1))


def test_it_is_found_by_the_name_that_it_had(memory: Memory) -> None:
    note = Resource(id="it", name="Draft", content="open")
    first, second = written(memory, note, replace(note, name="Final", content="shut"))
    assert shown(memory, first, "draft")["content"] == "open"
    assert memory.lookup("final", as_of=first).records == []
    assert memory.lookup("draft", as_of=second).records == []
    assert memory.lookup("draft").records == []


def test_every_field_is_as_it_was(memory: Memory) -> None:
    full = Resource(
        id="it",
        name="It",
        content="open",
        category="note",
        starts_at=DAY,
        language="en",
        related_entities=("Ann",),
        metadata={"speaker": "Ann", "n": 1, "deep": {"a": [1, 2.5]}},
    )
    other = Resource(id="it", name="It", content="shut", metadata={"n": True, "new": None})
    moment = Moment(
        id="m",
        name="M",
        starts_at=DAY,
        ends_at=DAY,
        present_persons=(Person(name="Ann", role="host"),),
        topic_tags=("locks",),
        summary="open",
    )
    first, _ = written(memory, full, other)
    second, _ = written(memory, moment, Moment(id="m", name="M"))
    for record, at in ((full, first), (moment, second)):
        was = memory.lookup(record.name, as_of=at).records[0].record
        for name in record.__struct_fields__:
            if name not in ("created_at", "updated_at", "content_hash"):
                assert getattr(was, name) == getattr(record, name), name


def test_what_was_read_again_keeps_nothing_of_what_it_said(memory: Memory) -> None:
    memory.read_text(f"# Doors\n\nThe code of the {SECRET} is 4711.", uri="doors.md")
    memory.read_text("# Doors\n\nThere is no code any more.", uri="doors.md")
    memory.read_text("Ann: the quagga?\nBob: Yes, the quagga.\n", uri="chat.txt")
    memory.read_text("Ann: the zebra?\nBob: Yes, the zebra.\n", uri="chat.txt")
    assert SECRET not in kept(memory)


@pytest.mark.parametrize("kind", ["file", "chat"])
def test_a_source_is_kept_as_it_was_where_that_is_asked_for(tmp_path: Path, kind: str) -> None:
    says = [f"It is {how}." for how in ("open", "shut", "gone")]
    texts = says if kind == "file" else [f"Ann: The door?\nBob: {one}\n" for one in says]
    uri = "door.md" if kind == "file" else "door.txt"
    settings = Settings(keep_versions=True)
    with Memory.open(tmp_path, embedder="none", settings=settings) as memory:
        times = []
        for text in texts:
            memory.read_text(text, uri=uri)
            times.append(datetime.now(UTC))
        place = memory.admin.store.records.chunks(uri)[-1]
        for text, at in zip(says, times, strict=True):
            assert text in memory.get_resource(place.id, as_of=at).content
            hits = memory.lookup(place.name, as_of=at).records
            (hit,) = [one for one in hits if one.id == place.id]
            assert (text in hit.content, hit.written_later) == (True, False)
        assert len(memory.history(place.id).changes) == 2
        assert memory.lookup(place.name, as_of=DAY).records == []
        assert memory.forget(uri).verified
        assert "shut" not in kept(memory)


def test_it_goes_with_its_record(memory: Memory, make: Any) -> None:
    written(memory, make(f"the {SECRET} is open"), make("It is shut."))
    assert SECRET in kept(memory)
    receipt = memory.forget(memory.lookup("it").records[0].id)
    assert receipt.verified
    assert SECRET not in kept(memory)
    assert memory.lookup("it", as_of=datetime.now(UTC)).records == []


@pytest.mark.parametrize("kind", ["insight", "dream"])
def test_it_goes_with_what_it_was_made_of(memory: Memory, kind: str) -> None:
    memory.write(
        [
            Resource(id="premise", name="premise", content=f"the {SECRET} sleeps"),
            Resource(id="other", name="other", content="the gnu sleeps"),
        ]
    )
    made = TOLD[kind](f"the {SECRET} sleeps")
    parts = {"parents": ("other",)} if kind == "insight" else {"resource_refs": ("other",)}
    again = replace(TOLD[kind]("the gnu sleeps"), **parts)
    (at, *_) = written(memory, made, again, replace(again, name="It again"))
    assert SECRET in str(shown(memory, at))
    receipt = memory.forget("premise")
    assert receipt.verified
    assert SECRET not in kept(memory)
    # what it said then is not there, and what it said next is told to be later
    found = shown(memory, at)
    assert ("gnu" in str(found), found["written_later"]) == (True, True)


def test_nothing_is_kept_of_what_was_made_of_a_line_that_was_cut(memory: Memory) -> None:
    memory.read_text(f"The {SECRET} sleeps. The gnu eats.", uri="zoo.md")
    (old,) = memory.admin.store.records.chunks("zoo.md")
    insight = Resource(id="it", name="It", content=f"{SECRET}s sleep", parents=(old.id,))
    moment = Moment(id="m", name="M", summary=f"{SECRET}s sleep", resource_refs=(old.id,))
    memory.write([insight, replace(moment, metadata={"made_by": "model"})])
    memory.read_text("The gnu eats.", uri="zoo.md")
    (new,) = memory.admin.store.records.chunks("zoo.md")
    memory.write(
        [
            replace(insight, content="gnus eat", parents=(new.id,)),
            replace(moment, summary="gnus eat", resource_refs=(new.id,)),
        ]
    )
    assert SECRET not in kept(memory)


def test_expiry_keeps_nothing_and_sweeps_what_was(memory: Memory, make: Any) -> None:
    written(memory, make(f"the {SECRET} is open"), make("It is shut."))
    before = kept_changes(memory)
    (hit,) = memory.lookup("it").records
    memory.admin.set_expiry([hit.id], datetime.now(UTC) + timedelta(hours=1))
    assert kept_changes(memory) == before
    memory.admin.set_expiry([hit.id], datetime.now(UTC))
    assert memory.admin.sweep().verified
    assert SECRET not in kept(memory)


def test_two_changes_at_one_reading_of_the_clock_are_two(
    memory: Memory, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Frozen(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return DAY

    monkeypatch.setattr(validation, "datetime", Frozen)
    monkeypatch.setattr(changes, "now", lambda: 0)
    says = ("It is open.", "It is shut.", "It is gone.")
    memory.write([make(says[0])])
    for text in says[1:]:
        memory.write([make(text)])
    for number, text in enumerate(says):
        assert text in str(shown(memory, DAY + number * timedelta(microseconds=1)))


def test_of_many_versions_the_newest_are_kept(
    memory: Memory, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "KEPT", 3)
    times = written(memory, *(make(f"It is {number}.") for number in range(6)))
    said = [shown(memory, at) for at in times]
    assert [f"It is {n}." in str(one) for n, one in enumerate(said)] == [False, False] + [True] * 4
    assert [one.get("written_later", False) for one in said] == [True, True] + [False] * 4
    assert "It is 2." in str(said[0])


def test_what_a_rollback_puts_back_was_what_the_run_made_of_it(memory: Memory) -> None:
    store = memory.admin.store
    note = Resource(id="it", name="It", content="as it was", parents=("premise",))
    memory.write([Resource(id="premise", name="premise", content="p"), note])
    before = datetime.now(UTC)
    writer = Writer(store, "tenant", begin_run(store, "dream", {}))
    writer.write(["premise"], [replace(note, content="by a run")])
    writer.finish()
    between = datetime.now(UTC)
    rollback(store, writer.id)
    after = datetime.now(UTC)
    said = [shown(memory, at)["content"] for at in (before, between, after)]
    assert said == ["as it was", "by a run", "as it was"]


def test_an_import_over_what_is_there_keeps_what_was(memory: Memory, tmp_path: Path) -> None:
    with Memory.open(tmp_path / "other", embedder="none") as other:
        other.write([Resource(id="it", name="It", content="imported", created_at=DAY)])
        other.admin.export(tmp_path / "memory.jsonl")
    (at,) = written(memory, Resource(id="it", name="It", content="its own"))
    memory.admin.import_(tmp_path / "memory.jsonl")
    assert shown(memory, at)["content"] == "its own"
    assert shown(memory, datetime.now(UTC))["content"] == "imported"


def test_a_copy_has_what_was_and_an_export_has_not(memory: Memory, tmp_path: Path) -> None:
    times = written(memory, *(Resource(id="it", name="It", content=one) for one in ("a", "b")))
    store = memory.admin.store
    target = SqliteStore(tmp_path / "copy.db", None)
    copy(store, target, origin="test")
    now = target.records.get(None, "it")
    assert now is not None
    was = record_at(target, now, times[0])
    assert isinstance(was, Resource)
    assert was.content == "a"
    target.close()
    memory.admin.export(tmp_path / "memory.jsonl")
    assert '"a"' not in (tmp_path / "memory.jsonl").read_text()


@pytest.mark.parametrize("seed", range(4))
def test_as_of_any_time_is_what_was_read_then(memory: Memory, make: Any, seed: int) -> None:
    chance = random.Random(seed)
    read: list[tuple[datetime, Record]] = []
    for _ in range(25):
        record = make(chance.choice(("open", "shut", "gone", "")))
        if chance.random() < 0.3:
            free = "properties" if isinstance(record, Entity) else "metadata"
            values = {chance.choice("ab"): chance.choice((1, True, 1.0, "x", None))}
            record = replace(record, **{free: {**getattr(record, free), **values}})
        if not isinstance(record, Row) and chance.random() < 0.3:
            record = replace(
                record, name="It", **({"aliases": ("I.",)} if isinstance(record, Entity) else {})
            )
        memory.write([record])
        read.append((datetime.now(UTC), memory.lookup("it").records[0].record))
    for at, record in read:
        past = memory.lookup("it", as_of=at).records[0].record
        # when it was written is told of the state, not of touches that changed nothing
        assert changes.facts_of(past) == changes.facts_of(record)
        assert merge.same_json(changes.facts_of(past), changes.facts_of(record))


def test_the_command_line_tells_versions_as_a_diff(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        for says in ("The door\nis open.", "The door\nis shut."):
            memory.write([Resource(id="it", name="It", content=says)])
    result = CliRunner().invoke(program, ["history", "it", "--home", str(tmp_path)])
    assert result.exit_code == 0, result.output
    lines = [line.strip() for line in result.output.splitlines()]
    assert any(line.startswith("- is open.") for line in lines)
    assert any(line.startswith("+ is shut.") for line in lines)


def superseded(memory: Memory, reason: str, since: datetime | None = None) -> datetime:
    """Let a text take the place of another, as somebody says; return when that was."""
    at = datetime.now(UTC)
    old = memory.get_resource("old")
    mark = {"by": "new", "reason": reason, "since": since or at, "at": at, "content": old.content}
    mark = msgspec.to_builtins(mark)
    items = [
        replace(old, content="", metadata={"superseded": mark}),
        Resource(id="new", name="Seat", content="It is in Ribe.", metadata={"replaces": "old"}),
    ]
    memory.admin.store.write(validation.build(items, tenant="t", model=""))
    return datetime.now(UTC)


SEAT = Resource(id="old", name="Seat", content="It is in Aarhus.")


def test_what_will_change_is_shown_until_then(memory: Memory) -> None:
    (before,) = written(memory, SEAT)
    said = superseded(memory, "changed", datetime.now(UTC) + timedelta(hours=1))
    for at, contents in (
        (before, ["It is in Aarhus."]),
        (said, ["It is in Aarhus.", "It is in Ribe."]),
        (said + timedelta(hours=2), ["It is in Ribe."]),
    ):
        assert sorted(hit.content for hit in memory.lookup("seat", as_of=at).records) == contents


def test_what_had_changed_before_it_was_said_is_shown_from_then(memory: Memory) -> None:
    (before,) = written(memory, SEAT)
    since = datetime.now(UTC)
    (between,) = written(memory, Resource(name="other", content="o"))
    said = superseded(memory, "changed", since)
    for at, content in ((before, "Aarhus"), (between, "Ribe"), (said, "Ribe")):
        found = shown(memory, at, "seat")
        assert content in found["content"]
        assert not {"written_later", "retracted_at"} & found.keys()


def test_what_was_wrong_is_shown_before_that_was_said_with_when_that_was(memory: Memory) -> None:
    (before,) = written(memory, SEAT)
    said = superseded(memory, "wrong")
    found = shown(memory, before, "seat")
    assert "Aarhus" in found["content"]
    assert before < datetime.fromisoformat(found["retracted_at"]) < said
    (new,) = memory.lookup("seat", as_of=said).records
    assert (new.content, new.retracted_at) == ("It is in Ribe.", None)
    assert "Aarhus" in memory.get_resource("old", as_of=before).content
    assert memory.forget("old").verified
    assert "Aarhus" not in kept(memory)


@pytest.mark.parametrize("is_circle", [False, True], ids=["line", "circle"])
def test_a_long_line_of_texts_ends_and_a_circle_too(memory: Memory, is_circle: bool) -> None:
    at, count = DAY.isoformat(), 1_200
    texts = []
    for number in range(count):
        marks: dict[str, Any] = {}
        if number or is_circle:
            marks["replaces"] = f"it{(number - 1) % count}"
        if number < count - 1 or is_circle:
            by = f"it{(number + 1) % count}"
            marks["superseded"] = {"by": by, "reason": "changed", "since": at, "at": at}
        # metadata is its writer's: it may say anything
        texts.append(Resource(id=f"it{number}", content=f"Edition {number}.", metadata=marks))
    memory.write(texts)
    now = datetime.now(UTC)
    assert memory.get_resource(f"it{count - 1}", as_of=now)
    found = memory.recall("Which edition?", as_of=DAY, abstain=False).hits
    assert found == []
