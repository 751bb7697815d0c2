"""Schemas are registered: what cannot be is refused with every fault, and versions keep what was."""

from __future__ import annotations

import enum
import threading
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest

from remloom import Memory, Row
from remloom.errors import (
    ConflictError,
    DefinitionError,
    InvalidInputError,
    NotFoundError,
    RowError,
    SchemaChangeError,
    SourceError,
    UnknownNameError,
)
from remloom.model import EdgeDefinition, Field, SchemaDefinition
from remloom.predicates import Query
from remloom.schema.definitions.changes import compare
from remloom.schema.definitions.definition_faults import RESERVED_NAMES
from remloom.store.batch import Batch
from remloom.store.rules import validation

SEED = {
    "customer_id": "string",
    "interaction_type": "enum(call,email,meeting)",
    "outcome": "string",
    "sentiment": "float",
    "related_entities": "jsonb",
    "graph_paths": "jsonb",
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, tenant="acme-corp", embedder="none") as memory:
        yield memory


def faults(memory: Memory, *given: Any, **parts: Any) -> dict[str, str]:
    with pytest.raises(DefinitionError) as caught:
        memory.schemas.register(*given, **parts)
    found = caught.value.fields["faults"]
    assert all(fault["remedy"] for fault in found)
    return {fault["path"]: fault["why"] for fault in found}


def test_the_seeds_fields_are_registered_and_what_every_row_has_is_inherited(
    memory: Memory,
) -> None:
    registered = memory.schemas.register(
        schema_name="customer_interactions", fields=SEED, entity_types=["customer", "product"]
    )
    assert (registered.version, registered.changes) == (1, ("the schema came",))
    (definition,) = memory.schemas.list()
    assert list(definition.base_fields) == [
        "customer_id",
        "interaction_type",
        "outcome",
        "sentiment",
    ]
    assert definition.base_fields["interaction_type"].values == ("call", "email", "meeting")
    assert (definition.tenant_id, definition.entity_types) == ("acme-corp", ("customer", "product"))


def test_the_same_definition_again_changes_nothing(memory: Memory) -> None:
    definition = SchemaDefinition(schema_name="orders", base_fields={"total": "decimal"})  # type: ignore[dict-item]
    memory.schemas.register(definition)
    for again in (definition, memory.schemas.get("orders"), memory.schemas.get("orders").as_dict()):
        registered = memory.schemas.register(again)
        assert (registered.version, registered.changes) == (1, ())


def test_what_is_added_makes_a_version_and_the_one_before_stays(memory: Memory) -> None:
    first = {"total": "integer", "status": "enum(open)", "day": "date"}
    memory.schemas.register(schema_name="orders", fields=first, entity_types=("order",))
    now = {"total": "decimal", "status": "enum(open, paid)", "day": "datetime", "note": "text"}
    registered = memory.schemas.register(
        schema_name="orders",
        fields=now,
        entity_types=("order", "invoice"),
        description="What was sold",
    )
    assert registered.version == 2
    assert registered.changes == (
        "field total is decimal, and was integer",
        "field status may be paid",
        "field day is datetime, and was date",
        "field note came",
        "description changed",
        "entity_types: invoice came",
    )
    assert memory.schemas.get("orders", 1).base_fields["total"].kind == "integer"
    assert memory.schemas.get("orders").version == memory.schemas.get("orders", 2).version == 2


def test_who_is_not_there_is_named_with_the_nearest(memory: Memory) -> None:
    memory.schemas.register(schema_name="orders")
    with pytest.raises(UnknownNameError) as unknown:
        memory.schemas.get("order")
    assert unknown.value.fields["nearest"] == ["orders"]
    with pytest.raises(InvalidInputError):
        memory.schemas.get("orders", "1")  # type: ignore[arg-type]
    with pytest.raises(NotFoundError, match="no version 7"):
        memory.schemas.get("orders", 7)


def test_every_fault_of_a_definition_is_named_at_once(memory: Memory) -> None:
    found = faults(
        memory,
        schema_name="records",
        fields={
            "id": "string", "Total": "float", "kind": "money", "mood": "enum()", "age": Field(kind="integer", default="old"),
            "deep": "list[string[]]", "none": None, "size": {"kind": "integer", "biggest": 3}, "name": "string", "tags": "list[string]", "metadata": "float", "n": 7,
        },
        entity_types=("person", "person"), handle=("gone",), name_fields=("tags",),
        edges=[{"name": "", "fields": ["nowhere"]}], colour="red", graph_enabled="yes",
    )  # fmt: skip
    assert found.keys() == {
        "schema_name", "fields.id", "fields.Total", "fields.kind", "fields.mood.values",
        "fields.age.default", "fields.size", "fields.deep", "fields.none", "fields.name", "fields.metadata", "fields.n", "entity_types", "handle[0]",
        "name_fields[0]", "edges[0].name[0]", "edges[0].fields", "colour", "graph_enabled",
    }  # fmt: skip
    assert found["schema_name"] == "'records' is Remloom's own"
    assert memory.schemas.list() == []


def test_a_schema_has_three_hundred_fields_at_most(memory: Memory) -> None:
    fields = {f"f{number}": "string" for number in range(301)}
    assert list(faults(memory, schema_name="wide", fields=fields)) == ["fields"]
    fields.popitem()
    assert memory.schemas.register(schema_name="wide", fields=fields).version == 1
    memory.write([Row(schema="wide", name="one", fields={"f299": "last"})])
    answer = memory.sql("SELECT * FROM wide")
    assert dict(zip(answer.columns, answer.rows[0], strict=True))["f299"] == "last"
    with pytest.raises(InvalidInputError, match="200 columns"):
        memory.sql("SELECT *, name FROM wide")


@pytest.mark.parametrize(
    "name", ["", "Orders", "1st", "a-b", "a" * 64, "orders; drop", "größe", "@"]
)
def test_a_name_that_no_statement_could_say_is_refused(memory: Memory, name: str) -> None:
    assert "schema_name" in faults(memory, schema_name=name)


def test_tables_of_a_store_are_no_schemas() -> None:
    from remloom.store import postgres, sqlite

    tables = set()
    for package in (sqlite, postgres):
        for path in Path(str(package.__file__)).parent.rglob("*.sql"):
            words = path.read_text(encoding="utf-8").lower().split()
            for place, word in enumerate(words[:-1]):
                if word == "table" and words[place - 1] in ("create", "unlogged", "virtual"):
                    tables.add(words[place + 1].split("(")[0].rpartition(".")[2])
    assert tables
    assert tables <= RESERVED_NAMES


def test_what_is_no_json_schema_or_is_elsewhere_is_a_fault(memory: Memory) -> None:
    pytest.importorskip("jsonschema_rs")
    for schema in ({"type": "objct"}, {"$ref": "http://127.0.0.1:9/schema.json"}):
        assert list(faults(memory, schema_name="leads", metadata_schema=schema)) == [
            "metadata_schema"
        ]


def test_a_json_schema_that_takes_ever_longer_is_a_fault(memory: Memory) -> None:
    pytest.importorskip("jsonschema_rs")
    branching: dict[str, Any] = {"d0": {"type": "string"}}
    for step in range(1, 25):
        leads = {"$ref": f"#/$defs/d{step - 1}"}
        branching[f"d{step}"] = {"anyOf": [leads, leads]}
    doubled = {"$defs": branching, "$ref": "#/$defs/d24"}
    circle = {"$defs": {"a": {"not": {"$ref": "#/$defs/b"}}, "b": {"$ref": "#/$defs/a"}}}
    deep: dict[str, Any] = {}
    for _ in range(500):
        deep = {"items": deep}
    for schema in (doubled, circle, {"$ref": "#"}, {"$ref": "#name"}, deep):
        found = faults(memory, schema_name="leads", metadata_schema=schema)
        assert list(found) == ["metadata_schema"]
    shared = {"$defs": branching, "properties": {"a": {"$ref": "#/$defs/d3"}}}
    shared["$defs"] = {name: branching[name] for name in ("d0", "d1", "d2", "d3")}
    memory.schemas.register(schema_name="leads", metadata_schema=shared)
    with pytest.raises(RowError):
        memory.write([Row(schema="leads", name="one", metadata={"a": 1})])


def test_a_definition_that_is_far_too_large_is_refused_at_once(memory: Memory) -> None:
    many = [f"v{number}" for number in range(100_000)]
    found = faults(
        memory,
        schema_name="leads",
        fields={"stage": Field(kind="enum", values=tuple(many)), "note": {"default": "x" * 20_000}},
        entity_types=many,
    )
    assert list(found) == ["fields.stage.values", "fields.note.default", "entity_types"]
    with pytest.raises(InvalidInputError, match="1,000,000"):
        memory.schemas.register(schema_name="leads", description="x" * 2_000_000)
    assert memory.schemas.list() == []


def test_a_row_with_endless_faults_names_the_first(memory: Memory) -> None:
    memory.schemas.register(schema_name="leads", fields={"total": "decimal", "note": "string"})
    row = Row(schema="leads", name="one", fields={f"u{number}": 1 for number in range(100_000)})
    with pytest.raises(RowError) as caught:
        memory.write([row])
    assert len(caught.value.fields["faults"]) == 20


def test_a_decimal_that_no_statement_could_compare_is_refused(memory: Memory) -> None:
    memory.schemas.register(schema_name="leads", fields={"total": "decimal", "note": "string"})
    memory.write(
        [Row(schema="leads", name="one", fields={"total": "1e308", "note": "1e999999999"})]
    )
    for total in ("1e400", "1e-400"):
        with pytest.raises(RowError):
            memory.write([Row(schema="leads", name="two", fields={"total": total})])
    assert memory.sql("SELECT total FROM leads WHERE total > 1").rows == [(1e308,)]
    fields = {"total": "decimal", "note": "integer"}
    with pytest.raises(SchemaChangeError):
        memory.schemas.register(schema_name="leads", fields=fields, mapping={"note": "integer"})


def test_no_row_is_left_of_a_schema_that_is_dropped_while_it_is_written(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.schemas.register(schema_name="leads", fields={"note": "string"})
    with Memory.open(tmp_path, tenant="acme-corp", embedder="none") as other:
        told: list[str] = []

        def drop_leads() -> None:
            with pytest.raises(ConflictError, match="has rows") as caught:
                other.schemas.drop("leads")
            told.append(caught.value.message)

        drop = threading.Thread(target=drop_leads, daemon=True)
        build = validation.build

        def build_and_drop(*given: Any, **options: Any) -> Batch:
            batch = build(*given, **options)
            drop.start()
            # long enough for a drop that nothing holds up
            drop.join(0.3)
            return batch

        monkeypatch.setattr(validation, "build", build_and_drop)
        memory.write([Row(schema="leads", name="one")])
        drop.join()
    assert told
    assert [row.name for row in memory.schemas.query_rows("leads", Query())] == ["one"]


@pytest.mark.parametrize("text", ["a\ud800", "a\0"], ids=["surrogate", "nul"])
def test_a_text_that_no_store_can_keep_is_refused(memory: Memory, text: str) -> None:
    with pytest.raises(InvalidInputError):
        memory.schemas.register(schema_name="orders", description=text)
    assert memory.schemas.list() == []


def test_edges_to_schemas_that_are_not_there_are_said(memory: Memory) -> None:
    registered = memory.schemas.register(
        schema_name="orders", fields={"customer_id": "integer"},
        edges=[EdgeDefinition(name="belongs_to", fields=("customer_id",), target="customers")],
    )  # fmt: skip
    assert registered.notes == ("belongs_to leads to 'customers', which is not registered",)


# -- ways to give a definition ---------------------------------------------------------------------


def test_a_toml_file_defines_a_schema(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "orders.toml"
    path.write_text(
        """
        schema_name = "orders"
        handle = ["order_id"]
        [fields]
        order_id = "integer"
        tags = "string[]"
        [fields.note]
        kind = "string"
        searchable = true
        [[edges]]
        name = "belongs_to"
        fields = ["order_id"]
        """
    )
    memory.schemas.register(path)
    orders = memory.schemas.get("orders")
    assert (orders.handle, orders.base_fields["note"].searchable) == (("order_id",), True)
    assert orders.base_fields["tags"] == Field(kind="string", list=True)
    assert orders.edges[0].name == "belongs_to"


def test_a_file_that_is_not_there_or_no_toml_is_told(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("= 3")
    for name in ("gone.toml", "bad.toml"):
        with pytest.raises(SourceError, match=name):
            memory.schemas.register(str(tmp_path / name))


class Status(enum.Enum):
    OPEN = "open"
    PAID = "paid"


class SalesOrder(msgspec.Struct, kw_only=True):
    """What was sold."""

    order_id: int
    total: Decimal
    note: Annotated[str, msgspec.Meta(description="What they said", extra={"searchable": True})] = (
        ""
    )
    status: Status = Status.OPEN
    tags: tuple[str, ...] = ()
    at: datetime | None = None
    raw: dict[str, Any] = {}
    kind: Literal["web", "shop"]


def test_a_struct_defines_a_schema(memory: Memory) -> None:
    registered = memory.schemas.register(SalesOrder, handle=("order_id",), entity_types=("order",))
    order = memory.schemas.get(registered.schema_name)
    assert (order.schema_name, order.description, order.handle) == (
        "sales_order",
        "What was sold.",
        ("order_id",),
    )
    shown = {name: (str(field), field.required) for name, field in order.base_fields.items()}
    assert shown == {
        "order_id": ("integer", True), "total": ("decimal", True), "note": ("string", False),
        "status": ("enum(open, paid)", False), "tags": ("list[string]", False), "at": ("datetime", False),
        "raw": ("json", False), "kind": ("enum(web, shop)", True),
    }  # fmt: skip
    note = order.base_fields["note"]
    assert (note.description, note.searchable, note.default) == ("What they said", True, "")
    assert order.base_fields["status"].default == "open"
    assert (
        memory.schemas.register(SalesOrder, handle=("order_id",), entity_types=("order",)).changes
        == ()
    )


def test_a_pydantic_model_defines_a_schema(memory: Memory) -> None:
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model(
        "Customer",
        __doc__="Who buys.",
        __config__={
            "json_schema_extra": {"entity_types": ["customer"], "name_fields": ["company"]}
        },
        company=(str, ...),
        email=(
            str | None,
            pydantic.Field(None, description="Where to write", json_schema_extra={"is_key": True}),
        ),
        scores=(list[float], pydantic.Field(default_factory=list)),
    )
    memory.schemas.register(model)
    customer = memory.schemas.get("customer")
    assert (customer.description, customer.name_fields) == ("Who buys.", ("company",))
    email = customer.base_fields["email"]
    assert (email.is_key, email.required, email.description) == (True, False, "Where to write")
    assert (customer.base_fields["company"].required, str(customer.base_fields["scores"])) == (
        True,
        "list[float]",
    )


class Measured(msgspec.Struct):
    share: int | float
    shares: list[int | float]
    guess: float | int | None


def test_a_number_of_either_kind_is_required_unless_it_may_be_none(memory: Memory) -> None:
    fields = memory.schemas.get(memory.schemas.register(Measured).schema_name).base_fields
    assert {name: (str(one), one.required) for name, one in fields.items()} == {
        "share": ("float", True),
        "shares": ("list[float]", True),
        "guess": ("float", False),
    }


class Odd(msgspec.Struct):
    data: bytes


@pytest.mark.parametrize("given", [Odd, int, 7, ["a"]], ids=["bytes", "int", "7", "list"])
def test_what_defines_no_schema_is_told(memory: Memory, given: Any) -> None:
    with pytest.raises(InvalidInputError):
        memory.schemas.register(given)


# -- others at once --------------------------------------------------------------------------------


def test_those_who_register_at_once_lose_nothing(memory: Memory, tmp_path: Path) -> None:
    start = threading.Barrier(4)

    def register(number: int) -> None:
        with Memory.open(tmp_path, tenant="acme-corp", embedder="none") as other:
            start.wait()
            for step in range(3):
                other.schemas.register(
                    schema_name=f"own_{number}", fields={f"f{n}": "string" for n in range(step + 1)}
                )
                other.schemas.register(schema_name="same", fields={"a": "string"})

    threads = [threading.Thread(target=register, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    versions = {one.schema_name: one.version for one in memory.schemas.list()}
    assert versions == {"same": 1} | {f"own_{number}": 3 for number in range(4)}


# -- what breaks -----------------------------------------------------------------------------------

BEFORE = SchemaDefinition(
    schema_name="orders", version=1,
    base_fields={
        "amount": "float", "status": "enum(open, paid)", "note": "string", "size": "decimal", "code": "string",
    },  # type: ignore[dict-item]
    handle=("code",), entity_types=("order",),
)  # fmt: skip


def after(**fields: Any) -> SchemaDefinition:
    kept = {
        name: field for name, field in {**BEFORE.base_fields, **fields}.items() if field is not None
    }
    return msgspec.structs.replace(BEFORE, base_fields=kept)


def test_every_break_is_named() -> None:
    now = after(
        amount=None, status="enum(open)", size="integer", note=Field(required=True), due=Field(kind="date", required=True),
    )  # fmt: skip
    now = msgspec.structs.replace(
        now, handle=("note",), entity_types=("sale",), graph_enabled=False
    )
    assert {broken.path for broken in compare(BEFORE, now, {}).breaks} == {
        "fields.amount", "fields.status", "fields.size", "fields.note", "fields.due", "handle", "entity_types", "graph_enabled",
    }  # fmt: skip


def test_a_mapping_says_what_becomes_of_fields() -> None:
    now = after(amount=None, total="float", note=None, size="integer", status="enum(open)")
    mapping = {"amount": "total", "note": None, "size": "integer", "status": "enum(open)"}
    changes = compare(BEFORE, now, mapping)
    assert changes.breaks == ()
    assert (changes.renamed, changes.converted, changes.rewrites) == (
        {"amount": "total"},
        ("status", "size"),
        True,
    )


@pytest.mark.parametrize(
    ("mapping", "why"),
    [
        ({"amount": "nowhere"}, "there is no field 'nowhere' now"),
        ({"amount": "status"}, "status was a field of its own before"),
        ({"amount": "total", "gone": None}, "there was no field 'gone'"),
        ({"amount": "total", "size": "text"}, "size is decimal now, not 'text'"),
        ({"amount": "total", "note": "total"}, "total cannot be two fields of before"),
    ],
    ids=["nowhere", "taken", "unknown", "kind", "two"],
)
def test_a_mapping_that_cannot_be_is_told(mapping: dict[str, str | None], why: str) -> None:
    note = None if "note" in mapping else "string"
    breaks = compare(BEFORE, after(amount=None, total="float", note=note), mapping).breaks
    assert why in [broken.why for broken in breaks]


def test_a_name_of_before_is_not_given_to_another_field_but_may_come_back() -> None:
    renamed = msgspec.structs.replace(
        after(amount=None, total="float"), renamed={"amount": "total"}
    )
    other = msgspec.structs.replace(
        renamed, base_fields={**renamed.base_fields, "amount": Field(kind="integer")}, renamed={}
    )
    assert [broken.path for broken in compare(renamed, other, {}).breaks] == ["fields.amount"]
    back = compare(renamed, after(), {"total": "amount"})
    assert (back.breaks, back.renamed) == ((), {"total": "amount"})


def test_of_several_unknown_parts_of_a_field_the_first_is_told(memory: Memory) -> None:
    parts = [f"part_{number}" for number in range(9)]
    with pytest.raises(DefinitionError, match="no part 'part_0'"):
        memory.schemas.register(schema_name="orders", fields={"note": dict.fromkeys(parts, 1)})


def test_a_misspelt_type_or_part_of_a_field_is_told_with_the_nearest(memory: Memory) -> None:
    fields = {"note": {"kind": "string", "serchable": True}, "total": "flaot"}
    with pytest.raises(DefinitionError) as caught:
        memory.schemas.register(schema_name="orders", fields=fields)
    told = str(caught.value)
    assert "fields.note: a field has no part 'serchable'" in told
    assert "did you mean searchable?" in told
    assert "did you mean float?" in told


def test_a_class_whose_types_cannot_be_read_is_told(memory: Memory) -> None:
    calls = msgspec.defstruct("Calls", [("outcome", "Nowhere")])
    with pytest.raises(InvalidInputError, match="the types of Calls cannot be read"):
        memory.schemas.register(calls)
