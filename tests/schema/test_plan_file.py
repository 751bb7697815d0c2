"""Plan files: what is saved is read again, and what is edited into nonsense is named by its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from remloom.errors import PlanError, SourceError
from remloom.model import Field
from remloom.schema.plan.plan import Plan, PlannedEdge, PlannedField, PlannedLink, PlannedTable
from remloom.schema.plan.plan_file import _Reader, parse_plan, render_plan
from remloom.schema.plan.planned import Estimate, LeftOut, Question

PLAN = Plan(
    source="crm",
    kind="sqlite",
    address="sqlite:///crm.sqlite",
    tables=(
        PlannedTable(
            table="Order Details",
            schema_name="orders",
            entity_type="order",
            key=("OrderID",),
            key_declared=True,
            rows=830,
            watermark="Changed",
            fields=(
                PlannedField(
                    column="OrderID", name="order_id", field=Field(kind="integer"), is_unique=True
                ),
                PlannedField(column="Customer", name="customer", field=Field()),
                PlannedField(
                    column="Status",
                    name="status",
                    field=Field(kind="enum", values=("op, en", 'clo"sed'), default="op, en"),
                ),
            ),
        ),
        PlannedTable(
            table="customers",
            schema_name="customers",
            entity_type="customer",
            key=("id",),
            name=("first", "last"),
            confidence=0.9,
            fields=(
                PlannedField(column="id", name="customer_id", field=Field(kind="integer")),
                PlannedField(column="first", name="first", field=Field(personal="name")),
                PlannedField(column="last", name="last", field=Field(personal="name")),
                PlannedField(
                    column="tags", name="tags", field=Field(list=True, searchable=True, is_key=True)
                ),
            ),
        ),
    ),
    edges=(
        PlannedEdge(
            table="Order Details",
            columns=("Customer",),
            target="customers",
            target_columns=("id",),
            name="belongs_to",
            confidence=0.93,
        ),
        PlannedEdge(
            table="likes",
            columns=("who",),
            target="customers",
            target_columns=("id",),
            declared=True,
        ),
    ),
    links=(
        PlannedLink(
            table="likes",
            owner="customers",
            owner_columns=("who",),
            target="Order Details",
            target_columns=("what",),
            name="likes",
            fields=(PlannedField(column="since", name="since", field=Field(kind="date")),),
        ),
    ),
    questions=(
        Question(
            table="customers", columns=("last",), question='Is it "the name"?', proposal="yes"
        ),
    ),
    left_out=(
        LeftOut(table="customers", column="pwd", reason="a secret"),
        LeftOut(table="v", reason="a view"),
    ),
    estimate=Estimate(rows=1, edges=2, megabytes=0.5),
)


def edited(change: Callable[[str], str]) -> list[dict[str, str]]:
    """The faults of the plan's text once it is changed."""
    with pytest.raises(PlanError) as caught:
        read(change(render_plan(PLAN)))
    return list(caught.value.fields["faults"])


def read(text: str) -> Plan:
    contents = parse_plan(text, "crm.toml")
    return Plan(**{name: getattr(contents, name) for name in contents.__struct_fields__})


def test_a_plan_that_is_saved_is_loaded_as_it_was(tmp_path: Path) -> None:
    saved = PLAN.save(tmp_path / "crm.toml")

    assert Plan.load(saved) == PLAN


def test_evidence_stands_with_what_it_speaks_for() -> None:
    table = replace(PLAN.tables[0], evidence="key: the primary key")
    edge = replace(PLAN.edges[0], evidence="all 89 values are there")
    text = render_plan(replace(PLAN, tables=(table, PLAN.tables[1]), edges=(edge,)))

    assert 'evidence = "key: the primary key"' in text
    assert 'evidence = "all 89 values are there"' in text
    assert '# "pwd" = { column = "pwd", type = "string" } # left out: a secret' in text


def test_a_field_that_was_left_out_is_taken_if_somebody_writes_it() -> None:
    text = render_plan(PLAN).replace('# "pwd" =', '"pwd" =')

    plan = read(text)

    assert plan.tables[1].fields[-1].column == "pwd"
    assert [each.table for each in plan.left_out] == ["v"]


def test_every_fault_of_an_edited_plan_is_named_with_its_place() -> None:
    def change(text: str) -> str:
        return (
            text.replace('key = ["OrderID"]', 'key = ["OrdreID"]')
            .replace('type = "date"', 'type = "moon"')
            .replace('target = "customers"', 'target = "costumers"', 1)
            .replace("rows = 830", 'rows = "many"')
            .replace('entity_type = "customer"', 'entity_typ = "customer"')
        )

    faults = {each["path"]: each["why"] for each in edited(change)}

    assert "Expected `int | null`, got `str`" in faults["tables.Order Details.rows"]
    assert "moon" in faults["links.likes.fields.since.type"]
    assert any("entity_typ" in why for why in faults.values())


@pytest.mark.parametrize(
    ("old", "new", "place", "why"),
    [
        ('key = ["OrderID"]', 'key = ["OrdreID"]', "tables.Order Details.key", "did you mean 'OrderID'"),
        ('name = ["first", "last"]', 'name = ["first", "first"]', "tables.customers.name", "2 times"),
        ('target = "customers"', 'target = "costumers"', "edges[1] (Order Details.Customer).target", "'customers'"),
        ('columns = ["Customer"]', 'columns = ["Customer", "Status"]', "edges[1] (Order Details.Customer, Status).target_columns", "comes from 2"),
        ('name = "belongs_to"', 'name = ""', "edges[1] (Order Details.Customer).name", "no name"),
        ('schema_name = "orders"', 'schema_name = "customers"', "tables.customers.schema_name", "Order Details"),
        ('owner_columns = ["who"]', "owner_columns = []", "links.likes.owner_columns", "has 1"),
        ('column = "last"', 'column = "first"', "tables.customers.fields", "2 fields"),
        ('type = "date"', 'type = "moon"', "links.likes.fields.since.type", "moon"),
        ("rows = 830", "rows = nan", "tables.Order Details.rows", "int"),
        ('source = "crm"', 'source = ""', "source", "names no source"),
        ("[estimate]", "[estimate", "the file", "line"),
        ("[estimate]", "[estimate]\nrow = 3", "estimate.row", "there is no 'row' in a plan, did you mean 'rows'"),
        ("megabytes = 0.5", 'megabytes = "much"', "estimate.megabytes", "float"),
        ("[tables.customers]", '[tables.customers]\ntable = "people"', "tables.customers.table", "there is no 'table' in a plan"),
        ("[links.likes]", '[links.likes]\ntable = "loves"', "links.likes.table", "there is no 'table' in a plan"),
        ('type = "date"', 'typ = "date"', "links.likes.fields.since.typ", "there is no 'typ' in a plan, did you mean 'type'"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_place(old: str, new: str, place: str, why: str) -> None:
    faults = edited(lambda text: text.replace(old, new, 1))

    assert place in {each["path"] for each in faults}, faults
    assert any(why in each["why"] for each in faults), faults


def test_names_that_no_schema_can_have_are_named_too(tmp_path: Path) -> None:
    path = tmp_path / "crm.toml"
    path.write_text(render_plan(PLAN).replace('schema_name = "orders"', 'schema_name = "records"'))

    with pytest.raises(PlanError, match="Remloom's own"):
        Plan.load(path)


def test_a_plan_that_is_not_there_is_said_not_to_be(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        Plan.load(tmp_path / "none.toml")


texts = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=20)


@given(st.builds(
    PlannedTable,
    table=texts, schema_name=texts, entity_type=texts, key=st.tuples(texts), description=texts,
    name=st.lists(texts, max_size=2).map(tuple), confidence=st.floats(0, 1),
    rows=st.none() | st.integers(0, 10**12), evidence=texts,
    fields=st.lists(st.builds(
        PlannedField,
        column=texts, name=texts, is_unique=st.booleans(), evidence=texts,
        field=st.builds(
            Field,
            kind=st.sampled_from(["string", "integer", "json"]), list=st.booleans(),
            required=st.booleans(), default=st.just(UNSET) | texts, description=texts, personal=texts,
        ),
    ), max_size=3, unique_by=lambda field: field.name).map(tuple),
))  # fmt: skip
def test_whatever_a_database_calls_its_things_is_written_so_that_it_can_be_read(
    table: PlannedTable,
) -> None:
    import tomllib

    data = tomllib.loads(render_plan(Plan(source="x", tables=(table,))))
    found = _Reader().plan(data)

    assert found is not None
    assert found.tables == (table,)


def test_a_plan_that_is_nested_too_deep_is_refused() -> None:
    with pytest.raises(PlanError, match="too deep"):
        parse_plan("a = " + "[" * 3_000, "deep.toml")
