"""No input fails more than itself: what is sound beside an odd name, turn or value is kept and found,
and the odd piece is named in the report."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from odd_pieces import odd_name, odd_sentence, odd_text
from tried import Counted, Rounds

import mariadb_server
import postgres_server
from remloom import Memory
from remloom.model import Message, Row
from remloom.schema.databases.opening import open_database
from remloom.schema.plan.plan import Plan
from remloom.schema.sync.keys import pages
from remloom.schema.sync.report import SyncReport

_TOGETHER = 25  # odd pieces in one call
# before the year 1, and after 9999, in UTC
_EDGES = (
    datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
    datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-12))),
)


def test_an_odd_name_costs_a_document_nothing_else(
    home: str, rounds: Rounds, counted: Counted
) -> None:
    draw = random.Random("documents")
    times = rounds(100, 4_000)
    with Memory.open(home, embedder="none") as memory:
        for number in range(times):
            text = f"{odd_text(draw)}\n\nThe heron{number} stands in the weir of Anna Bolt."
            report = memory.read_text(text, uri=f"{number}", name=odd_name(draw))
            statuses = [item.status for item in report.items]
            assert statuses[0] == "read", (text[:300], report.items)
            assert all(item.reason for item in report.items[1:])
        for number in range(times):
            assert memory.search_text(f"heron{number}", limit=1).records
        assert memory.lookup("Anna Bolt").records
        assert memory.admin.check() == []
    counted("documents with odd names", times)


def test_an_odd_turn_costs_a_chat_nothing_else(home: str, rounds: Rounds, counted: Counted) -> None:
    draw = random.Random("chats")
    chats = rounds(6, 200)
    with Memory.open(home, embedder="none") as memory:
        for number in range(chats):
            uri = f"chat-{number}"
            messages = [
                Message(
                    speaker=odd_name(draw),
                    text=odd_sentence(draw),
                    id=odd_name(draw)[:40],
                    role=odd_name(draw),
                    at=draw.choice((None, datetime(2024, 5, 1, 12, tzinfo=UTC), *_EDGES)),
                )
                for _ in range(_TOGETHER)
            ]
            for position in range(0, _TOGETHER, 5):
                messages[position] = Message(
                    speaker="Anna Bolt", text=f"The stork{number}x{position}."
                )
            first = memory.read_chat(messages[:10], uri=uri, name=odd_name(draw))
            rest = memory.read_chat(messages[10:], uri=uri, append=True)
            for report in (first, rest):
                assert report.items[0].status == "read", report.items
                assert all(item.reason for item in report.items[1:])
            for position in range(0, _TOGETHER, 5):
                assert memory.search_text(f"stork{number}x{position}", limit=1).records
        assert memory.admin.check() == []
    counted("chats with odd turns", chats)


def test_an_odd_entry_costs_an_export_nothing_else(
    tmp_path: Path, rounds: Rounds, counted: Counted
) -> None:
    draw = random.Random("exports")
    files = rounds(20, 500)
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(files):
        entries = [
            {
                "speaker": "Anna Bolt",
                "text": f"The crane{number}x{position}.",
                "at": _odd_time(draw),
            }
            for position in range(20)
        ]
        for position in draw.sample(range(20), 3):
            entries[position] = draw.choice((
                {"speaker": odd_name(draw), "text": odd_sentence(draw), "at": _odd_time(draw)},
                {"speaker": None, "text": None}, {"speaker": ["x"], "text": {"text": 7}}, None, 7, [], "x",
            ))  # fmt: skip
        entries[0] = entries[19] = {
            "speaker": "Bo",
            "text": f"The ibis{number}.",
            "at": "2024-05-01",
        }
        if number % 2:
            lines = [json.dumps(entry) for entry in entries]
            lines[7] = draw.choice(
                ('{"speaker": ', "nonsense", "\\", odd_name(draw).strip() or "{")
            )
            text = "\n".join(line.replace("\n", " ") for line in lines)
            (folder / f"{number}.jsonl").write_text(text, "utf-8", "replace")
        else:
            (folder / f"{number}.json").write_text(json.dumps(entries))
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        report = memory.read(folder)
        read = {Path(item.uri).name for item in report.items if item.status == "read"}
        assert read == {path.name for path in folder.iterdir()}, report.skipped
        assert all(item.reason for item in report.skipped)
        for number in range(files):
            assert memory.search_text(f"ibis{number}", limit=1).records
        assert memory.admin.check() == []
    counted("exports with odd entries", files)


def _odd_time(draw: random.Random) -> object:
    return draw.choice((
        None, "", "24:00:00", "2024-02-30", "infinity", "-infinity", 1e308, -1, 10**40, "0000-00-00",
        float("nan"), {"$date": "x"}, "12024-01-01T00:00:00Z", True, "2024-05-01T25:61:00+99:99",
    ))  # fmt: skip


# -- databases -------------------------------------------------------------------------------------

# type -> literals: sound ones and odd ones
_VALUES = {
    "sqlite": {
        "TEXT": ("'a'", "''", "' '", "x'ff'", "7"), "DATE": ("'2024-05-01'", "'0000-00-00'", "'infinity'", "''"),
        "INTEGER": ("7", "'seven'", "1e300", "9e999", "x'00'"), "TIMESTAMP": ("'2024-05-01 10:00'", "'24:00:00'", "7"),
        "BOOLEAN": ("1", "'perhaps'"), "NUMERIC": ("1.5", "9e999", "'NaN'"), "BLOB": ("x'00ff'", "'text'"),
        "JSON": ("'{}'", "'{'", "'{\"a\": 1e999}'"), "": ("1", "'x'", "x'00'"), "INT": ("7", "1.5", "9223372036854775807"),
        "REAL": ("1.5", "9e999", "'x'"), "DATETIME": ("'2024-05-01T10:00Z'", "'0001-01-01T00:00+14:00'"),
    },
    "duckdb": {
        "VARCHAR": ("'a'", "''", "' '"), "DATE": ("'2024-05-01'", "'infinity'", "'20000-01-01'"),
        "TIMESTAMP": ("'2024-05-01 10:00'", "'-infinity'"), "TIME": ("'12:00'", "'24:00:00'"),
        "HUGEINT": ("7", "170141183460469231731687303715884105727"), "DOUBLE": ("1.5", "'NaN'", "'infinity'"),
        "INTEGER[]": ("[1, NULL]", "[]"), "STRUCT(a INTEGER)": ("{'a': 1}",), "BLOB": ("'a'",),
        "MAP(VARCHAR, INTEGER)": ("MAP {'a': 1}",), "UUID": ("uuid()",), "INTERVAL": ("'1 day'",),
    },
    "postgresql": {
        "text": ("'a'", "''", "' '"), "date": ("'2024-05-01'", "'infinity'", "'20000-01-01'", "'0044-03-15 BC'"),
        "timestamptz": ("'2024-05-01 10:00'", "'-infinity'", "'200000-01-01'"), "time": ("'12:00'", "'24:00:00'"),
        "timetz": ("'24:00:00+15:59'",), "numeric": ("1.5", "'NaN'", "1e400"), "float8": ("1.5", "'infinity'"),
        "interval": ("'1 day'", "'-178000000 years'"), "mood": ("'sad'", "'it''s `ok`'"), "mood[]": ("'{sad}'", "'{NULL}'"),
        "positive": ("3",), "moods": ("'sad'",), "int4range": ("'[1,5)'", "'empty'"), "bytea": ("'\\x00ff'",),
        "tstzrange": ("'[20000-01-01,)'", "'(,)'"), "daterange[]": ("'{\"[20000-01-01,)\"}'",), "date[]": ("'{infinity}'",),
        "pair": ("'(x,3)'",), "jsonb": ("'{}'", "'{\"a\": 1e400}'"), "inet": ("'10.0.0.1'",),
        "tsvector": ("'a:1 b:2'",), "pair[]": ("'{\"(x,3)\"}'",), "int4[]": ("'{1}'", "'{1,NULL}'"),
        "float8[]": ("'{1.5}'", "'{NaN,1,infinity}'"), "timestamptz[]": ("'{2024-05-01}'", "'{-infinity}'"), "uuid": ("gen_random_uuid()",),
        "text[]": ("'{a}'", "'{NULL,b}'"), "\"char\"": ("'x'",), "oid": ("7",), "tsquery": ("'a & b'",), "box": ("'(1,2),(3,4)'",),
        "timestamp": ("'2024-05-01'", "'4713-01-01 BC'", "'294276-12-31'"), "varbit": ("'101'",), "bytea[]": ("'{a}'",),
        "money": ("3",), "bit(3)": ("'101'",), "point": ("'(1,2)'",), "int4multirange": ("'{[1,2)}'",),
    },
    "mysql": {
        "text": ("'a'", "''", "' '"), "date": ("'2024-05-01'", "'0000-00-00'", "'2024-02-00'"),
        "datetime": ("'2024-05-01 10:00'", "'0000-00-00'"), "time": ("'12:00'", "'838:59:59'", "'-24:00:00'"),
        "decimal(60, 2)": ("1.5", "1e55"), "double": ("1.5", "1.7e308"), "enum('sad', 'it''s')": ("'sad'", "'it''s'", "''"),
        "set('a', 'b')": ("'a,b'", "''"), "bit(3)": ("b'101'",), "year": ("2024", "0"), "json": ("'{}'",),
        "bit(1)": ("b'1'", "b'0'"), "tinyint(1)": ("1", "7"), "point": ("ST_PointFromText('POINT(1 2)')",), "timestamp": ("'2024-05-01'", "0"),
        "blob": ("x'00ff'",), "bigint unsigned": ("18446744073709551615",),
    },
}  # fmt: skip
_MADE_BEFORE = {
    "postgresql": (
        "CREATE TYPE mood AS ENUM ('sad', 'it''s `ok`')", "CREATE DOMAIN moods AS mood",
        "CREATE DOMAIN positive AS integer CHECK (VALUE > 0)", "CREATE TYPE pair AS (a text, b integer)",
    ),
    "mysql": ("SET SESSION sql_mode = ''",),
}  # fmt: skip
_COLUMNS = (
    "back`tick",
    'qu"ote',
    "it's",
    "per%cent",
    "%s",
    "select",
    "é",
    "日本",
    "😀",
    "a b",
    "a.b",
    "-",
    "1",
)

Making = Callable[[str, list[str]], str]


@pytest.fixture
def making(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Making]:
    """Makes a database of a kind by statements, or goes on with it; gives its address."""
    urls: dict[str, str] = {}
    with ExitStack() as stack:

        def making(kind: str, statements: list[str]) -> str:
            path = tmp_path / f"source.{kind}"
            if kind == "sqlite":
                connection = sqlite3.connect(path, isolation_level=None)
                for statement in statements:
                    connection.execute(statement)
                connection.close()
                return f"sqlite:///{path}"
            if kind == "duckdb":
                duckdb = pytest.importorskip("duckdb")
                with duckdb.connect(str(path)) as opened:
                    for statement in statements:
                        opened.execute(statement)
                return f"duckdb:///{path}"
            server = postgres_server if kind == "postgresql" else mariadb_server
            fixture = request.getfixturevalue("postgres" if kind == "postgresql" else "mariadb")
            if kind not in urls:
                urls[kind] = str(stack.enter_context(server.database(fixture)))
            url = urls[kind]
            with server.connect(url) as connected, connected.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
            return url

        yield making


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "postgresql", "mysql"])
def test_an_odd_value_or_column_costs_a_database_nothing_else(
    kind: str, making: Making, tmp_path: Path, rounds: Rounds, counted: Counted
) -> None:
    draw = random.Random(kind)
    tables = rounds(6, 60)
    mark = "`" if kind == "mysql" else '"'
    # names in MySQL have no characters outside the basic plane
    names = [name for name in _COLUMNS if kind != "mysql" or max(name) < "\U00010000"]

    def quoted(name: str) -> str:
        return mark + name.replace(mark, 2 * mark) + mark

    before, after = list(_MADE_BEFORE.get(kind, ())), []
    given: dict[tuple[int, int], dict[str, str]] = {}  # table and row -> column -> literal
    for number in range(tables):
        # every type comes in the first tables, whatever is drawn
        types = list(_VALUES[kind])[number % 4 :: 4] + draw.sample(list(_VALUES[kind]), 2)
        chosen = (names * 2)[: len(types)]
        draw.shuffle(chosen)
        columns = [f"{name}{place}" for place, name in enumerate(chosen)]
        listed = ", ".join(f"{quoted(c)} {type_}" for c, type_ in zip(columns, types, strict=True))
        table = quoted(f"things {draw.choice(names).replace('.', '')} {number}")
        before.append(f"CREATE TABLE {table} (id integer PRIMARY KEY, name varchar(60), {listed})")
        for row in range(12):
            # the sample of every other table has none of what is odd
            is_late = number % 2 and row >= 6
            values = [
                _VALUES[kind][type_][0]
                if number % 2 and not is_late
                else draw.choice(("NULL", *_VALUES[kind][type_]))
                for type_ in types
            ]
            given[number, row] = dict(zip(columns, values, strict=True))
            statement = (
                f"INSERT INTO {table} VALUES ({row}, 'Heron {number} {row}', {', '.join(values)})"
            )
            (after if is_late else before).append(statement)
    url = making(kind, before)
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        plan = memory.schemas.discover(url, "odd")
        assert len(plan.tables) == tables, plan.left_out
        memory.schemas.register_from_discovery(plan, url=url)
        making(kind, [*_AFTER.get(kind, ()), *after])
        report = memory.schemas.sync("odd", url=url)
        assert not report.faults
        assert (report.added, report.refused) == (tables * 12, 0), report
        _check_nothing_is_lost(memory, plan, report, given)
        again = memory.schemas.sync("odd", url=url)
        assert again.unchanged == tables * 12
        # what is still left out is still told
        assert _left_out(again) == _left_out(report)
        assert again.left_out == report.left_out == len(_left_out(report))
        assert memory.admin.check() == []
    counted(f"tables with odd columns and values, {kind}", tables)


def _left_out(report: SyncReport) -> list[tuple[str, str]]:
    found = [each for table in report.tables for each in table.left_out_values]
    return sorted((each.row, each.reason) for each in found)


def _row(memory: Memory, name: str) -> Row:
    (hit,) = memory.lookup(name).records
    assert isinstance(hit.record, Row)
    return hit.record


def _check_nothing_is_lost(
    memory: Memory, plan: Plan, report: SyncReport, given: dict[tuple[int, int], dict[str, str]]
) -> None:
    """What a database has is in a field, or the plan or the report names it."""
    left_out = _left_out(report)
    unplanned = {(each.table, each.column) for each in plan.left_out}
    asked = {(each.table, column) for each in plan.questions for column in each.columns}
    for (number, row), literals in given.items():
        found = _row(memory, f"Heron {number} {row}")
        (table,) = (each for each in plan.tables if each.table.endswith(f" {number}"))
        fields = {each.column: each.name for each in table.fields}
        for column, literal in literals.items():
            name = fields.get(column)
            if name is None:
                assert (table.table, column) in unplanned
                continue
            odd = [
                why for handle, why in left_out if (handle, why.split()[0]) == (found.handle, name)
            ]
            assert literal in _NOTHING or odd or name in found.fields, (column, literal)
            # what the sample could show either fits or was asked about
            is_told = number % 2 or (table.table, column) in asked
            assert is_told or all("is NULL" in why for why in odd), (column, odd)


@pytest.mark.parametrize("kind", ["duckdb", "postgresql", "mysql"])
def test_a_column_that_cannot_be_read_costs_no_other(
    kind: str, making: Making, tmp_path: Path
) -> None:
    failing = _FAILING[kind]
    view = f"CREATE VIEW seen AS SELECT id, name, {failing} AS odd FROM things"
    url = making(
        kind,
        [
            "CREATE TABLE things (id integer PRIMARY KEY, name varchar(60), said varchar(60))",
            *(f"INSERT INTO things VALUES ({n}, 'Heron {n}', '1')" for n in range(9)),
            view,
        ],
    )
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        plan = memory.schemas.discover(url, "odd", tables=["seen"])
        memory.schemas.register_from_discovery(plan, url=url)
        assert memory.schemas.sync("odd", url=url).left_out == 0
        making(kind, ["UPDATE things SET said = 'x' WHERE id = 4"])
        for _ in range(2):
            report = memory.schemas.sync("odd", url=url)
            assert (report.refused, report.read) == (0, 9)
            assert 1 <= report.left_out < 9
            assert all("odd cannot be read" in why for _, why in _left_out(report))
        for number in range(9):
            assert "odd" in _row(memory, f"Heron {number}").fields or number >= 4
        later = memory.schemas.discover(url, "odd", tables=["seen"])
        (gone,) = (each for each in later.left_out if each.column)
        assert (gone.table, gone.column) == ("seen", "odd")
        assert gone.reason.startswith("cannot be read")
        assert [field.column for field in later.tables[0].fields] == ["id", "name"]
        making(kind, ["UPDATE things SET said = '1' WHERE id = 4"])
        assert memory.schemas.sync("odd", url=url).left_out == 0


_FAILING = {
    "duckdb": "CAST(said AS integer)",
    "postgresql": "CAST(said AS integer)",
    "mysql": "CASE WHEN said = 'x' THEN (SELECT 1 UNION SELECT 2) ELSE 1 END",
}


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "postgresql", "mysql"])
def test_tables_are_read_by_odd_keys_page_by_page(kind: str, making: Making) -> None:
    mark = "`" if kind == "mysql" else '"'
    statements = list(_MADE_BEFORE.get(kind, ()))
    expected = {}
    for number, (type_, keys) in enumerate(_KEYS[kind].items()):
        # a text that is no UTF-8 is found again by its row id alone
        is_without = kind == "sqlite" and type_ != "TEXT" and number % 2
        statements.append(
            f"CREATE TABLE {mark}{number}{mark} (k {type_} NOT NULL, n integer NOT NULL,"
            f" PRIMARY KEY (k, n)){' WITHOUT ROWID' if is_without else ''}"
        )
        rows = [f"({key}, {n})" for key in keys for n in (1, 2)]
        statements.append(f"INSERT INTO {mark}{number}{mark} VALUES {', '.join(rows)}")
        expected[str(number)] = len(rows)
    with closing(open_database(making(kind, statements))) as database:
        for table in database.tables():
            for size in (1, 2, 3):
                read = [row for page in pages(database, table, ["k", "n"], size) for row in page]
                assert len(read) == expected[table.name], (table, read)


_KEYS = {
    "sqlite": {
        "INTEGER": ("'seven'", "7", "1.5", "9e999", "-9e999", "x'00'", "9223372036854775807"),
        "TEXT": ("'a'", "''", "x'ff'", "CAST(x'ff' AS TEXT)", "CAST(x'80' AS TEXT)", "'\ue000'"),
        "DATE": ("'2024-05-01'", "'infinity'", "7"), "REAL": ("1.5", "'x'", "9e999"), "BLOB": ("x'00'", "x'ff'", "'a'"),
        "NUMERIC": ("1.5", "'NaN'", "7"),
    },
    "duckdb": {
        "DATE": ("'2024-05-01'", "'infinity'", "'20000-01-01'", "'-infinity'", "'0044-03-15 (BC)'"), "DOUBLE": ("'NaN'", "'infinity'", "1"),
        "ENUM ('b', 'a')": ("'a'", "'b'"), "TIME": ("'24:00:00'", "'12:00'"), "UUID": ("uuid()", "uuid()"), "BLOB": ("'a'", "'b'"),
        "TIMESTAMP": ("'2024-05-01'", "'infinity'", "'0044-03-15 (BC) 10:00'"), "HUGEINT": ("7", "170141183460469231731687303715884105727"),
    },
    "postgresql": {
        "date": ("'2024-05-01'", "'infinity'", "'20000-01-01'", "'-infinity'", "'0044-03-15 BC'"), "float8": ("'NaN'", "'infinity'", "1"),
        "mood": ("'sad'", "'it''s `ok`'"), "numeric": ("'NaN'", "1e400", "1.50"), "time": ("'24:00:00'", "'12:00'"),
        "timestamptz": ("'2024-05-01'", "'infinity'", "'200000-01-01'"), "int4range": ("'[1,5)'", "'empty'"),
        "int4[]": ("'{1}'", "'{1,NULL}'"), "jsonb": ("'{}'", "'[]'"), "bytea": ("'\\x00'", "'\\xff'"), "interval": ("'1 day'", "'-178000000 years'"),
        "bit(3)": ("'101'", "'111'"), "inet": ("'10.0.0.1'", "'::1'"), "uuid": ("gen_random_uuid()", "gen_random_uuid()"), "tsvector": ("'a'", "'b'"),
        "money": ("3", "-4"), "\"char\"": ("'x'", "'y'"), "bool": ("true", "false"), "mood[]": ("'{sad}'", "'{}'"),
    },
    "mysql": {
        "date": ("'2024-05-01'", "'0000-00-00'", "'2024-02-00'"), "time": ("'12:00'", "'838:59:59'", "'-24:00:00'"),
        "enum('b', 'a')": ("'a'", "'b'", "''"), "set('b', 'a')": ("'a'", "'a,b'", "''"), "bit(8)": ("b'101'", "b'11'"), "double": ("1.5", "1.7e308"),
        "varbinary(4)": ("x'00ff'", "x'ff'"), "decimal(60, 2)": ("1.5", "1e55"), "year": ("2024", "0"), "bigint unsigned": ("18446744073709551615", "1"),
        "datetime(6)": ("'2024-05-01 10:00:00.000001'", "'0000-00-00'"), "varchar(9)": ("'é'", "'z'", "'😀'"),
    },
}  # fmt: skip
_NOTHING = ("NULL", "''", "' '")  # also where a date is expected
_AFTER = {"mysql": ("SET SESSION sql_mode = ''",)}
