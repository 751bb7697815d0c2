"""SQL over lines that means harm, or too much: refused, bounded, and never let out to the files."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest
from test_reader_sql import make_source, make_tables

from remloom.errors import InvalidInputError, StoreClosedError
from remloom.reader.sql.guard import read_allowed
from remloom.reader.sql.line_columns import MAX_WIDTH
from remloom.reader.sql.tables import MAX_WORK, LineTables
from waiting import until

SAMPLES = json.loads(Path(__file__).with_name("sql_samples.json").read_text())


@pytest.fixture(scope="module")
def tables() -> Iterator[LineTables]:
    opened = make_tables()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("files") / "secret.csv"
    file.write_text("text\nwhat no query may read\n")
    return file


@pytest.mark.parametrize("sql", SAMPLES)
def test_what_is_written_anew_answers_as_the_query_does(tables: LineTables, sql: str) -> None:
    free = duckdb.connect()
    for table in ("documents", "sections"):
        rows = tables._database.execute(f"SELECT * FROM {table}")
        columns = ", ".join(f'"{name}" {kind}' for name, kind, *_ in rows.description)
        free.execute(f"CREATE TABLE {table} ({columns})")
        found = rows.fetchall()
        marks = ", ".join("?" * len(found[0]))
        free.executemany(f"INSERT INTO {table} VALUES ({marks})", found)
    expected = free.execute(sql).fetchall()
    free.close()
    answer = tables.run(sql, fix=False)
    assert list(answer.rows) == expected
    # what was written anew says the same when it is read again
    assert tables.prepare(answer.sql, fix=False).sql == answer.sql


def test_every_function_that_may_be_called_exists(tables: LineTables) -> None:
    allowed = read_allowed()
    known = {name for (name,) in tables._database.execute(
        "SELECT DISTINCT function_name FROM duckdb_functions()"
    ).fetchall()}  # fmt: skip
    # the parser of DuckDB reads these
    syntax = {"coalesce", "concat_ws", "concat", "greatest", "least", "nullif", "ifnull"}
    windows = set(allowed.windows)
    assert not set(allowed.names) - known - syntax - windows
    assert allowed.texts <= set(allowed.names)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('{file}')",
        "COPY documents TO '{file}.out'",
        "ATTACH '{file}.db' AS x",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "SELECT * FROM '{file}'",
        "EXPORT DATABASE '{file}.d'",
    ],
)
def test_the_engine_refuses_too_what_the_guard_refuses(
    tables: LineTables, secret: Path, sql: str
) -> None:
    sql = sql.replace("{file}", str(secret))
    with pytest.raises(InvalidInputError):
        tables.run(sql)
    with pytest.raises(duckdb.Error):
        tables._database.cursor().execute(sql)
    assert sorted(secret.parent.iterdir()) == [secret]


def test_a_wide_line_takes_several_rows_and_loses_nothing() -> None:
    wide = " ".join(f"word{n}" for n in range(5_000))
    tables = LineTables([make_source(texts=["before", wide, "behind"])])
    rows = tables.run("SELECT line_num, text, word_count FROM documents", fix=False).rows
    assert [line for line, _, _ in rows] == [1, *[2] * (len(rows) - 2), 3]
    assert "".join(text for line, text, _ in rows if line == 2) == wide
    assert max(len(text) for _, text, _ in rows) <= MAX_WIDTH
    assert sum(words for line, _, words in rows if line == 2) == 5_000
    assert tables.run(
        "SELECT line_num FROM documents WHERE text LIKE '%word4999%'", fix=False
    ).rows == ((2,),)
    tables.close()


@pytest.mark.parametrize(
    "sql",
    [
        "WITH a AS (SELECT text || text AS t FROM documents), b AS (SELECT t || t AS t FROM a), "
        "c AS (SELECT t || t AS t FROM b), d AS (SELECT t || t AS t FROM c) SELECT t || t || t || t FROM d",
        f"SELECT replace(replace(text, 'a', '{'b' * 200}'), 'b', '{'c' * 200}') FROM documents",
        f"SELECT regexp_replace(text, '', '{'x' * 200}', 'g') FROM documents",
        "WITH a AS (SELECT string_agg(text, '') AS t FROM documents) SELECT a.t FROM a, documents",
        "SELECT string_agg(text, '') || 'x' FROM documents",
        f"SELECT {', '.join(['text'] * 60)} FROM documents",
    ],
)
def test_texts_that_grow_too_long_are_refused_before_they_are_made(sql: str) -> None:
    tables = LineTables([make_source(texts=["a" * MAX_WIDTH] * 50)])
    with pytest.raises(InvalidInputError, match="could make texts of") as refused:
        tables.run(sql)
    assert "left(text, 500)" in refused.value.remedy
    tables.close()


WIDE = ["a" * MAX_WIDTH] * 2_100
# matched anew from each character to the end, and no step of the engine ends before
ENDLESS = "SELECT max(regexp_replace(text, '((a|b)*?c)?', 'x', 'g')) FROM documents"


def test_a_query_that_hears_no_interrupt_is_ended_all_the_same() -> None:
    tables = LineTables([make_source(texts=WIDE)], seconds=0.1)
    before = os.times().children_user
    with pytest.raises(InvalidInputError, match=r"longer than 0\.1 seconds"):
        tables.run(ENDLESS)
    # it ran in a process that is over
    assert os.times().children_user > before
    assert tables.run("SELECT count(*) FROM documents").rows == ((2_100,),)
    tables.close()


def test_closing_ends_a_query_in_a_process_of_its_own() -> None:
    tables = LineTables([make_source(texts=WIDE)], seconds=600)
    with ThreadPoolExecutor() as pool:
        running = pool.submit(tables.run, ENDLESS)
        until(lambda: tables._running or running.done())
        tables.close()
        with pytest.raises(StoreClosedError):
            running.result()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT line_num, text FROM documents WHERE regexp_matches(text, 'fo+')",
        "SELECT s.line_num, s.rank FROM search('mole', 5) s WHERE s.text LIKE '%o%'",
        "SELECT line_num, regexp_replace(text, 'x', 'y', 'g') AS t FROM documents",
        "SELECT CAST(text AS INT) AS n FROM documents WHERE text LIKE '%e%'",
    ],
)
def test_a_process_of_its_own_answers_as_this_one_does(
    monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    def answer(most: float) -> object:
        monkeypatch.setattr("remloom.reader.sql.tables.MAX_WORK", most)
        tables = make_tables()
        try:
            return tables.run(sql)
        except InvalidInputError as error:
            return str(error)
        finally:
            tables.close()

    assert answer(-1) == answer(float("inf"))


@pytest.mark.parametrize(
    ("sql", "is_alone"),
    [
        ("SELECT text FROM documents WHERE text ILIKE '%queue%' OR text LIKE '_he%'", False),
        ("SELECT text FROM documents WHERE regexp_matches(text, '[0-9]{4}-[0-9]{2}')", False),
        ("SELECT replace(lower(text), 'queue', 'row') AS t FROM documents", False),
        ("SELECT regexp_replace(text, ' +', ' ', 'g') AS t FROM documents", True),
        ("SELECT text FROM documents WHERE regexp_matches(text, '((a{90}b?){90}c?){9}')", True),
        (f"SELECT text FROM documents WHERE text LIKE '%{'a' * 9_000}%'", True),
        ("SELECT a.text FROM documents a, documents b WHERE a.text LIKE b.text", True),
    ],
)
def test_only_patterns_that_may_take_long_need_a_process(sql: str, is_alone: bool) -> None:
    texts = ["The queue woke up. " * 100, *["A line of the usual length."] * 20_000]
    tables = LineTables([make_source(texts=texts)])
    assert (tables.prepare(sql).work > MAX_WORK) == is_alone
    tables.close()


def test_a_process_that_ends_by_itself_is_not_said_to_be_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("remloom.reader.sql.tables.MAX_WORK", 0.0)
    # a program that cannot be started for want of memory, say
    monkeypatch.setattr("sys.executable", shutil.which("false"))
    tables = LineTables([make_source(texts=["a line"])])
    with pytest.raises(InvalidInputError, match=r"ended before it answered \(status 1\)"):
        tables.run("SELECT text FROM documents WHERE text LIKE '%a%'")
    tables.close()


def test_texts_of_an_answer_are_bounded_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remloom.reader.sql.tables.MAX_CHARACTERS", 1_000)
    tables = LineTables([make_source(texts=["a" * 300] * 50)])
    answer = tables.run("SELECT * FROM documents")
    assert answer.row_count == 3
    assert answer.truncated
    tables.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT string_agg(a.text, '') FROM documents a, documents b",
        "SELECT count(*) FROM documents a, documents b WHERE a.text < b.text",
        "SELECT a.text FROM documents a, documents b ORDER BY a.text || b.text",
    ],
)
def test_what_takes_too_much_memory_or_time_is_stopped(sql: str) -> None:
    tables = LineTables(
        [make_source(texts=[f"line {n} of many" for n in range(20_000)])], seconds=0.3
    )
    with pytest.raises(InvalidInputError, match=r"too much memory|longer than"):
        tables.run(sql)
    assert tables.run("SELECT count(*) FROM documents").rows == ((20_000,),)
    tables.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 30 + "1" + ")" * 30,
        "SELECT " + "NOT " * 40 + "is_code FROM documents",
        "SELECT " + " + ".join(["1"] * 1_900) + " FROM documents",
        "SELECT " + "1, " * 5_000 + "1",
        "SELECT * FROM documents "
        + " ".join(f"JOIN documents d{n} USING (line_num)" for n in range(30)),
        "SELECT * FROM " + "(SELECT * FROM " * 24 + "documents" + ")" * 24,
        "SELECT 1 UNION ALL " * 60 + "SELECT 1",
        "x" * 50_000,
    ],
)
def test_queries_that_are_too_large_are_refused_at_once(tables: LineTables, sql: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        tables.run(sql)
    assert "not SQL as it is read here" not in refused.value.message
