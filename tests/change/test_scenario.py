"""Each kind of premise under each kind of change: what rests on it is marked, goes, or stays fresh.

`weirs` is an insight made of one premise; `seen` asks every door whether it is served, and as what.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from remloom import Entity, Memory, Message, Moment, Resource
from remloom.errors import NotFoundError

sys.path.insert(0, str(Path(__file__).parents[1] / "schema"))
from fake_database import FakeDatabase, plan_of, table
from following import Follower

NOTE = Resource(id="note", name="note", content="The heron nests at the weir.")
LATER = replace(NOTE, content="The heron nests at the mill.")
INSIGHT = "weirs"
GONE = ""  # it is served nowhere, and nothing of it is kept
FRESH = "fresh"

Step = Callable[[Memory, Path], Any]


def insight(*premises: str, id: str = INSIGHT, **fields: Any) -> Resource:
    content = f"Egrets of kind {id} prefer quiet reaches."
    return Resource(id=id, name=id, content=content, kind="synthesis", parents=premises, **fields)


def seen(memory: Memory, id: str = INSIGHT) -> str:
    """Say why a record is stale, as every door says; FRESH, or GONE."""
    hits = memory.recall(f"egrets of kind {id}").hits
    served = [hit for hit in hits if hit.record.id == id]
    looked_up = [hit for hit in memory.lookup(id).records if hit.record.id == id]
    rows = memory.sql(f"SELECT stale FROM resources WHERE id = '{id}'").rows
    text = memory.context(f"egrets of kind {id}")
    if not looked_up:
        assert (served, list(rows)) == ([], [])
        assert f"kind {id}" not in text
        with pytest.raises(NotFoundError):
            memory.get_resource(id)
        return GONE
    said = {hit.stale.reason if hit.stale else FRESH for hit in (*served, *looked_up)}
    assert len(said) == 1, said
    (reason,) = said
    assert bool(rows[0][0]) == (reason != FRESH)
    omitted = memory.recall(f"egrets of kind {id}", stale="omit").hits
    only = memory.recall(f"egrets of kind {id}", stale="only").hits
    assert (id in {hit.record.id for hit in omitted}) == (reason == FRESH and bool(served))
    assert (id in {hit.record.id for hit in only}) == (reason != FRESH and bool(served))
    assert memory.admin.check() == []
    return reason


# -- premises: each writes what the insight rests on, and gives its id -----------------------------


def note(memory: Memory, _: Path) -> str:
    memory.write([NOTE])
    return "note"


def file(memory: Memory, folder: Path) -> str:
    path = folder / "birds.md"
    path.write_text("# Birds\n\nThe heron nests at the weir.\n", encoding="utf-8")
    return memory.read(folder).ids[0]


def turns(memory: Memory, *texts: str, uri: str = "chat.json") -> tuple[str, ...]:
    start = datetime(2026, 3, 1, 9, tzinfo=UTC)
    spoken = [
        Message(speaker="Ann", text=text, id=str(number), at=start + timedelta(minutes=number))
        for number, text in enumerate(texts)
    ]
    return memory.read_chat(spoken, uri=uri).ids


def turn(memory: Memory, _: Path) -> str:
    return turns(memory, "The heron nests at the weir.", "And the coots?")[0]


def entity(memory: Memory, _: Path) -> str:
    orion = Entity(id="orion", type="team", name="Team Orion", properties={"lead": "Seoyun"})
    memory.write([orion])
    return "orion"


def moment(memory: Memory, _: Path) -> str:
    memory.write([Moment(id="standup", name="Standup", summary="Seoyun leads.")])
    return "standup"


def derived(memory: Memory, _: Path) -> str:
    memory.write([NOTE])
    memory.write([insight("note", id="below")])
    return "below"


ORDERS = table("orders", "id integer, customer string, total integer")


def row(memory: Memory, _: Path) -> str:
    database = FakeDatabase((ORDERS,), {"orders": [(1, "Acme", 5), (2, "Bolt", 7)]})
    follower = Follower(memory, database, plan_of((ORDERS,)))
    follower.sync()
    DATABASES[id(memory)] = follower, database
    return follower.row("orders", "order-1").id


DATABASES: dict[int, tuple[Follower, FakeDatabase]] = {}

# -- changes -----------------------------------------------------------------------------------------


def write(*records: Any) -> Step:
    return lambda memory, _: memory.write([*records])


def again(text: str) -> Step:
    def read(memory: Memory, folder: Path) -> Any:
        (folder / "birds.md").write_text(text, encoding="utf-8")
        return memory.read(folder)

    return read


def chat(*texts: str) -> Step:
    return lambda memory, _: turns(memory, *texts)


def forget(*targets: str) -> Step:
    def forgotten(memory: Memory, folder: Path) -> Any:
        receipt = memory.forget(
            *(str(folder / one) if one.endswith(".md") else one for one in targets)
        )
        assert receipt.verified, receipt.remaining
        return receipt

    return forgotten


def expire(memory: Memory, _: Path) -> None:
    memory.admin.set_expiry(["note"], datetime.now(UTC) - timedelta(seconds=1))


def sync(*rows: tuple[Any, ...]) -> Step:
    def synced(memory: Memory, _: Path) -> Any:
        follower, database = DATABASES[id(memory)]
        database.data["orders"] = list(rows)
        return follower.sync()

    return synced


def steps(*parts: Step) -> Step:
    def all_of_them(memory: Memory, folder: Path) -> Any:
        return [part(memory, folder) for part in parts][-1]

    return all_of_them


def lead(name: str) -> Step:
    return lambda memory, _: memory.update_entity("orion", {"lead": name})


def touch(memory: Memory, _: Path) -> None:
    memory.write([replace(NOTE, metadata={"seen": 1}, related_entities=("Bob",), language="en")])


def replacing(reason: str) -> Step:
    new = Resource(id="new", content="The heron nests at the mill.", replaces="note", reason=reason)
    return write(new)


AMENDING = Resource(id="new", content="The heron nests at the weir and the mill.", amends="note")
BIRDS = "# Birds\n\nThe heron nests at the {}.\n"

SCENARIO: list[tuple[str, Step, Step, str]] = [
    ("a note is written over", note, write(LATER), "changed"),
    ("a note is written over, and put back", note, steps(write(LATER), write(NOTE)), FRESH),
    ("a note is written again as it is", note, write(NOTE), FRESH),
    ("a note is touched", note, touch, FRESH),
    ("a note has changed, in a word", note, replacing("changed"), "replaced"),
    ("a note was wrong, in a word", note, replacing("wrong"), "replaced"),
    ("a note is amended", note, write(AMENDING), "amended"),
    ("a note expires", note, expire, "expired"),
    ("a note is forgotten", note, forget("note"), GONE),
    ("a file says something else", file, again(BIRDS.format("mill")), "gone"),
    ("a file says it no more", file, again("# Birds\n\nCoots everywhere.\n"), "gone"),
    ("a file is read again", file, again(BIRDS.format("weir")), FRESH),
    ("a file is put back", file, steps(again(BIRDS.format("mill")), again(BIRDS.format("weir"))), FRESH),
    ("a file is forgotten", file, forget("birds.md"), GONE),
    ("a file is forgotten, long after it changed", file, steps(again(BIRDS.format("mill")), forget("birds.md")), GONE),
    ("a turn says something else", turn, chat("The heron nests at the mill.", "And the coots?"), "gone"),
    ("a turn is gone", turn, chat("And the coots?"), "gone"),
    ("a chat goes on", turn, chat("The heron nests at the weir.", "And the coots?", "Gone."), FRESH),
    ("a chat is forgotten", turn, forget("chat.json"), GONE),
    ("an entity has another property", entity, lead("Jihoon"), "changed"),
    ("an entity has its property back", entity, steps(lead("Jihoon"), lead("Seoyun")), FRESH),
    ("an entity is forgotten", entity, forget("orion"), GONE),
    ("a moment tells something else", moment, write(Moment(id="standup", name="Standup", summary="Jihoon leads.")), "changed"),
    ("a row changes in its database", row, sync((1, "Acme", 6), (2, "Bolt", 7)), "changed"),
    ("another row changes", row, sync((1, "Acme", 5), (2, "Bolt", 8)), FRESH),
    ("a row is deleted in its database", row, sync((2, "Bolt", 7)), "gone"),
    ("a row comes back", row, steps(sync((2, "Bolt", 7)), sync((1, "Acme", 5), (2, "Bolt", 7))), FRESH),
    ("what is below an insight changes", derived, write(LATER), "below"),
    ("an insight below is written anew as it is", derived, steps(write(LATER), write(insight("note", id="below"))), FRESH),
    ("what is below an insight is forgotten", derived, forget("note"), GONE),
]  # fmt: skip


@pytest.mark.parametrize(
    ("premise", "change", "expected"),
    [pytest.param(*row[1:], id=row[0]) for row in SCENARIO],
)
def test_what_rests_on_it(
    memory: Memory, tmp_path: Path, premise: Step, change: Step, expected: str
) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    memory.write([insight(premise(memory, folder))])
    assert seen(memory) == FRESH
    receipt = change(memory, folder)
    assert seen(memory) == expected
    if expected not in (FRESH, GONE) and hasattr(receipt, "stale_ids"):
        assert INSIGHT in receipt.stale_ids
        assert receipt.stale >= 1
    copied = io_of(memory, tmp_path)
    # what has expired is erased before an export
    assert seen(copied) == (GONE if expected == "expired" else expected)
    copied.close()


def io_of(memory: Memory, folder: Path) -> Memory:
    """The memory that an export of this one makes."""
    path = folder / "export.jsonl"
    memory.admin.export(path)
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    copied = Memory.open(folder / "copied", embedder="none")
    copied.admin.import_(path)
    return copied
