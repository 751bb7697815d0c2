"""Plans: what they register, and what a mapping changes."""

from __future__ import annotations

import pytest

from remloom.errors import UnknownNameError
from remloom.model import Field
from remloom.schema.plan.plan import Plan, PlannedEdge, PlannedField, PlannedLink, PlannedTable


def planned(column: str, **options: object) -> PlannedField:
    return PlannedField(column=column, name=column.lower(), field=Field(), **options)  # type: ignore[arg-type]


CRM = Plan(
    source="crm",
    tables=(
        PlannedTable(
            table="contacts",
            schema_name="contacts",
            entity_type="person",
            key=("contact_id",),
            name=("First", "Last"),
            fields=(
                planned("contact_id", is_unique=True),
                planned("First"),
                planned("Last"),
                planned("email", is_unique=True),
                planned("account_id"),
                planned("agent_id"),
            ),
        ),
        PlannedTable(
            table="accounts",
            schema_name="accounts",
            entity_type="company",
            key=("account_id",),
            name=("account_name",),
            fields=(planned("account_id", is_unique=True), planned("account_name")),
        ),
    ),
    edges=(
        PlannedEdge(
            table="contacts",
            columns=("account_id",),
            target="accounts",
            target_columns=("account_id",),
            name="belongs_to",
        ),
        PlannedEdge(
            table="memberships",
            columns=("contact_id",),
            target="contacts",
            target_columns=("contact_id",),
            name="belongs_to",
        ),
    ),
    links=(
        PlannedLink(
            table="memberships",
            owner="accounts",
            owner_columns=("account_id",),
            target="contacts",
            target_columns=("contact_id",),
            name="contains",
        ),
    ),
)


def test_a_plan_names_the_column_of_the_name_of_each_table() -> None:
    assert CRM.names == {"contacts": "First, Last", "accounts": "account_name"}


def test_a_plan_registers_a_schema_for_each_table_with_its_edges_and_links() -> None:
    contacts, accounts = CRM.schemas

    assert contacts.handle == ("contact_id",)
    assert contacts.name_fields == ("first", "last")
    assert [(edge.name, edge.fields, edge.target, edge.entity_type) for edge in contacts.edges] == [
        ("belongs_to", ("account_id",), "accounts", "company")
    ]
    assert [(edge.name, edge.target) for edge in accounts.edges] == [("contains", "contacts")]
    assert accounts.source == "crm"


def test_a_mapping_says_what_rows_are_and_makes_their_labels() -> None:
    mapped = CRM.mapped({"contacts.email": "contact", "accounts.account_name": "account"})

    contacts, accounts = mapped.schemas
    assert contacts.entity_types == ("contact",)
    assert contacts.base_fields["email"].is_key
    assert accounts.entity_types == ("account",)
    assert accounts.base_fields["account_name"].is_key
    assert contacts.edges[0].entity_type == "account"


def test_a_mapping_of_a_foreign_key_says_what_it_leads_to() -> None:
    assert CRM.mapped({"contacts.account_id": "account"}).schemas[1].entity_types == ("account",)


def test_a_mapping_of_a_column_that_leads_nowhere_makes_an_edge_to_things_without_a_table() -> None:
    edge = CRM.mapped({"contacts.agent_id": "support_agent"}).schemas[0].edges[-1]

    assert (edge.name, edge.fields, edge.entity_type) == (
        "support_agent", ("agent_id",), "support_agent",
    )  # fmt: skip


def test_a_mapping_of_a_column_that_there_is_not_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"contacts\.email"):
        CRM.mapped({"contacts.emial": "contact"})
