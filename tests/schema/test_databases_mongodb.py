"""MongoDB's wire protocol, by a server that speaks it over SQLite (NX-27017): no MongoDB."""

from __future__ import annotations

import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from remloom import Memory
from remloom.errors import SourceError, UnknownNameError
from remloom.schema.databases.documents import bound, columns_of, plain_rows
from remloom.schema.databases.opening import open_database
from waiting import until

pymongo = pytest.importorskip("pymongo")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server."""
    pytest.importorskip("nx_27017", reason="there is no NX-27017 here: pip install nx-27017")
    folder = tmp_path_factory.mktemp("nx")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = Path(sys.executable).parent / "nx-27017"
    started = subprocess.Popen(
        [
            program, "--data-dir", "memory", "--host", "127.0.0.1", "-p", str(port),
            "--log-file", folder / "log", "--pid-file", folder / "pid",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip

    def listens() -> bool:
        assert started.poll() is None, "NX-27017 did not start"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    until(listens)
    yield f"mongodb://127.0.0.1:{port}"
    started.terminate()
    started.wait()


@pytest.fixture
def url(server: str) -> str:
    """The URL of a database with customers and orders."""
    from bson import Int64, ObjectId

    client: Any = pymongo.MongoClient(server)
    client.drop_database("shop")
    ids = [ObjectId(f"{number:024x}") for number in range(50)]
    client.shop.customers.insert_many(
        {
            "_id": id_,
            "name": f"Customer {number}",
            "email": f"c{number}@example.com",
            "address": {"city": "Oslo", "geo": [1.5, 2.5]},
            "tags": ["new", "big"] if number % 2 else [],
            "score": number if number % 2 else number + 0.5,
            **({"vip": True} if number == 49 else {}),
        }
        for number, id_ in enumerate(ids)
    )
    client.shop.customers.create_index("email", unique=True)
    client.shop.orders.insert_many(
        {
            "_id": number,
            "customer_id": ids[number % 50],
            "total": number + 0.5,
            "big": Int64(2**40),
            "at": datetime(2024, 2, 29, 12, tzinfo=UTC),
            "items": [{"sku": "a", "quantity": 1}],
            "note": "x",
            "blob": b"\x00",
        }
        for number in range(2000)
    )
    client.close()
    return f"{server}/shop"


@pytest.fixture
def database(url: str) -> Iterator[Any]:
    """That database, opened."""
    opened = open_database(url)
    yield opened
    opened.close()


def test_collections_are_described_by_samples(database: Any) -> None:
    customers, orders = database.tables()
    kinds = {column.name: (column.kind, column.list) for column in customers.columns}
    assert kinds == {
        "_id": ("string", False),
        "name": ("string", False),
        "email": ("string", False),
        "address.city": ("string", False),
        "address.geo": ("float", True),
        "tags": ("string", True),
        "score": ("float", False),
        "vip": ("boolean", False),
    }
    declared = {column.name: column.declared for column in customers.columns}
    assert declared["_id"] == "objectId"
    assert declared["score"] == "double, int"
    sampled = {column.name: column.sampled for column in customers.columns}
    assert sampled["score"] == "in 100% of 50 documents seen; double 50%, int 50%"
    assert sampled["vip"] == "in 2% of 50 documents seen"
    assert customers.primary_key == ("_id",)
    assert ("email",) in customers.unique
    assert customers.rows == 50
    kinds = {column.name: column.kind for column in orders.columns}
    assert kinds == {
        "_id": "integer", "customer_id": "string", "total": "float", "big": "integer",
        "at": "datetime", "items": "json", "note": "string", "blob": None,
    }  # fmt: skip
    with pytest.raises(UnknownNameError, match="'order'"):
        database.tables(["order"])


def test_documents_are_read_by_their_ids(database: Any) -> None:
    customers, orders = database.tables()
    rows: list[tuple[Any, ...]] = []
    while page := database.rows(
        customers, ["_id", "name", "tags", "vip"], after=(rows[-1][0],) if rows else None, limit=20
    ):
        rows += page
    assert len(rows) == 50
    assert rows[49] == (f"{49:024x}", "Customer 49", ["new", "big"], True)
    names = ["customer_id", "total", "big", "at", "items", "blob"]
    assert database.rows(orders, names, after=(0,), limit=1) == [
        (
            f"{1:024x}", 1.5, 2**40, datetime(2024, 2, 29, 12, tzinfo=UTC),
            [{"sku": "a", "quantity": 1}], None,
        )
    ]  # fmt: skip
    assert database.count(orders) == 2000


def test_values_of_all_types_are_made_plain() -> None:
    from bson import DBRef, Decimal128, ObjectId

    documents: list[dict[str, Any]] = [
        {"_id": ObjectId("f" * 24), "total": Decimal128("1.10"), "mixed": 1, "id": UUID(int=7)},
        {
            "_id": ObjectId("e" * 24),
            "total": 2,
            "mixed": "x",
            "refs": [ObjectId("a" * 24), DBRef("others", ObjectId("b" * 24))],
        },
        {"_id": ObjectId("d" * 24), "total": None, "mixed": {"a": Decimal128("NaN")}},
    ]
    columns = list(columns_of(documents, {"properties": {"stage": {"enum": ["new", "won"]}}}))
    assert {one.name: (one.kind, one.list) for one in columns} == {
        "_id": ("string", False),
        "total": ("decimal", False),
        "mixed": ("json", False),
        "id": ("string", False),
        "refs": ("string", True),
        "stage": ("enum", False),
    }
    assert plain_rows(documents, columns) == [
        ("f" * 24, Decimal("1.10"), 1, str(UUID(int=7)), None, None),
        ("e" * 24, Decimal(2), "x", None, ["a" * 24, "b" * 24], None),
        ("d" * 24, None, {"a": "NaN"}, None, None, None),
    ]
    assert bound("a" * 24, columns[4]) == ObjectId("a" * 24)


def test_samples_and_values_that_occur(database: Any) -> None:
    _, orders = database.tables()
    profile = database.profile(orders, 1000)
    assert profile.rows == 2000
    assert 600 <= profile.sampled <= 800
    ids = [value for one in profile.columns if one.column == "customer_id" for value in one.values]
    found = database.count_contained("customers", ["_id"], [(value,) for value in ids])
    assert found == len(ids) > 40
    assert database.count_contained("customers", ["_id"], [("f" * 24,), ("x",), (1,)]) == 0
    pairs = [("Customer 1", "c1@example.com"), ("Customer 1", "c2@example.com")]
    assert database.count_contained("customers", ["name", "email"], pairs) == 1


def test_a_server_that_is_down_is_an_error_without_the_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("remloom.schema.databases.mongodb._CONNECTING", 100)
    with warnings.catch_warnings(), pytest.raises(SourceError, match=r"127\.0\.0\.1") as caught:
        open_database("mongodb://me:s3cret@127.0.0.1:1/shop")
    assert "s3cret" not in str(caught.value)


def test_documents_within_documents_are_columns_where_the_sample_agrees() -> None:
    documents = [
        {
            "_id": number,
            "name": {"first": "Ada", "last": f"Li {number}"},
            "ship": {"to": {"city": "Oslo", "geo": {"lat": 1.5}}},
            "visits": {f"2026-{number:02}": 1},
            "mixed": {"a": 1} if number else "none",
            "a.b": 1,
        }
        for number in range(9)
    ]
    columns = list(columns_of(documents, {}))
    assert {one.name: one.kind for one in columns} == {
        "_id": "integer", "name.first": "string", "name.last": "string", "ship.to.city": "string",
        "ship.to.geo": "json", "visits": "json", "mixed": "json", "a.b": None,
    }  # fmt: skip
    read = columns[1:4]
    odd = [{"name": "Ada Li", "ship": None}, {"name": {"first": "Bo"}, "ship": {"to": {}}}]
    # a text where there were documents fits no field, so that its row is refused
    assert plain_rows(odd, read) == [
        ({"name": "Ada Li"}, {"name": "Ada Li"}, None),
        ("Bo", None, None),
    ]


def test_a_name_with_a_dot_is_not_taken_for_a_column_within() -> None:
    documents = [{"_id": 1, "a": {"b": 1}, "a.b": 2, "c": {"b": 3}}]
    columns = list(columns_of(documents, {}))
    assert [(one.name, one.kind) for one in columns] == [
        ("_id", "integer"), ("a", "json"), ("a.b", None), ("c.b", "integer"),
    ]  # fmt: skip
    assert plain_rows(documents, [columns[1], columns[3]]) == [({"b": 1}, 3)]


@pytest.fixture
def school(server: str) -> Iterator[Any]:
    """A client of a database with teachers, courses and students."""
    client: Any = pymongo.MongoClient(server)
    client.drop_database("school")
    from bson import ObjectId

    teachers = [ObjectId(f"{number:023x}a") for number in range(20)]
    client.school.teachers.insert_many(
        {"_id": id_, "name": {"first": "Ada", "last": f"Li {number}"}, "home": {"city": "Oslo"}}
        for number, id_ in enumerate(teachers)
    )
    client.school.courses.insert_many(
        {"_id": number, "title": f"Course {number}", "teacher": teachers[number]}
        for number in range(20)
    )
    client.school.students.insert_many(
        {
            "_id": number,
            "login": f"s{number}",
            "course_ids": [number % 20, (number + 1) % 20] if number else [],
            "updated_at": datetime(2026, 1, 1, tzinfo=UTC),
        }
        for number in range(1300)
    )
    client.school.students.create_index("updated_at")
    client.school.students.create_index("notes.text")
    yield client
    client.close()


def test_documents_are_followed_with_their_parts_and_lists_of_ids(
    server: str, school: Any, tmp_path: Path
) -> None:
    memory = Memory.open(tmp_path, embedder="none")
    plan = memory.schemas.discover(f"{server}/school")
    assert plan.names["teachers"] == "name.first, name.last"
    assert {(edge.table, edge.columns[0], edge.name, edge.target) for edge in plan.edges} == {
        ("courses", "teacher", "belongs_to", "teachers"),
        ("students", "course_ids", "contains", "courses"),
    }
    memory.schemas.register_from_discovery(plan)
    report = memory.schemas.sync("school")
    assert (report.added, report.refused, report.faults) == (1340, 0, {})
    walked = memory.query("TRAVERSE contains,belongs_to WITH LOOKUP student-7 DEPTH 2")
    assert {(node["name"], node.depth) for node in walked.nodes if node.depth} == {
        ("Course 7", 1), ("Course 8", 1), ("Ada Li 7", 2), ("Ada Li 8", 2),
    }  # fmt: skip
    found = memory.query("SELECT home_city FROM teachers LIMIT 1")
    assert [tuple(row) for row in found.rows] == [("Oslo",)]

    students = school.school.students
    later = datetime(2026, 2, 1, tzinfo=UTC)
    # the second time by what was written since
    for again in range(1, 3):
        students.delete_many({"_id": {"$in": [7, again]}})
        at = later.replace(month=1 + again)
        students.insert_one({"_id": 7, "login": "s7", "course_ids": [again], "updated_at": at})
        report = memory.schemas.sync("school")
        assert (report.changed, report.deleted, report.added) == (1, 1, 0)
        walked = memory.query("TRAVERSE contains WITH LOOKUP student-7")
        assert {node["name"] for node in walked.nodes if node.depth} == {f"Course {again}"}
    assert not memory.schemas.drift("school").changes
    school.school.courses.update_many({}, {"$set": {"room.floor": 1}})
    students.update_one({"_id": 1234}, {"$set": {"odd": True}})
    found = [str(one) for one in memory.schemas.drift("school").changes]
    assert "courses.room.floor: column added, int" in found
    memory.forget("student-7")
    assert memory.schemas.sync("school").forgotten == 1
    memory.close()


def test_what_another_sample_has_is_no_drift(server: str, school: Any, tmp_path: Path) -> None:
    students = school.school.students
    students.update_many({"_id": {"$gte": 100}}, {"$set": {"score": 1}})
    students.update_many({"_id": {"$gte": 700, "$lt": 706}}, {"$set": {"score": 0.5, "rare": "x"}})
    memory = Memory.open(tmp_path, embedder="none")
    plan = memory.schemas.discover(f"{server}/school")
    memory.schemas.register_from_discovery(plan)
    memory.schemas.sync("school")
    for _ in range(3):
        assert not memory.schemas.drift("school").changes
        report = memory.schemas.sync("school")
        assert (report.changed, report.faults) == (0, {})
    students.update_many({}, {"$unset": {"score": 1}})
    (change,) = memory.schemas.drift("school").changes
    assert str(change) == "students.score: column gone"
    memory.close()
