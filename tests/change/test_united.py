"""Two databases whose customers are one thing: united by what identifies them, told as one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from remloom import Home, Memory, Row
from remloom.ask.transcript import Transcript
from remloom.errors import (
    AmbiguousLabelError,
    ConflictError,
    InvalidInputError,
    NotFoundError,
    UnknownNameError,
)
from remloom.federation import Federation
from remloom.operations.tools.lookup import LOOKUP, SHOW
from remloom.schema.plan.plan import Plan
from remloom.schema.sync import uniting
from remloom.schema.sync.report import SameAs, SyncReport

ACME, SHOPS_ACME = "customer-1", "customer/shop-7"


class Sources:
    """A memory that follows a CRM and a shop."""

    def __init__(self, memory: Memory, folder: Path) -> None:
        self.memory = memory
        self._folder = folder
        self.databases = {name: self._open(name) for name in ("crm", "shop")}
        self.execute(
            "crm",
            """
            CREATE TABLE customers (
                customer_id INTEGER PRIMARY KEY, name TEXT, email TEXT UNIQUE, city TEXT);
            CREATE TABLE tickets (
                id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers, subject TEXT);
            INSERT INTO customers VALUES
                (1, 'Acme Corporation', 'info@acme.example', 'Bonn'),
                (2, 'Globex', 'a_b@globex.example', 'Ulm'), (3, 'Initech', NULL, 'Kiel');
            INSERT INTO tickets VALUES (1, 1, 'broken anvil');
        """,
        )
        self.execute(
            "shop",
            """
            CREATE TABLE customers (id INTEGER PRIMARY KEY, company TEXT, mail TEXT, city TEXT);
            CREATE TABLE orders (
                id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers, total REAL);
            INSERT INTO customers VALUES
                (7, 'ACME Corp.', ' Info@Acme.example', 'Berlin'),
                (8, 'Globex Inc', 'a-b@globex.example', 'Ulm'),
                (9, 'Initech', 'x@initech.example', 'Kiel');
            INSERT INTO orders VALUES (100, 7, 12.5);
        """,
        )
        self.register("crm", "email")
        self.register("shop", "mail")

    def _open(self, name: str) -> sqlite3.Connection:
        return sqlite3.connect(self._folder / f"{name}.db", isolation_level=None)

    def execute(self, name: str, statements: str) -> None:
        self.databases[name].executescript(statements)

    def register(self, name: str, *by: str) -> None:
        plan = self.memory.schemas.discover(str(self._folder / f"{name}.db"))
        tables = [
            replace(one, identified_by=by) if one.table == "customers" else one
            for one in plan.tables
        ]
        self.memory.schemas.register_from_discovery(replace(plan, tables=tuple(tables)))

    def sync(self, *names: str) -> SyncReport:
        for name in names or ("crm", "shop"):
            report = self.memory.schemas.sync(name)
        return report

    def one_with(self, label: str) -> list[str]:
        """The handles of the rows that a label gives."""
        records = [hit.record for hit in self.memory.lookup(label).records]
        return [record.handle for record in records if isinstance(record, Row)]

    def edges(self) -> list[Any]:
        edges = self.memory._engine.store.graph.all_edges()
        return [edge for edge in edges if edge.rel_type == "same_as"]


@pytest.fixture
def sources(memory: Memory, tmp_path: Path) -> Iterator[Sources]:
    made = Sources(memory, tmp_path)
    yield made
    for database in made.databases.values():
        database.close()


def test_two_customers_of_one_address_are_told_as_one(sources: Sources) -> None:
    report = sources.sync()
    assert (report.united, report.separated) == (1, 0)
    assert report.same_as == (SameAs(ACME, SHOPS_ACME, united=True),)
    for label in (ACME, SHOPS_ACME, "INFO@acme.example"):
        answer = sources.memory.lookup(label)
        assert {hit.record.handle for hit in answer.records} == {ACME, SHOPS_ACME}
        (united,) = answer.united
        assert set(united.sources) == {"crm/customers", "shop/customers"}
        (evidence,) = united.evidence
        assert evidence.startswith("crm/customers.email = shop/customers.mail: ")
        assert united.differs == {"city": {ACME: "Bonn", SHOPS_ACME: "Berlin"}}
        assert answer.meanings == {}
        assert answer.as_dict()["metadata"]["united"]
    assert sources.one_with("customer-2") == ["customer-2"]
    # each is what its source says
    assert sources.memory.schemas.get_row("customers", ACME).fields["city"] == "Bonn"


def test_separators_tell_addresses_apart(sources: Sources) -> None:
    sources.sync()
    assert set(sources.one_with("a_b@globex.example")) == {"customer-2", "customer/shop-8"}
    assert len(sources.edges()) == 2  # of Acme, one each way
    assert sources.memory.lookup("a_b@globex.example").meanings


def test_from_one_all_edges_of_both_are_reached(sources: Sources) -> None:
    sources.sync()
    for label in (ACME, SHOPS_ACME):
        answer = sources.memory.traverse(label, edge_types=["belongs_to"], direction="in")
        assert {node.name for node in answer.nodes} >= {"order-100", "broken anvil"}
        assert [node.depth for node in answer.nodes] == [0, 0, 1, 1]
        assert answer.united
    by_address = sources.memory.query("TRAVERSE WITH LOOKUP info@acme.example DEPTH 0")
    assert by_address.meanings == {}
    assert "united" in by_address.as_dict()["metadata"]


def test_describe_shows_both_with_the_edges_of_both(sources: Sources) -> None:
    sources.sync()
    for what in (SHOPS_ACME, sources.memory.schemas.get_row("shop_customers", SHOPS_ACME).id):
        view = sources.memory.admin.describe(what)
        assert {one.record.handle for one in view.records} == {ACME, SHOPS_ACME}
        assert {edge.src for edge in view.edges_in} >= {"order-100", "ticket-1"}
        assert "city: " in str(view.united[0])


def test_recall_puts_one_beside_the_other(sources: Sources) -> None:
    sources.sync()
    recall = sources.memory.recall("What is known of Acme Corporation?", limit=3, abstain=False)
    handles = [hit.record.handle for hit in recall.hits if isinstance(hit.record, Row)]
    assert handles[:2] == [ACME, SHOPS_ACME]
    assert len(recall.hits) <= 3
    assert set(recall.hits[1].path[-1]) == {ACME, "same_as", SHOPS_ACME}
    united = recall.hits[0].united
    assert united is not None
    assert united == recall.hits[1].united == sources.memory.lookup(ACME).united[0]
    context = sources.memory.context("What is known of Acme Corporation?", abstain=False)
    heading = f'"crm/customers {ACME}"'
    assert heading in context
    assert f'same as "shop/customers {SHOPS_ACME}, as crm/customers.email = shop/' in context
    assert "Bonn" in context
    assert "Berlin" in context


def test_a_model_reads_that_they_are_one(sources: Sources) -> None:
    sources.sync()
    text = Transcript().quote_answer(sources.memory.lookup(ACME))
    assert "one thing, of several sources:\n> customer-1 (crm/customers) = customer/shop-7" in text
    assert "city: Bonn (customer-1), Berlin (customer/shop-7)" in text
    shown = SHOW.does(sources.memory, SHOW.takes(what=ACME), None)
    assert "city: Bonn (customer-1)" in SHOW.text(shown)
    found = LOOKUP.does(sources.memory, LOOKUP.takes(labels=[ACME]), None)
    assert len(found.records) == 2
    assert found.united[0] in LOOKUP.text(found)


def test_an_address_of_two_rows_of_one_table_identifies_nothing(sources: Sources) -> None:
    sources.sync()
    sources.execute("shop", "INSERT INTO customers VALUES (10, 'X', 'info@ACME.example', NULL)")
    report = sources.sync("shop")
    assert (report.united, report.separated) == (0, 1)
    told, apart = report.same_as
    assert {told.first, told.second} == {SHOPS_ACME, "customer/shop-10"}
    assert apart == SameAs(ACME, SHOPS_ACME, separated=True)
    assert "identifies neither" in told.why
    assert sources.edges() == []
    # a label that means three things says so
    assert len(sources.memory.lookup("info@acme.example").meanings["info@acme.example"]) == 3
    sources.execute("shop", "DELETE FROM customers WHERE id = 10")
    assert sources.sync("shop").united == 1
    assert sources.one_with(ACME) == [ACME, SHOPS_ACME]


def test_what_two_things_of_one_source_have_identifies_nothing(sources: Sources) -> None:
    """As a word does that stands where there is no value, in whatever language."""
    sources.execute(
        "crm",
        """
        CREATE TABLE suppliers (supplier_id INTEGER PRIMARY KEY, name TEXT, email TEXT);
        INSERT INTO suppliers VALUES (1, 'Umbrella', 'unbekannt');
        INSERT INTO customers VALUES (4, 'Hooli', 'unbekannt', 'Ulm');
    """,
    )
    sources.execute("shop", "INSERT INTO customers VALUES (10, 'Stark', 'Unbekannt', 'Rom')")
    plan = sources.memory.schemas.discover(str(sources._folder / "crm.db"))
    tables = [
        replace(one, identified_by=("email",)) if one.table != "tickets" else one
        for one in plan.tables
    ]
    sources.memory.schemas.register_from_discovery(replace(plan, tables=tuple(tables)))
    report = sources.sync()
    assert sources.one_with("customer-4") == ["customer-4"]
    assert len(sources.edges()) == 2  # of Acme, one each way
    sources.execute("crm", "UPDATE suppliers SET email = 'u@umbrella.example'")
    assert sources.sync("crm").united == 1
    assert report.united == 1


def test_what_changes_or_goes_ends_it(sources: Sources) -> None:
    sources.sync()
    sources.execute("crm", "UPDATE customers SET email = 'new@acme.example' WHERE name LIKE 'A%'")
    assert sources.sync("crm").separated == 1
    assert sources.one_with(ACME) == [ACME]
    sources.execute("shop", "UPDATE customers SET mail = 'NEW@acme.example' WHERE id = 7")
    assert sources.sync("shop").united == 1
    sources.execute("shop", "DELETE FROM orders; DELETE FROM customers WHERE id = 7")
    sources.sync("shop")
    assert sources.one_with(ACME) == [ACME]
    assert sources.edges() == []
    assert not sources.memory.lookup(SHOPS_ACME).records
    assert sources.memory.admin.check() == []


def test_nothing_is_united_unless_a_plan_says_so(sources: Sources) -> None:
    sources.memory.schemas.identify("shop_customers")
    report = sources.sync()
    assert (report.united, sources.edges()) == (0, [])
    sources.memory.schemas.identify("shop_customers", ["mail"])
    assert sources.sync("shop").united == 1
    sources.memory.schemas.identify("customers", [])
    assert sources.sync("crm").separated == 1
    with pytest.raises(UnknownNameError):
        sources.memory.schemas.identify("customers", ["mail"])
    with pytest.raises(UnknownNameError):
        sources.memory.schemas.identify("nothing", ["mail"])


def test_a_person_unites_and_separates(sources: Sources) -> None:
    schemas = sources.memory.schemas
    sources.sync()
    united = schemas.unite("customer-3", schemas.get_row("shop_customers", "customer/shop-9").id)
    assert united.handles == ("customer-3", "customer/shop-9")
    assert str(united).endswith("as a person said")
    sources.sync()
    assert sources.one_with("customer/shop-9") == ["customer/shop-9", "customer-3"]
    schemas.separate(ACME, SHOPS_ACME)
    assert sources.one_with(ACME) == [ACME]
    # nor is it united again when the rows are written anew
    sources.execute("shop", "UPDATE customers SET city = 'Bonn' WHERE id = 7")
    report = sources.sync("shop")
    assert report.united == 0
    assert report.same_as[0].why == "a person said that they are two"
    sources.execute("shop", "DELETE FROM customers WHERE id = 9")
    sources.sync("shop")
    assert sources.one_with("customer-3") == ["customer-3"]
    schemas.unite(SHOPS_ACME, ACME)
    assert sources.one_with(ACME) == [ACME, SHOPS_ACME]


def test_two_that_were_separated_stay_so_when_a_row_goes_and_comes(sources: Sources) -> None:
    sources.sync()
    sources.memory.schemas.separate(ACME, SHOPS_ACME)
    sources.execute("shop", "DELETE FROM orders; DELETE FROM customers WHERE id = 7")
    sources.sync("shop")
    sources.execute("shop", "INSERT INTO customers VALUES (7, 'A', 'info@acme.example', NULL)")
    assert sources.sync("shop").united == 0
    assert sources.one_with(ACME) == [ACME]


def test_chains_and_circles(sources: Sources) -> None:
    schemas = sources.memory.schemas
    sources.sync()
    schemas.unite("customer-2", "customer/shop-8")
    schemas.unite("customer/shop-8", "customer-3")
    assert set(sources.one_with("customer-2")) == {"customer-2", "customer/shop-8", "customer-3"}
    assert len(schemas.unite("customer-3", "customer-2").handles) == 3
    with pytest.raises(ConflictError, match="also one through customer/shop-8"):
        schemas.separate("customer-3", "customer-2")
    schemas.separate("customer-1", "customer-2")
    with pytest.raises(ConflictError, match="were said to be two"):
        schemas.unite("customer-3", "customer-1")
    answer = sources.memory.traverse("customer-3", direction="both", max_depth=3)
    assert len({node.id for node in answer.nodes}) == len(answer.nodes)


@pytest.mark.parametrize(
    ("first", "second", "error"),
    [
        (ACME, ACME, InvalidInputError),
        (ACME, "Customer_1", InvalidInputError),
        (ACME, "order-100", InvalidInputError),
        (ACME, "customer-99", NotFoundError),
        (ACME, "Globex", NotFoundError),
        (ACME, "", InvalidInputError),
        (ACME, "'", InvalidInputError),
    ],
)
def test_what_cannot_be_united_is_refused(
    sources: Sources, first: str, second: str, error: type[Exception]
) -> None:
    sources.sync()
    before = sources.edges()
    for say in (sources.memory.schemas.unite, sources.memory.schemas.separate):
        with pytest.raises(error):
            say(first, second)
    assert sources.edges() == before


def test_forgetting_one_leaves_the_other_alone(sources: Sources) -> None:
    sources.sync()
    with pytest.raises(AmbiguousLabelError):
        sources.memory.forget("info@acme.example")
    receipt = sources.memory.forget(ACME)
    assert receipt.verified
    assert sources.edges() == []
    assert sources.one_with(SHOPS_ACME) == [SHOPS_ACME]
    assert sources.memory.schemas.get_row("shop_customers", SHOPS_ACME).fields["mail"]
    sources.sync()
    assert sources.one_with("info@acme.example") == [SHOPS_ACME]
    assert sources.memory.admin.check() == []


def test_forgetting_one_that_was_separated_leaves_no_trace(sources: Sources) -> None:
    sources.sync()
    sources.memory.schemas.separate(ACME, SHOPS_ACME)
    sources.memory.forget(ACME)
    assert sources.edges() == []
    assert not sources.memory.lookup(ACME).records


def test_a_row_that_shares_values_with_two_rows_of_one_table_is_one_with_neither(
    memory: Memory, tmp_path: Path
) -> None:
    sources = Sources(memory, tmp_path)
    sources.execute("crm", "ALTER TABLE customers ADD COLUMN vat TEXT")
    sources.execute("shop", "ALTER TABLE customers ADD COLUMN vat TEXT")
    sources.execute("crm", "UPDATE customers SET vat = 'DE1' WHERE customer_id = 1")
    sources.execute("shop", "UPDATE customers SET vat = 'de1' WHERE id = 9")
    sources.register("crm", "email", "vat")
    sources.register("shop", "mail", "vat")
    report = sources.sync()
    assert report.united == 0
    assert "two rows of one table" in report.same_as[0].why
    sources.execute("shop", "UPDATE customers SET vat = 'DE1' WHERE id = 7")
    sources.execute("shop", "UPDATE customers SET vat = NULL WHERE id = 9")
    assert sources.sync("shop").united == 1
    assert len(sources.memory.lookup(ACME).united[0].evidence) == 2


def test_a_sync_that_is_broken_off_is_made_good(
    sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as broken:
        broken.setattr(uniting.Uniter, "look_at", fail)
        with pytest.raises(RuntimeError):
            sources.sync("crm")
        with pytest.raises(RuntimeError):
            sources.sync("shop")
    assert sources.edges() == []
    sources.sync()
    assert sources.one_with(ACME) == [ACME, SHOPS_ACME]


def test_the_order_of_syncs_makes_no_difference(memory: Memory, tmp_path: Path) -> None:
    sources = Sources(memory, tmp_path)
    assert sources.sync("shop").united == 0
    assert sources.sync("crm").united == 1
    before = sources.edges()
    sources.sync()
    assert sources.edges() == before


def test_as_of_an_earlier_time_they_were_two(sources: Sources) -> None:
    sources.sync("crm")
    (hit,) = sources.memory.lookup(ACME).records
    before = hit.record.updated_at
    sources.sync("shop")
    assert len(sources.memory.lookup(ACME).records) == 2
    assert len(sources.memory.lookup(ACME, as_of=before).records) == 1


def test_a_dry_run_unites_nothing(sources: Sources) -> None:
    sources.sync("crm")
    assert sources.memory.schemas.sync("shop", dry_run=True).united == 0
    assert sources.edges() == []


def test_a_plan_file_says_what_identifies(sources: Sources, tmp_path: Path) -> None:
    plan = sources.memory.schemas.discover(str(tmp_path / "crm.db"))
    path = plan.save(tmp_path / "crm.toml")
    text = path.read_text("utf-8")
    assert "identified_by = []" in text
    path.write_text(text.replace("identified_by = []", 'identified_by = ["email"]', 1), "utf-8")
    assert any(table.identified_by == ("email",) for table in Plan.load(path).tables)


def test_a_column_that_is_not_taken_identifies_nothing(sources: Sources) -> None:
    with pytest.raises(UnknownNameError, match="nope"):
        sources.register("crm", "nope")


def test_others_see_no_more_than_was_granted(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home", tenant="sales", embedder="none") as memory:
        sources = Sources(memory, tmp_path)
        sources.sync()
    Memory.open(tmp_path / "home", tenant="asks", embedder="none").close()
    Home(tmp_path / "home").grant("sales", to="asks", schemas=["customers"])
    with Federation.open(tmp_path / "home", as_tenant="asks", embedder="none") as others:
        shown = str(others.lookup(ACME, "info@acme.example").as_dict())
        assert "Acme Corporation" in shown
        shown += str(others.recall("Acme Corporation?", abstain=False).as_dict())
        assert "shop" not in shown
        assert "Berlin" not in shown


def test_tenants_are_apart(sources: Sources, tmp_path: Path) -> None:
    sources.sync()
    with Memory.open(tmp_path / "other", embedder="none") as other, pytest.raises(NotFoundError):
        other.schemas.unite(ACME, SHOPS_ACME)
