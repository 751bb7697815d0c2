"""A reader opens documents, shows what they are, and never what is no longer there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from remloom import AsyncMemory, Memory, Message, Resource
from remloom.errors import (
    InvalidInputError,
    NotFoundError,
    SourceError,
    StoreClosedError,
    UnknownNameError,
)
from remloom.reader import EventType, ReadEvent
from remloom.reader.loop.strategy import ReadingStrategy

FERRIES = "# Ferries\n\nThey leave at noon.\n\n## Prices\n\nA ticket is nine euros.\n"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "home", embedder="none") as opened:
        yield opened


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ferry-notes.md"
    path.write_text(FERRIES, encoding="utf-8")
    return path


# -- finding ---------------------------------------------------------------------------------------


def test_a_path_is_read_in_and_read_again_when_it_changed(memory: Memory, file: Path) -> None:
    with memory.reader(file) as reader:
        (stats,) = reader.documents
    assert (stats.doc_name, stats.total_lines, stats.min_line, stats.max_line) == (
        "Ferries",
        7,
        1,
        7,
    )
    assert (stats.total_words, stats.strategic_lines, stats.sections) == (13, 2, 2)
    file.write_text(FERRIES.replace("noon", "midnight"), encoding="utf-8")
    with memory.reader(str(file)) as reader:
        assert reader.lines(3).text == "They leave at midnight."


def test_a_document_that_the_memory_has_is_found_by_uri_title_file_name_or_label(
    memory: Memory, file: Path
) -> None:
    memory.read(file)
    memory.read_chat([Message(speaker="Ann", text="Hello")], uri="chats/1", name="Talk with Ann")
    memory.write([Resource(name="Board minutes", content="All agreed.", uri="minutes/7")])
    for name in (str(file), "ferries", "Ferry notes", "ferry-notes.md"):
        assert [one.doc_name for one in memory.reader(name).documents] == ["Ferries"]
    assert memory.reader("talk with ann").lines(1).text == "Ann: Hello"
    assert memory.reader("board minutes").lines(1).text == "All agreed."


def test_a_whole_number_of_more_than_64_bits_is_kept_as_text(memory: Memory) -> None:
    with memory.reader() as reader:
        reader.open_rows([{"text": "a", "n": 2**70}, {"text": "b", "n": 3}], name="big")
        rows = reader.sql("SELECT n FROM documents ORDER BY line_num").rows
    assert rows == ((str(2**70),), ("3",))


def test_no_callback_no_strategy_and_no_line_are_refused(memory: Memory, file: Path) -> None:
    given: Any
    for given in ({"told": 3}, {"strategy": "fast"}, {"strategy": ReadingStrategy}):
        with pytest.raises(InvalidInputError, match=r"cannot be called|is no strategy"):
            memory.reader(file, **given)
    first: Any = "3"
    with memory.reader(file) as reader, pytest.raises(InvalidInputError, match="are not lines"):
        reader.lines(first)


def test_what_is_not_there_is_an_error_that_names_the_nearest(memory: Memory, file: Path) -> None:
    memory.read(file)
    with pytest.raises(NotFoundError, match=r"did you mean 'Ferries'\?"):
        memory.reader("feries")
    with pytest.raises(NotFoundError, match="neither a file nor a document"):
        memory.reader(file.with_name("gone.pdf"))
    with pytest.raises(InvalidInputError, match="is not a document"):
        memory.reader(" ")


def test_a_file_that_cannot_be_read_says_why(memory: Memory, tmp_path: Path) -> None:
    empty = tmp_path / "empty.md"
    empty.write_text("")
    with pytest.raises(SourceError, match="it is empty"):
        memory.reader(empty)
    binary = tmp_path / "a.txt"
    binary.write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(SourceError, match="a PNG image"):
        memory.reader(binary)


def test_two_documents_of_one_label_are_told_apart_by_their_uris(memory: Memory) -> None:
    for uri in ("a", "b"):
        memory.write([Resource(name="Minutes", content=f"Of {uri}.", uri=uri)])
    with pytest.raises(InvalidInputError, match="2 documents are called 'Minutes'"):
        memory.reader("Minutes")
    assert memory.reader("b").lines(1).text == "Of b."


def test_no_resource_of_a_uri_is_left_out_however_they_are_numbered(memory: Memory) -> None:
    same = [Resource(name=f"n{n}", content=f"line {n}", uri="same") for n in range(1_100)]
    memory.write(same)
    assert memory.reader("same").documents[0].total_lines == 2 * 1_100 - 1
    rising = [
        Resource(name=f"r{n}", content=f"line {n}", uri="rising", ordinal=n // 2)
        for n in range(2_500)
    ]
    memory.write(rising)
    texts = memory.reader("rising").lines(1, 9_999).text.split("\n\n")
    assert texts == [f"line {n}" for n in range(2_500)]


# -- several documents -----------------------------------------------------------------------------


def test_of_several_documents_one_is_named(memory: Memory) -> None:
    with memory.reader() as reader:
        reader.open_text("one\n\ntwo", name="first")
        reader.open_text("# Three\n\nfour", name="second")
        assert [one.doc_name for one in reader.documents] == ["first", "second"]
        assert reader.lines(3, document="first").text == "two"
        with pytest.raises(InvalidInputError, match="2 documents are open"):
            reader.lines(1)
        with pytest.raises(UnknownNameError, match="did you mean 'second'"):
            reader.lines(1, document="secnd")
        assert {one.document for one in reader.search("two four")} == {"first", "second"}
        shown = "# first\nno headings\n\n# second\nThree [Lines 1-3], 3 words"
        assert str(reader.outline()) == shown


def test_documents_of_one_title_get_names_of_their_own(memory: Memory) -> None:
    for uri in ("a", "b"):
        memory.read_text("# Report\n\nOf " + uri, uri=uri)
    reader = memory.reader("a", "b")
    assert [one.doc_name for one in reader.documents] == ["Report", "Report (2)"]
    assert reader.lines(3, document="b").text == "Of b"
    with pytest.raises(InvalidInputError, match="another document that is open is called"):
        reader.open("b", name="Report")


# -- lines -----------------------------------------------------------------------------------------


def test_lines_have_their_place_and_a_citation(memory: Memory, file: Path) -> None:
    reader = memory.reader(file)
    passage = reader.lines(7, 99)
    assert (passage.first, passage.last, passage.section) == (7, 7, "Ferries > Prices")
    assert passage.source == f"{file}:7"
    for first, last in ((0, 1), (8, 9), (3, 2)):
        with pytest.raises(InvalidInputError, match="it has lines 1-7"):
            reader.lines(first, last)


def test_coverage_is_the_share_of_the_words_that_were_shown(memory: Memory, file: Path) -> None:
    reader = memory.reader(file)
    assert reader.coverage() == {"Ferries": 0.0}
    reader.lines(1, 4)
    assert reader.coverage() == {"Ferries": pytest.approx(6 / 13)}
    reader.find("What is a ticket?")
    assert reader.coverage()["Ferries"] > 0.9


# -- rows ------------------------------------------------------------------------------------------


def test_rows_are_lines_with_columns_beside_them_and_stay_so(memory: Memory) -> None:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    rows: list[dict[str, Any]] = [
        {"text": "# not a heading", "year": 1999},
        {"text": "", "year": 2000},
        {"text": "two\nlines", "year": 2001, "by": "Ann"},
        {"text": "long " * 1_000, "year": float("nan"), "at": at},
        {"text": None, "year": 2003},
    ]
    with memory.reader() as reader:
        stats = reader.open_rows(rows, name="log")
        assert (stats.total_lines, stats.strategic_lines) == (5, 0)
        assert reader.lines(3, document="log").text == "two lines"
    reader = memory.reader("log")
    columns = reader._opened.get("log").columns
    assert columns["year"] == [1999, 2000, 2001, None, 2003]
    assert columns["by"] == [None, None, "Ann", None, None]
    assert columns["at"][3] == at.isoformat()


def test_rows_with_other_values_beside_them_are_read_anew(memory: Memory) -> None:
    digests = set()
    for author in ("Ana", "Bo"):
        with memory.reader() as reader:
            opened = reader.open_rows([{"text": "a row", "author": author}], name="rows")
            assert reader.sql("SELECT author FROM documents").rows[0][0] == author
        (entity,) = [one for one in memory.lookup("rows").records if one.schema == "entities"]
        digests.add(entity.as_dict()["properties"]["digest"])
    # a hash of the values, kept beside them, would tell of one that was forgotten
    assert (len(digests), opened.total_lines) == (1, 1)


def test_the_columns_beside_rows_are_those_of_sql(memory: Memory) -> None:
    pytest.importorskip("duckdb")
    with memory.reader() as reader:
        reader.open_rows([{"text": "a b", "n": 1}, {"text": "c", "n": 2}], name="log")
        assert reader.sql("SELECT text, n FROM documents WHERE n > 1", fix=False).rows == (
            ("c", 2),
        )


def test_rows_that_are_none_are_refused(memory: Memory) -> None:
    reader = memory.reader()
    with pytest.raises(InvalidInputError, match="row 2 has no `text`"):
        reader.open_rows([{"text": "a"}, {"words": "b"}])
    with pytest.raises(InvalidInputError, match="no text in the rows"):
        reader.open_rows([{"text": " "}])
    with pytest.raises(InvalidInputError, match="is no list of rows"):
        reader.open_rows({"text": "a"})  # type: ignore[dict-item]
    with pytest.raises(InvalidInputError, match="needs a name"):
        reader.open_text("a", name=" ")


def test_the_same_texts_with_other_values_beside_them_are_read_anew(memory: Memory) -> None:
    reader = memory.reader()
    reader.open_rows([{"text": "a", "n": 1}], name="log")
    reader.open_rows([{"text": "a", "n": 2}], name="log")
    assert reader._opened.get("log").columns == {"n": [2]}


# -- while it is open ------------------------------------------------------------------------------


def test_a_change_is_noticed_and_told(memory: Memory, file: Path) -> None:
    events: list[ReadEvent] = []
    with memory.reader(file, told=events.append) as reader:
        assert [event.type for event in events] == ["document_loaded"]
        file.write_text("# Ferries\n\nThere are none.\n", encoding="utf-8")
        memory.read(file)
        assert reader.lines(3).text == "There are none."
        assert not reader.search("noon")
    assert events[-1].type == "warning"
    assert "was changed" in events[-1].data["warning"]


def test_nothing_that_was_forgotten_is_shown(memory: Memory) -> None:
    memory.read_text("# A\n\nThe secret is rye.", uri="a")
    memory.read_text("# B\n\nNothing here.", uri="b")
    events: list[ReadEvent] = []
    reader = memory.reader("a", "b", told=events.append)
    assert reader.search("rye")
    memory.forget("a")
    assert not reader.search("rye")
    assert [one.doc_name for one in reader.documents] == ["B"]
    with pytest.raises(NotFoundError, match="'A' was forgotten while it was open"):
        reader.lines(1, document="A")
    memory.forget("b")
    with pytest.raises(NotFoundError, match="was forgotten while it was open"):
        reader.outline()
    assert [event.type for event in events].count(EventType.WARNING) == 2


def test_a_part_that_was_forgotten_is_shown_no_more(memory: Memory) -> None:
    text = "\n\n".join(f"Part {n}. " + f"Word{n} " * 200 for n in range(4))
    memory.read_text(text, uri="parts")
    reader = memory.reader("parts")
    assert "Word1" in reader.lines(1, 7).text
    memory.delete_resource(memory.admin.store.records.chunks("parts")[1].id)
    assert "Word1" not in reader.lines(1, 7).text


def test_another_process_that_writes_is_noticed(memory: Memory, tmp_path: Path) -> None:
    memory.read_text("old words", uri="a")
    reader = memory.reader("a")
    with Memory.open(tmp_path / "home", embedder="none") as other:
        other.read_text("new words", uri="a")
    assert reader.lines(1).text == "new words"


def test_a_closed_reader_says_so_and_keeps_nothing(memory: Memory) -> None:
    reader = memory.reader()
    reader.open_text("a")
    reader.close()
    reader.close()
    with pytest.raises(StoreClosedError, match="this reader is closed"):
        reader.lines(1)
    with pytest.raises(InvalidInputError, match="no document is open"):
        memory.reader().lines(1)


def test_documents_are_open_for_asyncio_too(tmp_path: Path) -> None:
    async def session() -> None:
        async with AsyncMemory.open(tmp_path / "home", embedder="none") as memory:
            async with await memory.reader() as reader:
                await reader.open_text(FERRIES, name="ferries")
                assert (await reader.lines(3)).text == "They leave at noon."
                assert [one.doc_name for one in reader.documents] == ["ferries"]
            with pytest.raises(StoreClosedError):
                await reader.lines(3)

    asyncio.run(session())


def test_half_a_character_costs_a_text_nothing_else(memory: Memory) -> None:
    with memory.reader() as reader:
        reader.open_text("An old text.", "note")
        reader.open_rows([{"text": "An old row."}], "rows")
        reader.open_text("A new \ud800 text.", "note")
        reader.open_rows([{"text": "A new \ud800 row."}], "rows")
        assert reader.lines(1, 1, document="note").text == "A new \ufffd text."
        assert reader.lines(1, 1, document="rows").text == "A new \ufffd row."


@pytest.mark.parametrize("document", [None, 3, b"a.txt", " "])
def test_what_is_no_path_is_refused(memory: Memory, document: Any) -> None:
    with pytest.raises(InvalidInputError, match="is not a document"):
        memory.reader(document)


@pytest.mark.parametrize("name", [3, b"note", "two\nlines", "\ud800", "x" * 201])
def test_what_can_be_no_name_is_refused_before_anything_is_read(memory: Memory, name: Any) -> None:
    memory.read_text(FERRIES, uri="ferries")
    with memory.reader() as reader:
        for refused in (
            lambda: reader.open("ferries", name),
            lambda: reader.open_text("A text.", name),
            lambda: reader.open_rows([{"text": "A row."}], name),
        ):
            with pytest.raises(InvalidInputError, match="cannot be called"):
                refused()
        assert reader.documents == []


def test_numbers_that_are_none_are_refused(memory: Memory) -> None:
    memory.read_text(FERRIES, uri="ferries")
    odd: Any
    with memory.reader("ferries") as reader:
        for odd in ("1", 1.5, True, None):
            with pytest.raises(InvalidInputError, match="are not lines"):
                reader.lines(odd)
            with pytest.raises(InvalidInputError, match="is not a budget"):
                reader.outline(budget_tokens=odd)
        assert reader.lines(1, 10**30).last == 7
    for odd in (None, 3):
        with pytest.raises(InvalidInputError, match="what the table of lines is called"):
            memory.reader(table=odd)
        with pytest.raises(InvalidInputError, match="no list of rows"):
            memory.reader().open_rows(odd)
