"""What a call made stale is told in what it returns."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from click.testing import CliRunner
from msgspec.structs import replace

from remloom import Entity, Memory, Resource
from remloom.model.premises import premises_of
from remloom.runs.rollback import rollback
from remloom.runs.run import begin_run
from remloom.runs.writer import Writer
from remloom.serve.cli.app import program
from steps import steps

NOTE = Resource(id="note", name="note", content="The heron nests at the weir.")
CHANGED = replace(NOTE, content="The heron nests at the mill.")


def made_of(id: str, *parents: str) -> Resource:
    return Resource(id=id, name=id, content=f"{id}: herons like weirs.", parents=parents)


def fill(memory: Memory) -> None:
    memory.write([NOTE])
    memory.write([made_of("insight", "note")])
    memory.write([made_of("dream", "insight")])


def test_a_write_tells_what_it_made_stale_and_only_that(memory: Memory) -> None:
    fill(memory)
    ids = memory.write([CHANGED])
    assert ids == ["note"]
    assert (ids.stale, set(ids.stale_ids)) == (2, {"insight", "dream"})
    # they were stale before
    ids = memory.write([replace(NOTE, content="It is gone.")])
    assert (ids.stale, ids.stale_ids) == (0, ())
    assert memory.write([NOTE]).stale == 0
    assert memory.write([replace(NOTE, metadata={"seen": 1})]).stale == 0
    assert memory.write([Resource(content="Another.")]).stale == 0


def test_an_entity_that_is_written_by_name_is_known(memory: Memory) -> None:
    memory.write([Entity(id="team", name="Orion", type="team", properties={"lead": "Bob"})])
    memory.write([made_of("insight", "team")])
    ids = memory.write([Entity(name="Orion", type="team", properties={"lead": "Ann"})])
    assert (ids.stale, ids.stale_ids) == (1, ("insight",))


def test_the_first_hundred_are_named(memory: Memory) -> None:
    memory.write([NOTE])
    memory.write([made_of(f"i{n}", "note") for n in range(120)])
    ids = memory.write([CHANGED])
    assert (ids.stale, len(ids.stale_ids)) == (120, 100)


def test_a_reading_tells_it(memory: Memory) -> None:
    memory.read_text(NOTE.content, uri="notes.md")
    (chunk,) = memory.admin.store.records.chunks("notes.md")
    memory.write([made_of("insight", chunk.id)])
    report = memory.read_text(CHANGED.content, uri="notes.md")
    assert (report.stale, report.stale_ids) == (1, ("insight",))
    assert memory.read_text(CHANGED.content, uri="notes.md").stale == 0


def test_a_sync_tells_it(memory: Memory, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "crm.db")) as crm:
        crm.executescript(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT);"
            "INSERT INTO customers VALUES (1, 'Ann', 'Oslo'), (2, 'Bob', 'Bonn');"
        )
        memory.schemas.register_from_discovery(memory.schemas.discover(str(tmp_path / "crm.db")))
        memory.schemas.sync("crm")
        ann, bob = (memory.lookup(name).records[0].record for name in ("Ann", "Bob"))
        memory.write([made_of("of ann", ann.id), made_of("of bob", bob.id)])
        assert memory.schemas.sync("crm").stale == 0
        crm.executescript(
            "UPDATE customers SET city = 'Rome' WHERE id = 1; DELETE FROM customers WHERE id = 2;"
        )
        report = memory.schemas.sync("crm")
        assert (report.stale, set(report.stale_ids)) == (2, {"of ann", "of bob"})


def test_a_run_and_its_rollback_tell_it(memory: Memory) -> None:
    fill(memory)
    store = memory.admin.store
    writer = Writer(store, "tenant", begin_run(store, "dream", {}))
    writer.write(["note"], [CHANGED])
    writer.finish()
    assert writer.run.receipt["stale"] == 2
    assert set(writer.run.stale_ids) == {"insight", "dream"}
    assert "insight" not in str(store.kv.list("run"))
    premises = premises_of([memory.get_resource("note")])
    memory.write([replace(made_of("insight", "note"), premises=premises)])
    told = rollback(store, writer.id)
    assert told.receipt["stale"] == len(told.stale_ids) == 2


def test_the_command_line_says_it(tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text(NOTE.content)
    home = str(tmp_path / "home")
    with Memory.open(home, embedder="none") as memory:
        memory.read(file)
        (chunk,) = memory.admin.store.records.all("resources")
        memory.write([made_of("insight", chunk.id)])
    file.write_text(CHANGED.content)
    shown = CliRunner().invoke(program, ["read", str(file), "--home", home]).output
    assert "1 record may no longer hold:\n  insight  insight\n" in shown


def test_it_costs_one_look_where_nothing_rests_on_what_is_written(tmp_path: Path) -> None:
    costs = []
    for size in (10, 3_000):
        with Memory.open(tmp_path / f"{size}", embedder="none") as memory:
            memory.write([replace(NOTE, id=f"n{n}", name=f"n{n}") for n in range(size)])
            memory.write([made_of(f"i{n}", "n1") for n in range(size)])
            with steps(memory) as taken:
                assert memory.write([replace(CHANGED, id="n2", name="n2")]).stale == 0
            costs.append(taken.all)
    assert max(costs) < 1.5 * min(costs)
