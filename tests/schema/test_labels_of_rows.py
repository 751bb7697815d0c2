"""Rows whose names read like the handles of others: edges lead where the keys of the tables do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import pytest
from fake_database import FakeDatabase, plan_of, table
from following import Follower
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from remloom import Memory, labels
from remloom.errors import AmbiguousLabelError
from remloom.model import Entity, Record, Row

TABLES = (
    table("rooms", "id integer, name string?, part integer?", "part > rooms.id"),
    table("orders", "id integer, name string?, room integer?, hall integer?",
          "room > rooms.id", "hall > rooms.id"),
    table("order_room", "order_id integer, room_id integer",
          "order_id > orders.id", "room_id > rooms.id", primary_key=("order_id", "room_id")),
)  # fmt: skip
# (table, position of the column, type of the edge), of each foreign key to a room
KEYS = (("rooms", 2, "part"), ("orders", 2, "belongs_to"), ("orders", 3, "hall"))

_IDS = st.integers(1, 4)
_KEYS = st.none() | st.integers(1, 5)  # 5 is never there
_HANDLES = ("room-1", "Room 2", "ROOM_3", " room   4", "Room-5", "order-1", "Order 2", "ORDER_3")
_NAMES = st.sampled_from((*_HANDLES, "Blue", None))
_ROOMS = st.tuples(_IDS, _NAMES, _KEYS)
_ORDERS = st.tuples(_IDS, _NAMES, _KEYS, _KEYS)
_LINKS = st.tuples(_IDS, _IDS)


def _by_key(rows: Any, width: int = 1) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    return st.lists(rows, max_size=5, unique_by=lambda row: row[:width])


_STATES = st.fixed_dictionaries(
    {"rooms": _by_key(_ROOMS), "orders": _by_key(_ORDERS), "order_room": _by_key(_LINKS, 2)}
)


# each room has the name of another's handle, then all change places
_HARD: tuple[dict[str, list[Any]], ...] = (
    {
        "rooms": [(1, "Room 2", 3), (2, "Room 3", None), (3, "Room 1", 5)],
        "orders": [(1, "Order 2", 1, 2), (2, "Room 1", 2, 5)],
        "order_room": [(1, 3), (2, 1)],
    },
    {
        "rooms": [(1, "Room 3", None), (2, "Room 1", 1), (3, "Order 2", 2), (5, "Room 2", 1)],
        "orders": [(1, "Room 2", 5, None), (2, "Order 1", 1, 1)],
        "order_room": [(1, 2)],
    },
)


@contextmanager
def _following(place: str, key: str, database: FakeDatabase) -> Iterator[Follower]:
    """A memory of its own that follows a database."""
    with TemporaryDirectory() as folder:
        home = place or folder
        memory = Memory.open(home, tenant=uuid4().hex, key=key or None, embedder="none")
        with Follower(memory, database, plan_of(TABLES)) as follower:
            yield follower


@pytest.fixture(params=["sqlite", "sqlite-with-key", "postgres"])
def place(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Where a memory is opened, and its key."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres"), ""
    return "", "a key of some length" if request.param == "sqlite-with-key" else ""


def test_every_walk_equals_a_join_of_the_tables(
    request: pytest.FixtureRequest, place: tuple[str, str]
) -> None:
    # --long: of tests/attack
    examples = 100 if request.config.getoption("--long", default=False) else 2

    @given(st.lists(_STATES, min_size=1, max_size=3))
    @example(list(_HARD))
    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.too_slow],
    )
    def check(states: list[dict[str, list[Any]]]) -> None:
        database = FakeDatabase(TABLES, {})
        with _following(*place, database) as follower:
            for state in states:
                database.data = state
                follower.sync()
                _check_walks(follower, state)
                _check_forgetting(follower)
                assert follower.memory.admin.check() == []

    check()


def _check_walks(follower: Follower, state: dict[str, list[Any]]) -> None:
    edges = _joined(state)
    rows = [(name, _handle(name, row[0])) for name in ("rooms", "orders") for row in state[name]]
    for schema, handle in rows:
        start = f"WITH SELECT id FROM {schema} WHERE handle = '{handle}'"
        for direction in ("out", "in"):
            for types in ("*", *{edge[1] for edge in edges}):
                near = _reached({handle}, edges, types, direction, 1)
                assert _walked(follower, types, start, direction, 1) == near, (handle, types)
            far = _reached({handle}, edges, "*", direction, 3)
            assert _walked(follower, "*", start, direction, 3) == far, handle
        shown = {dst for src, _, dst in edges if src == handle}
        (row,) = [one for one in follower.rows(schema) if one.handle == handle]
        hits = follower.memory.lookup(row.name).records
        (hit,) = [hit for hit in hits if hit.id == row.id]
        assert {edge.dst for edge in hit.graph_paths} == shown
    labels_known = {
        label for schema, handle in rows for label in (handle, *_names(follower, schema))
    }
    for label in labels_known:
        meant = {row.handle for row in _rows(follower) if labels.key(label) in _keys(row)}
        # what a foreign key names, though no row is there
        meant |= {labels.key(label)} & {end for src, _, dst in edges for end in (src, dst)}
        far = set().union(*(_reached({one}, edges, "*", "both", 2) for one in meant)) - meant
        found = _walked(follower, "*", f'WITH LOOKUP "{label}"', "both", 2)
        assert found == far, label


def _check_forgetting(follower: Follower) -> None:
    rows = _rows(follower)
    for label in dict.fromkeys(label for row in rows for label in (row.handle, row.name)):
        meant = [row for row in rows if labels.key(label) in _keys(row)]
        if len(meant) < 2:
            continue
        for dry_run in (True, False):
            with pytest.raises(AmbiguousLabelError) as raised:
                follower.memory.forget(label, dry_run=dry_run)
            assert all(row.id in str(raised.value) for row in meant)
        assert {row.id for row in _rows(follower)} == {row.id for row in rows}
        receipt = follower.memory.forget(meant[0].id, dry_run=True)
        assert receipt.ids == (meant[0].id,)


def _walked(follower: Follower, types: str, start: str, direction: str, depth: int) -> set[str]:
    statement = f"TRAVERSE {types} {start} DEPTH {depth} DIRECTION {direction} LIMIT 1000"
    answer = follower.memory.query(statement)
    return {_label(node.record) for node in answer.nodes if node.depth}


def _label(record: Record) -> str:
    """The handle of a row, or of what stands for one that is not there."""
    if isinstance(record, Row):
        return record.handle
    assert isinstance(record, Entity)
    assert record.thin
    return labels.key(record.name)


def _joined(state: dict[str, list[Any]]) -> set[tuple[str, str, str]]:
    edges = {
        (_handle(name, row[0]), rel_type, f"room-{row[position]}")
        for name, position, rel_type in KEYS
        for row in state[name]
        if row[position] is not None
    }
    return edges | {
        (f"order-{order}", "contains", f"room-{room}") for order, room in state["order_room"]
    }


def _reached(
    starts: set[str], edges: set[tuple[str, str, str]], types: str, direction: str, depth: int
) -> set[str]:
    seen = set(starts)
    for _ in range(depth):
        there = {dst for src, rel, dst in edges if src in seen and types in ("*", rel)}
        back = {src for src, rel, dst in edges if dst in seen and types in ("*", rel)}
        seen |= {"out": there, "in": back, "both": there | back}[direction]
    return seen - starts


def _handle(name: str, number: int) -> str:
    return f"{name.removesuffix('s')}-{number}"


def _rows(follower: Follower) -> list[Row]:
    return [*follower.rows("rooms"), *follower.rows("orders")]


def _names(follower: Follower, schema: str) -> list[str]:
    return [row.name for row in follower.rows(schema)]


def _keys(row: Row) -> set[str]:
    return {labels.key(row.handle), labels.key(row.name)}
