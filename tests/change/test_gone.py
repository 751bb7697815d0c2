"""What rests on something that was read again, or is gone from its source, stays and is told stale."""

from __future__ import annotations

import io
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest
from msgspec.structs import replace

from remloom import Edge, Entity, Home, Memory, Moment, Resource
from remloom.errors import InvalidInputError
from remloom.model.premises import premises_of
from remloom.runs.rollback import rollback
from remloom.runs.run import begin_run
from remloom.runs.writer import Writer
from remloom.store.premises import find_stale
from remloom.store.rules.premise_entries import SlotPremise, premise_entry, slot_digest

NOW = datetime(2025, 1, 15, tzinfo=UTC)


def stale(memory: Memory, *ids: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Why records are stale: the reason, and the way down to the premise."""
    found = find_stale(memory.admin.store.records, ids)
    return {id: (one.reason, one.path) for id, one in found.items()}


OLD, NEW = "The heron nests at the weir.", "The heron nests at the mill."
AT = datetime(2025, 1, 15, 10, tzinfo=UTC)


def read(memory: Memory, text: str, uri: str = "notes.md") -> str:
    """Read a text; returns the id of its chunk."""
    memory.read_text(text, uri=uri)
    (chunk,) = memory.admin.store.records.chunks(uri)
    return chunk.id


def made_of(id: str, *parents: str) -> Resource:
    return Resource(id=id, name=id, content=f"{id}: herons like weirs.", parents=parents)


def fill(memory: Memory) -> str:
    """Read a note, and derive an insight of it and a dream of that; returns the id of the note."""
    note = read(memory, OLD)
    memory.write([made_of("insight", note)])
    memory.write([made_of("dream", "insight")])
    return note


def entries(memory: Memory) -> list[str]:
    return [entry.key for entry in memory.admin.store.kv.list("premise")]


def gone(note: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    return {"insight": ("gone", (note,)), "dream": ("below", ("insight", note))}


def test_what_was_made_of_a_text_that_is_read_again_stays_and_is_told_stale(
    memory: Memory,
) -> None:
    note = fill(memory)
    read(memory, NEW)
    assert memory.get_resource("insight").content == made_of("insight").content
    assert stale(memory, "insight", "dream") == gone(note)
    found = find_stale(memory.admin.store.records, ["insight"])["insight"]
    assert found.uri == "notes.md"
    assert "is gone from notes.md" in str(found)
    assert memory.admin.check() == []


def test_putting_the_file_back_heals(memory: Memory) -> None:
    note = fill(memory)
    read(memory, NEW)
    assert read(memory, OLD) == note
    assert stale(memory, "insight", "dream") == {}
    assert memory.get_resource("insight").parents == (note,)
    assert entries(memory) == []
    assert memory.forget("notes.md").derived >= 2
    assert memory.admin.check() == []


def test_it_may_go_and_come_back_again_and_again(memory: Memory) -> None:
    note = fill(memory)
    for _ in range(3):
        read(memory, NEW)
        assert stale(memory, "insight", "dream") == gone(note)
        read(memory, OLD)
        assert stale(memory, "insight", "dream") == {}


def test_a_touch_of_it_does_not_heal(memory: Memory) -> None:
    note = read(memory, OLD)
    other = read(memory, "Reeds.", "reeds.md")
    memory.write([made_of("insight", note, other)])
    read(memory, NEW)
    found = memory.get_resource("insight")
    assert found.parents == (other,)
    assert set(found.premises) == {note, other}
    memory.write([replace(found, metadata={"seen": True})])
    assert stale(memory, "insight") == {"insight": ("gone", (note,))}
    memory.write([replace(found, parents=(), metadata={"seen": 2})])
    assert stale(memory, "insight") == {"insight": ("gone", (note,))}


def test_who_says_it_again_of_what_there_is_now_ends_it(memory: Memory) -> None:
    fill(memory)
    new = read(memory, NEW)
    memory.write([made_of("insight", new)])
    assert stale(memory, "insight", "dream") == {}
    assert entries(memory) == []


def test_a_model_s_moment_stays_without_the_reference_and_gets_it_back(memory: Memory) -> None:
    note = read(memory, OLD)
    premises = premises_of([memory.get_resource(note)])
    walk = Moment(
        id="walk", name="Walk", resource_refs=(note,), metadata={"made_by": "m"}, premises=premises
    )
    memory.write([walk, made_of("insight", "walk")])
    read(memory, NEW)
    assert memory.get_moment("walk").resource_refs == ()
    assert stale(memory, "walk") == {"walk": ("gone", (note,))}
    memory.write([replace(memory.get_moment("walk"), summary="Along the weir.")])
    assert stale(memory, "walk") == {"walk": ("gone", (note,))}
    read(memory, OLD)
    assert stale(memory, "walk") == {}
    assert memory.get_moment("walk").resource_refs == (note,)
    assert memory.get_moment("walk").premises == premises
    assert memory.admin.check() == []


# -- forgetting ------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["source", "id", "label of the document"])
def test_forgetting_a_file_reaches_what_was_made_of_its_old_text(memory: Memory, by: str) -> None:
    note = fill(memory)
    other = Resource(id="other", name="other", content="Owls.", parents=("bystander",))
    memory.write([Entity(id="bystander", name="Bystander"), other])
    new = read(memory, NEW)
    name = {"source": "notes.md", "id": note}.get(by) or memory.get_resource(new).name
    receipt = memory.forget(name)
    assert receipt.verified
    assert receipt.remaining == ()
    store = memory.admin.store
    assert [store.records.get(None, id) for id in ("insight", "dream")] == [None, None]
    assert memory.get_resource("other")
    assert entries(memory) == []
    if by == "id":
        assert memory.get_resource(new)
    else:
        assert all("heron" not in str(record) for record in store.records.all())
    assert memory.admin.check() == []


def test_forgetting_one_part_of_a_file_leaves_what_rests_on_another(memory: Memory) -> None:
    note = fill(memory)
    parts = "\n\n".join(f"# Part {n}\n\n" + f"Word{n} here. " * 300 for n in range(3))
    memory.read_text(parts, uri="notes.md")
    chunks = memory.admin.store.records.chunks("notes.md")
    assert len(chunks) > 1
    memory.forget(chunks[0].id)
    assert stale(memory, "insight") == {"insight": ("gone", (note,))}


def test_what_is_stale_goes_with_its_entries(memory: Memory) -> None:
    fill(memory)
    read(memory, NEW)
    memory.forget("insight")
    assert entries(memory) == []


# -- rows ------------------------------------------------------------------------------------------


def test_a_row_that_is_gone_from_its_database_leaves_what_was_made_of_it(
    memory: Memory, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(tmp_path / "crm.db")) as crm:
        crm.executescript(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT);"
            "INSERT INTO customers VALUES (1, 'Ann', 'Oslo'), (2, 'Bob', 'Bonn');"
        )
        memory.schemas.register_from_discovery(memory.schemas.discover(str(tmp_path / "crm.db")))
        memory.schemas.sync("crm")
        (ann,) = (hit.record for hit in memory.lookup("Ann").records)
        memory.write([made_of("insight", ann.id)])
        crm.executescript("DELETE FROM customers WHERE id = 1;")
        memory.schemas.sync("crm")
        assert stale(memory, "insight") == {"insight": ("gone", (ann.id,))}
        assert memory.admin.check() == []
        # it comes back with another city
        crm.executescript("INSERT INTO customers VALUES (1, 'Ann', 'Rome');")
        memory.schemas.sync("crm")
        assert stale(memory, "insight") == {"insight": ("changed", (ann.id,))}
        crm.executescript("UPDATE customers SET city = 'Oslo' WHERE id = 1;")
        memory.schemas.sync("crm")
        assert stale(memory, "insight") == {}
        crm.executescript("DELETE FROM customers WHERE id = 1;")
        memory.schemas.sync("crm")
        assert memory.forget(ann.id).verified
        assert entries(memory) == []
        assert memory.admin.store.records.get(None, "insight") is None


# -- elsewhere -------------------------------------------------------------------------------------


def test_an_export_does_not_heal(memory: Memory) -> None:
    note = fill(memory)
    memory.write([made_of("second", note)])
    read(memory, NEW)
    stream = io.BytesIO()
    memory.admin.export(stream)
    memory.forget("notes.md")
    assert entries(memory) == []
    memory.admin.import_(io.BytesIO(stream.getvalue()))
    assert stale(memory, "insight", "dream") == gone(note)
    memory.admin.import_(io.BytesIO(stream.getvalue()))
    assert stale(memory, "insight", "dream") == gone(note)
    assert memory.admin.check() == []
    assert memory.forget("notes.md").verified
    assert memory.admin.store.records.get(None, "second") is None


def test_an_import_that_has_the_text_heals(memory: Memory) -> None:
    note = fill(memory)
    stream = io.BytesIO()
    memory.admin.export(stream)
    read(memory, NEW)
    assert stale(memory, "insight", "dream") == gone(note)
    memory.admin.import_(io.BytesIO(stream.getvalue()))
    assert stale(memory, "insight", "dream") == {}
    assert entries(memory) == []


def test_copies_and_backups_keep_the_mark(tmp_path: Path, postgres: str) -> None:
    tenant = uuid4().hex
    with Memory.open(tmp_path / "a", tenant=tenant, embedder="none") as memory:
        note = fill(memory)
        read(memory, NEW)
        memory.admin.backup(tmp_path / "c" / "tenants" / tenant)
    Home(f"sqlite:{tmp_path / 'a'}").copy(postgres, tenant=tenant)
    Home(postgres).copy(tmp_path / "b", tenant=tenant)
    for home in (postgres, tmp_path / "b", tmp_path / "c"):
        with Memory.open(home, tenant=tenant, embedder="none") as memory:
            assert stale(memory, "insight", "dream") == gone(note)
            assert memory.admin.check() == []
            assert read(memory, OLD) == note
            assert stale(memory, "insight", "dream") == {}


def test_taking_back_a_run_that_said_it_anew_marks_it_again(memory: Memory) -> None:
    note = fill(memory)
    new = read(memory, NEW)
    store = memory.admin.store
    writer = Writer(store, "tenant", begin_run(store, "dream", {}))
    quoted = premises_of([memory.get_resource(new)])
    writer.write([new], [replace(made_of("insight", new), content="At mills.", premises=quoted)])
    writer.finish()
    assert stale(memory, "insight") == {}
    rollback(store, writer.id)
    assert memory.get_resource("insight").content == made_of("insight").content
    assert stale(memory, "insight", "dream") == gone(note)


def test_a_premise_that_is_no_premise_is_refused_by_an_import(memory: Memory) -> None:
    fill(memory)
    read(memory, NEW)
    stream = io.BytesIO()
    memory.admin.export(stream)
    damaged = stream.getvalue().replace(b'"type":"lost"', b'"type":"lust"')
    with pytest.raises(InvalidInputError, match="is no premise"):
        memory.admin.import_(io.BytesIO(damaged), incomplete=True)


# -- slots -----------------------------------------------------------------------------------------


def rest_on(memory: Memory, child: str, entity: str, attribute: str) -> None:
    """Let a record rest on what a slot says now."""
    owners = memory.lookup(entity).records
    said = slot_digest([hit.record for hit in owners], attribute)
    slot = SlotPremise(entity=entity, attribute=attribute, said=said, at=NOW)
    memory.admin.store.kv.put([premise_entry(child, slot)])


@pytest.mark.parametrize("kind", ["property", "edge", "nothing"])
def test_a_slot_that_says_something_else_makes_stale_until_it_is_put_back(
    memory: Memory, kind: str
) -> None:
    rule = Resource(id="rule", name="rule", content="Reviews go to Bob.")
    team = Entity(id="team", name="Team Orion", type="team", properties={"size": 3})
    lead = Edge(src="Team Orion", rel_type="lead", dst="Bob")
    if kind == "property":
        memory.write([rule, Entity(id="team", name="Team Orion", properties={"Lead": "Bob"})])
    elif kind == "edge":
        memory.write([rule, team, lead])
    else:
        memory.write([rule, team])
    rest_on(memory, "rule", "Team Orion", "lead")
    memory.write([Resource(id="derived", name="derived", content="So Bob.", parents=("rule",))])
    assert stale(memory, "rule", "derived") == {}
    memory.update_entity("team", {"size": 4})
    assert stale(memory, "rule", "derived") == {}
    if kind == "edge":
        memory.admin.delete_edge("Team Orion", "lead", "Bob")
        memory.write([Edge(src="Team Orion", rel_type="lead", dst="Jihoon")])
    else:
        memory.update_entity("team", {"lead": "Jihoon"} if kind == "nothing" else {"Lead": "Ann"})
    assert stale(memory, "rule", "derived") == {
        "rule": ("changed", ("Team Orion.lead",)),
        "derived": ("below", ("rule", "Team Orion.lead")),
    }
    if kind == "property":
        memory.update_entity("team", {"Lead": "Bob"})
        assert stale(memory, "rule", "derived") == {}
    memory.forget("Team Orion", by="label")
    gone = {
        "rule": ("gone", ("Team Orion.lead",)),
        "derived": ("below", ("rule", "Team Orion.lead")),
    }
    # as it was stated, there was nothing either
    assert stale(memory, "rule", "derived") == ({} if kind == "nothing" else gone)
    memory.forget("rule")
    assert memory.admin.store.kv.list("premise") == []
