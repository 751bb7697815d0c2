"""A grammar of hostile SELECTs: made at random, but always the same from the same seed.

`Grammar(seed).call()` is a call of a method of `Memory` that carries one. What must never be
answered, whatever it is dressed in (a forbidden function, a second table, text smuggled in as the
name of a type) is marked `refused`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from asking import Call
from sqlglot import exp

TABLES = {
    "resources": (
        "id",
        "name",
        "content",
        "category",
        "uri",
        "ordinal",
        "starts_at",
        "metadata",
        "created_at",
        "key",
    ),
    "entities": (
        "id",
        "type",
        "name",
        "aliases",
        "summary",
        "properties",
        "created_at",
        "key",
        "schema",
    ),
    "moments": (
        "id",
        "name",
        "type",
        "starts_at",
        "ends_at",
        "topic_tags",
        "summary",
        "metadata",
        "key",
        "schema",
    ),
}
FUNCTIONS = sorted({name for kind in exp.ALL_FUNCTIONS for name in kind.sql_names()})
TYPES = sorted(kind.value for kind in exp.DataType.Type)
UNITS = "year month day hour minute second week quarter microseconds millennium epoch dow isodow julian timezone".split()
OPERATORS = (
    "+ - * / % || | & << >> ^ # ~ ~* !~ !~* @> <@ ? ?| ?& && -> ->> #> #>> @@ @? <-> <=> := .. ** // -|- &< &> |>> <<| "
    "~~ !~~ ~~* = <> != < <= > >= == === IS|IS_NOT AND OR XOR DIV MOD GLOB REGEXP RLIKE MATCH OVERLAPS COLLATE "
    "SIMILAR_TO IS_DISTINCT_FROM NOT_LIKE ILIKE LIKE IN ANY ALL MEMBER_OF SOUNDS_LIKE AT_TIME_ZONE"
).replace("IS|IS_NOT", "IS IS_NOT").split()  # fmt: skip

# None of these may run, on either store, wherever they stand.
FORBIDDEN = (
    "set_config('remloom.tenant', 'other', true)", "set_config('role', 'none', false)",
    "pg_catalog.set_config('remloom.tenant', 'other', false)", "current_setting('remloom.tenant')",
    "current_setting('data_directory')", "pg_read_file('/etc/passwd')", "pg_read_binary_file('/etc/passwd')",
    "pg_ls_dir('/')", "pg_stat_file('/etc/passwd')", "pg_sleep(20)", "pg_sleep_for('20 s')", "lo_import('/etc/passwd')",
    "lo_export(1, '/tmp/remloom-attack')", "dblink('dbname=postgres', 'SELECT 1')", "pg_terminate_backend(1)",
    "query_to_xml('SELECT * FROM remloom.records', true, true, '')", "table_to_xml('remloom.records', true, true, '')",
    "database_to_xml(true, true, '')", "pg_advisory_lock(1)", "pg_reload_conf()", "txid_current()", "nextval('x')",
    "pg_get_viewdef('pg_stats')", "to_regclass('remloom.records')", "pg_relation_filepath('remloom.records')",
    "has_table_privilege('remloom.records', 'select')", "inet_server_addr()", "version()", "pg_backend_pid()",
    "pg_column_size(content)", "current_user", "session_user", "current_database()", "current_schemas(true)",
    "remloom.enter('other')", "load_extension('/tmp/x.so')", "readfile('/etc/passwd')", "edit('x')",
    "writefile('/tmp/remloom-attack', 'x')", "sqlite_version()", "sqlite_source_id()", "sqlite_compileoption_get(1)",
    "changes()", "last_insert_rowid()", "random()", "randomblob(100000000)", "zeroblob(1000000000)", "fts5(1)",
    "fts3_tokenizer('x')", "highlight(resources, 0, 'a', 'b')", "snippet(resources, 0, '', '', '', 9)",
    "bm25(resources)", "rtreecheck('x')", "sqlite_dbpage(1)", "printf('%1000000000d', 1)", "format('%1000000000s', 1)",
    "repeat('a', 1000000000)", "rpad('a', 1000000000)", "lpad('a', 1000000000, 'b')", "space(1000000000)",
    "generate_series(1, 1000000000)", "array_fill(1, ARRAY[100000, 10000])", "unistr('\\0041')", "hex(randomblob(9))",
    "xmlparse(document '<a/>')", "xpath('/a', '<a/>')", "json_each(metadata)", "json_tree(metadata)",
    "jsonb_path_query(metadata, '$.**')",
    "pragma_table_info('records')", "table_info", "dbms_xmlgen.getxml('x')", "SLEEP(20)", "BENCHMARK(100000000, 1)",
    "LOAD_FILE('/etc/passwd')", "xp_cmdshell('id')", "UTL_HTTP.REQUEST('http://127.0.0.1')",
)  # fmt: skip
# no calls: a column of no table, or nothing that is secret
_BARE = {"table_info", "current_user", "session_user"}

# What a smuggled text tries to run: a word that is nowhere in the statement, or the other tenant's.
PAYLOADS = (
    "replace('zqAxj', 'A', '')", "(SELECT max(content) FROM remloom.records)", "(SELECT max(name) FROM records)",
    "set_config('remloom.tenant','other',true), (SELECT max(content) FROM remloom.records)", "version()",
    "(SELECT group_concat(sql) FROM sqlite_master)", "(SELECT string_agg(relname, ',') FROM pg_class)",
    "pg_read_file('/etc/passwd')", "(SELECT count(*) FROM resources)", "set_config('role','none',false)",
    "(WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r)",
)  # fmt: skip

# The dresses in which a text of the user's can look like the name of a type, a unit or a collation:
# %s is the text.
SMUGGLES = (
    'CAST({x} AS "%s")', 'TRY_CAST({x} AS "%s")', 'SAFE_CAST({x} AS "%s")', '{x}::"%s"', 'CONVERT({x}, "%s")',
    'CONVERT("%s", {x})', 'CONVERT({x} USING "%s")', 'CAST({x} AS s."%s")', 'CAST({x} AS "%s".text)',
    'CAST({x} AS varchar("%s"))', 'CAST({x} AS decimal(1, "%s"))', 'CAST({x} AS array<"%s">)',
    'CAST({x} AS struct<a "%s">)', 'CAST({x} AS map<text, "%s">)', 'CAST({x} AS "%s"[])', 'CAST({x} AS "%s" ARRAY)',
    "TIMESTAMP_TRUNC({x}, '%s')", 'TIMESTAMP_TRUNC({x}, "%s")', 'EXTRACT("%s", {x})', 'EXTRACT("%s" FROM {x})',
    "DATE_TRUNC('%s', {x})", 'DATE_TRUNC("%s", {x})', "INTERVAL '1' \"%s\"", '{x} COLLATE "%s"', '{x} COLLATE s."%s"',
    'DATE_ADD({x}, INTERVAL 1 "%s")', 'DATEDIFF("%s", {x}, {x})', "{x} AT TIME ZONE \"%s\"", 'TRIM("%s" FROM {x})',
    'sum({x}) OVER "%s"', 'sum({x}) OVER (PARTITION BY "%s")', 'CAST({x} AS "%s" FORMAT \'x\')', '"%s"({x})',
    's."%s"({x})', "{x} -> '$.\"%s\"'", '{x} AS "a" "%s"', '{x}["%s"]', '{x}."%s"', ':"%s"', '@"%s"', '$"%s"',
    'CAST({x} AS enum("%s"))', 'CAST({x} AS timestamp("%s"))', 'CAST({x} AS bit varying("%s"))', '"%s" \'x\'',
    'JSON_VALUE({x}, \'$.a\' RETURNING "%s")', 'XMLELEMENT(NAME "%s", {x})', 'PARSE({x} AS "%s")', '{x} :: s."%s"[3]',
    'TO_CHAR({x}, "%s")', 'TIMESTAMPDIFF("%s", {x}, {x})', 'CURRENT_TIMESTAMP("%s")', 'CAST({x} AS CHAR CHARACTER SET "%s")',
)  # fmt: skip
# In these the text is a literal, or a name that a column is given: they may be answered, as long as
# nothing of it runs.
_LITERAL = {"{x} -> '$.\"%s\"'", '{x}["%s"]'}
_ENDS = (
    '"refcursor), {p} FROM {t} LIMIT 1 --"', "text), {p} FROM {t} LIMIT 1 --", "text) AS a, {p} AS b FROM {t} --",
    "int), ({p}", "text), {p} AS x /*", "text'), {p} FROM {t} --", "text), {p}, ''::text FROM {t} --", "day', x), {p} --",
    "C\"), {p} FROM {t} --", "text)) UNION SELECT {p} --", "text) FROM {t}; SELECT {p} --", "text), {p}), (1",
)  # fmt: skip
PREDICATE_FIELDS = (
    "name",
    "category",
    "metadata.a",
    "metadata.a.b",
    "ordinal",
    "starts_at",
    "id",
    "`odd name`",
    "type",
)


class Grammar:
    """Hostile calls, one after another.

    Args:
        seed: of all that is chosen.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        # what must not run, of the statement that is being made
        self._bad: list[str] = []
        self._refused = False
        self._table = "resources"

    def call(self) -> Call:
        """The next one."""
        family, made = self.random.choices(_FAMILIES, [weight for _, _, weight in _FAMILIES])[0][:2]
        self._refused, self._bad = False, []
        self._table = self._one(tuple(TABLES))
        if family == "where":
            return self._where()
        return self._carried(made(self), family)

    # -- how a statement reaches the memory --------------------------------------------------------

    def _carried(self, sql: str, family: str) -> Call:
        way = self.random.randrange(9)
        given: dict[str, Any] = {"family": family, "refused": self._must(sql)}
        if way < 3:
            return Call("query", (sql,), **given)
        if way < 5:
            return Call("sql", (sql,), **given)
        if way == 5:
            if not sql.lower().startswith("select"):
                given["refused"] = False  # it is a label there
            return Call("query", (f"TRAVERSE * WITH {sql}",), **given)
        if way == 6:
            return Call("query", (f"EXPLAIN {sql}",), **given)
        if way == 7:
            start = {"query_type": "sql", "parameters": {"query": sql}}
            return Call("rem_query", ("traverse", {"initial_query": start}), **given)
        return Call("rem_query", ("sql", {"query": sql}), **given)

    def _where(self) -> Call:
        """A condition, as text, of each method that takes one."""
        hostile = self.random.random() < 0.5
        condition = self._sql_condition() if hostile else self._condition()
        given: dict[str, Any] = {"family": "where", "refused": hostile and self._must(condition)}
        way = self.random.randrange(6)
        if way == 0:
            return Call(
                "rem_query",
                ("sql", {"table_name": self._table, "where_clause": condition}),
                **given,
            )
        if way == 1:
            order = self._one(
                (
                    "name",
                    '"x"; DROP TABLE records',
                    "1, (SELECT 1)",
                    self._smuggled(),
                    "name LIMIT 1 --",
                )
            )
            parameters = {
                "table_name": self._table,
                "order_by": order,
                "limit": self._one((1, "1", "1 --", [1], -1)),
            }
            return Call("rem_query", ("sql", parameters), family="where")
        if way == 2:
            parameters = {"query_text": "tea", "table_name": self._table, "where_clause": condition}
            return Call("rem_query", ("search", parameters), **given)
        if way == 3:
            return Call(
                "query", (f'SEARCH "tea" IN {self._table} WHERE {condition} LIMIT 3',), **given
            )
        if way == 4:
            return Call("search_text", ("tea",), {"where": condition}, **given)
        return Call("recall", ("What of the tea?",), {"where": condition}, **given)

    def _sql_condition(self) -> str:
        return (
            self._expression(2)
            if self.random.random() < 0.5
            else f"{self._expression(1)} = {self._forbidden()}"
        )

    def _condition(self, depth: int = 2) -> str:
        one = self._one
        if depth and self.random.random() < 0.5:
            inner = [self._condition(depth - 1) for _ in range(self.random.randint(1, 4))]
            return one(("({})", "NOT ({})", "{}")).format(one((" AND ", " OR ")).join(inner))
        value = one((
            "'tea'", '"tea"', "1", "1e999", "-1e308", "2026-01-01", "NULL", "TRUE", "'%a%a%a%a%a%a%b'", "'(a|aa)+$'",
            "'(a+)+$'", "'\\'", "'[[:alpha:]'", "'(?<=a)'", "'\\p{L}+'", "'a{1000000}'", "''", "'\\x00'", "'(?i)x'",
        ))  # fmt: skip
        return one((
            "{f} = {v}", "{f} != {v}", "{f} < {v}", "{f} >= {v}", "{f} IN ({v}, {v})", "{f} LIKE {v}", "{f} MATCHES {v}",
            "{f} CONTAINS {v}", "{f} BETWEEN {v} AND {v}", "{f} IS NULL", "{f} IS NOT NULL", "{f} STARTS WITH {v}",
        )).format(f=one(PREDICATE_FIELDS), v=value)  # fmt: skip

    # -- statements --------------------------------------------------------------------------------

    def _any(self) -> str:
        """Everything that a SELECT can have, at random."""
        one, some = self._one, self._some
        columns = ", ".join(
            self._aliased(self._expression(3)) for _ in range(self.random.randint(1, 4))
        )
        parts = [
            some(("/* a */", "--x\n", "/*+ NO_INDEX */"), 0.1),
            one(("SELECT", "select", "SeLeCt")),
            some(("DISTINCT", "ALL", "/*+ SeqScan(x) */"), 0.1),
            columns,
            "FROM",
            self._source(),
        ]
        for words, chance in (
            ("WHERE {}", 0.5),
            ("GROUP BY {}", 0.2),
            ("HAVING {}", 0.1),
            ("ORDER BY {}", 0.3),
        ):
            if self.random.random() < chance:
                parts.append(words.format(self._expression(2)))
        parts += [
            some(("ASC", "DESC NULLS LAST", "USING >"), 0.05),
            some(
                (
                    "LIMIT 3",
                    "LIMIT 3 OFFSET 1",
                    f"LIMIT {self._expression(1)}",
                    "FETCH FIRST 3 ROWS ONLY",
                ),
                0.3,
            ),
            some((";", ";;", "-- end", "/* open", "; --", "\n\n;"), 0.1),
        ]
        return " ".join(part for part in parts if part)

    def _plain(self) -> str:
        """What a store may well answer, with values that are not plain at all."""
        one = self._one

        def text() -> str:
            return str(
                one(
                    (
                        "name",
                        "key",
                        f"{self._table}.name",
                        '"name"',
                        "lower(name)",
                        "replace(name, 'a', 'b')",
                        "name || key",
                    )
                )
            )

        value = one(
            (
                "'tea'",
                "''",
                "'it''s'",
                "'%a%'",
                "'\\'",
                "'; DROP TABLE records; --'",
                "'\"'",
                "'{}'",
                "'\u202e'",
                "'%s'",
                "'$1'",
            )
        )
        condition = one((
            f"{text()} = {value}", f"{text()} <> {value}", f"{text()} LIKE {value}", f"{text()} IN ({value}, {value})", f"{text()} IS NOT NULL",
            f"{text()} BETWEEN {value} AND 'zz'", f"NOT ({text()} < {value})", f"{text()} >= {value} OR id = {value}", "created_at > '2020-01-01'",
            f"length({text()}) > 2", f"upper({text()}) LIKE 'P%'", f"coalesce({text()}, {value}) <> 'x'",
        ))  # fmt: skip
        if self.random.random() < 0.3:
            return f"SELECT count(*) AS n, min({text()}), max({text()}) FROM {self._table} WHERE {condition}"
        limit = self.random.randint(1, 50)
        return f"SELECT {text()} AS v, id, substr({text()}, 1, 3) FROM {self._table} WHERE {condition} ORDER BY {one(('1', 'v', 'name'))} LIMIT {limit}"

    def _one_function(self) -> str:
        """Each function that sqlglot knows, with any arguments."""
        inner = ", ".join(self._expression(1) for _ in range(self.random.randint(0, 4)))
        name = self._one(FUNCTIONS)
        dressed = self._one(
            (
                f"{name}({inner})",
                f"{name}(DISTINCT {inner})",
                f"{name}(*)",
                f"{name}",
                f'"{name}"({inner})',
            )
        )
        return f"SELECT {dressed} AS v, name FROM {self._table}"

    def _one_type(self) -> str:
        """Each type that sqlglot knows, and those of PostgreSQL's catalogue, in each dress."""
        one = self._one
        kind = one(
            (
                *TYPES,
                "regclass",
                "regproc",
                "regrole",
                "refcursor",
                "xml",
                "oid",
                "name",
                "pg_lsn",
                "cid",
                "_text",
            )
        )
        kind += one(
            (
                "",
                "",
                "",
                "(3)",
                "(1000000)",
                "[]",
                "[][3]",
                "(3, 2)",
                " ARRAY",
                " NOT NULL",
                "<text>",
                "(max)",
            )
        )
        x = self._expression(1)
        dress = one(
            (
                "CAST({x} AS {k})",
                "TRY_CAST({x} AS {k})",
                "{x}::{k}",
                "CONVERT({x}, {k})",
                "{k} {x}",
                "{k} '1'",
            )
        )
        cast = dress.format(x=x, k=kind)
        return (
            f"SELECT {one((cast, f'count({cast})'))} FROM {self._table} ORDER BY {one(('1', cast))}"
        )

    def _one_unit(self) -> str:
        one = self._one
        unit = one((*UNITS, "x", "day to second", "'day'", '"day"', "1"))
        dress = one((
            "EXTRACT({u} FROM {x})", "DATE_TRUNC('{u}', {x})", "TIMESTAMP_TRUNC({x}, {u})", "INTERVAL '1' {u}",
            "INTERVAL '1 {u}'", "{x} + INTERVAL '1' {u}", "DATE_ADD({x}, INTERVAL 1 {u})", "DATEDIFF({u}, {x}, {x})",
            "DATE_PART('{u}', {x})", "INTERVAL '1-2' YEAR TO MONTH", "DATE_SUB({x}, 3, {u})", "{u}({x})",
            "strftime('{u}', {x})", "to_char({x}, '{u}')", "age({x})", "justify_days({x})", "make_interval(0, 3)",
        ))  # fmt: skip
        return f"SELECT {dress.format(u=unit, x=one(('starts_at', 'created_at', self._literal())))} FROM {self._table}"

    def _smuggle(self) -> str:
        return f"SELECT {self._smuggled()} FROM {self._table}"

    def _smuggled(self) -> str:
        """A text that would be SQL if it were written out as it is, where a name of something
        stands."""
        dress = self._one(SMUGGLES)
        text = self._one(_ENDS).format(p=self._one(PAYLOADS), t=self._table)
        text = text.replace("'", "''") if "'%s'" in dress else text.strip('"').replace('"', '""')
        smuggled = str(dress.replace("{x}", self._column()).replace("%s", text))
        if dress not in _LITERAL:
            self._bad.append(smuggled)
        return smuggled

    def _forbid(self) -> str:
        """What must not run, where any expression may stand."""
        bad = self._forbidden()
        return self._one((
            "SELECT {b} FROM {t}", "SELECT name FROM {t} WHERE {b} IS NULL", "SELECT name FROM {t} ORDER BY {b}",
            "SELECT name FROM {t} GROUP BY name HAVING {b} IS NULL", "SELECT count(*) FILTER (WHERE {b} = 1) FROM {t}",
            "SELECT CASE WHEN name = '' THEN {b} END FROM {t}", "SELECT coalesce({b}, name) FROM {t}",
            "SELECT name FROM {t} WHERE name IN ({b}, 'a')", "SELECT name FROM {t} LIMIT {b}", "SELECT CAST({b} AS text) FROM {t}",
            "SELECT max({b}) FROM {t}", "SELECT name FROM {t} WHERE FALSE AND {b} = 1", "SELECT -({b}) FROM {t}",
            "SELECT lower({b} || name) FROM {t}", "SELECT ({b}) FROM {t} OFFSET 1", "SELECT DISTINCT {b} AS name FROM {t}",
            "SELECT name FROM {t} WHERE name BETWEEN 'a' AND {b}", "SELECT {b} IS NOT NULL AND 1 = 1 FROM {t}",
        )).format(b=bad, t=self._table)  # fmt: skip

    def _second_table(self) -> str:
        """More than one SELECT over one table."""
        self._refused = True
        return self._one((
            "SELECT * FROM {t} UNION SELECT * FROM {t}", "SELECT * FROM {t}; SELECT * FROM {t}", "WITH a AS (SELECT 1) SELECT * FROM a",
            "WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a) SELECT count(*) FROM a", "SELECT * FROM sqlite_master",
            "SELECT * FROM pg_catalog.pg_class", "SELECT * FROM information_schema.tables", "SELECT * FROM remloom.records",
            "SELECT * FROM {t}, {t} AS b", "SELECT * FROM {t} JOIN {t} b ON 1 = 1", "SELECT * FROM (SELECT * FROM {t}) x",
            "SELECT (SELECT max(name) FROM {t}) FROM {t}", "SELECT * FROM {t} WHERE EXISTS (SELECT 1 FROM records)",
            "SELECT * FROM {t} WHERE name IN (SELECT name FROM {t})", "SELECT name FROM {t} WHERE name = ANY (SELECT name FROM {t})",
            "SELECT * FROM pragma_table_info('records')", "SELECT * FROM json_each('[1]')", "SELECT * FROM generate_series(1, 9)",
            "SELECT * FROM fts WHERE fts MATCH 'a'", "SELECT * FROM dbstat", "SELECT * FROM sqlite_dbpage", "SELECT * FROM main.{t}",
            "SELECT * FROM temp.{t}", "SELECT * FROM ONLY {t}", "SELECT * FROM {t} TABLESAMPLE BERNOULLI (10)", "TABLE {t}",
            "VALUES (1)", "SELECT * INTO x FROM {t}", "SELECT * FROM {t} FOR UPDATE", "SELECT * FROM ROWS FROM (now())",
            "SELECT * FROM {t} CROSS JOIN LATERAL (SELECT 1) y", "SELECT * FROM {t} INTERSECT ALL SELECT * FROM {t}",
            "SELECT * FROM {t} NATURAL JOIN {t} c", "SELECT * FROM unnest(ARRAY[1])", "SELECT ARRAY(SELECT name FROM {t}) FROM {t}",
            "INSERT INTO {t} VALUES (1)", "DELETE FROM {t}", "UPDATE {t} SET name = 'x'", "DROP TABLE {t}", "ATTACH 'x' AS y",
            "COPY {t} TO '/tmp/remloom-attack'", "PRAGMA database_list", "VACUUM INTO '/tmp/remloom-attack'", "CALL x()", "DO $$ $$",
            "EXECUTE x", "SET ROLE none", "EXPLAIN ANALYZE SELECT 1", "CREATE TABLE x (a int)", "GRANT ALL ON {t} TO public",
            "SELECT * FROM \"resources\" \"; DROP TABLE records; --\", records", "SELECT * FROM {t} PIVOT (max(name) FOR name IN ('a'))",
        )).format(t=self._table)  # fmt: skip

    def _bomb(self) -> str:
        """What costs too much: to read, to check, or to run. It may be answered, if in time."""
        t, many = self._table, self._one((300, 3_000, 20_000))
        nested = "name"
        for _ in range(self._one((5, 20, 70))):
            nested = self._one(
                ("replace({}, 'a', 'aaaaaaaa')", "upper({})", "({})", "coalesce({}, 'x')", "NOT {}")
            ).format(nested)
        doubled = "content"
        for _ in range(self._one((4, 8, 30))):
            doubled = f"({doubled} || {doubled})" if len(doubled) < 30_000 else doubled
        return self._one((
            lambda: f"SELECT {nested} FROM {t}",
            lambda: f"SELECT {doubled} FROM {t}",
            lambda: f"SELECT replace(replace(replace(content, 'a', content), 'a', content), 'a', content) FROM {t}",
            lambda: f"SELECT name FROM {t} WHERE {self._column()} LIKE '{'%a' * self._one((5, 20, 400))}%b'",
            lambda: f"SELECT name FROM {t} WHERE {'content'} LIKE '{'_' * 4000}%'",
            lambda: f"SELECT name FROM {t} WHERE content REGEXP '(a|aa)+$' OR content ~ '(a|aa)+$'",
            lambda: f"SELECT {','.join(['1'] * many)} FROM {t}",
            lambda: f"SELECT {','.join(['content'] * many)} FROM {t}",
            lambda: f"SELECT {'+'.join(['1'] * many)} FROM {t}",
            lambda: f"SELECT name FROM {t} WHERE name IN ({','.join(['1'] * many)})",
            lambda: f"SELECT name FROM {t} WHERE {' OR '.join(['name = 1'] * many)}",
            lambda: f"SELECT metadata{' -> 0' * many} FROM {t}",
            lambda: f"SELECT metadata -> '{'.a' * many}' FROM {t}",
            lambda: f"SELECT metadata ->> '$.{'a.' * many}a' FROM {t}",
            lambda: f"SELECT {'(' * many}1{')' * many} FROM {t}",
            lambda: f"SELECT {'-' * many}1 FROM {t}",
            lambda: f"SELECT {'- ' * many}1 FROM {t}",
            lambda: f"SELECT {'NOT ' * many}1 FROM {t}",
            lambda: f"SELECT {'CASE WHEN ' * many}1 FROM {t}",
            lambda: f"SELECT {'a.' * many}b FROM {t}",
            lambda: f"SELECT name FROM {t} ORDER BY {','.join(['name'] * many)}",
            lambda: f"SELECT name{'::text' * many} FROM {t}",
            lambda: f"SELECT name {'COLLATE nocase ' * many} FROM {t}",
            lambda: f"SELECT {'{' * many}1 FROM {t}",
            lambda: f"SELECT {'[' * many} FROM {t}",
            lambda: f"SELECT coalesce({','.join(['content'] * many)}) FROM {t}",
            lambda: f"SELECT concat({','.join(['content'] * many)}) FROM {t}",
            lambda: f"SELECT group_concat(content, content) FROM {t}",
            lambda: f"SELECT group_concat(content) || group_concat(content) || group_concat(content) FROM {t}",
            lambda: f"SELECT '{'x' * self._one((99_000, 1_000_000))}' FROM {t}",
            lambda: f"SELECT name FROM {t} WHERE name = '{'é' * self._one((9_000, 1_000_000))}'",
            lambda: f"SELECT {'9' * self._one((400, 5_000, 90_000))} FROM {t}",
            lambda: f"SELECT 1e{'9' * 300}, {'9' * 300}.{'9' * 3000} FROM {t}",
            lambda: f"SELECT trim(content, content), instr(content, content || 'b') FROM {t}",
            lambda: f"SELECT substr(content, -9223372036854775808, 9223372036854775807) FROM {t}",
            lambda: f"SELECT round(1.5, 2147483647), round(ordinal, 999999999) FROM {t}",
            lambda: f"SELECT '\x00' FROM {t}",
            lambda: f"SELECT name\x00 FROM {t}",
            lambda: f"SELECT '\ud800' FROM {t}",
            lambda: f"SELECT \"\udfff\" FROM {t}",
            lambda: f"SELECT name FROM {t} --\ud83d",
            lambda: f"SELECT count(DISTINCT content || {self._column()}) FROM {t} GROUP BY content || content",
            lambda: f"SELECT abs(-9223372036854775807 - 1), 9223372036854775807 * 2, 1 / 0, 1 % 0 FROM {t}",
            lambda: f"SELECT name FROM {t} LIMIT 9223372036854775808 OFFSET -1",
            lambda: f"SELECT strftime('{'%J' * 9_000}', 'now'), date('now', '{'+1 day ' * 999}') FROM {t}",
            lambda: "SELECT" + " " * self._one((50_000, 200_000)) + f"name FROM {t}",
            lambda: f"SELECT name FROM {t} " + "/* " * many,
            lambda: f"SELECT name FROM {t} " + "/**/" * many,
        ))()  # fmt: skip

    def _noise(self) -> str:
        """The tokens of an honest statement with something changed, dropped, doubled or put
        between."""
        tokens = f"SELECT name , upper ( content ) AS c FROM {self._table} WHERE ordinal >= 0 ORDER BY name LIMIT 3".split()
        bits = (
            "'", '"', "`", "(", ")", "[", "]", "{", "}", ";", ",", ".", "::", "$$", "$a$", "E'\\x41'", "U&'\\0041'", "\\",
            "U&\"d\\0061t\" UESCAPE '!'", "N'a'", "B'1'", "X'41'", "x'4'", "0x1F", "0b1", "1_000", "?", "$1", ":a", "@a",
            "#", "--", "/*", "*/", "%", "{{a}}", "{% a %}", "%(a)s", "{}", "\u202e", "\u200b", "\ufeff", "’", "；", "(",
            "\r", "\x1b[31m", "\x7f", "\U000e0041", "LATERAL", "QUALIFY", "WINDOW", "USING", "RETURNING", "INTO", "OVER ()",
            "TABLESAMPLE", "FOR", "LOCK IN SHARE MODE", "OPTION", "SETTINGS", "FORMAT", "CONNECT BY", "PREWHERE", "SAMPLE 1",
        )  # fmt: skip
        for _ in range(self.random.randint(1, 4)):
            at = self.random.randrange(len(tokens))
            way = self.random.randrange(4)
            if way == 0:
                tokens[at] = self._one(bits)
            elif way == 1:
                tokens.insert(at, self._one(bits))
            elif way == 2 and len(tokens) > 3:
                del tokens[at]
            else:
                tokens.insert(at, tokens[at])
        return " ".join(["SELECT", *tokens[1:]])

    # -- expressions -------------------------------------------------------------------------------

    def _expression(self, depth: int) -> str:
        chance = self.random.random()
        if depth <= 0 or chance < 0.2:
            return self._column()
        if chance < 0.35:
            return self._literal()
        inner = lambda: self._expression(depth - 1)  # noqa: E731
        if chance < 0.37:
            return self._smuggled()
        if chance < 0.39:
            return self._forbidden()
        if chance < 0.5:
            name = self._one(FUNCTIONS)
            return f"{name}({', '.join(inner() for _ in range(self.random.randint(0, 3)))})"
        if chance < 0.62:
            name = self._one(
                (
                    "upper",
                    "lower",
                    "length",
                    "coalesce",
                    "abs",
                    "round",
                    "trim",
                    "min",
                    "max",
                    "count",
                    "substr",
                )
            )
            return f"{name}({inner()})"
        if chance < 0.74:
            return f"{inner()} {self._one(OPERATORS).replace('_', ' ')} {inner()}"
        return self._one((
            "CASE WHEN {a} THEN {b} ELSE {a} END", "CASE {a} WHEN {b} THEN {a} END", "{a} IN ({a}, {b})", "{a} BETWEEN {b} AND {a}",
            "{a} LIKE {b} ESCAPE '!'", "ARRAY[{a}, {b}]", "ROW({a}, {b})", "({a}, {b}) = ({b}, {a})", "sum({a}) OVER (ORDER BY {b} ROWS 3 PRECEDING)",
            "row_number() OVER (PARTITION BY {a} ORDER BY {b} RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE TIES)", "{a} -> {b}",
            "{a} ->> '$.a'", "count({a}) FILTER (WHERE {b})", "percentile_cont(0.5) WITHIN GROUP (ORDER BY {a})", "NOT {a}", "-{a}", "({a})",
            "CAST({a} AS {t})", "{a}::{t}", "{a}[1:2]", "x -> {a}", "{a} IS DISTINCT FROM {b}", "{a} AT TIME ZONE 'UTC'", "IF({a}, {b}, {a})",
            "{a} COLLATE nocase", "{a} COLLATE \"C\"", "EXTRACT(year FROM {a})", "POSITION({a} IN {b})", "SUBSTRING({a} FROM 1 FOR 2)",
            "OVERLAY({a} PLACING {b} FROM 1)", "TRIM(BOTH {a} FROM {b})", "{a} ISNULL", "{a} IS TRUE", "{a} SIMILAR TO {b}", "NULLIF({a}, {b})",
            "string_agg({a}, {b} ORDER BY {a})", "json_object({a}: {b})", "json_array({a}, {b})", "{{fn now()}}", "INTERVAL '1' DAY", "{a} NOTNULL",
            "count(DISTINCT {a}, {b})", "greatest({a}, {b})", "{a} = ANY({b})", "{a} = ALL(ARRAY[{b}])", "DEFAULT", "*", "{a} AS x", "PRIOR {a}",
        )).format(a=inner(), b=inner(), t=self._one(TYPES).lower())  # fmt: skip

    def _column(self) -> str:
        name = self._one(TABLES[self._table])
        return self._one(
            (
                name,
                name,
                name,
                f'"{name}"',
                f"{self._table}.{name}",
                f'"{self._table}"."{name}"',
                f"`{name}`",
                f"[{name}]",
            )
        )

    def _literal(self) -> str:
        return self._one((
            "'tea'", "''", "'it''s'", "'%a%'", "1", "0", "-1", "1.5", "1e400", ".5", "9223372036854775808", "NULL", "TRUE", "FALSE",
            "E'\\x41\\n'", "U&'\\0061'", "$$a$$", "$x$ ' $x$", "x'41'", "b'1'", "DATE '2026-01-01'", "TIMESTAMP '2026-01-01 10:00'",
            "'2026-01-01'", "'now'", "'\\'", "'{\"a\": 1}'", "'{a,b}'", "'NaN'", "'infinity'", "INTERVAL '1 day'", "CURRENT_DATE", "0x10",
        ))  # fmt: skip

    def _source(self) -> str:
        t = self._table
        return self._one((
            t, t, t, t, f'"{t}"', f"{t} AS r", f"{t} r", t.upper(), f"`{t}`", f"[{t}]", f'{t} AS "a b"', f'{t} "x, records --"',
        ))  # fmt: skip

    def _aliased(self, expression: str) -> str:
        return self._one(
            (
                expression,
                expression,
                f"{expression} AS a",
                f'{expression} AS "a, (SELECT 1)"',
                f"{expression} 'a'",
            )
        )

    def _forbidden(self) -> str:
        bad = self._one(FORBIDDEN)
        name, bracket, rest = bad.partition("(")
        dressed = self._one(
            (
                bad,
                bad,
                f'"{name}"{bracket}{rest}',
                f"pg_catalog.{bad}",
                f"{name.upper()}{bracket}{rest}",
                f"{name} /**/ {bracket}{rest}",
            )
        )
        dressed = dressed if bracket else bad
        if bad not in _BARE:
            self._bad.append(dressed)
        return str(dressed)

    def _must(self, sql: str) -> bool:
        """Whether it holds something that must not run: not all that was made got into it."""
        return self._refused or any(bad in sql for bad in self._bad)

    def _one(self, items: Any) -> Any:
        return self.random.choice(items)

    def _some(self, items: tuple[str, ...], chance: float) -> str:
        return self._one(items) if self.random.random() < chance else ""


_FAMILIES: tuple[tuple[str, Callable[[Grammar], str], int], ...] = (
    ("anything", Grammar._any, 16), ("plain", Grammar._plain, 18), ("function", Grammar._one_function, 14),
    ("type", Grammar._one_type, 9), ("unit", Grammar._one_unit, 6), ("smuggled", Grammar._smuggle, 14),
    ("forbidden", Grammar._forbid, 10), ("second table", Grammar._second_table, 4), ("bomb", Grammar._bomb, 5),
    ("noise", Grammar._noise, 6), ("where", Grammar._plain, 6),
)  # fmt: skip


def named_shapes(table: str = "resources", payload: str = PAYLOADS[0]) -> list[Call]:
    """Every dress with every end: what once passed, and what is like it."""
    calls = []
    for dress in SMUGGLES:
        for end in _ENDS:
            text = end.format(p=payload, t=table)
            text = (
                text.replace("'", "''") if "'%s'" in dress else text.strip('"').replace('"', '""')
            )
            sql = f"SELECT {dress.replace('{x}', 'name').replace('%s', text)} FROM {table}"
            calls.append(
                Call("sql", (sql,), family=f"named: {dress}", refused=dress not in _LITERAL)
            )
    return calls
