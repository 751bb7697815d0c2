"""Statements, their values, and the canonical text between them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import LITTLE, effort
from remloom.errors import (
    InvalidInputError,
    QuerySyntaxError,
    RemloomError,
    SqlGuardError,
    UnknownNameError,
)
from remloom.predicates import (  # fmt: skip
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
    Lte,
    Matches,
    Ne,
    Not,
    NotExists,
    NotIn,
    Or,
    StartsWith,
    VectorSimilar,
)
from remloom.query.json_form import from_parameters
from remloom.query.parser import parse, parse_where
from remloom.query.render import render, render_condition
from remloom.query.statements import (
    ORDER_FIELDS,
    Fuzzy,
    Lookup,
    Search,
    Sql,
    Statement,
    Traverse,
)

# -- values and texts of every kind ----------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(str.strip)
labels = texts | st.sampled_from(
    [
        "Sarah Chen",
        "Men in Black",
        "O'Brien",
        'the "best"',
        "C:\\dir\\",
        "a--b",
        "-- x",
        "order by",
        "*",
        "a, b;",
        "東京",
    ]
)
numbers = st.integers(-(10**15), 10**15) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | texts
segments = st.from_regex(r"[A-Za-z_]\w{0,8}", fullmatch=True) | st.sampled_from(
    ["not", "in", "two words", "it's"]
)
fields = st.lists(segments, min_size=1, max_size=3).map(".".join)
comparisons = st.one_of(
    [st.builds(kind, fields, scalars) for kind in (Eq, Ne, Lt, Lte, Gt, Gte, Contains)]
    + [st.builds(kind, fields, texts) for kind in (StartsWith, EndsWith, Matches)]
    + [
        st.builds(kind, fields, st.lists(scalars, min_size=1, max_size=3).map(tuple))
        for kind in (In, NotIn)
    ]
    + [st.builds(kind, fields) for kind in (Exists, NotExists)]
    + [st.just(All()), st.just(Or(()))]
)
predicates = st.recursive(
    comparisons,
    lambda inner: (
        st.builds(Not, inner)
        | st.lists(inner, min_size=2, max_size=3).map(lambda found: And(tuple(found)))
        | st.lists(inner, min_size=2, max_size=3).map(lambda found: Or(tuple(found)))
    ),
    max_leaves=8,
)
limits = st.integers(1, 1_000_000)
lookups = st.builds(Lookup, st.lists(labels, min_size=1, max_size=3).map(tuple))
fuzzies = st.builds(Fuzzy, texts, st.none() | labels, st.floats(0, 1), limits)
searches = st.builds(
    Search, texts, labels, st.none() | predicates, st.none() | st.floats(-1, 1), limits
)
selects = st.sampled_from(
    [
        "SELECT * FROM resources",
        "SELECT name FROM r WHERE x = 'it''s; DEPTH 2' ORDER BY name LIMIT 3",
        "select 1 -- x\n+ 2",
    ]
).map(Sql)
traverses = st.builds(
    Traverse,
    lookups | fuzzies | searches | selects,
    edge_types=st.lists(labels.map(str.strip).filter(lambda name: name != "*"), max_size=3),
    max_depth=st.integers(0, 1000),
    direction=st.sampled_from(["out", "in", "both"]),
    breadth=st.none() | st.just("all") | limits,
    order_by=st.builds(
        "{} {}".format, st.sampled_from(ORDER_FIELDS), st.sampled_from(["ASC", "DESC"])
    ),
    limit=limits,
    plan_memo=st.just("") | texts,
)
times = st.datetimes(timezones=st.just(UTC) | st.just(timezone(timedelta(hours=5, minutes=30))))
statements = st.builds(
    Statement, lookups | fuzzies | searches | selects | traverses, st.booleans()
) | st.builds(Statement, traverses, st.booleans(), times)


@given(statements)
@settings(max_examples=150)
def test_every_value_has_a_text_that_means_it(statement: Statement) -> None:
    text = render(statement)
    assert parse(text) == statement
    assert render(parse(text)) == text


@given(predicates)
@settings(max_examples=150)
def test_every_condition_has_a_text_that_means_it(predicate: Any) -> None:
    assert parse_where(render_condition(predicate)) == predicate


WORDS = (
    "LOOKUP FUZZY SEARCH TRAVERSE PLAN WITH SELECT FROM WHERE DEPTH LIMIT BREADTH ALL ORDER BY MEMO AS OF IN TYPE "
    "THRESHOLD MIN EXPLAIN AND NOT edge.weight resources sally 3 -1 0.5 2025-01-01 'x' \" ' ( ) , ; = < * -- \\ \n"
)
PIECES = st.sampled_from(WORDS.split(" "))


@given(st.lists(PIECES, max_size=14).map(" ".join) | st.text(max_size=40))
@settings(max_examples=250)
def test_any_text_is_a_statement_or_an_error_that_says_where(text: str) -> None:
    try:
        statement = parse(text)
    except RemloomError as error:
        refused = error
    else:
        assert parse(render(statement)) == statement
        return
    assert refused.remedy
    if isinstance(refused, QuerySyntaxError):
        assert 0 <= refused.fields["position"] <= len(text)
        assert "^" in str(refused)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000,
        "SEARCH x WHERE " + "(" * 5000 + "a = 1" + ")" * 5000,
        "SEARCH x WHERE " + "NOT " * 2500 + "a = 1",
        "SEARCH x WHERE " + " OR ".join(["a = 1"] * 1500),
        "LOOKUP " + ", ".join(["label"] * 1500),
        "LOOKUP " + "word " * 2000,
        'LOOKUP "' + "\\" * 10_000,
        "LOOKUP '" + "''" * 5000,
        "SELECT " + "(" * 10_000,
        "TRAVERSE WITH SELECT " + "DEPTH " * 2000,
        "x" * 99_999,
    ],
    ids=lambda text: f"{text[:20]}…",
)
def test_a_long_or_deep_statement_is_answered_at_once(text: str) -> None:
    def parsed() -> None:
        with suppress(RemloomError):
            parse(text)

    assert effort(parsed) < LITTLE


def test_a_statement_beyond_the_limit_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="100,000 characters"):
        parse("LOOKUP " + "x" * 100_000)


@pytest.mark.parametrize(
    ("text", "position", "says"),
    [
        ("", 0, "the statement is empty"),
        ("LOOKUP", 6, "not finished"),
        ("LOKUP sally", 0, "did you mean LOOKUP"),
        ("Sarah Chen", 0, 'for example: LOOKUP "Sarah Chen"'),
        ('LOOKUP "sally', 7, "not closed"),
        ("LOOKUP a; LOOKUP b", 10, "one statement at a time"),
        ("SELECT 1; SELECT 2", 10, "one statement at a time"),
        ("LOOKUP sally LIMIT 3", 13, "LOOKUP takes no LIMIT"),
        ("LOOKUP sally THRESHOLD 0.5", 13, "THRESHOLD does not belong here"),
        ("FUZZY sally THRESHOLD 1.5", 22, "from 0 to 1, not 1.5"),
        ("FUZZY sally LIMIT 0", 18, "from 1 to 1,000,000, not 0"),
        ("FUZZY sally LIMIT five", 18, "expected: a number"),
        ("SEARCH x MIN 2", 13, "from -1 to 1"),
        ("TRAVERSE manages", 16, "expected: WITH"),
        ("TRAVERSE manages LOOKUP sally", 17, "expected: WITH"),
        ('TRAVERSE " " WITH sally', 9, "may not be empty"),
        ("LOOKUP ;", 7, "expected: a label"),
        ("TRAVERSE WITH (SELECT id FROM resources) DEPTH 2", 14, "without brackets"),
        ("TRAVERSE WITH sally DEPTH -1", 26, "from 0 to 1,000, not -1"),
        ("TRAVERSE WITH sally DEPTH 1 DEPTH 2", 28, "DEPTH is given twice"),
        ("TRAVERSE PLAN WITH sally DEPTH 2", 31, "PLAN is DEPTH 0"),
        ("TRAVERSE WITH SELECT * FROM resources DEPTH -1", 44, "from 0 to 1,000, not -1"),
        ("TRAVERSE WITH SELECT * FROM resources DEPTH 1 LIMIT x", 52, "expected: a number"),
        ("FUZZY sally AS OF 2025-01-01", 12, "AS OF is for LOOKUP and TRAVERSE"),
        ("TRAVERSE WITH sally AS OF yesterday", 26, "not a time"),
        ("TRAVERSE WITH sally AS OF '2025-01-01 10:00'", 26, "needs its zone"),
        ("SEARCH x\n  WHERE category =\n  LIMIT 3", 30, "expected: FALSE, NULL, TRUE"),
        ("SEARCH x WHERE category = note", 26, "text in quotes"),
    ],
)
def test_an_error_points_at_its_place_and_says_what_would_be_right(
    text: str, position: int, says: str
) -> None:
    with pytest.raises(QuerySyntaxError) as raised:
        parse(text)
    assert raised.value.fields["position"] == position
    assert says in str(raised.value)


@pytest.mark.parametrize(
    "verb", ["INSERT INTO x VALUES (1)", "drop table resources", "PRAGMA x", "WITH x AS (SELECT 1)"]
)
def test_sql_that_is_not_a_select_is_refused_by_its_verb(verb: str) -> None:
    with pytest.raises(SqlGuardError, match=verb.split()[0].upper()):
        parse(verb)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("lookup type theory", Lookup(("type theory",))),
        ("LOOKUP Bank of England, purchase order", Lookup(("Bank of England", "purchase order"))),
        ("SEARCH plan", Search("plan")),
        ("SEARCH what did we decide, and why?", Search("what did we decide, and why?")),
        ("FUZZY sara chen -- a comment\n LIMIT 3;", Fuzzy("sara chen", limit=3)),
        ("LOOKUP 'it''s', \"a \\\"b\\\"\"", Lookup(("it's", 'a "b"'))),
        ("TRAVERSE * WITH sally", Traverse("sally")),
        (
            "TRAVERSE WITH FUZZY sara LIMIT 2 DEPTH 2 LIMIT 3",
            Traverse(Fuzzy("sara", limit=2), max_depth=2, limit=3),
        ),
        ("TRAVERSE WITH sally LIMIT 3 BREADTH ALL", Traverse("sally", limit=3, breadth="all")),
        ("LOOKUP sally DIRECTION IN DEPTH 2", Traverse("sally", direction="in", max_depth=2)),
    ],
)
def test_words_are_keywords_only_where_they_can_be(text: str, value: Any) -> None:
    assert parse(text).query == value


@pytest.mark.parametrize(
    ("text", "sql", "rest"),
    [
        ("SELECT * FROM r LIMIT 3", "SELECT * FROM r LIMIT 3", {}),
        ("SELECT * FROM r LIMIT 3 DEPTH 2", "SELECT * FROM r LIMIT 3", {"max_depth": 2}),
        ("SELECT * FROM r DEPTH 2 LIMIT 3", "SELECT * FROM r", {"max_depth": 2, "limit": 3}),
        ("SELECT * FROM r ORDER BY name LIMIT 3", "SELECT * FROM r ORDER BY name LIMIT 3", {}),
        (
            "SELECT * FROM r ORDER BY node.name LIMIT 3",
            "SELECT * FROM r",
            {"order_by": "node.name", "limit": 3},
        ),
        (
            "SELECT * FROM r WHERE depth > 3 AND memo = 'DEPTH 2'",
            "SELECT * FROM r WHERE depth > 3 AND memo = 'DEPTH 2'",
            {},
        ),
        (
            "SELECT * FROM r WHERE direction IN ('x') DIRECTION in",
            "SELECT * FROM r WHERE direction IN ('x')",
            {"direction": "in"},
        ),
        ("SELECT f(a DEPTH 2) FROM r MEMO 'x'", "SELECT f(a DEPTH 2) FROM r", {"plan_memo": "x"}),
        ("SELECT * FROM r -- DEPTH 2\n BREADTH ALL;", "SELECT * FROM r", {"breadth": "all"}),
    ],
)
def test_a_select_ends_where_the_traverse_goes_on(
    text: str, sql: str, rest: dict[str, Any]
) -> None:
    assert parse(f"TRAVERSE WITH {text}").query == Traverse(Sql(sql), **rest)


@pytest.mark.parametrize(
    ("pattern", "predicate"),
    [
        ("f LIKE 'a%'", StartsWith("f", "a")),
        ("f LIKE '%a'", EndsWith("f", "a")),
        ("f LIKE '%a%'", Contains("f", "a")),
        ("f LIKE 'a'", Eq("f", "a")),
        ("f NOT LIKE '%a'", Not(EndsWith("f", "a"))),
        ("f LIKE 'a.b_c%d'", Matches("f", r"(?s)\Aa\.b.c.*d\Z")),
        ("f ILIKE 'a%'", Matches("f", r"(?is)\Aa.*\Z")),
        ("f = NULL", Eq("f", None)),
        ("f IS NOT NULL", Exists("f")),
        ("f NOT IN (1, 'b')", NotIn("f", (1, "b"))),
        (
            "f NOT BETWEEN 2025-01-01 AND 2025-02-01T10:00:00Z",
            Not(And((Gte("f", "2025-01-01"), Lte("f", "2025-02-01T10:00:00Z")))),
        ),
        ("metadata->'a'->>'b c' = -1.5", Eq("metadata.a.b c", -1.5)),
        ("`select`.x <> TRUE", Ne("select.x", True)),
        ("a = 1 OR b = 2 AND NOT c = 3", Or((Eq("a", 1), And((Eq("b", 2), Not(Eq("c", 3))))))),
    ],
)
def test_a_condition_becomes_its_predicate(pattern: str, predicate: Any) -> None:
    assert parse_where(pattern) == predicate


def test_what_has_no_text_says_so() -> None:
    for predicate in (VectorSimilar(query=[1.0]), Eq("f", object()), Eq("f", float("inf"))):
        with pytest.raises(InvalidInputError, match="cannot be written"):
            render_condition(predicate)


@pytest.mark.parametrize(
    ("query_type", "parameters", "value"),
    [
        ("lookup", {"key": "sarah"}, Lookup(("sarah",))),
        ("LOOKUP", {"labels": ["a", "b"]}, Lookup(("a", "b"))),
        (
            "fuzzy",
            {"query_text": "sara", "threshold": 0.7, "limit": 3, "type": None},
            Fuzzy("sara", threshold=0.7, limit=3),
        ),
        (
            "search",
            {"query_text": "x", "table_name": "moments", "where_clause": "type = 'a'"},
            Search("x", "moments", Eq("type", "a")),
        ),
        (
            "sql",
            {"table_name": "resources", "where_clause": "id = 'x'", "limit": 3},
            Sql("SELECT * FROM resources WHERE id = 'x' LIMIT 3"),
        ),
        ("sql", {"query": "SELECT 1;"}, Sql("SELECT 1")),
        (
            "traverse",
            {"initial_query": "order in depth", "max_depth": 0, "plan_memo": "m"},
            Traverse("order in depth", max_depth=0, plan_memo="m"),
        ),
        ("traverse", {"initial_query": "SEARCH x LIMIT 2"}, Traverse(Search("x", limit=2))),
        ("traverse", {"initial_query": "search party"}, Traverse("search party")),
        (
            "traverse",
            {"initial_query": {"query_type": "fuzzy", "parameters": {"text": "x"}}},
            Traverse(Fuzzy("x")),
        ),
    ],
)
def test_the_json_form_means_the_same(
    query_type: str, parameters: dict[str, Any], value: Any
) -> None:
    assert from_parameters(query_type, parameters) == value


@pytest.mark.parametrize(
    ("query_type", "parameters", "error", "says"),
    [
        ("find", {}, UnknownNameError, "unknown query type"),
        ("traverse", {"initial_query": "x", "max_dept": 2}, UnknownNameError, "max_depth"),
        (
            "traverse",
            {"edge_types": ["x"]},
            InvalidInputError,
            "needs the parameter 'initial_query'",
        ),
        ("traverse", {"initial_query": "x", "max_depth": "2"}, InvalidInputError, "whole number"),
        (
            "traverse",
            {"initial_query": "x", "order_by": "edge.wait"},
            UnknownNameError,
            "edge.weight",
        ),
        (
            "traverse",
            {"initial_query": {"query_type": "traverse", "parameters": {"initial_query": "x"}}},
            InvalidInputError,
            "cannot start with Traverse",
        ),
        ("lookup", {"key": 3}, InvalidInputError, "label"),
        ("lookup", {"key": "a", "label": "b"}, InvalidInputError, "twice"),
        ("search", {"query_text": "x", "where_clause": "a ="}, QuerySyntaxError, "not finished"),
        ("sql", {"query": "SELECT 1", "limit": 3}, InvalidInputError, "not both"),
        ("fuzzy", {"query_text": "x", "threshold": True}, InvalidInputError, "from 0 to 1"),
    ],
)
def test_wrong_parameters_are_named(
    query_type: str, parameters: dict[str, Any], error: type, says: str
) -> None:
    with pytest.raises(error) as raised:
        from_parameters(query_type, parameters)
    assert says in str(raised.value)


def test_statements_are_parsed_from_many_threads_at_once() -> None:
    wanted = [
        f"TRAVERSE manages WITH LOOKUP person {number} DEPTH {number % 5}" for number in range(200)
    ]
    with ThreadPoolExecutor(8) as pool:
        parsed = list(pool.map(parse, wanted))
    assert [render(statement) for statement in parsed] == wanted


def test_as_of_is_a_moment_with_its_zone() -> None:
    asked = parse("TRAVERSE WITH sally AS OF 2025-01-15")
    assert asked.as_of == datetime(2025, 1, 15, tzinfo=UTC)
    assert parse("TRAVERSE WITH sally AS OF 2025-01-15 10:00:00+02:00").as_of == datetime(
        2025, 1, 15, 8, tzinfo=UTC
    )
    with pytest.raises(InvalidInputError, match="zone"):
        Statement(Traverse("sally"), as_of=datetime(2025, 1, 15))
