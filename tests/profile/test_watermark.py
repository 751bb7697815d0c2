"""A scan looks at what is new since the last one, at the cost of that, and misses nothing."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from remloom import Memory, Message, Resource
from remloom.errors import ConflictError, ModelRefusedError
from remloom.llm import Request
from remloom.profile.evidence import passages as scanned
from remloom.profile.evidence.passages import SEEN, passage_of
from remloom.settings import Settings
from remloom.testing.models import ScriptedModel, ScriptedReply

OCTOBER = datetime(2026, 10, 1, 9, tzinfo=UTC)
CITIES = [f"Town{n}" for n in range(30)]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder="none") as memory:
        yield memory


def say(memory: Memory, text: str, uri: str, at: datetime = OCTOBER) -> None:
    memory.read_chat([Message(speaker="user", text=text, at=at)], uri=uri)


def looked_at(memory: Memory, **options: Any) -> int:
    return memory.profile.observe(**options).run.counts.get("passages", 0)


@pytest.fixture
def listed(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """The names of the passages that were listed since this was called last."""
    names: list[str] = []
    records: Any = memory.admin.store.records
    whole = records.texts_after

    def texts_after(number: int, limit: int) -> list[tuple[int, Any]]:
        texts = whole(number, limit)
        # a chat has moments too
        names.extend(record.name for _, record in texts if isinstance(record, Resource))
        return texts

    monkeypatch.setattr(records, "texts_after", texts_after)

    def taken() -> list[str]:
        told = names[:]
        names.clear()
        return told

    return taken


def test_only_what_is_new_is_listed_whenever_it_was_said(
    memory: Memory, listed: Callable[[], list[str]]
) -> None:
    for n, city in enumerate(CITIES):
        say(memory, f"I love {city}.", f"{n}.json")
    assert looked_at(memory) == 30
    assert len(listed()) == 30
    assert looked_at(memory) == 0
    assert listed() == []
    # long before all others
    say(memory, "I live in Rome.", "old.json", OCTOBER - timedelta(9_000))
    assert looked_at(memory) == 1
    assert len(listed()) == 1


def test_what_another_process_read_is_looked_at(memory: Memory, tmp_path: Path) -> None:
    say(memory, "I live in Rome.", "a.json")
    assert looked_at(memory) == 1
    with Memory.open(tmp_path, embedder="none") as other:
        say(other, "I live in Oslo.", "b.json", OCTOBER + timedelta(1))
        assert looked_at(other) == 1
    say(memory, "I live in Bonn.", "c.json", OCTOBER + timedelta(2))
    assert looked_at(memory) == 1
    assert memory.profile.show().values("environment.location_region") == ["Bonn"]


def test_what_was_forgotten_and_is_read_again_is_looked_at_again(memory: Memory) -> None:
    say(memory, "I live in Rome.", "a.json")
    looked_at(memory)
    memory.forget("a.json")
    assert looked_at(memory) == 0
    say(memory, "I live in Rome.", "a.json")
    assert looked_at(memory) == 1
    assert memory.profile.show().values("environment.location_region") == ["Rome"]


def test_what_a_scan_found_that_was_taken_back_is_found_by_the_next_one(memory: Memory) -> None:
    say(memory, "I live in Rome.", "a.json")
    first = memory.profile.observe().run
    say(memory, "I'm allergic to peanuts.", "b.json")
    assert looked_at(memory) == 1
    memory.runs.rollback(first.id)
    assert looked_at(memory) == 1
    assert len(memory.profile.beliefs()) == 2
    assert looked_at(memory) == 0


def test_a_text_that_is_taken_for_something_else_is_looked_at(memory: Memory) -> None:
    memory.read_text("I live in Rome.", uri="me.md", category="document")
    assert looked_at(memory) == 0, "a document is anybody's"
    (text,) = memory.admin.records("resources")
    memory.write([replace(text, category="note")])
    assert looked_at(memory) == 1
    assert memory.profile.show().values("environment.location_region") == ["Rome"]


@pytest.mark.parametrize("most_open", [1_000, 3])
def test_what_a_limit_left_is_looked_at_later_and_nothing_twice(
    memory: Memory,
    listed: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    most_open: int,
) -> None:
    monkeypatch.setattr(scanned, "_MOST_OPEN", most_open)
    for n, city in enumerate(CITIES):
        # the first that is read is the newest: numbers and times go against each other
        say(memory, f"I love {city}.", f"{n}.json", OCTOBER - timedelta(n))
    scans = []
    while count := looked_at(memory, limit=8):
        scans.append(count)
        if len(scans) < 3:
            say(memory, f"I love {CITIES[len(scans)]}.", f"new-{len(scans)}.json")
    assert sum(scans) == 32
    listed()
    assert looked_at(memory) == 0
    assert listed() == []


@pytest.mark.parametrize("forgotten", ["before it is written", "before the next", "after it"])
def test_what_waits_and_is_forgotten_is_named_nowhere_and_the_others_are_looked_at(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, forgotten: str
) -> None:
    for n in range(6):
        say(memory, f"I love {CITIES[n]}.", f"{n}.json", OCTOBER - timedelta(n))
    waiting = [
        text.id for text in memory.admin.records("resources") if text.uri in ("4.json", "5.json")
    ]
    entries: Any = memory.admin.store.kv
    put = entries.put

    def late(*arguments: Any, **named: Any) -> None:
        monkeypatch.setattr(entries, "put", put)
        memory.forget("4.json", "5.json")
        put(*arguments, **named)

    if forgotten == "before it is written":
        monkeypatch.setattr(entries, "put", late)
    assert looked_at(memory, limit=3) == 3
    if forgotten == "before the next":
        memory.forget("4.json", "5.json")
    if forgotten == "after it":
        assert looked_at(memory, limit=1) == 1
        memory.forget("4.json", "5.json")
    kept = b"".join(entry.value for entry in entries.list(scanned.TEXT_NUMBERS))
    assert waiting
    assert not any(id.encode() in kept for id in waiting)
    assert looked_at(memory) == (0 if forgotten == "after it" else 1)
    say(memory, "I love Narvik.", "new.json")
    assert looked_at(memory) == 1


def test_a_passage_whose_call_failed_is_tried_again_without_looking_at_the_others(
    tmp_path: Path,
) -> None:
    failing = True

    def reply(request: Request) -> ScriptedReply:
        if failing:
            raise ModelRefusedError("no answer")
        return {"items": []}

    with Memory.open(tmp_path, embedder="none", llm=ScriptedModel(reply)) as memory:
        say(memory, "I live in Rome.", "a.json")
        assert len(memory.profile.observe().failed) == 1
        failing = False
        done = memory.profile.observe()
        assert (done.failed, done.run.counts["asked"]) == ((), 1)
        assert memory.profile.observe().run.counts.get("asked", 0) == 0


def test_everything_is_looked_at_anew_and_a_copy_begins_from_the_start(
    memory: Memory, tmp_path: Path
) -> None:
    say(memory, "I live in Rome.", "a.json")
    assert looked_at(memory) == 1
    assert memory.profile.bootstrap().run.counts["passages"] == 1
    memory.admin.export(tmp_path / "all.jsonl")
    with Memory.open(tmp_path / "other", embedder="none") as other:
        say(other, "I'm vegetarian.", "b.json")
        assert looked_at(other) == 1
        other.admin.import_(tmp_path / "all.jsonl")
        assert looked_at(other) == 0, "it was looked at where it comes from"
        assert len(other.profile.beliefs()) == 2


@pytest.mark.parametrize("seed", range(int(os.environ.get("REMLOOM_TEST_SCANS", "3"))))
def test_nothing_is_missed_whatever_happens_between_scans(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(scanned, "_MOST_OPEN", 3)
    choose = random.Random(seed)
    store = memory.admin.store

    def passages() -> list[Resource]:
        records = (one for one in store.records.all("resources") if isinstance(one, Resource))
        return [one for one in records if passage_of(one, Settings()) is not None]

    def read() -> None:
        at = OCTOBER + timedelta(choose.uniform(-900, 900))
        say(memory, f"I live in {choose.choice(CITIES)}.", f"{choose.randrange(9)}.json", at)

    def forget() -> None:
        if there := passages():
            memory.forget(choose.choice(there).id)

    def edit() -> None:
        name = f"note {choose.randrange(4)}"
        category = choose.choice(["note", "document"])
        memory.read_text(f"I live in {choose.choice(CITIES[:2])}.", uri=name, category=category)

    def roll_back() -> None:
        runs = [run for run in memory.runs.list("observe") if run.status == "done"]
        if runs:
            with suppress(ConflictError):
                memory.runs.rollback(choose.choice(runs).id)

    def scan() -> None:
        memory.profile.observe(limit=choose.choice([None, 1, 2]))

    for _ in range(14):
        choose.choice([read, read, forget, edit, roll_back, scan, scan])()
    memory.profile.observe()
    seen = {entry.refs[0] for entry in store.kv.list(SEEN)}
    assert {one.id for one in passages()} <= seen
