"""Memories from before handles were told from names open, and their foreign keys lead to rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
from fake_database import FakeDatabase, plan_of, table
from following import Follower

from postgres_server import connect, database
from remloom import Edge, Entity, Memory, Row, labels
from remloom.model import SchemaDefinition
from remloom.store.sqlite.file.sealing import unlock

TABLES = (
    table("rooms", "id integer, name string?"),
    table("bookings", "id integer, room integer?", "room > rooms.id"),
)
ROWS = {
    "rooms": [(1, "Room 2"), (2, "Room 3"), (3, "Room 9")],
    "bookings": [(10, 1), (11, 2), (12, 3), (13, 9), (14, 8)],
}


def test_a_folder(tmp_path: Path) -> None:
    def make_old() -> None:
        connection = apsw.Connection(str(next(tmp_path.rglob("memory.db"))))
        unlock(connection, "")
        connection.execute(
            "DELETE FROM records WHERE thin = 1 AND rid IN ("
            " SELECT rid FROM names WHERE lid IN (SELECT lid FROM names WHERE total = 0));"
            "DELETE FROM names WHERE rid NOT IN (SELECT rid FROM records);"
            "UPDATE names SET total = (SELECT count(*) FROM names o WHERE o.rid = names.rid);"
            "DROP INDEX records_origin;"
            "ALTER TABLE records DROP COLUMN says; ALTER TABLE parents DROP COLUMN digest;"
            "DROP INDEX names_handle; ALTER TABLE names DROP COLUMN handle;"
            "ALTER TABLE sequence DROP COLUMN revision;"
            "PRAGMA user_version = 9;"
        )
        connection.close()

    _check(str(tmp_path), make_old)


def test_a_database(postgres: str) -> None:
    with database(postgres) as url:

        def make_old() -> None:
            with connect(url) as connection:
                connection.execute(
                    "DELETE FROM remloom.records r USING remloom.names n, remloom.names o"
                    " WHERE r.thin AND n.id = r.id AND o.key = n.key AND o.kin IS NULL;"
                    "DELETE FROM remloom.names n WHERE NOT EXISTS"
                    " (SELECT FROM remloom.records r WHERE r.id = n.id);"
                    "UPDATE remloom.names n SET kin = EXISTS"
                    " (SELECT FROM remloom.names o WHERE o.id = n.id AND o.key <> n.key);"
                    "DROP INDEX remloom.records_origin;"
                    "DROP INDEX remloom.names_handle;"
                    "ALTER TABLE remloom.names DROP COLUMN handle, ALTER COLUMN kin SET NOT NULL;"
                    "UPDATE remloom.alembic_version SET version_num = '0004'"
                )

        _check(url, make_old)


# a row whose handle only repeats its name is what others of that name are, too
ITEMS = (
    ("groceries", "Groceries"),
    ("Night_Shift", "night shift"),
    ("item-4", "Item 4"),
    ("x9", "Lamp"),
)


def _write_items(memory: Memory) -> None:
    definition = SchemaDefinition(schema_name="items", entity_types=("item",))
    memory.schemas.register(definition)
    for handle, name in ITEMS:
        memory.write(
            [
                Row(schema="items", type="item", handle=handle, name=name),
                Entity(name=handle, type="list"),
                Edge(src=handle, rel_type="has", dst="tea"),
            ]
        )


def _owners(memory: Memory) -> list[list[str]]:
    """Whose the edges at the handle of each item are."""
    keys = [labels.key(handle) for handle, _ in ITEMS]
    found = memory.admin.store.records.lookup(keys, own=True)
    return [sorted(record.schema for record in found[key]) for key in keys]


def _check(home: str, make_old: Callable[[], None]) -> None:
    source = FakeDatabase(TABLES, ROWS)
    memory = Memory.open(home, tenant="old", embedder="none")
    with Follower(memory, source, plan_of(TABLES)) as follower:
        follower.sync()
        _write_items(memory)
        owners = _owners(memory)
    assert owners[:2] == [["entities", "items"]] * 2
    assert owners[2:] == [["items"]] * 2
    make_old()
    with Memory.open(home, tenant="old", embedder="none") as memory:
        assert memory.admin.check() == []
        assert _owners(memory) == owners
        for number, room in ROWS["bookings"]:
            answer = memory.query(f"TRAVERSE belongs_to WITH LOOKUP booking-{number}")
            (reached,) = [node.record for node in answer.nodes if node.depth]
            label = reached.handle if isinstance(reached, Row) else reached.name
            assert label == f"room-{room}"
