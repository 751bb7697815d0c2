from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fake_database import FakeDatabase, plan_of, table
from following import Follower, contents
from msgspec.structs import replace

NOTES = table("notes", "id integer, name string, changed datetime?", indexed=(("changed",),))
NOW = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def notes() -> FakeDatabase:
    return FakeDatabase([NOTES], {"notes": [(n, f"Note {n}", NOW) for n in range(10)]})


@pytest.fixture
def follower(tmp_path: Path, notes: FakeDatabase) -> Iterator[Follower]:
    plan = plan_of([NOTES])
    marked = replace(plan, tables=(replace(plan.tables[0], watermark="changed"),))
    with Follower(tmp_path / "home", notes, marked) as follower:
        yield follower


def _sync(follower: Follower, notes: FakeDatabase) -> bool:
    """Sync, and say whether it went by the watermark alone."""
    notes.read_by.clear()
    follower.sync()
    return notes.read_by == [("id",), ("changed", "id")]


def _prove(follower: Follower, notes: FakeDatabase) -> None:
    follower.sync()
    notes.data["notes"][0] = (0, "Changed", NOW + DAY)
    follower.sync()


def test_a_watermark_is_relied_on_once_it_proved_itself(
    follower: Follower, notes: FakeDatabase
) -> None:
    _prove(follower, notes)
    notes.data["notes"][1] = (1, "Changed too", NOW + 2 * DAY)
    del notes.data["notes"][2]
    notes.data["notes"].append((20, "New", NOW + 3 * DAY))
    assert _sync(follower, notes)
    names = {row.name for row in follower.rows("notes")}
    assert names == {"Changed", "Changed too", "New", *(f"Note {n}" for n in range(3, 10))}


def test_a_new_row_that_is_not_behind_the_watermark_is_found(
    follower: Follower, notes: FakeDatabase
) -> None:
    _prove(follower, notes)
    notes.data["notes"] += [(30, "Without", None), (31, "Old", NOW - 9 * DAY)]
    assert not _sync(follower, notes)
    assert {"Without", "Old"} <= {row.name for row in follower.rows("notes")}


def test_a_watermark_that_misses_a_change_is_not_relied_on(
    follower: Follower, notes: FakeDatabase
) -> None:
    follower.sync()
    notes.data["notes"][0] = (0, "Changed", NOW + DAY)
    notes.data["notes"][1] = (1, "Changed without a trace", NOW - 9 * DAY)
    follower.sync()
    notes.data["notes"][2] = (2, "Changed again", NOW - 9 * DAY)
    assert not _sync(follower, notes)
    assert "Changed again" in {row.name for row in follower.rows("notes")}


def test_every_tenth_sync_reads_all_rows(follower: Follower, notes: FakeDatabase) -> None:
    _prove(follower, notes)
    notes.data["notes"][5] = (5, "Unseen", NOW - 9 * DAY)
    quick = [_sync(follower, notes) for _ in range(10)]
    assert quick == [True] * 9 + [False]
    assert "Unseen" in {row.name for row in follower.rows("notes")}


def test_by_the_watermark_it_holds_what_a_fresh_ingest_holds(
    follower: Follower, notes: FakeDatabase, tmp_path: Path
) -> None:
    _prove(follower, notes)
    notes.data["notes"][3] = (3, "Note 4", NOW + 2 * DAY)
    assert _sync(follower, notes)
    with Follower(tmp_path / "fresh", notes, plan_of([NOTES])) as fresh:
        fresh.sync()
        names = [row[:4] for row in contents(fresh.memory)["rows"]]
    assert [row[:4] for row in contents(follower.memory)["rows"]] == names
