"""Lines rebuilt from chunks are those of the document, whatever it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from remloom import Memory, Message, Resource
from remloom.ingest.documents import outline
from remloom.reader.lines.chunk_lines import read_lines, rebuild
from remloom.reader.lines.lines import Lines
from remloom.sources import Document
from remloom.sources.files import read_bytes


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder="none") as opened:
        yield opened


def read(memory: Memory, uri: str) -> Lines:
    return read_lines(memory.admin.store, uri)


def rebuilt(document: Document) -> list[str]:
    return rebuild(outline(document, tenant="t").resources).texts


def kept(text: str) -> list[str]:
    """The lines of a text, without blanks at their ends and blank lines at the end."""
    return [line.rstrip() for line in text.rstrip().split("\n")]


def shown(texts: list[str]) -> list[str]:
    return [text.rstrip() for text in texts]


WORDS = st.sampled_from(
    ["the", "Dr. Chen", "left.", "Why?", "Nobody", "knows!", "return x", "東京へ", "行く。", "雨",
     "\t", "  ", "a" * 50, "über", "…", "e.g.", "“So,”", "한국어", "\x0b", "\u3000", "|", "x;"]
)  # fmt: skip
STARTS = st.sampled_from(
    ["", "", "", "    ", "\t", "# ", "## ", "- ", "1. ", "> ", "```", "===", "| a | b |", "  "]
)
LINES = st.builds(
    lambda start, words, times, joint: start + joint.join(words * times),
    STARTS,
    st.lists(WORDS, max_size=12),
    st.sampled_from([1, 1, 1, 40]),
    st.sampled_from([" ", " ", "  ", ""]),
)
TEXTS = st.lists(LINES, min_size=1, max_size=60).map("\n".join).filter(str.strip)
PROPERTY = settings(max_examples=40, suppress_health_check=list(HealthCheck))


@given(TEXTS)
@PROPERTY
def test_the_lines_of_any_text_come_back(text: str) -> None:
    document = Document(uri="x", title="x", text=text)
    assert shown(rebuilt(document)) == kept(text)


@given(TEXTS, st.lists(st.integers(0, 3000), max_size=5))
@PROPERTY
def test_the_lines_of_a_text_that_has_none_of_its_own_come_back(
    text: str, offsets: list[int]
) -> None:
    pages = tuple(sorted({0, *(offset for offset in offsets if offset < len(text))}))
    document = Document(uri="x", title="x", text=text, lined=False, pages=pages)
    rebuilt_text = rebuild(outline(document, tenant="t").resources)
    assert not rebuilt_text.lined
    start = len(text) - len(text.lstrip())
    begin = text.rfind("\n", 0, start) + 1
    assert shown(rebuilt_text.texts) == kept(text[begin:])
    for line, page in rebuilt_text.pages[1:]:
        at = text.count("\n", begin, pages[page - 1]) + 1
        assert at <= line


CELLS = st.sampled_from(["a", "b c", '"x, y"', '"two\nlines"', "", "1.5", "long " * 30])
ROWS = st.lists(st.lists(CELLS, min_size=2, max_size=3).map(",".join), min_size=1, max_size=80)


@given(ROWS, st.sampled_from(["", "\n", "\n\n"]))
@PROPERTY
def test_the_rows_of_a_table_come_back_with_one_header(rows: list[str], before: str) -> None:
    text = before + "\n".join(["name,value", *rows])
    document = Document(uri="x", title="x", text=text, category="table", media_type="text/csv")
    table = rebuild(outline(document, tenant="t").resources)
    blank = [line if line.strip(",") else "" for line in kept(text)]
    ours = [line if line.strip(",") else "" for line in shown(table.texts)]
    while blank and not blank[-1]:
        blank.pop()
    while ours and not ours[-1]:
        ours.pop()
    assert ours == blank
    if len(rows) > 1 and any(row.strip(",") for row in rows):
        assert table.header == (len(before) + 1,)


TURNS = st.lists(
    st.tuples(st.sampled_from(["Ann", "Bob Smith"]), TEXTS.map(str.strip).filter(bool)),
    min_size=1,
    max_size=8,
)


@given(TURNS)
@settings(PROPERTY, max_examples=15)
def test_the_turns_of_a_chat_come_back_each_after_its_speaker(turns: list[tuple[str, str]]) -> None:
    from remloom.ingest.chats import prepare
    from remloom.ingest.names.rules import CapitalizedNames
    from remloom.sources import from_messages

    messages = [Message(speaker=speaker, text=text) for speaker, text in turns]
    document = from_messages(messages, uri="chat")
    prepared = prepare(document, tenant="t", extractor=CapitalizedNames())
    expected = "\n".join(f"{speaker}: {text}" for speaker, text in turns)
    assert rebuild(prepared.resources).texts == expected.split("\n")


def test_a_chat_in_a_file_has_the_lines_of_the_file() -> None:
    hello = ["Ann: Hello there", "Bob: Hi", "  and more", "", "Ann: ", "below her name"]
    text = "\n".join([*hello, "Bob: Bye", "Ann: Bye", "Bob: Bye!"])
    (document,) = read_bytes("chat.txt", text.encode(), ".txt")
    assert isinstance(document, Document)
    assert document.turns
    with_lines = _turns_of(document)
    assert shown(rebuild(with_lines).texts) == kept(text)


def _turns_of(document: Document) -> tuple[Resource, ...]:
    from remloom.ingest.chats import prepare
    from remloom.ingest.names.rules import CapitalizedNames

    return prepare(document, tenant="t", extractor=CapitalizedNames()).resources


def test_chunks_that_were_stored_before_there_were_gaps_are_joined_as_well_as_can_be() -> None:
    sentence = "They met by the old harbour and spoke of the ferries at some length. "
    text = "# T\n\n" + sentence * 200 + "\n\n" + "東京へ行く人は多い。" * 200
    resources = outline(Document(uri="x", title="x", text=text), tenant="t").resources
    old = [
        replace(one, metadata={k: v for k, v in one.metadata.items() if k != "gap"})
        for one in resources
    ]
    assert shown(rebuild(old).texts) == kept(text)
    table = Document(
        uri="x", title="x", text="a,b\n" + "1,2\n" * 900, category="table", media_type="text/csv"
    )
    bare = [
        replace(one, metadata={k: v for k, v in one.metadata.items() if k != "header"})
        for one in outline(table, tenant="t").resources
    ]
    assert len(bare) > 1
    assert rebuild(bare).texts == kept(table.text)


def test_front_matter_is_in_no_chunk_and_shows_as_blank_lines(memory: Memory) -> None:
    memory.read_text("---\ntitle: Rye\n---\n# Rye\n\nBread.", uri="rye")
    assert list(read(memory, "rye").texts) == ["", "", "", "# Rye", "", "Bread."]


def test_line_ends_of_windows_and_a_byte_order_mark_leave_nothing(memory: Memory) -> None:
    memory.read_text("\ufeff# Rye\r\n\r\n  Bread.\r\n", uri="rye")
    lines = read(memory, "rye")
    assert list(lines.texts) == ["# Rye", "", "  Bread."]
    assert [section.title for section in lines.sections] == ["Rye"]


def test_a_line_of_five_megabytes_is_put_together() -> None:
    text = "first\n\n" + "x" * 5_000_000 + "\n\nlast"
    assert rebuilt(Document(uri="x", title="x", text=text)) == text.split("\n")


def test_lines_that_records_cannot_have_are_counted_instead(memory: Memory) -> None:
    far = {"lines": [1, 10**12]}
    memory.write([Resource(name="a", content="one\ntwo", uri="odd", metadata=far)])
    lines = read(memory, "odd")
    assert list(lines.texts) == ["one", "two"]
    assert not lines.lined


ODD = st.one_of(
    st.integers(-3, 10**13),
    st.text(max_size=3),
    st.lists(
        st.one_of(st.integers(-2, 40), st.floats(), st.none(), st.text(max_size=2)), max_size=3
    ),
    st.dictionaries(st.text(max_size=2), st.lists(st.integers(), max_size=3), max_size=2),
    st.sampled_from(["\n\n", "\n   ", "words", [1, 1], [1, 2], [2, 3], [3, 2], [1, 2, 3]]),
)
KEYS = ["lines", "pages", "page_lines", "heading", "header", "gap", "columns", "column_lines"]
CHUNKS = st.lists(
    st.builds(
        lambda n, content, metadata, speaker: Resource(
            id=f"r{n}", content=content, uri="x", metadata={**metadata, **speaker}
        ),
        st.integers(),
        st.sampled_from(["", "one", "one\ntwo", "\n\nthree", "a\r\nb"]),
        st.dictionaries(st.sampled_from(KEYS), ODD, max_size=5),
        st.sampled_from([{}, {"speaker": "Ann"}, {"speaker": 7}]),
    ),
    max_size=5,
)


@given(CHUNKS)
@settings(PROPERTY, max_examples=100)
def test_records_that_say_anything_of_their_place_are_lines_all_the_same(
    chunks: list[Resource],
) -> None:
    rebuilt_chunks = rebuild(chunks)
    texts = "\n".join(rebuilt_chunks.texts)
    for chunk, span in zip(chunks, rebuilt_chunks.chunks, strict=True):
        assert all(part in texts for part in chunk.content.replace("\r\n", "\n").split("\n"))
        assert 1 <= span.first <= span.last <= len(rebuilt_chunks.texts)
    for column in rebuilt_chunks.columns.values():
        assert len(column) == len(rebuilt_chunks.texts)


def test_a_document_of_which_a_part_was_forgotten_keeps_its_line_numbers(memory: Memory) -> None:
    paragraphs = [f"Paragraph {n}. " + f"Word{n} " * 200 for n in range(6)]
    memory.read_text("\n\n".join(paragraphs), uri="doc")
    gone = memory.admin.store.records.chunks("doc")[2]
    memory.delete_resource(gone.id)
    texts = read(memory, "doc").texts
    assert len(texts) == 11
    assert not any("Word2 " in text for text in texts)
    assert texts[10].startswith("Paragraph 5.")
