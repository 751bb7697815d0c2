"""No input fails more than itself: what is sound beside an odd name, turn or value is kept and found,
and the odd piece is named in the report."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest
from odd_pieces import odd_name, odd_sentence, odd_text
from tried import Counted, Rounds

import mariadb_server
import postgres_server
from remloom import Memory
from remloom.model import Message

_TOGETHER = 25  # odd pieces in one call


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
                    at=draw.choice((None, datetime(2024, 5, 1, 12, tzinfo=UTC))),
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
        "JSON": ("'{}'", "'{'", "'{\"a\": 1e999}'"), "": ("1", "'x'", "x'00'"),
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
        "money": ("3",), "bit(3)": ("'101'",), "point": ("'(1,2)'",), "int4multirange": ("'{[1,2)}'",),
    },
    "mysql": {
        "text": ("'a'", "''", "' '"), "date": ("'2024-05-01'", "'0000-00-00'", "'2024-02-00'"),
        "datetime": ("'2024-05-01 10:00'", "'0000-00-00'"), "time": ("'12:00'", "'838:59:59'", "'-24:00:00'"),
        "decimal(60, 2)": ("1.5", "1e55"), "double": ("1.5", "1.7e308"), "enum('sad', 'it''s')": ("'sad'", "'it''s'", "''"),
        "set('a', 'b')": ("'a,b'", "''"), "bit(3)": ("b'101'",), "year": ("2024", "0"), "json": ("'{}'",),
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
    """Makes a database of a kind by statements; gives its address."""
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
            url = stack.enter_context(server.database(fixture))
            with server.connect(url) as connected, connected.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
            return str(url)

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

    statements = list(_MADE_BEFORE.get(kind, ()))
    for number in range(tables):
        # every type comes in the first tables, whatever is drawn
        types = list(_VALUES[kind])[number % 4 :: 4] + draw.sample(list(_VALUES[kind]), 2)
        columns = [f"{name}{place}" for place, name in enumerate(draw.sample(names, len(types)))]
        listed = ", ".join(f"{quoted(c)} {type_}" for c, type_ in zip(columns, types, strict=True))
        table = quoted(f"things {draw.choice(names).replace('.', '')} {number}")
        statements.append(
            f"CREATE TABLE {table} (id integer PRIMARY KEY, name varchar(60), {listed})"
        )
        for row in range(12):
            values = ", ".join(draw.choice(("NULL", *_VALUES[kind][type_])) for type_ in types)
            statements.append(
                f"INSERT INTO {table} VALUES ({row}, 'Heron {number} {row}', {values})"
            )
    url = making(kind, statements)
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        plan = memory.schemas.discover(url, "odd")
        assert len(plan.tables) == tables, plan.left_out
        memory.schemas.register_from_discovery(plan, url=url)
        report = memory.schemas.sync("odd", url=url)
        assert not report.faults
        assert (report.added, report.refused) == (tables * 12, 0), report
        assert report.totals["left_out"] == sum(len(t.left_out_values) for t in report.tables)
        for number in range(tables):
            assert memory.lookup(f"Heron {number} 7").records
        assert memory.schemas.sync("odd", url=url).unchanged == tables * 12
        assert memory.admin.check() == []
    counted(f"tables with odd columns and values, {kind}", tables)
