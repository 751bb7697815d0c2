"""What was made of something that says something else by now is told to be stale, until it is put back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from remloom import Entity, Memory, Moment, Resource, Row
from remloom.model import Field, Record, SchemaDefinition
from remloom.model.premises import Stale, premises_of
from remloom.operations.tools.lookup import SHOW
from remloom.runs.rollback import rollback
from remloom.runs.run import begin_run
from remloom.runs.writer import Writer
from remloom.serve.cli.app import program
from remloom.sql.writer import MANY
from remloom.store.encoding import micros
from remloom.store.premises import find_stale
from remloom.store.rules.validation import build
from steps import steps

NOTE = Resource(id="note", name="note", content="The heron nests at the weir.", uri="notes.md")
CHANGED = replace(NOTE, content="The heron nests at the mill.")
CHAIN = ("insight", "dream", "summary", "overview")  # each of the one before


def made_of(id: str, *parents: str) -> Resource:
    return Resource(id=id, name=id, content=f"{id}: herons like weirs.", parents=parents)


def fill(memory: Memory) -> None:
    memory.write([NOTE])
    for id, parent in zip(CHAIN, ("note", *CHAIN), strict=False):
        memory.write([made_of(id, parent)])


def begun(memory: Memory) -> Writer:
    store = memory.admin.store
    return Writer(store, "tenant", begin_run(store, "dream", {}))


def stale(memory: Memory, *ids: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Why records are stale: the reason, and the way down to the premise."""
    found = find_stale(memory.admin.store.records, ids or CHAIN)
    return {id: (one.reason, one.path) for id, one in found.items()}


def test_it_is_at_any_depth_until_the_premise_is_put_back(memory: Memory) -> None:
    fill(memory)
    assert stale(memory) == {}
    memory.write([CHANGED])
    below = ("overview", "summary", "dream", "insight", "note")
    assert stale(memory) == {
        "insight": ("changed", below[4:]),
        "dream": ("below", below[3:]),
        "summary": ("below", below[2:]),
        "overview": ("below", below[1:]),
    }
    memory.write([NOTE])
    assert stale(memory) == {}


def test_a_touch_of_a_premise_makes_nothing_stale(memory: Memory) -> None:
    fill(memory)
    memory.write([replace(NOTE, metadata={"seen": 1}, related_entities=("Bob",), language="en")])
    memory.write([NOTE])
    assert stale(memory) == {}


def test_a_touch_costs_the_same_whatever_rests_on_it(tmp_path: Path) -> None:
    taken = []
    for count in (5, 500):
        with Memory.open(tmp_path, tenant=f"of-{count}", embedder="none") as memory:
            memory.write([NOTE])
            memory.write([made_of(f"i{number}", "note") for number in range(count)])
            memory.write([replace(NOTE, language="en")])
            with steps(memory) as found:
                memory.write([replace(NOTE, category="birds")])
            taken.append(found.all)
    assert taken[1] < 25 * taken[0]  # it is looked for evidence among them, and no more


def test_a_select_takes_more_that_is_stale_than_a_statement_takes_values(memory: Memory) -> None:
    memory.write([NOTE])
    memory.write([made_of(f"i{number}", "note") for number in range(MANY + 1)])
    memory.write([CHANGED])
    (counts,) = memory.query(
        "SELECT count(*) FILTER (WHERE stale), count(*) FILTER (WHERE NOT stale) FROM resources"
    ).rows
    assert list(counts.values() if isinstance(counts, dict) else counts) == [MANY + 1, 1]


def test_who_says_it_again_of_what_there_is_now_ends_it(memory: Memory) -> None:
    fill(memory)
    memory.write([CHANGED])
    memory.write([made_of("insight", "note")])
    assert stale(memory) == {}


def test_taking_back_a_run_that_changed_a_premise_heals(memory: Memory) -> None:
    fill(memory)
    writer = begun(memory)
    writer.write(["note"], [CHANGED])
    writer.finish()
    assert stale(memory, "insight") == {"insight": ("changed", ("note",))}
    rollback(memory.admin.store, writer.id)
    assert stale(memory) == {}


def test_what_a_run_makes_without_saying_what_it_read_is_not_told_stale(memory: Memory) -> None:
    fill(memory)
    writer = begun(memory)
    quoted = replace(made_of("quoted", "note"), premises=premises_of([NOTE]))
    writer.write(["note"], [quoted, made_of("unquoted", "note")])
    writer.finish()
    assert stale(memory, "quoted", "unquoted") == {}
    memory.write([CHANGED])
    assert stale(memory, "quoted", "unquoted") == {"quoted": ("changed", ("note",))}


def test_a_premise_that_changed_while_a_run_was_thinking_makes_it_stale_at_once(
    memory: Memory,
) -> None:
    fill(memory)
    writer = begun(memory)
    quoted = premises_of([NOTE])
    memory.write([CHANGED])
    writer.write(["note"], [replace(made_of("late", "note"), premises=quoted)])
    assert stale(memory, "late") == {"late": ("changed", ("note",))}


def test_it_is_by_the_clock_once_a_premise_expires(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = datetime.now(UTC)
    monkeypatch.setattr("remloom.store.encoding.time_ns", lambda: (micros(at) or 0) * 1000)
    fill(memory)
    until = at + timedelta(hours=1)
    memory.admin.set_expiry(["note"], until)
    assert stale(memory) == {}
    at = until
    assert find_stale(memory.admin.store.records, ["insight", "dream"]) == {
        "insight": Stale(reason="expired", path=("note",), at=until),
        "dream": Stale(reason="below", path=("insight", "note"), at=until),
    }


ORDERS = SchemaDefinition(schema_name="orders", base_fields={"total": Field(kind="integer"), "due": Field(kind="datetime")})  # fmt: skip
DUE = datetime(2025, 1, 15, 10, tzinfo=UTC)
PREMISES = [
    (Entity(id="e", name="Orion", properties={"lead": "Bob"}), {"properties": {"lead": "Ann"}}),
    (Moment(id="m", name="Standup", summary="Bob leads."), {"summary": "Ann leads."}),
    (Row(id="o", schema="orders", handle="order-1", fields={"total": 3, "due": DUE}), {"fields": {"total": 4, "due": DUE}}),
]  # fmt: skip


@pytest.mark.parametrize(("premise", "change"), PREMISES, ids=["entity", "moment", "row"])
def test_a_premise_may_be_of_any_schema(
    memory: Memory, premise: Record, change: dict[str, Any]
) -> None:
    memory.schemas.register(ORDERS)
    memory.write([premise, made_of("insight", premise.id)])
    memory.write([premise])
    assert stale(memory) == {}
    memory.write([replace(premise, **change)])
    assert stale(memory) == {"insight": ("changed", (premise.id,))}
    memory.write([premise])
    assert stale(memory) == {}


def test_a_moment_rests_on_what_it_was_made_of_and_not_on_all_it_refers_to(memory: Memory) -> None:
    other = replace(NOTE, id="other", name="other")
    refs = ("note", "other")
    walk = Moment(id="walk", name="Walk", resource_refs=refs, premises=premises_of([NOTE]))
    memory.write([NOTE, other, walk, made_of("insight", "walk")])
    memory.write([replace(other, content="Reeds.")])
    assert stale(memory, "walk", "insight") == {}
    memory.write([CHANGED])
    found = {"walk": ("changed", ("note",)), "insight": ("below", ("walk", "note"))}
    assert stale(memory, "walk", "insight") == found


def test_a_moment_written_by_hand_rests_on_what_it_is_about(memory: Memory) -> None:
    memory.write([NOTE, Moment(id="walk", name="Walk", resource_refs=("note",))])
    written = memory.write([CHANGED])
    assert written.stale_ids == ("walk",)
    assert stale(memory, "walk") == {"walk": ("changed", ("note",))}
    # written back as it was read, it says no more than before
    memory.write([replace(memory.get_moment("walk"), summary="Along the weir.")])
    assert stale(memory, "walk") == {"walk": ("changed", ("note",))}
    memory.confirm("walk")
    assert stale(memory, "walk") == {}
    # what it lies in is nothing it was made of
    day = Moment(id="day", name="Day", summary="Sunny.")
    memory.write([day, Moment(id="noon", name="Noon", parent_moment="day")])
    memory.write([replace(day, summary="Rainy.")])
    assert stale(memory, "noon") == {}
    memory.forget("note")
    assert memory.get_moment("walk").resource_refs == ()
    assert stale(memory, "walk") == {}


def test_a_circle_of_premises_ends(memory: Memory) -> None:
    memory.write([NOTE, made_of("a", "note", "b"), made_of("b", "a")])
    memory.write([made_of("a", "note", "b")])
    assert stale(memory, "a", "b") == {}
    memory.write([CHANGED])
    assert stale(memory, "a", "b") == {"a": ("changed", ("note",)), "b": ("below", ("a", "note"))}


def test_what_is_below_a_premise_that_is_not_known_is_told(memory: Memory) -> None:
    fill(memory)
    memory.admin.store.write(build([made_of("old", "insight")], tenant="", model=""))
    memory.write([made_of("new", "old")])
    assert stale(memory, "old", "new") == {}
    memory.write([CHANGED])
    found = {"old": ("insight", "note"), "new": ("old", "insight", "note")}
    assert stale(memory, "old", "new") == {id: ("below", path) for id, path in found.items()}


def test_it_is_shown_where_a_record_is_described_and_traced(memory: Memory) -> None:
    fill(memory)
    assert "stale" not in memory.admin.describe("dream").as_dict()["records"][0]
    memory.write([CHANGED])
    changed = memory.get_resource("note").updated_at
    [described] = memory.admin.describe("dream").as_dict()["records"]
    assert described["stale"]["reason"] == "below"
    assert described["stale"]["path"] == ["insight", "note"]
    assert described["stale"]["message"].startswith(
        "note, further below, is no longer what it was on "
    )
    found = {entry.id: entry.stale for entry in memory.history("dream").entries}

    def stale_by(reason: Any, *path: str) -> Stale:
        stale = Stale(reason=reason, path=path, at=changed)
        return replace(stale, message=stale.in_words("note"))

    assert found == {
        "dream": stale_by("below", "insight", "note"),
        "insight": stale_by("changed", "note"),
        "note": None,
    }
    shown = SHOW.does(memory, SHOW.takes(what="insight"), None)
    assert SHOW.text is not None
    assert f"note changed on {changed:%Y-%m-%d}" in SHOW.text(shown)


def test_the_command_line_shows_it(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        fill(memory)
        memory.write([CHANGED])
    shown = CliRunner().invoke(program, ["show", "insight", "--home", str(tmp_path)]).output
    assert "changed" in shown


def test_what_rests_on_sources_costs_one_look_however_much_there_is(tmp_path: Path) -> None:
    costs = []
    for size in (100, 3_000):
        with Memory.open(tmp_path / f"{size}", embedder="none") as memory:
            notes = [replace(NOTE, id=f"n{n}", name=f"n{n}", ordinal=n) for n in range(size)]
            memory.write(notes)
            memory.write(
                [made_of(f"i{n}", *(f"n{n * 5 + m}" for m in range(5))) for n in range(20)]
            )
            ids = [f"i{n}" for n in range(20)]
            with steps(memory) as taken:
                assert find_stale(memory.admin.store.records, ids) == {}
            costs.append(taken.all)
    assert max(costs) < 8_000
    assert max(costs) < 1.2 * min(costs)
