"""MongoDB's wire protocol, by a server that speaks it over SQLite (NX-27017): no MongoDB."""

from __future__ import annotations

import random
import re
import socket
import struct
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
from fake_database import count_rows

from remloom import Memory
from remloom.errors import SourceError, UnknownNameError
from remloom.model import Row
from remloom.schema.databases.contract import Unreadable
from remloom.schema.databases.documents import bound, columns_of, decode_document, plain_rows
from remloom.schema.databases.opening import open_database
from waiting import until

pymongo = pytest.importorskip("pymongo")
Int64 = pytest.importorskip("bson").Int64


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
    from bson import ObjectId

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
    assert count_rows(database, orders) == 2000


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


# type -> values: sound ones, then odd ones
_VALUES: dict[str, tuple[Any, ...]] = {
    "string": ("Crane", "", " ", "\0", "🦩", 7), "int": (7, 2**40, -(2**63), "seven", 1.5),
    "double": (1.5, "nan", "infinite"), "date": (datetime(2024, 5, 1, tzinfo=UTC), "far", "ancient", "2024"),
    "bool": (True, "broken"), "numbers": ([1, 2], [1, None], ["x", 1], []), "dates": ([datetime(2024, 5, 1, tzinfo=UTC)], ["far"]),
    "within": ({"a": 1}, {"a": "nan"}, {"a": "far"}, "text", {"b": 2}), "list": ([{"a": 1}], [{"a": "far"}], [[]]),
}  # fmt: skip
# what NX-27017 cannot keep: the number of its type and its bytes; far dates are in milliseconds
_UNKEPT = {
    "far": (b"\x09", struct.pack("<q", 2**52)),
    "ancient": (b"\x09", struct.pack("<q", -(2**52))),
    "nan": (b"\x01", struct.pack("<d", float("nan"))),
    "infinite": (b"\x01", struct.pack("<d", float("-inf"))),
}
_MARKS = {name: 2**60 + number for number, name in enumerate(_UNKEPT)}
_BROKEN = "broken"  # a boolean that is neither 0 nor 1


def _as_servers_have_it(data: bytes) -> bytes:
    """A document as MongoDB would give it, where NX-27017 cannot keep such a value."""
    for name, mark in _MARKS.items():
        type_, value = _UNKEPT[name]
        pattern = rb"\x12([^\0]+)\0" + re.escape(struct.pack("<q", mark))
        data = re.sub(
            pattern,
            lambda found, type_=type_, value=value: type_ + found[1] + b"\0" + value,
            data,
        )
    return re.sub(rb"\x08(is_b\w+)\0.", b"\x08\\1\0\x07", data)


def _kept(value: Any) -> Any:
    """A value as NX-27017 keeps it."""
    if isinstance(value, dict):
        return {name: _kept(of) for name, of in value.items()}
    if isinstance(value, list):
        return list(map(_kept, value))
    return Int64(_MARKS[value]) if value in _MARKS and isinstance(value, str) else value


def test_an_odd_value_costs_a_document_nothing_else(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random("mongodb")
    monkeypatch.setattr(
        "remloom.schema.databases.mongodb.decode_document",
        lambda data, options: decode_document(_as_servers_have_it(data), options),
    )
    client: Any = pymongo.MongoClient(server)
    client.drop_database("odd")
    given: dict[str, dict[str, Any]] = {}
    late = []
    for number in range(4):
        columns = {f"{type_}{place}": type_ for place, type_ in enumerate(_VALUES)}
        for row in range(12):
            # the sample of every other collection has none of what is odd
            is_late = number % 2 and row >= 6
            values = {
                name: _VALUES[type_][0]
                if number % 2 and not is_late
                else draw.choice((None, *_VALUES[type_]))
                for name, type_ in columns.items()
            }
            given[f"Heron {number} {row}"] = values
            document = {"_id": row, "name": f"Heron {number} {row}"}
            for name, value in values.items():
                is_broken = value == _BROKEN
                document[f"is_{name}" if is_broken else name] = is_broken or _kept(value)
            if is_late:
                late.append((f"things{number}", document))
            else:
                client.odd[f"things{number}"].insert_one(document)
    url = f"{server}/odd"
    with Memory.open(tmp_path, embedder="none") as memory:
        plan = memory.schemas.discover(url)
        memory.schemas.register_from_discovery(plan, url=url)
        for collection, document in late:
            client.odd[collection].insert_one(document)
        client.close()
        report = memory.schemas.sync("odd", url=url)
        assert not report.faults
        assert (report.added, report.refused) == (48, 0), report
        left_out = {
            (each.row, each.reason.split()[0])
            for table in report.tables
            for each in table.left_out_values
        }
        unplanned = {each.column for each in plan.left_out}
        for name, values in given.items():
            (hit,) = memory.lookup(name).records
            row = hit.record
            assert isinstance(row, Row)
            (table,) = (each for each in plan.tables if each.schema_name == row.schema)
            for column, value in values.items():
                place = f"is_{column}" if value == _BROKEN else column
                fields = [
                    each.name for each in table.fields if each.column.partition(".")[0] == place
                ]
                is_there = any(one in row.fields or (row.handle, one) in left_out for one in fields)
                # a field that no document of the sample had is drift
                is_drift = value == {"b": 2} or (value == _BROKEN and not fields)
                is_told = is_there or place in unplanned or value in (None, "", " ", [])
                assert is_told or is_drift, (name, column, value, row.fields)
        assert any("is_bool" in reason for _, reason in left_out)
        again = memory.schemas.sync("odd", url=url)
        assert (again.unchanged, again.left_out) == (48, report.left_out)
        assert memory.admin.check() == []


def test_a_document_that_cannot_be_decoded_costs_no_other_field() -> None:
    import bson
    from bson.codec_options import CodecOptions

    options: Any = CodecOptions(tz_aware=True)
    sound = {
        "_id": 1,
        "a": "x",
        "b": [1],
        "c": {"d": 1.5},
        "e": bson.Regex("a"),
        "f": b"\0",
        "g": Int64(2**40),
    }
    data = bson.encode({**sound, "is_broken1": True, "last": "y"})
    assert decode_document(data, options) == {**sound, "is_broken1": True, "last": "y"}
    found = decode_document(_as_servers_have_it(data), options)
    assert isinstance(found.pop("is_broken1"), Unreadable)
    assert found == {**sound, "last": "y"}
    columns = list(columns_of([decode_document(_as_servers_have_it(data), options)], {}))
    assert {column.name: column.sampled for column in columns}[
        "is_broken1"
    ] == "in none of 1 documents seen"
