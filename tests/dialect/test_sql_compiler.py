"""SQL is one read-only SELECT over one table, whatever is tried: only our own vocabulary reaches a
database."""

# ruff: noqa: SIM905 - a statement stands in one line, a list of words is easier read as a text

from __future__ import annotations

import random
import re
from pathlib import Path
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
from remloom.sql.compile import compile_select
from remloom.sql.functions import aggregates, functions, markdown_list
from remloom.sql.render import render_select
from remloom.store.postgres.sql_writer import PostgresWriter
from remloom.store.sqlite.select.select_writer import SqliteWriter

SMUGGLED = ", (SELECT max(content) FROM remloom.records) FROM resources LIMIT 1 --"
# Where a parser takes a name, a type, a unit or an option that it would write again as it stands.
DRESSES = (
    'CAST(name AS "{}")', 'TRY_CAST(name AS "{}")', 'SAFE_CAST(name AS "{}")', 'name::"{}"', 'CONVERT(name, "{}")',
    'CONVERT(name USING "{}")', 'CAST(name AS s."{}")', 'CAST(name AS "{}".t)', 'CAST(name AS varchar("{}"))',
    'CAST(name AS array<"{}">)', 'CAST(name AS struct<"{}" int>)', 'CAST(name AS "{}"[])', 'CAST(name AS map<"{}", int>)',
    'CAST(name AS decimal("{}", 2))', 'CAST(name AS timestamp("{}"))', "TIMESTAMP_TRUNC(created_at, '{}')",
    "DATE_TRUNC('{}', created_at)", "TIMESTAMP_TRUNC(created_at, \"{}\")", 'EXTRACT("{}" FROM created_at)',
    'EXTRACT("{}", created_at)', "DATE_PART('{}', created_at)", "created_at + INTERVAL '1' \"{}\"",
    "created_at + INTERVAL '1 {}'", "created_at AT TIME ZONE '{}'", 'name COLLATE "{}"', "name COLLATE '{}'",
    "metadata ->> '{}'", "metadata #>> '{{{}}}'", "json_extract(metadata, '$.\"{}\"')", '"{}"(name)', 'pg_catalog."{}"(name)',
    'TRIM("{}" FROM name)', 'count(*) OVER "{}"', 'CHAR(65 USING "{}")', "strftime('{}', created_at)", "name LIKE '{}'",
    "name ~ '{}'", "graph_paths && ARRAY['{}']", "metadata @> '{}'", "round(ordinal, '{}')", "current_timestamp('{}')",
    'name AS "{}"', "group_concat(name, '{}')", "name IS JSON {}", "JSON_OBJECT('{}': name)", "x'{}'", "N'{}'", "$${}$$",
    "E'{}'", "U&'{}'", "ROW({})", "OVERLAY(name PLACING '{}' FROM 1)", "NEXT VALUE FOR {}", "name::regclass::{}",
)  # fmt: skip
PAYLOADS = (
    f'refcursor){SMUGGLED}', f"x'){SMUGGLED}", f'x"){SMUGGLED}', "set_config('remloom.tenant','other',true)", "regclass",
    "x' UNION SELECT sql FROM sqlite_master --", 'a"b', "a\\", "%s", "?1", "($1)[1]", "{0}", "',)", "\n--", "/* */", ";",
)  # fmt: skip

_NAMES = {name for function in (*functions(), *aggregates()) for template in (function.sqlite, function.postgres)
          for name in re.findall(r"\w+", template)}  # fmt: skip
# All that the two writers have words for; between them stand only marks, whole numbers and signs.
_VOCABULARY = _NAMES | set("""
    SELECT FROM WHERE AND OR NOT IS NULL TRUE FALSE DISTINCT GROUP BY HAVING ORDER ASC DESC NULLS FIRST LAST LIMIT OFFSET
    CASE WHEN THEN ELSE END IN AS ON CROSS JOIN USING EXISTS LIKE ILIKE ESCAPE CAST TEXT REAL ANY ARRAY FILTER COLLATE
    INTEGER text bigint integer float8 boolean jsonb numeric C default main records labels names edges rels parents remloom
    read_records r n l e t d p q o s j x k key lid rid id rank kind child parent schema type starts ends created updated
    body content thin seq uri src dst rel name label weight properties value tenant_id
    json_each json_type json_array_length json_group_array json_object json coalesce nullif instr casefold matches held fits counted octet_length pg_column_size
    likelihood substr lowered number_of number_text whole time_shift time_trunc time_shown time_of time_format time_part
    jsonb_typeof jsonb_array_length jsonb_array_elements jsonb_agg jsonb_build_object jsonb_build_array jsonb_object_keys
    sortable md5 strpos lower starts_with right left string_agg first_of bool_and bool_or group_concat decompress day
    null array number object string true false text real entity epoch dow YYYY MM DD DDD HH24 MI SS MS month
""".split())  # fmt: skip
_WORD = re.compile(r"[^\W\d]\w*")
_SIGNS = re.compile(r"[\s(),.*+\-/%=<>|?:$\[\]{}'\"#~!;\d\\]*")


def written(sql: str) -> tuple[str, str]:
    """The SQL of both stores."""
    select = compile_select(sql)
    return SqliteWriter(select.schema).select(select, 9)[0], PostgresWriter(select.schema).select(
        select, 9
    )[0]


def assert_our_own(text: str, sql: str) -> None:
    columns = {f"{letter}{i}" for letter in "ci" for i in range(250)}
    quoted = re.findall(r"'([^']*)'", text)
    allowed = (
        _VOCABULARY
        | columns
        | {word for part in quoted for word in _WORD.findall(part) if part.startswith("$.")}
    )
    keys = set(_WORD.findall(" ".join(re.findall(r"(?:->|#>) '([^']*)'", text))))
    for word in _WORD.findall(text):
        known = word in allowed or word in keys or word in _FIELDS
        assert known, f"{word!r} of {text!r}, from {sql!r}"
    assert _SIGNS.fullmatch(_WORD.sub("", text)), text
    assert ";" not in text
    assert "--" not in text
    assert "/*" not in text


_FIELDS = set("""
    name context category uri origin ordinal content_hash starts_at ends_at related_entities language trust kind generation
    metadata created_at updated_at expires_at expires resources entities moments aliases summary present_persons speakers emotion_tags
    topic_tags classifications resource_refs entity_refs parent_moment chunk read graph_paths parents rests_on revision rel_type
""".split())  # fmt: skip


@pytest.mark.parametrize("dress", DRESSES)
def test_nothing_that_is_dressed_as_a_name_reaches_a_database(dress: str) -> None:
    for payload in PAYLOADS:
        for template in (
            "SELECT {} FROM resources",
            "SELECT name FROM resources WHERE {} = 'x' ORDER BY {} LIMIT 3",
        ):
            sql = template.replace("{}", dress.format(payload))
            try:
                texts = written(sql)
            except RemloomError:
                continue
            for text in texts:
                assert_our_own(text, sql)
                for word in (
                    "max(content)",
                    "set_config",
                    "sqlite_master",
                    "regclass",
                    "refcursor",
                    "UNION",
                ):
                    assert word not in re.sub("'[^']*'", "", text)  # a key of JSON stands in quotes


@pytest.mark.parametrize(
    ("sql", "says", "position"),
    [
        (
            'SELECT CAST(name AS "refcursor") FROM resources',
            "the type 'refcursor' is not allowed",
            20,
        ),
        ("SELECT name::regclass FROM resources", "REGCLASS is not allowed", 13),
        ("SELECT pg_sleep(10) FROM resources", "the function pg_sleep is not allowed", 7),
        ("SELECT name FROM resources JOIN entities ON TRUE", "JOIN is not allowed", 27),
        ("SELECT name FROM resources WHERE id = ?", "PLACEHOLDER is not allowed", 38),
        ("SELECT rank() OVER (ORDER BY name) FROM resources", "OVER is not allowed", 14),
    ],
)
def test_what_has_no_translation_is_refused_by_name_with_its_place(
    sql: str, says: str, position: int
) -> None:
    with pytest.raises(SqlGuardError) as raised:
        compile_select(sql)
    assert says in raised.value.message
    assert raised.value.fields["position"] == position
    assert "^" in str(raised.value)
    assert raised.value.remedy


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO resources VALUES (1)", "UPDATE resources SET name = 'x'", "DELETE FROM resources",
        "CREATE TABLE x AS SELECT * FROM resources", "EXPLAIN SELECT * FROM resources", "VALUES (1)",
        "(SELECT * FROM resources)", "SELECT * FROM resources; DELETE FROM resources", "SELECT * FROM resources, entities",
        "SELECT * FROM resources NATURAL JOIN entities", "SELECT * FROM resources UNION SELECT * FROM entities",
        "WITH x AS (SELECT * FROM resources) SELECT * FROM x", "SELECT * FROM (SELECT * FROM resources)",
        "SELECT * FROM resources WHERE id IN (SELECT id FROM entities)", "SELECT * FROM resources WHERE id IN entities",
        "SELECT * FROM resources WHERE EXISTS (SELECT 1 FROM entities)", "SELECT (SELECT 1) FROM resources", "SELECT 1",
        "SELECT load_extension('x') FROM resources", "SELECT zeroblob(1000000000) FROM resources",
        "SELECT printf('%.*c', 1000000000, 'x') FROM resources", "SELECT current_user FROM resources",
        "SELECT * FROM main.resources", "SELECT * FROM pragma_table_info('x')", "SELECT * FROM json_each(metadata)",
        "SELECT * FROM resources FOR UPDATE", "SELECT * INTO x FROM resources", "SELECT * FROM resources WHERE id = :id",
        "SELECT * FROM resources AS r(a, b)", "SELECT * FROM resources INDEXED BY x", "SELECT * FROM LATERAL resources",
        "SELECT * FROM resources TABLESAMPLE (10)", "SELECT DISTINCT ON (name) name FROM resources",
        "SELECT name FROM resources GROUP BY ROLLUP (name)", "SELECT name FROM resources LIMIT 1 + 1",
        "SELECT name FROM ONLY resources", "SELECT name FROM resources WHERE name MATCH 'x'", "SELECT x'00' FROM resources",
        "SELECT repeat(name, 1000000) FROM resources", "SELECT rpad(name, 100000000) FROM resources",
        "SELECT generate_series(1, 9) FROM resources", "SELECT name FROM resources WHERE name LIKE content",
        "SELECT name, count(*) FROM resources GROUP BY category", "SELECT max(count(*)) FROM resources",
        "SELECT name FROM resources WHERE count(*) > 1", "SELECT DISTINCT name FROM resources ORDER BY category",
    ],
    ids=lambda sql: sql[:60],
)  # fmt: skip
def test_everything_else_is_refused(sql: str) -> None:
    with pytest.raises((SqlGuardError, QuerySyntaxError)) as raised:
        compile_select(sql)
    assert raised.value.remedy


@pytest.mark.parametrize(
    ("sql", "kind", "says"),
    [
        ("SELECT * FROM resource", "table", "'resources'"),
        ("SELECT * FROM sqlite_master", "table", "known: entities, moments, resources"),
        ("SELECT nme FROM resources", "column", "'name'"),
        ("SELECT rowid FROM resources", "column", "known:"),
        ("SELECT rid, tenant_id FROM resources", "column", "known:"),
        ('SELECT * FROM resources WHERE category = "person"', "column", "single quotes: 'person'"),
        ("SELECT 'x' AS y FROM resources WHERE y = 3", "column", "known:"),
        ("SELECT name FROM resources ORDER BY edge.weight", "table", "known: resources"),
        ("SELECT entities.name FROM resources", "table", "known: resources"),
    ],
)
def test_an_unknown_name_is_an_error_with_the_nearest(sql: str, kind: str, says: str) -> None:
    with pytest.raises(UnknownNameError) as raised:
        compile_select(sql)
    assert raised.value.fields["kind"] == kind
    assert says in raised.value.remedy


@pytest.mark.parametrize(
    ("sql", "position"),
    [
        ("SELEC name FROM resources", 0),
        ("SELECT * FROM resources WHERE", 29),
        ("SELECT FROM resources", 7),
        ("SELECT name FROM resources WHERE ORDER BY name", 33),
        ("SELECT name, count(*) FROM entities GROUP BY ;", 44),
        ("SELECT name FROM entities ORDER BY LIMIT 3", 35),
        ("SELECT 'a FROM resources", 24),
        (" ", 0),
    ],
)
def test_broken_sql_is_a_syntax_error_with_its_place(sql: str, position: int) -> None:
    with pytest.raises(QuerySyntaxError) as raised:
        compile_select(sql)
    assert raised.value.fields["position"] == position


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT name FROM resources WHERE starts_at > 'yesterday'",
        "SELECT name FROM resources WHERE starts_at > 3",
        "SELECT name FROM resources WHERE name > 3",
        "SELECT name FROM resources WHERE ordinal = '2'",
        "SELECT name + 1 FROM resources",
        "SELECT name FROM resources WHERE name",
        "SELECT coalesce(name, 1) FROM resources",
        "SELECT name FROM resources WHERE metadata->>'a' > metadata->>'b'",
        "SELECT sum(name) FROM resources",
        "SELECT name FROM resources WHERE name ~ '('",
        "SELECT created_at + interval '3 fortnights' FROM resources",
    ],
)
def test_types_that_do_not_go_together_are_an_error_that_says_so(sql: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        compile_select(sql)
    assert raised.value.remedy or "regular expression" in raised.value.message


def _many(one: str, count: int, between: str = ", ") -> str:
    return between.join([one] * count)


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT {_many('1', 20_000)} FROM resources",
        f"SELECT {_many('1', 20_000, '+')} FROM resources",
        f"SELECT {_many('name', 9_000, '||')} FROM resources",
        f"SELECT name FROM resources WHERE ordinal IN ({_many('1', 30_000, ',')})",
        f"SELECT metadata{_many('', 15_000, chr(39) + 'a' + chr(39) + '->')} FROM resources",
        "SELECT metadata" + "->'a'" * 9_000 + " FROM resources",
        "SELECT name" + "::text" * 4_000 + " FROM resources",
        "SELECT name FROM resources" + " JOIN resources" * 3_000,
        "SELECT " + "(" * 5_000 + "1" + ")" * 5_000 + " FROM resources",
        "SELECT " + "- " * 5_000 + "1 FROM resources",
        "SELECT " + "CASE WHEN 1 THEN " * 3_000,
        "SELECT " + "abs(" * 2_000 + "1" + ")" * 2_000 + " FROM resources",
        "SELECT " + "[" * 2_000 + "1" + "]" * 2_000 + " FROM resources",
        "SELECT name FROM resources WHERE " + "name LIKE '%a%' AND " * 20_000 + "TRUE",
        "SELECT '" + "x" * 100_000 + "' FROM resources",
        "SELECT name FROM resources WHERE name LIKE '" + "%a" * 5_000 + "'",
        "SELECT name FROM resources WHERE name ~ '" + "(a|aa)+" * 200 + "'",
        "SELECT name FROM resources WHERE name ~ '((a{200}){200}){200}'",
        "SELECT " + _many("content", 100) + " FROM resources",
        "SELECT replace(replace(content, 'a', '" + "b" * 150 + "'), 'b', '" + "c" * 150 + "') FROM resources",
        "SELECT " + _many("content", 60, "||") + " FROM resources",
        "SELECT name FROM resources WHERE " + _many("instr(content, 'a') > 0", 900, " OR "),
        "SELECT \ud800 FROM resources", "SELECT 'a\udfff' FROM resources", "SELECT '\0' FROM resources", "SELECT '\x1b",
    ],
    ids=range(26),
)  # fmt: skip
def test_what_is_too_much_is_refused_at_once(sql: str) -> None:
    def refused() -> None:
        with pytest.raises(RemloomError):
            compile_select(sql)

    assert effort(refused) < LITTLE


def test_a_long_expression_is_compiled_at_once() -> None:
    for where in (
        " AND ".join(["id = '1'"] * 2000),
        " OR ".join(["id = '1' AND name = 'x'"] * 1000),
    ):
        sql = f"SELECT * FROM resources WHERE {where}"
        assert effort(lambda sql=sql: written(sql)) < LITTLE


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM resources",
        "SELECT r.name, count(*) AS n FROM resources AS r GROUP BY r.name HAVING n > 1 ORDER BY n DESC, 1 LIMIT 3",
        "SELECT name AS \"a; 'b' --\" FROM resources WHERE name LIKE 'a!%%' ESCAPE '!' OR name ~* '^x'",
        "SELECT DISTINCT metadata->'a'->>0 FROM resources WHERE NOT (metadata->>'p' BETWEEN 1 AND 2.5)",
        "SELECT created_at - interval '1 month 2 days', date_trunc('week', starts_at) FROM moments OFFSET 3",
        "SELECT extract(year FROM starts_at), CASE type WHEN 'x' THEN 1 ELSE 2 END FROM moments ORDER BY 1 NULLS LAST",
        "SELECT name FROM moments WHERE topic_tags && ARRAY['a', 'b'] AND graph_paths && ARRAY['/moments/*/x/b c']",
        "SELECT count(DISTINCT name) FILTER (WHERE ordinal > 1), group_concat(name, '; ') FROM resources",
        "SELECT name || '-' || coalesce(category, 'x'), name IN ('a', 'b'), name IS NOT NULL FROM resources",
        "SELECT -ordinal, ordinal + 1 * 2 - 3, (ordinal + 1) * 2, ordinal / 2 FROM resources",
    ],
)
def test_the_canonical_text_means_the_same(sql: str) -> None:
    select = compile_select(sql)
    assert compile_select(render_select(select)) == select


def test_names_of_columns_are_the_users_and_no_part_of_the_sql() -> None:
    select = compile_select(
        'SELECT name AS "x\'); DROP TABLE records; --", count(*) FROM resources GROUP BY 1'
    )
    assert [output.name for output in select.outputs] == ["x'); DROP TABLE records; --", "count(*)"]
    for text in written('SELECT name AS "x\'); DROP TABLE records; --" FROM resources'):
        assert "DROP" not in text


WORDS = (
    "SELECT * FROM resources entities WHERE name = 'x' ; -- /* */ ( ) , UNION ALL JOIN INSERT INTO VALUES UPDATE SET "
    'DELETE DROP TABLE ATTACH DATABASE PRAGMA CREATE WITH AS load_extension(1) zeroblob(9) sqlite_master main. " ` [ ] '
    "LIMIT 1 ORDER BY id EXISTS IN OVER EXPLAIN VACUUM REPLACE RETURNING CAST( AS \"regclass\" ::text -> ->> 'a' @> && ~ "
    "ARRAY['a'] metadata starts_at interval '1 day' now() count(*) GROUP HAVING BETWEEN AND OR NOT LIKE '%' IS NULL CASE "
    'WHEN THEN ELSE END + - * / % || < > <> ordinal content 1.5 -1 COLLATE "C" ESCAPE FILTER extract(year FROM date_trunc( '
    "{0} ?1 %s $1 ($1)[1] \\ \" ' \x00 \ud800 é 𝄞 \n"
)


@given(
    st.lists(st.sampled_from(WORDS.split(" ")), max_size=14).map(" ".join) | st.text(max_size=30)
)
@settings(max_examples=400)
def test_whatever_passes_is_of_our_own_words(tail: str) -> None:
    for sql in (
        tail,
        f"SELECT * FROM resources {tail}",
        f"SELECT {tail} FROM resources",
        f"SELECT name FROM moments WHERE {tail}",
    ):
        try:
            texts = written(sql)
        except RemloomError:
            continue
        for text in texts:
            assert_our_own(text, sql)


def _tree(rng: random.Random, depth: int) -> Any:
    """A tree of the parser's own nodes, of any kinds, with any text in its leaves."""
    from sqlglot import exp

    text = rng.choice(
        [
            "name",
            "x'y",
            'a"b',
            "1); DROP TABLE x --",
            "regclass",
            "",
            "$1",
            "%s",
            "metadata",
            "starts_at",
            "5",
        ]
    )
    if depth == 0 or rng.random() < 0.2:
        return rng.choice([
            exp.column("name"), exp.column(text), exp.Literal.string(text), exp.Literal.number(text), exp.Var(this=text),
            exp.Identifier(this=text, quoted=True), exp.Null(), exp.Star(), exp.Placeholder(this=text),
            exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=text), exp.RawString(this=text),
        ])  # fmt: skip
    kinds = [
        kind
        for kind in vars(exp).values()
        if isinstance(kind, type) and issubclass(kind, exp.Expression)
    ]
    kind = rng.choice(kinds)
    arguments: dict[str, Any] = {}
    for key in kind.arg_types:
        if rng.random() < 0.7:
            some = [_tree(rng, depth - 1) for _ in range(rng.randrange(3))]
            arguments[key] = rng.choice([_tree(rng, depth - 1), some, text, True, None])
    try:
        return kind(**arguments)
    except Exception:  # a node that refuses what it is given
        return exp.column("name")


def test_whatever_tree_a_parser_makes_only_our_own_words_come_of_it() -> None:
    """The parser is not trusted: its nodes are translated, whatever they hold."""
    from remloom.sql.columns import table_of
    from remloom.sql.expressions import ExpressionReader

    rng, translated = random.Random(7), 0
    for _ in range(6_000):
        node = _tree(rng, rng.randrange(1, 4))
        read = ExpressionReader("SELECT x", [], table_of("resources").columns, "resources")
        try:
            value = read(node)
            texts = SqliteWriter("resources").write(value), PostgresWriter("resources").write(value)
        except (RemloomError, AttributeError, TypeError, ValueError, KeyError):
            # `compile_select` puts it in words
            continue
        translated += 1
        for text in texts:
            assert_our_own(text, repr(node))
    assert translated > 100


def test_the_list_of_functions_in_the_docs_is_that_of_the_code() -> None:
    page = (Path(__file__).parents[2] / "docs/dialect.md").read_text(encoding="utf-8")
    begin, end = (
        "<!-- functions: made by remloom.sql.functions.markdown_list -->",
        "<!-- functions: end -->",
    )
    assert page[page.index(begin) + len(begin) : page.index(end)].strip() == markdown_list()


@pytest.mark.parametrize("name", sorted({function.name for function in functions()}))
def test_every_function_of_the_table_is_written_for_both_stores(name: str) -> None:
    function = next(function for function in functions() if function.name == name)
    samples = {"text": "name", "text…": "'a'", "integer…": "2", "same": "name", "real": "ordinal", "time": "created_at",
               "unit…": "'month'", "json": "metadata", "boolean": "ordinal > 1", "…": "name"}  # fmt: skip
    arguments = [samples[argument.rstrip("?")] for argument in function.takes]
    if name in ("has_any", "regexp_like"):
        arguments = {"has_any": ["metadata", "'a'", "'b'"], "regexp_like": ["name", "'a'", "'i'"]}[
            name
        ]
    sql = f"SELECT {name}({', '.join(arguments)}) FROM resources"
    for text in written(sql):
        assert_our_own(text, sql)
