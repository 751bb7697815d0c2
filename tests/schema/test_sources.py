from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from remloom import Memory
from remloom.errors import SchemaChangeError, SourceError, UnknownNameError
from remloom.schema.plan.plan import Plan


@pytest.fixture
def crm(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(tmp_path / "crm.db")
    connection.executescript(
        "CREATE TABLE customers (customer_id INTEGER PRIMARY KEY, name TEXT, email TEXT UNIQUE);"
        "CREATE TABLE orders (id INTEGER PRIMARY KEY,"
        " customer_id INTEGER REFERENCES customers, total REAL);"
        "INSERT INTO customers VALUES (12345, 'Acme Corporation', 'info@acme.example'),"
        " (12346, 'Globex', NULL);"
        "INSERT INTO orders VALUES (1, 12345, 99.9), (2, 12345, 5), (3, 12346, 7);"
    )
    yield connection
    connection.close()


@pytest.fixture
def memory(tmp_path: Path, crm: sqlite3.Connection) -> Iterator[Memory]:
    with Memory.open(tmp_path / "home", tenant="sales", embedder="none") as memory:
        plan = memory.schemas.discover(str(tmp_path / "crm.db"))
        memory.schemas.register_from_discovery(plan)
        yield memory


def test_a_database_is_discovered_registered_synced_and_asked(memory: Memory) -> None:
    report = memory.schemas.sync("crm")
    assert (report.added, report.edges_added) == (5, 3)
    answer = memory.query("TRAVERSE belongs_to WITH LOOKUP customer-12345 DEPTH 1 DIRECTION in")
    assert {node.record.name for node in answer.nodes if node.depth} == {"order-1", "order-2"}
    assert memory.query("SELECT SUM(total) FROM orders").rows[0][0] == pytest.approx(111.9)
    assert memory.admin.check() == []


def test_a_plan_is_registered_wholly_or_not_at_all(
    memory: Memory, crm: sqlite3.Connection, tmp_path: Path
) -> None:
    before = memory.schemas.list()
    crm.executescript(
        "ALTER TABLE customers ADD COLUMN phone TEXT; ALTER TABLE orders DROP COLUMN total;"
    )
    with pytest.raises(SchemaChangeError, match="orders"):
        memory.schemas.register_from_discovery(memory.schemas.discover(str(tmp_path / "crm.db")))
    assert memory.schemas.list() == before


def test_a_source_keeps_no_value_of_a_row(memory: Memory) -> None:
    entries = memory.admin.store.kv.list("sources")
    assert [entry.key for entry in entries] == ["crm"]
    assert b"Acme" not in entries[0].value
    assert [source.name for source in memory.schemas.sources()] == ["crm"]


def test_a_sync_is_a_job_and_its_result_has_numbers(memory: Memory) -> None:
    memory.jobs.add("sync", {"source": "crm"}, key="nightly", every="0 2 * * *")
    memory.jobs.retry("nightly")
    assert memory.jobs.work(until_idle=True) == 1
    totals = memory.jobs.get("nightly").result["totals"]
    assert (totals["added"], totals["edges_added"]) == (5, 3)
    assert memory.query("SELECT COUNT(*) FROM orders").rows == [(3,)]


def test_an_unknown_source_is_told_with_those_that_there_are(memory: Memory) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'crm'"):
        memory.schemas.sync("crn")


def test_a_database_that_is_gone_changes_nothing(memory: Memory, tmp_path: Path) -> None:
    memory.schemas.sync("crm")
    (tmp_path / "crm.db").rename(tmp_path / "elsewhere.db")
    with pytest.raises(SourceError):
        memory.schemas.sync("crm")
    assert memory.query("SELECT COUNT(*) FROM orders").rows == [(3,)]
    moved = str(tmp_path / "elsewhere.db")
    assert memory.schemas.sync("crm", url=moved).unchanged == 5


def test_what_is_added_is_accepted_and_synced(memory: Memory, crm: sqlite3.Connection) -> None:
    memory.schemas.sync("crm")
    assert not memory.schemas.drift("crm")
    crm.executescript(
        "ALTER TABLE customers ADD COLUMN vat TEXT;"
        "UPDATE customers SET vat = 'DE1' WHERE customer_id = 12345;"
        "CREATE TABLE tickets (id INTEGER PRIMARY KEY, subject TEXT,"
        " customer_id INTEGER REFERENCES customers);"
        "INSERT INTO tickets VALUES (1, 'Broken anvil', 12345);"
    )
    drift = memory.schemas.drift("crm", accept=True)
    assert sorted(map(str, drift.accepted)) == [
        "customers.vat: column added, TEXT",
        "tickets: table added",
    ]
    assert not memory.schemas.drift("crm")
    memory.schemas.sync("crm")
    assert memory.schemas.get_row("customers", "customer-12345").fields["vat"] == "DE1"
    (hit,) = memory.lookup("Broken anvil").records
    assert hit.record.graph_paths[0].dst == "customer-12345"


def test_dropped_rows_come_back_and_forgotten_ones_do_not(memory: Memory, tmp_path: Path) -> None:
    memory.schemas.sync("crm")
    memory.forget("order-1")
    memory.schemas.drop("orders", rows=True)
    plan = memory.schemas.discover(str(tmp_path / "crm.db"))
    memory.schemas.register_from_discovery(plan)
    report = memory.schemas.sync("crm")
    assert (report.added, report.forgotten) == (2, 1)


def test_rows_of_one_type_in_two_sources_have_handles_of_their_own(
    memory: Memory, tmp_path: Path
) -> None:
    memory.schemas.sync("crm")
    for _ in range(2):
        plan = memory.schemas.discover(str(tmp_path / "crm.db"), "shop-2")
        memory.schemas.register_from_discovery(plan)
        report = memory.schemas.sync("shop-2")
    assert (report.added, report.changed, report.deleted) == (0, 0, 0)
    row = memory.schemas.get_row("shop_2_customers", "customer/shop-2-12345")
    assert row.uri == "shop-2/customers"
    assert memory.schemas.get_row("customers", "customer-12345").uri == "crm/customers"
    (order,) = memory.lookup("order/shop-2-1").records
    assert order.graph_paths[0].dst == "customer/shop-2-12345"


def test_a_database_is_discovered_by_a_job_that_knows_its_name_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as shop:
        shop.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT)")
        shop.execute("INSERT INTO customers VALUES (1, 'Acme')")
        shop.commit()
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        with pytest.raises(UnknownNameError, match="crm"):
            memory.schemas.rediscover("crm")
        monkeypatch.setenv("REMLOOM_SOURCE_CRM", f"sqlite:///{tmp_path}/shop.db")
        memory.jobs.add("discover", {"source": "crm"}, key="look")
        memory.jobs.work(until_idle=True)
        job = memory.jobs.get("look")
        assert str(tmp_path) not in repr(job)
        plan = msgspec.convert(job.result, Plan)
        assert (plan.source, plan.names) == ("crm", {"customers": "name"})
        memory.schemas.register_from_discovery(plan)
        assert memory.schemas.sync("crm").added == 1
        monkeypatch.delenv("REMLOOM_SOURCE_CRM")
        assert memory.schemas.rediscover("crm").names == plan.names
