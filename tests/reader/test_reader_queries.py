"""`Reader.sql` and `Reader.schema` over documents that a memory has."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from remloom import AsyncMemory, Memory
from remloom.errors import InvalidInputError, MissingExtraError, SqlGuardError, StoreClosedError
from remloom.reader.reader import Reader
from remloom.reader.sql.tables import LineTables
from waiting import PATIENCE

FERRY = """# Ferries

They leave at noon, but not in storms.

## Prices

A ticket is 9 euros.

- children: 4 euros
- dogs: free

## Freight

    tonnes * 12
"""


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder="none") as opened:
        yield opened


@pytest.fixture
def reader(memory: Memory) -> Iterator[Reader]:
    with memory.reader() as opened:
        opened.open_text(FERRY, name="ferries")
        yield opened


def test_lines_are_selected_with_their_marks_sections_and_words(reader: Reader) -> None:
    rows = reader.sql("SELECT line_num, text, section FROM documents WHERE is_list_item")
    assert rows.as_dicts() == [
        {
            "line_num": 9,
            "text": "- children: 4 euros",
            "section": "Ferries > Prices",
            "word_count": 4,
        },
        {"line_num": 10, "text": "- dogs: free", "section": "Ferries > Prices", "word_count": 3},
    ]
    assert rows.word_count == 7
    sections = reader.sql("SELECT title, level, first_line, last_line, word_count FROM sections")
    assert sections.rows[1][:3] == ("Prices", 2, 5)


def test_search_ranks_the_lines_that_it_gives(reader: Reader) -> None:
    rows = reader.sql("SELECT rank, line_num, text FROM search('ticket euros')")
    assert rows.rows[0] == (1, 7, "A ticket is 9 euros.")
    assert [rank for rank, *_ in rows.rows] == list(range(1, rows.row_count + 1))
    beside = reader.sql(
        "SELECT d.line_num, d.text FROM search('dogs') s JOIN documents d "
        "ON d.line_num BETWEEN s.line_num - 1 AND s.line_num + 1 ORDER BY d.line_num"
    )
    assert [line for line, _ in beside.rows] == [9, 10, 11]


def test_what_is_forgotten_or_changed_meanwhile_is_not_selected(
    memory: Memory, reader: Reader
) -> None:
    assert reader.sql("SELECT count(*) FROM documents WHERE text LIKE '%noon%'").rows == ((1,),)
    reader.open_text("They leave at dawn.", name="ferries")
    assert reader.sql("SELECT line_num, text FROM documents").rows == (
        (1, "They leave at dawn.", 4),
    )
    reader.open_text("Never.", name="trains")
    assert {row["doc"] for row in reader.sql("SELECT text FROM documents").as_dicts()} == {
        "ferries",
        "trains",
    }
    memory.forget("text:ferries")
    rows = reader.sql("SELECT doc, text FROM documents")
    assert [row["doc"] for row in rows.as_dicts()] == ["trains"]


def test_the_schema_has_the_columns_and_the_sizes(reader: Reader) -> None:
    schema = reader.schema()
    assert schema["loaded"]
    assert schema["doc_name"] == "ferries"
    assert schema["table_name"] == "documents"
    assert (schema["total_lines"], schema["line_range"]) == (14, (1, 14))
    assert schema["strategic_lines"] == reader.documents[0].strategic_lines
    types = {column["name"]: column["type"] for column in schema["columns"]}
    assert (types["line_num"], types["text"], types["is_header"]) == (
        "INTEGER",
        "VARCHAR",
        "BOOLEAN",
    )
    assert all(column["description"] for column in schema["columns"])
    answered = reader.sql("SELECT * FROM documents LIMIT 1")
    assert list(answered.columns) == [column["name"] for column in schema["columns"]]


def test_values_beside_rows_have_columns_whatever_they_are_called(memory: Memory) -> None:
    odd = {
        "Said by": "Ann",
        "line_num": 7,
        "rank": 4,
        "select": 3,
        'a"); DROP TABLE documents; --': 1,
    }
    with memory.reader() as reader:
        reader.open_rows(
            [{"text": "a b", **odd, "9": 2**53}, {"text": "c d", "wide": "x" * 20_000}]
        )
        names = [column["name"] for column in reader.schema()["columns"]][11:]
        assert names == [
            "said_by", "line_num_2", "rank_2", "select", "a_drop_table_documents", "column_9", "wide"
        ]  # fmt: skip
        rows = reader.sql('SELECT said_by, line_num_2, rank_2, "select", column_9 FROM documents')
        assert rows.rows[0] == ("Ann", 7, 4, 3, 2**53)
        assert reader.sql("SELECT length(wide) FROM documents WHERE line_num = 2").rows == (
            (10_000,),
        )
        assert reader.sql("SELECT rank, rank_2 FROM search('a')").rows == ((1, 4),)


def test_more_values_than_there_is_room_for_are_left_out(memory: Memory) -> None:
    with memory.reader() as reader:
        reader.open_rows([{"text": "a", **{f"c{n}": n for n in range(1_000)}}])
        assert len(reader.schema()["columns"]) == 11 + 200
        assert reader.sql("SELECT c199 FROM documents").rows == ((199,),)


def test_the_table_of_lines_can_have_another_name(memory: Memory) -> None:
    with memory.reader(table="book") as reader:
        reader.open_text(FERRY, name="ferries")
        assert reader.schema()["table_name"] == "book"
        assert reader.sql("SELECT count(*) FROM book").rows == ((14,),)
        with pytest.raises(SqlGuardError, match="known: book, sections"):
            reader.sql("SELECT count(*) FROM boats")
    for name in ("sections", "Book; DROP", "", "a b"):
        with pytest.raises(InvalidInputError, match="cannot be what the table"):
            memory.reader(table=name)


def test_a_reader_without_documents_says_so(memory: Memory) -> None:
    with memory.reader() as reader:
        assert reader.schema()["loaded"] is False
        with pytest.raises(InvalidInputError, match="no document is open"):
            reader.sql("SELECT text FROM documents")
    with pytest.raises(StoreClosedError):
        reader.sql("SELECT text FROM documents")


def test_without_the_extra_it_is_said_what_to_install(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'remloom\[reader\]'"):
        reader.sql("SELECT text FROM documents")


def test_what_was_selected_counts_as_read(reader: Reader) -> None:
    reader.sql("SELECT count(*), max(line_num) FROM documents")
    assert reader.coverage() == {"ferries": 0.0}
    reader.sql("SELECT line_num, text FROM documents WHERE line_num <= 7")
    assert 0 < reader.coverage()["ferries"] < 1
    reader.sql("SELECT * FROM documents")
    assert reader.coverage() == {"ferries": 1.0}


def test_threads_ask_the_same_tables(reader: Reader) -> None:
    def count(words: int) -> int:
        rows = reader.sql(f"SELECT count(*) FROM documents WHERE word_count >= {words}")
        return int(rows.rows[0][0])

    with ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(count, [0, 1, 2] * 6))
    assert counts[:3] * 6 == counts


def test_sql_of_an_async_memory(tmp_path: Path) -> None:
    async def ask() -> int:
        async with await AsyncMemory.open(tmp_path, embedder="none") as memory:
            reader = await memory.reader()
            await reader.open_text(FERRY, name="ferries")
            rows = await reader.sql("SELECT count(*) FROM documents")
            with pytest.raises(SqlGuardError, match="unknown column"):
                await reader.sql("SELECT words FROM documents")
            await reader.close()
            return int(rows.rows[0][0])

    assert asyncio.run(ask()) == 14


def test_a_book_that_is_loaded_is_asked_with_as_little_work_as_a_leaflet(memory: Memory) -> None:
    def calls_of_a_query(lines: int) -> int:
        text = "\n".join(f"Line {n} of a book about ferries and prices." for n in range(lines))
        counted = 0

        def count(_frame: Any, event: str, _argument: Any) -> None:
            nonlocal counted
            counted += event == "call"

        with memory.reader() as reader:
            reader.open_text(text, name="book")
            # twice: the first time it is loaded
            for profile in (None, count):
                sys.setprofile(profile)
                try:
                    reader.sql(
                        "SELECT line_num, text FROM documents WHERE line_num BETWEEN 5 AND 9"
                    )
                finally:
                    sys.setprofile(None)
        return counted

    calls_of_a_query(30)
    assert 0 < calls_of_a_query(3_000) < 1.5 * calls_of_a_query(30)


def test_closing_ends_a_query_that_runs_in_another_thread(memory: Memory) -> None:
    memory.read_text("\n".join(f"line {number}" for number in range(3_000)), uri="long")
    reader = memory.reader("long")
    reader.sql("SELECT 1 AS one FROM documents")
    endless = "SELECT count(*) FROM documents a, documents b, documents c WHERE a.text < b.text"
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(reader.sql, endless)
        time.sleep(0.2)
        reader.close()
        with pytest.raises(StoreClosedError):
            running.result(timeout=PATIENCE)


def test_no_table_keeps_what_was_forgotten(memory: Memory) -> None:
    memory.read_text(FERRY, uri="ferry")
    with memory.reader("ferry") as reader:
        reader.sql("SELECT text FROM documents")
        (tables,) = [one for one in gc.get_objects() if isinstance(one, LineTables)]
        known = weakref.ref(tables)
        del tables
        memory.forget("ferry")
        assert reader.documents == []
        gc.collect()
        assert known() is None


@pytest.mark.parametrize("behind", [";", ";;", "; -- done", " -- done", "; /* done */"])
def test_a_semicolon_and_a_comment_may_follow_a_query(memory: Memory, behind: str) -> None:
    memory.read_text(FERRY, uri="ferry")
    with memory.reader("ferry") as reader:
        assert reader.sql(f"SELECT max(line_num) FROM documents{behind}").rows == ((14,),)
