"""The calls of seed design 5, as they stand there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remloom import Memory, seed5
from remloom.errors import DefinitionError, InvalidInputError
from remloom.model import Row

REGISTERED = """
schema_registry.register(
    tenant_id="acme-corp",
    schema_name="customer_interactions",
    fields={
        "customer_id": "string",
        "interaction_type": "enum(call,email,meeting)",
        "outcome": "string",
        "sentiment": "float",
        "related_entities": "jsonb",
        "graph_paths": "jsonb"  # Graph capabilities preserved
    },
    entity_types=["customer", "product", "support_agent"],
    graph_enabled=True
)
"""

DISCOVERED = """
discovered_schema = ontology_discovery.introspect_postgres(
    connection_string="postgresql://...",
    tables=["customers", "orders", "support_tickets"],
    extract_relationships=True
)

# Auto-generate schema registration
schema_registry.register_from_discovery(
    tenant_id="acme-corp",
    discovered_schema=discovered_schema,
    entity_mapping={
        "customers.customer_id": "customer",
        "orders.product_id": "product",
        "support_tickets.agent_id": "support_agent"
    }
)
"""

CRM = """
# Discover existing CRM schema
crm_schema = ontology_discovery.introspect_postgres(
    connection_string=crm_db_url,
    tables=["contacts", "accounts", "opportunities"]
)

# Register as REM schema
schema_registry.register(
    tenant_id="sales-team",
    schema_name="crm_data",
    discovered_schema=crm_schema,
    entity_mapping={
        "contacts.email": "contact",
        "accounts.account_name": "account",
        "opportunities.deal_name": "opportunity"
    }
)
"""

TABLES = (
    "CREATE TABLE customers (customer_id int PRIMARY KEY, customer_name text NOT NULL)",
    "CREATE TABLE orders (id int PRIMARY KEY, customer_id int REFERENCES customers, product_id int, total numeric)",
    "CREATE TABLE support_tickets (id int PRIMARY KEY, customer_id int REFERENCES customers, agent_id int, subject text)",
    "INSERT INTO customers VALUES (12345, 'Acme Corporation'), (12346, 'Globex')",
    "INSERT INTO orders VALUES (1, 12345, 7, 9.50), (2, 12346, 8, 20), (3, 12345, 7, 4)",
    "INSERT INTO support_tickets VALUES (1, 12345, 3, 'It does not start'), (2, 12346, 3, 'It does not stop')",
    "CREATE TABLE accounts (account_name text PRIMARY KEY, city text)",
    "CREATE TABLE contacts (id int PRIMARY KEY, full_name text, email text UNIQUE, account text REFERENCES accounts)",
    "CREATE TABLE opportunities (id int PRIMARY KEY, deal_name text UNIQUE, account text REFERENCES accounts)",
    "INSERT INTO accounts VALUES ('Acme', 'Berlin'), ('Globex', 'Paris')",
    "INSERT INTO contacts VALUES (1, 'John Doe', 'john.doe@example.com', 'Acme'), (2, 'Ann Lee', 'ann@example.com', 'Globex')",
    "INSERT INTO opportunities VALUES (1, 'Renewal', 'Acme'), (2, 'Upgrade', 'Globex')",
)


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names that the seed's text uses."""
    monkeypatch.setenv("REMLOOM_HOME", str(tmp_path / "home"))
    return {
        "schema_registry": seed5.schema_registry,
        "ontology_discovery": seed5.ontology_discovery,
    }


@pytest.fixture
def url(postgres: str) -> Iterator[str]:
    """The address of a database with the seed's tables."""
    import postgres_server

    with postgres_server.database(postgres) as url:
        with postgres_server.connect(url) as connection:
            for statement in TABLES:
                connection.execute(statement)
        yield url


def test_a_schema_is_registered_as_the_seed_says(names: dict[str, Any]) -> None:
    exec(REGISTERED, names)
    with Memory.open(tenant="acme-corp", embedder="none") as memory:
        definition = memory.schemas.get("customer_interactions")
        assert list(definition.base_fields) == [
            "customer_id",
            "interaction_type",
            "outcome",
            "sentiment",
        ]
        assert definition.entity_types == ("customer", "product", "support_agent")
        row = Row(
            schema="customer_interactions", name="First call", fields={"interaction_type": "call"}
        )
        memory.write([row])
        found = memory.sql("SELECT name FROM customer_interactions WHERE interaction_type = 'call'")
        assert found.rows == [("First call",)]
    # a tenant has its own
    with Memory.open(tenant="other", embedder="none") as memory:
        assert memory.schemas.list() == []


def test_a_discovered_database_is_registered_as_the_seed_says(
    names: dict[str, Any], url: str
) -> None:
    exec(DISCOVERED.replace("postgresql://...", url), names)
    with Memory.open(tenant="acme-corp", embedder="none") as memory:
        known = {definition.schema_name: definition for definition in memory.schemas.list()}
        assert sorted(known) == ["customers", "orders", "support_tickets"]
        assert known["customers"].entity_types[0] == "customer"
        leads = {edge.name: (edge.target, edge.entity_type) for edge in known["orders"].edges}
        assert leads["belongs_to"] == ("customers", "customer")
        assert leads["product"] == ("", "product")
        agents = [
            edge.fields
            for edge in known["support_tickets"].edges
            if edge.entity_type == "support_agent"
        ]
        assert agents == [("agent_id",)]


def test_a_crm_is_registered_under_a_name_as_the_seed_says(names: dict[str, Any], url: str) -> None:
    exec(CRM, {**names, "crm_db_url": url})
    with Memory.open(tenant="sales-team", embedder="none") as memory:
        types = {one.schema_name: one.entity_types[0] for one in memory.schemas.list()}
        assert types == {
            "contacts": "contact",
            "accounts": "account",
            "opportunities": "opportunity",
        }


def test_what_the_calls_cannot_take_is_told(names: dict[str, Any]) -> None:
    registry = seed5.schema_registry
    with pytest.raises(InvalidInputError, match="by its fields, or as it was discovered"):
        registry.register(tenant_id="acme-corp", schema_name="orders")
    with pytest.raises(DefinitionError):
        registry.register(tenant_id="acme-corp", schema_name="records", fields={})
    with pytest.raises(InvalidInputError, match="not the address of a PostgreSQL"):
        seed5.ontology_discovery.introspect_postgres(connection_string="mysql://localhost/crm")
