"""Discovery: what is proposed of databases with the traps that real ones have."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from remloom.errors import InvalidInputError
from remloom.schema.databases.contract import Column, Table
from remloom.schema.databases.opening import open_database
from remloom.schema.discovery.discovering import discover, propose
from remloom.schema.plan.plan import Plan, PlannedEdge

CRM = """
CREATE TABLE accounts (account_id INTEGER, account_name TEXT, parent_account_id INTEGER, owner INTEGER);
CREATE TABLE employees (emp_no INTEGER, fname TEXT, lname TEXT, reports_to INTEGER, pwd TEXT);
CREATE TABLE contacts (id INTEGER PRIMARY KEY, full_name TEXT, email TEXT, acctid INTEGER, phone TEXT, status TEXT);
CREATE TABLE tblAddress (AddressID INTEGER, Line1 TEXT);
CREATE TABLE orders (
  orderno TEXT, contactid INTEGER, BillingAddressID INTEGER, ShippingAddressID INTEGER,
  SalesRepID INTEGER, quantity INTEGER, updated_at TIMESTAMP);
CREATE INDEX orders_updated ON orders (updated_at);
CREATE TABLE products (sku TEXT, title TEXT, picture BLOB, notes TEXT);
CREATE TABLE order_lines (orderno TEXT, sku TEXT, qty INTEGER, price DECIMAL(9, 2));
CREATE VIEW big_orders AS SELECT * FROM orders WHERE quantity > 3;
"""  # nothing but one key is declared


@pytest.fixture(scope="module")
def crm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("crm") / "crm.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(CRM)

    def insert(table: str, rows: Sequence[tuple[object, ...]]) -> None:
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)

    insert("accounts", [(i, f"Company {i}", i // 2 or None, 100 + i % 9) for i in range(1, 41)])
    insert(
        "employees",
        [(100 + i, f"Ann{i}", f"Lee{i}", 100 + i // 3 if i else None, "x1") for i in range(9)],
    )
    kinds = ("lead", "client", "lost")
    insert("contacts", [
        (i, f"Jo Doe {i}", f"jo{i}@example.com", i % 40 + 1, f"+49 30 123{i:05}", kinds[i % 3])
        for i in range(1, 201)
    ])  # fmt: skip
    insert("tblAddress", [(i, f"{i} Main Street") for i in range(1, 61)])
    insert("orders", [
        (f"SO-{i:05}", i % 200 + 1, i % 60 + 1, i * 7 % 60 + 1, 100 + i % 9, i % 5, f"2026-01-{i % 28 + 1:02} 10:00:00")
        for i in range(300)
    ])  # fmt: skip
    insert(
        "products",
        [
            (f"AB-{i:03}", f"Thing {i}", b"\0", f"It is a very good thing, number {i}")
            for i in range(50)
        ],
    )
    insert(
        "order_lines",
        [(f"SO-{i % 300:05}", f"AB-{(i * 3 + i // 300) % 50:03}", i % 7, 9.5) for i in range(600)],
    )
    connection.commit()
    connection.close()
    return path


@pytest.fixture(scope="module")
def plan(crm: Path) -> Plan:
    return discovered(crm)


def discovered(path: Path, **options: object) -> Plan:
    database = open_database(str(path))
    try:
        return discover(database, "crm", **options)  # type: ignore[arg-type]
    finally:
        database.close()


def edge_of(plan: Plan, table: str, column: str) -> PlannedEdge:
    return next(each for each in plan.edges if (each.table, each.columns) == (table, (column,)))


def test_foreign_keys_are_found_where_none_are_declared(plan: Plan) -> None:
    found = {(edge.table, *edge.columns, edge.target) for edge in plan.edges}

    assert found == {
        ("accounts", "parent_account_id", "accounts"),
        ("accounts", "owner", "employees"),
        ("employees", "reports_to", "employees"),
        ("contacts", "acctid", "accounts"),
        ("orders", "contactid", "contacts"),
        ("orders", "BillingAddressID", "tblAddress"),
        ("orders", "ShippingAddressID", "tblAddress"),
        ("orders", "SalesRepID", "employees"),
        ("order_lines", "orderno", "orders"),
        ("order_lines", "sku", "products"),
    }
    assert all(edge.evidence and not edge.declared for edge in plan.edges)


def test_keys_are_found_and_a_table_of_parts_is_told_by_two(plan: Plan) -> None:
    keys = {table.table: table.key for table in plan.tables}

    assert keys == {
        "accounts": ("account_id",), "employees": ("emp_no",), "contacts": ("id",),
        "tblAddress": ("AddressID",), "orders": ("orderno",), "products": ("sku",),
    }  # fmt: skip
    assert not next(each for each in plan.tables if each.table == "orders").key_declared


def test_the_names_that_people_use_are_found(plan: Plan) -> None:
    assert plan.names == {
        "accounts": "account_name", "employees": "fname, lname", "contacts": "full_name",
        "tblAddress": "Line1", "products": "title",
    }  # fmt: skip


def test_a_column_that_names_a_table_and_its_key_is_of_that_table(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "port.sqlite")
    connection.executescript(
        "CREATE TABLE ships (imo INTEGER PRIMARY KEY, name TEXT);"
        "CREATE TABLE calls (id INTEGER PRIMARY KEY, ship_imo INTEGER REFERENCES ships,"
        " pilot_ship_imo INTEGER REFERENCES ships);"
    )
    connection.close()
    plan = discovered(tmp_path / "port.sqlite")
    assert edge_of(plan, "calls", "ship_imo").name == "belongs_to"
    assert edge_of(plan, "calls", "pilot_ship_imo").name == "pilot_ship"


def test_edges_are_named_by_their_part_and_two_to_one_table_never_share_a_name(plan: Plan) -> None:
    assert edge_of(plan, "orders", "contactid").name == "belongs_to"
    assert edge_of(plan, "orders", "BillingAddressID").name == "billing_address"
    assert edge_of(plan, "orders", "ShippingAddressID").name == "shipping_address"
    assert edge_of(plan, "orders", "SalesRepID").name == "sale_rep"
    assert edge_of(plan, "employees", "reports_to").name == "reports_to"
    assert edge_of(plan, "accounts", "parent_account_id").name == "child_of"


def test_a_link_table_becomes_edges_with_its_other_columns_as_properties(plan: Plan) -> None:
    (link,) = plan.links

    assert (link.table, link.owner, link.name, link.target) == (
        "order_lines", "orders", "contains", "products",
    )  # fmt: skip
    assert [field.column for field in link.fields] == ["qty", "price"]


def test_enums_personal_data_labels_and_prose_are_told(plan: Plan) -> None:
    fields = {
        (table.table, field.column): field.field for table in plan.tables for field in table.fields
    }

    assert fields["contacts", "status"].values == ("client", "lead", "lost")
    assert fields["contacts", "email"].personal == "email"
    assert fields["contacts", "email"].is_key
    assert fields["contacts", "phone"].personal == "phone"
    assert not fields["contacts", "phone"].searchable
    assert fields["products", "notes"].searchable


def test_times_of_day_are_no_addresses_of_machines(tmp_path: Path) -> None:
    path = tmp_path / "doors.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            """
            CREATE TABLE doors (id INTEGER PRIMARY KEY, opens TEXT, host TEXT, card TEXT);
            INSERT INTO doors (opens, host, card) VALUES
              ('24:00:00', '10.0.0.7', '00:1B:44:11:3A:B7'),
              ('08:30:00', 'fe80::1', '00-1b-44-11-3a-b8');
            """
        )
    connection.close()
    (table,) = discovered(path).tables
    told = {field.column: field.field.personal for field in table.fields}
    assert told == {"id": "", "opens": "", "host": "ip address", "card": "ip address"}


def test_secrets_pictures_and_views_are_left_out_and_it_is_said(plan: Plan) -> None:
    left_out = {(each.table, each.column): each.reason for each in plan.left_out}

    assert set(left_out) == {("employees", "pwd"), ("products", "picture"), ("big_orders", "")}
    assert "secret" in left_out["employees", "pwd"]


def test_a_column_of_times_of_writing_with_an_index_is_a_watermark_and_is_asked_of(
    plan: Plan,
) -> None:
    marks = {table.table: table.watermark for table in plan.tables if table.watermark}

    assert marks == {"orders": "updated_at"}
    assert ("orders", ("updated_at",)) in {(each.table, each.columns) for each in plan.questions}


def test_a_plan_estimates_what_it_comes_to(plan: Plan) -> None:
    assert plan.estimate.rows == 40 + 9 + 200 + 60 + 300 + 50
    assert plan.estimate.edges == 39 + 40 + 8 + 200 + 4 * 300 + 600
    assert plan.estimate.megabytes > 0


def test_its_schemas_name_no_field_as_rows_name_theirs(plan: Plan) -> None:
    contacts = next(each for each in plan.schemas if each.schema_name == "contacts")

    assert contacts.handle == ("contact_id",)
    assert contacts.entity_types == ("contact",)


def test_a_view_is_taken_if_it_is_named(crm: Path) -> None:
    plan = discovered(crm, tables=["big_orders", "contacts"])

    assert {table.table for table in plan.tables} == {"big_orders", "contacts"}


def test_without_a_sample_names_alone_decide(crm: Path) -> None:
    plan = discovered(crm, sample=0)

    assert edge_of(plan, "orders", "contactid").target == "contacts"
    assert "no values" in edge_of(plan, "orders", "contactid").evidence


def test_relationships_are_not_looked_for_if_nobody_wants_them(crm: Path) -> None:
    assert not discovered(crm, relationships=False).edges


def test_progress_is_told_by_tables(crm: Path) -> None:
    told: list[tuple[int, int]] = []

    discovered(crm, progress=lambda done, total: told.append((done, total)))

    assert told[-1] == (7, 7)


def test_a_sample_of_less_than_nothing_is_refused(crm: Path) -> None:
    with pytest.raises(InvalidInputError, match="sample"):
        discovered(crm, sample=-1)


def test_names_of_every_kind_are_borne_with(tmp_path: Path) -> None:
    path = tmp_path / "odd.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript("""
        CREATE TABLE "%" ("%" TEXT, " " TEXT, "№" INTEGER, "sel""ect" TEXT, "id" INTEGER, "key" TEXT, "Größe" TEXT);
        CREATE TABLE "records" ("id" INTEGER PRIMARY KEY, "東京" TEXT, "name" TEXT, "Name_" TEXT);
        CREATE TABLE "select" ("order" INTEGER, "records_id" INTEGER REFERENCES records (id));
        INSERT INTO "%" VALUES ('a', 'b', 1, 'c', 2, 'd', 'e');
        INSERT INTO "records" VALUES (1, 'x', 'y', 'z');
        INSERT INTO "select" VALUES (1, 1);
    """)
    connection.close()

    plan = discovered(path)

    assert Plan.load(plan.save(tmp_path / "odd.toml")).schemas == plan.schemas
    assert {table.schema_name for table in plan.tables} == {"column", "crm_records", "select"}
    assert edge_of(plan, "select", "records_id").name == "belongs_to"


def test_of_very_many_columns_those_that_are_too_many_are_left_out_and_named(
    tmp_path: Path,
) -> None:
    path = tmp_path / "wide.sqlite"
    connection = sqlite3.connect(path)
    columns = ", ".join(f"c{number} INTEGER" for number in range(400))
    connection.execute(f"CREATE TABLE wide (id INTEGER PRIMARY KEY, {columns})")
    connection.close()

    plan = discovered(path)

    assert len(plan.tables[0].fields) == 300
    assert len(plan.left_out) == 101


def test_columns_that_lead_elsewhere_together_are_found(tmp_path: Path) -> None:
    path = tmp_path / "notes.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript("""
        CREATE TABLE tickets (ticket_id INTEGER PRIMARY KEY);
        CREATE TABLE notes (ticket_id INTEGER, line_no INTEGER, body TEXT, PRIMARY KEY (ticket_id, line_no));
        CREATE TABLE files (file_id INTEGER PRIMARY KEY, ticket_id INTEGER, line_no INTEGER);
    """)
    for number in range(1, 30):
        connection.execute("INSERT INTO tickets VALUES (?)", (number,))
        connection.execute("INSERT INTO notes VALUES (?, ?, 'x')", (number, number % 3))
        connection.execute("INSERT INTO files VALUES (?, ?, ?)", (number, number, number % 3))
    connection.commit()
    connection.close()

    plan = discovered(path)

    together = [edge for edge in plan.edges if len(edge.columns) == 2]
    assert [(edge.table, edge.columns, edge.target, edge.target_columns) for edge in together] == [
        ("files", ("ticket_id", "line_no"), "notes", ("ticket_id", "line_no"))
    ]
    assert edge_of(plan, "files", "ticket_id").target == "tickets"


def test_values_that_no_enum_can_have_make_no_plan_that_cannot_be_read(tmp_path: Path) -> None:
    column = Column(name="state", kind="enum", values=("new", "", "won"), declared="ENUM")
    table = Table(
        name="deals",
        columns=(Column(name="id", kind="integer"), column),
        primary_key=("id",),
    )
    plan = propose(
        "crm", [table], {}, contains=lambda *_: None, read_rows=lambda *_: (), relationships=False
    )
    assert {field.name: field.field.kind for field in plan.tables[0].fields}["state"] == "string"
    plan.save(tmp_path / "crm.toml")
    assert Plan.load(tmp_path / "crm.toml").schemas == plan.schemas


def names_of(tmp_path: Path, script: str) -> dict[str, str]:
    path = tmp_path / "named.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(script)
    connection.close()
    database = open_database(str(path))
    try:
        return dict(discover(database, "named", sample=0).names)
    finally:
        database.close()


def test_rows_without_a_name_are_called_by_what_they_say(tmp_path: Path) -> None:
    names = names_of(
        tmp_path,
        """
        CREATE TABLE replies (id INTEGER PRIMARY KEY, text TEXT, error_message TEXT);
        CREATE TABLE runs (id INTEGER PRIMARY KEY, run_id TEXT, state TEXT);
        CREATE TABLE run_tags (key TEXT, value TEXT, run INTEGER REFERENCES runs, PRIMARY KEY (key, run));
        CREATE TABLE uploaded_files (id INTEGER PRIMARY KEY, file TEXT, filename TEXT);
        CREATE TABLE orders (id INTEGER PRIMARY KEY, order_no TEXT, comment TEXT);
        CREATE TABLE audit_log (id INTEGER PRIMARY KEY, event TEXT, ip TEXT);
        CREATE TABLE reviews (id INTEGER PRIMARY KEY, name TEXT, email TEXT, title TEXT);
        CREATE TABLE email_templates (id INTEGER PRIMARY KEY, subject TEXT, template_name TEXT);
        """,
    )

    assert names == {
        "replies": "text",
        "runs": "run_id",
        "run_tags": "key",
        "uploaded_files": "filename",
        "orders": "order_no",
        "audit_log": "event",
        "reviews": "title",
        "email_templates": "template_name",
    }


def test_what_names_something_else_names_no_row(tmp_path: Path) -> None:
    names = names_of(
        tmp_path,
        """
        CREATE TABLE tunnels (id INTEGER PRIMARY KEY, username TEXT, port INTEGER);
        CREATE TABLE positions (id INTEGER PRIMARY KEY, street TEXT, city TEXT);
        CREATE TABLE revoked_secrets (id INTEGER PRIMARY KEY, secret TEXT);
        CREATE TABLE field_values (id INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE run_caches (id INTEGER PRIMARY KEY, session_key TEXT, key TEXT);
        """,
    )

    assert names == {}


@pytest.mark.parametrize(("orphans", "is_found"), [(0, True), (2, True), (3, False), (30, False)])
@pytest.mark.parametrize("column", ["holder", "acct", "account"])
def test_a_column_without_a_clear_name_leads_where_nearly_all_its_values_are(
    tmp_path: Path, column: str, orphans: int, is_found: bool
) -> None:
    connection = sqlite3.connect(tmp_path / "firms.sqlite")
    connection.executescript(
        "CREATE TABLE accounts (account_id INTEGER PRIMARY KEY, name TEXT);"
        f"CREATE TABLE contacts (id INTEGER PRIMARY KEY, full_name TEXT, {column} INTEGER);"
    )
    accounts = [(1_000 + n, f"Firm {n}") for n in range(100)]
    contacts = [(n, f"Ann {n}", (5_000 if n < orphans else 1_000) + n) for n in range(100)]
    connection.executemany("INSERT INTO accounts VALUES (?, ?)", accounts)
    connection.executemany("INSERT INTO contacts VALUES (?, ?, ?)", contacts)
    connection.commit()
    connection.close()
    found = [(*edge.columns, edge.target) for edge in discovered(tmp_path / "firms.sqlite").edges]
    assert found == ([(column, "accounts")] if is_found else [])


@pytest.mark.parametrize(("orphans", "is_found"), [(2, True), (3, False), (30, False)])
def test_columns_lead_elsewhere_together_where_nearly_all_their_values_are(
    tmp_path: Path, orphans: int, is_found: bool
) -> None:
    connection = sqlite3.connect(tmp_path / "notes.sqlite")
    connection.executescript("""
        CREATE TABLE tickets (ticket_id INTEGER PRIMARY KEY);
        CREATE TABLE notes (ticket_id INTEGER, line_no INTEGER, PRIMARY KEY (ticket_id, line_no));
        CREATE TABLE files (file_id INTEGER PRIMARY KEY, ticket_id INTEGER, line_no INTEGER);
    """)
    for n in range(1, 101):
        line = n % 3 + (10 if n <= orphans else 0)
        connection.execute("INSERT INTO tickets VALUES (?)", (n,))
        connection.execute("INSERT INTO notes VALUES (?, ?)", (n, n % 3))
        connection.execute("INSERT INTO files VALUES (?, ?, ?)", (n, n, line))
    connection.commit()
    connection.close()
    edges = discovered(tmp_path / "notes.sqlite").edges
    together = [edge.target for edge in edges if len(edge.columns) == 2]
    assert together == (["notes"] if is_found else [])
