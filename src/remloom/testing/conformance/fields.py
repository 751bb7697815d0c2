"""The store contract as tests: finding records by their fields and times, and their values as they
were."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ...errors import InvalidInputError, UnknownNameError
from ...model import Entity, Moment, Resource
from ...predicates import (
    All,
    And,
    Contains,
    EndsWith,
    Eq,
    Exists,
    Gt,
    Gte,
    In,
    Lt,
    Matches,
    Ne,
    Not,
    NotExists,
    NotIn,
    Or,
    Predicate,
    Query,
    StartsWith,
    VectorSimilar,
)
from ...store.batch import Batch
from ...store.contract import Store
from ...store.rules.merge import same_json
from .opening import DAY, T0, Opened, RecordSchema, edges_of, lookup, names, put, relation, selected

# Where the spellings of numbers differ: beyond the whole numbers that a float holds, at the limits
# of 64 bits and of a float, and where the exponent of its text begins.
_NUMBERS = (
    0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63), 0.1, 1.0, 1e15, 1e16, 1e22, 1e30, -1e30,
    123456789012345678.0, 1.7976931348623157e308, 5e-324, 2.2250738585072014e-308, 1e-7,
    3.141592653589793,
)  # fmt: skip
_WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).map(lambda value: value + 0.0)
    | _WORDS
    | st.sampled_from(['x":1e5,', "[1e16]", ":2e+9", *_NUMBERS]),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(_WORDS, inside, max_size=4),
    max_leaves=8,
)
_LONG = "word " * 700_000  # three and a half million characters


class Fields(Opened):
    """Finding records by their fields and times."""

    # -- predicates --------------------------------------------------------------------------------

    @pytest.fixture
    def people(self, store: Store, named: RecordSchema) -> Store:
        put(
            store,
            named.make_with(
                {"age": 31, "status": "active", "tags": ["x", "y"]},
                name="Ann", type="person", aliases=("A1",), created_at=T0,
            ),
            named.make_with(
                {"age": 18, "status": "left"}, name="Bob", type="person", created_at=T0 + DAY
            ),
            named.make_with(
                {"age": 9, "nested": {"city": "Köln"}},
                name="Über", text="Taxi rides", type="company", created_at=T0 + 2 * DAY,
            ),
        )  # fmt: skip
        return store

    @pytest.mark.parametrize(
        ("predicate", "expected"),
        [
            (All(), "Ann Bob Über"),
            (Eq("type", "person"), "Ann Bob"),
            # a field that a record does not have matches no comparison
            (Ne("type", "person"), "Über"),
            (Eq("summary", ""), "Ann Bob"),
            (Gt("data.age", 18), "Ann"),
            (Gte("age", 18), "Ann Bob"),
            (Lt("age", 18), "Über"),
            (In("status", ["left", "gone"]), "Bob"),
            (In("data.tags", ["y", "z"]), "Ann"),
            (NotIn("status", ["left"]), "Ann"),
            (Contains("summary", "TAXI"), "Über"),
            (Contains("aliases", "A1"), "Ann"),
            (Contains("data.tags", "x"), "Ann"),
            (StartsWith("name", "Ü"), "Über"),
            (EndsWith("name", "b"), "Bob"),
            (Matches("name", "^[AB]"), "Ann Bob"),
            (Exists("status"), "Ann Bob"),
            (NotExists("status"), "Über"),
            (Eq("status", None), "Über"),
            (Eq("data.nested.city", "Köln"), "Über"),
            (Not(Eq("status", "active")), "Bob Über"),
            (And((Eq("type", "person"), Gt("age", 20))), "Ann"),
            (Or((Eq("name", "Ann"), Eq("type", "company"))), "Ann Über"),
            (And(()), "Ann Bob Über"),
            (Or(()), ""),
            (Gt("created_at", T0), "Bob Über"),
            (Lt("created_at", "2025-01-16"), "Ann"),
        ],
        ids=lambda value: repr(value)[:60] if not isinstance(value, str) else "",
    )
    def test_predicates_select_what_they_say(
        self, people: Store, named: RecordSchema, predicate: Predicate, expected: str
    ) -> None:
        query = Query().filter(_of(named, predicate)).order_by("name")
        found = people.records.query(named.name, query)
        assert " ".join(names(found)) == expected

    @pytest.fixture
    def mixed(self, store: Store, schema: RecordSchema) -> Store:
        values: dict[str, dict[str, Any]] = {
            "whole": {"n": 1, "l": [1, "a"], "m": {"0": "key"}, "t": "x{e}"},
            "point": {"n": 1.0, "l": [True], "m": ["place"], "t": "y{e}"},
            "true": {"n": True, "l": [["a"]], "m": []},
            "null": {"n": None, "l": [None, "1"]},
        }
        for name, value in values.items():
            put(store, schema.make(name, name, values=value))
        return store

    @pytest.mark.parametrize(
        ("predicate", "expected"),
        [
            (In("free.l", [1]), "whole"),
            (In("free.l", [True]), "point"),
            (In("free.l", [1, True, "1"]), "null point whole"),
            (In("free.l", ['["a"]']), ""),
            (NotIn("free.l", [1]), "null point true"),
            (Eq("free.m.0", "key"), "whole"),
            (Eq("free.m.0", "place"), ""),
            (Matches("free.t", "x{e}"), "whole"),
            (Matches("free.t", "^[{xy]{1}{"), "point whole"),
        ],
        ids=lambda value: repr(value)[:60] if not isinstance(value, str) else "",
    )
    def test_values_in_json_have_the_type_that_they_have(
        self, mixed: Store, schema: RecordSchema, predicate: Predicate, expected: str
    ) -> None:
        query = Query().filter(_of(schema, predicate)).order_by("name")
        found = mixed.records.query(schema.name, query)
        assert " ".join(names(found)) == expected

    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            # 0 is a position in a list, '0' a key of an object
            ("free -> 'm' ->> 0 = 'place'", "point"),
            ("free -> 'm' ->> '0' = 'place'", ""),
            ("free -> 'm' ->> '0' = 'key'", "whole"),
            ("free ->> 't' ~ 'x{e}'", "whole"),
            ("NOT (free ->> 'n' = 2)", "point true whole"),
            ("NOT (free ->> 'n' = 1)", "true"),
            ("NOT (free ->> 'n' <> 1)", "point whole"),
            ("NOT (free ->> 'n' <> true)", "true"),
            ("NOT (free ->> 'n' > 2)", "point true whole"),
            ("NOT (free ->> 'n' < 'a')", "point true whole"),
            ("free ->> 'n' > false", "true"),
        ],
    )
    def test_places_and_nulls_in_json_are_what_they_are(
        self, mixed: Store, schema: RecordSchema, where: str, expected: str
    ) -> None:
        where = where.replace("free", schema.free)
        sql = f"SELECT name FROM {schema.name} WHERE {where} ORDER BY name"
        rows = selected(mixed, sql).rows
        assert " ".join(name for (name,) in rows) == expected

    def test_rows_are_grouped_by_numbers_whether_they_have_a_point_or_none(
        self, mixed: Store, schema: RecordSchema
    ) -> None:
        value, name = f"{schema.free} ->> 'n'", schema.name
        rows = selected(mixed, f"SELECT {value}, count(*) FROM {name} GROUP BY 1").rows
        assert sorted(map(repr, rows)) == ["(1, 2)", "(None, 1)", "(True, 1)"]
        rows = selected(mixed, f"SELECT count(DISTINCT {value}) FROM {name}").rows
        assert rows == [(2,)]

    def test_a_query_orders_limits_and_skips(self, people: Store, named: RecordSchema) -> None:
        query = Query().order_by("age", "desc")
        assert names(people.records.query(named.name, query)) == ["Ann", "Bob", "Über"]
        assert names(people.records.query(named.name, query.offset(1).limit(1))) == ["Bob"]

    def test_an_index_changes_no_answer(self, people: Store, named: RecordSchema) -> None:
        query = Query().filter(Eq(f"{named.data}.status", "active"))
        # twice: creating an index is idempotent
        before = people.records.query(named.name, query)
        people.sql.create_index(named.name, f"{named.data}.status")
        people.sql.create_index(named.name, f"{named.data}.status")
        assert people.records.query(named.name, query) == before
        (index,) = people.kv.list("index")
        assert index.key in (f"{named.name}.status", f"{named.name}.{named.data}.status")

    def test_unknown_fields_and_schemas_name_those_nearest(
        self, people: Store, named: RecordSchema
    ) -> None:
        with pytest.raises(UnknownNameError) as caught:
            people.records.query(named.name, Query().filter(Eq("sumary", "x")))
        assert "summary" in caught.value.fields["nearest"]
        with pytest.raises(UnknownNameError, match="entites"):
            people.records.query("entites", Query())

    @pytest.mark.parametrize(
        "predicate",
        [
            Matches("name", "("),
            Gt("created_at", "soon"),
            In("name", "abc"),
            Eq("name'--", 1),
            Eq("name", object()),
        ],
    )
    def test_a_predicate_that_cannot_be_is_refused(
        self, people: Store, named: RecordSchema, predicate: Predicate
    ) -> None:
        with pytest.raises(InvalidInputError):
            people.records.query(named.name, Query().filter(predicate))

    def test_vector_similar_combines_with_other_predicates(
        self, store: Store, schema: RecordSchema
    ) -> None:
        put(
            store,
            schema.make("en", "1", values={"language": "en"}, embedding=[1, 0]),
            schema.make("de", "2", values={"language": "de"}, embedding=[1, 0.1]),
            schema.make("far", "3", values={"language": "en"}, embedding=[0, 1]),
        )
        query = (
            Query()
            .filter(VectorSimilar(query=[1, 0], top_k=20, min_score=0.7))
            .filter(Eq(f"{schema.free}.language", "en"))
        )
        assert names(store.records.query(schema.name, query)) == ["en"]
        with pytest.raises(InvalidInputError, match="VectorSimilar"):
            store.records.query(schema.name, Query().filter(Not(VectorSimilar(query=[1, 0]))))

    def test_a_field_that_has_its_default_is_found_by_it(self, store: Store) -> None:
        (read,) = put(store, Resource(name="read", content="a")).ids
        derived = Resource(name="derived", content="b", kind="synthesis", generation=2, ordinal=3)
        put(store, replace(derived, trust="derived", parents=(read,)))
        put(store, Entity(name="Known", type="thing"))

        def found(schema: str, predicate: Predicate) -> list[str]:
            return names(store.records.query(schema, Query().filter(predicate)))

        true_of_defaults = (
            Eq("kind", "chunk"),
            Eq("trust", "read"),
            Lt("generation", 1),
            Lt("ordinal", 3),
            In("kind", ["chunk", "note"]),
            Ne("kind", "synthesis"),
            StartsWith("trust", "re"),
        )
        for predicate in true_of_defaults:
            assert found("resources", predicate) == ["read"], predicate
        assert found("resources", Gte("generation", 0)) == ["read", "derived"]
        assert found("resources", Gt("generation", 0)) == ["derived"]
        assert found("entities", Eq("thin", False)) == ["Known"]
        assert found("entities", Eq("thin", True)) == []

    def test_text_is_not_compared_with_numbers(self, store: Store, named: RecordSchema) -> None:
        put(store, named.make("3", type="number"))
        for predicate in (Gt("name", 2), Eq("type", 1), In("name", [3])):
            with pytest.raises(InvalidInputError, match="is text"):
                store.records.query(named.name, Query().filter(predicate))

    # -- moments -----------------------------------------------------------------------------------

    def test_moments_are_found_by_overlap_in_order_of_their_start(self, store: Store) -> None:
        put(
            store,
            Moment(name="day", starts_at=T0, ends_at=T0 + DAY),
            Moment(name="instant", starts_at=T0 + 3 * DAY),
            Moment(name="year", starts_at=T0 - 300 * DAY, ends_at=T0 + 65 * DAY),
            Moment(name="undated"),
        )
        found = store.records.moments_between
        assert names(found(T0 + DAY / 2, T0 + 4 * DAY)) == ["year", "day", "instant"]
        assert names(found(T0 + DAY, T0 + 2 * DAY)) == ["year"]
        assert names(found(T0 + 3 * DAY, T0 + 3 * DAY + timedelta(seconds=1))) == [
            "year",
            "instant",
        ]
        assert found(T0 + 100 * DAY, T0 + 200 * DAY) == []


def _of(schema: RecordSchema, predicate: Predicate) -> Predicate:
    """Give a predicate with the fields of this schema, where it says `data` or `free`."""
    field = getattr(predicate, "field", "")
    place, dot, rest = field.partition(".")
    if not dot:
        return predicate
    names = {"data": schema.data, "free": schema.free}
    return replace(predicate, field=f"{names[place]}.{rest}")


class Values(Opened):
    """What is in properties and metadata comes back as it was: the same value of the same type."""

    def test_a_number_comes_back_as_the_number_it_was(self, store: Store) -> None:
        _round(
            store,
            {f"n{place}": number for place, number in enumerate(_NUMBERS)}
            | {"list": list(_NUMBERS)},
        )

    @settings(
        max_examples=25, deadline=None, derandomize=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(value=st.dictionaries(_WORDS, _VALUES, max_size=4))
    def test_any_value_comes_back_as_it_was(self, store: Store, value: dict[str, Any]) -> None:
        _round(store, value)

    def test_a_row_has_a_longest_length_whatever_it_is_made_of(self, store: Store) -> None:
        put(store, *(Resource(name=name, content=_LONG) for name in "abc"))

        for row in ("content", "content, content", "length(concat(content, content, content))"):
            assert len(selected(store, f"SELECT {row} FROM resources").rows) == 3
        for row in ("concat(content, content, content)", "content, content, content"):
            with pytest.raises(InvalidInputError, match="a row is longer than 8 million bytes"):
                selected(store, f"SELECT {row} FROM resources")
        with pytest.raises(InvalidInputError, match="a row is longer than 8 million bytes"):
            selected(store, "SELECT group_concat(content) FROM resources")

    def test_the_length_of_a_row_is_in_bytes_and_that_of_json_counts(self, store: Store) -> None:
        numbers = {"n": [1] * 900_000}
        put(store, Resource(name="a", content="é" * 4_500_000))
        put(store, Resource(name="b", content="x" * 7_900_000, metadata=numbers))

        assert selected(store, "SELECT content FROM resources WHERE name = 'b'").rows
        assert selected(store, "SELECT metadata FROM resources WHERE name = 'b'").rows
        for row in ("content FROM resources WHERE name = 'a'", "content, metadata FROM resources"):
            with pytest.raises(InvalidInputError, match="a row is longer than 8 million bytes"):
                selected(store, f"SELECT {row}")

    def test_all_rows_have_a_longest_length(self, store: Store) -> None:
        put(store, *(Resource(name=f"n{number}", content=_LONG) for number in range(5)))

        assert len(selected(store, "SELECT content, content FROM resources LIMIT 4").rows) == 4
        with pytest.raises(InvalidInputError, match="the rows are longer than 32 million bytes"):
            selected(store, "SELECT content, content FROM resources")

    def test_what_is_joined_at_the_same_time_is_bounded_together(self, store: Store) -> None:
        put(store, *(Resource(name=f"n{number}", content=_LONG) for number in range(6)))

        ((length,),) = selected(store, "SELECT length(group_concat(content)) FROM resources").rows
        assert length == 6 * len(_LONG) + 5
        with pytest.raises(InvalidInputError, match="more than 32 million bytes of text"):
            selected(
                store,
                "SELECT length(group_concat(content)), length(group_concat(content, ' '))"
                " FROM resources",
            )


def _round(store: Store, value: dict[str, Any]) -> None:
    store.write(_cleared())
    items = (
        Entity(id="e", name="e", properties=value),
        Resource(id="r", name="r", content="1e16", metadata=value),
        Moment(id="m", name="m", metadata=value),
        relation("e", "has", "r", properties=value),
    )
    assert put(store, *items).created == 3
    found = [store.records.get(None, id) for id in "erm"]
    assert isinstance(found[0], Entity)
    assert same_json(found[0].properties, value)
    assert all(same_json(record.metadata, value) for record in found[1:])  # type: ignore[union-attr]
    (edge,) = edges_of(store, "e")
    assert same_json(edge.properties, value)
    (shown,) = lookup(store, "e")
    assert same_json(shown.graph_paths[0].properties, value)
    assert put(store, *items).unchanged == 3


def _cleared() -> Batch:
    return Batch(deleted=("e", "r", "m"))
