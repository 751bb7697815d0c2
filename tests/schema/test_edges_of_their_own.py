"""Edges of what is called as a row's handle belong to what they were written for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path
from uuid import uuid4

import pytest
from msgspec.structs import replace

from remloom import Edge, Entity, Memory, Moment, Resource, Row
from remloom.errors import AmbiguousLabelError
from remloom.model import Record, SchemaDefinition

ROOM = Row(
    schema="rooms",
    fields={"number": 7},
    name="Blue",
    graph_paths=(Edge(dst="Floor 1", rel_type="lies_on"),),
)
BOOKING = Row(
    schema="bookings",
    fields={"number": 1, "room_id": 7},
    name="Monday",
    graph_paths=(Edge(dst="room-7", rel_type="belongs_to"),),
)
SONG = Entity(
    name="Room 7",
    type="song",
    aliases=("The Room Song",),
    graph_paths=(Edge(dst="Ada", rel_type="sung_by"),),
)
# called as the row, and nothing else
NAMESAKES: tuple[Record, ...] = (
    Entity(name="Room 7", type="song"),
    Resource(name="Room 7", content="A text of a room."),
    Moment(name="Room 7", starts_at=datetime(2026, 1, 1, tzinfo=UTC)),
)


@pytest.fixture(params=["sqlite", "sqlite-with-key", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    home = tmp_path if request.param != "postgres" else request.getfixturevalue("postgres")
    key = "a key of some length" if request.param == "sqlite-with-key" else None
    with Memory.open(home, tenant=uuid4().hex, key=key, embedder="none") as opened:
        opened.schemas.register(
            SchemaDefinition(
                schema_name="rooms",
                entity_types=("room",),
                base_fields={"number": "integer"},
                handle=("number",),
            )
        )
        opened.schemas.register(
            SchemaDefinition(
                schema_name="bookings",
                entity_types=("booking",),
                base_fields={"number": "integer", "room_id": "integer"},
                handle=("number",),
            )
        )
        yield opened


def edges_of(memory: Memory, id: str) -> set[tuple[str, str]]:
    return {(edge.rel_type, edge.dst) for edge in memory.get_edges(id)}


def ids_of(memory: Memory) -> dict[str, str]:
    return {hit.record.schema: hit.id for hit in memory.lookup("Room 7").records}


@pytest.mark.parametrize("order", list(permutations((ROOM, BOOKING, SONG))))
def test_edges_are_those_of_what_they_were_written_with_in_any_order(
    memory: Memory, order: tuple[Record, ...]
) -> None:
    # the first alone, the others together
    memory.write(order[:1])
    memory.write(order[1:])
    ids = ids_of(memory)
    assert edges_of(memory, ids["rooms"]) == {("lies_on", "floor-1")}
    assert edges_of(memory, ids["entities"]) == {("sung_by", "ada")}
    walk = memory.query("TRAVERSE belongs_to WITH LOOKUP booking-1")
    assert [node.id for node in walk.nodes[1:]] == [ids["rooms"]]
    # as it is read it is written again
    (song,) = [hit.record for hit in memory.lookup("Room 7").records if hit.id == ids["entities"]]
    memory.write([song])
    assert edges_of(memory, ids["entities"]) == {("sung_by", "ada")}
    assert memory.admin.check() == []


@pytest.mark.parametrize("record", NAMESAKES, ids=lambda record: record.schema)
@pytest.mark.parametrize("first", [ROOM, BOOKING], ids=lambda row: row.schema)
def test_what_is_called_nothing_else_gives_its_edges_to_no_row(
    memory: Memory, record: Record, first: Row
) -> None:
    linked = replace(record, graph_paths=(Edge(dst="Ada", rel_type="sung_by"),))
    for items in ([linked, first], [linked]):
        with pytest.raises(AmbiguousLabelError, match="is the handle of a row"):
            memory.write(items)
        assert memory.lookup("Ada").records == []
        memory.write([first])
    memory.write([record])
    assert {edge.rel_type for edge in memory.get_edges("room-7")} <= {"lies_on"}
    assert memory.admin.check() == []


@pytest.mark.parametrize(
    "namesake",
    [*NAMESAKES, replace(ROOM, name="Room 7", fields={"number": 8}, graph_paths=())],
    ids=lambda record: record.schema,
)
def test_a_row_that_says_a_key_leads_to_no_namesake_of_a_row_that_is_not_there(
    memory: Memory, namesake: Record
) -> None:
    memory.write([namesake])
    memory.write([BOOKING])
    (missing,) = memory.query("TRAVERSE belongs_to WITH LOOKUP booking-1").nodes[1:]
    assert isinstance(missing.record, Entity)
    assert missing.record.thin
    memory.write([ROOM])
    (there,) = memory.query("TRAVERSE belongs_to WITH LOOKUP booking-1").nodes[1:]
    assert there.record.name == "Blue"
    # spelled as a name, or where no field says it, it is a label like others
    for number, edge in ((2, "Room 7"), (3, "room-7")):
        fields = {"number": number, "room_id": 7 if number == 2 else None}
        memory.write(
            [
                Row(
                    schema="bookings",
                    fields=fields,
                    graph_paths=(Edge(dst=edge, rel_type="belongs_to"),),
                )
            ]
        )
        assert not any(edge.is_from_key for edge in memory.get_edges(f"booking-{number}"))
    assert memory.admin.check() == []
