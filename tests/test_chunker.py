"""Chunks of a document: whole sentences, headings with what follows, exact places."""

from __future__ import annotations

import json
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remloom.ingest.chunker import CUT, LEAST, MOST, TARGET, Chunk, blocks, chunk_table, chunk_text
from remloom.text.sentences import count_words, sentence_ends

DEMO = Path(__file__).parents[1] / "examples" / "demo"
SENTENCE = "The harbour master of a small port moves one vessel on the board. "  # 13 words


def paragraph(sentences: int, text: str = SENTENCE) -> str:
    return (text * sentences).strip()


def check(text: str, chunks: list[Chunk], start: int = 0) -> None:
    """What every chunking must hold."""
    lines = text.split("\n")
    position = start
    for chunk in chunks:
        assert text[chunk.start : chunk.end] == chunk.text
        assert not text[position : chunk.start].strip(), "only blanks may be between chunks"
        first, last = chunk.lines
        assert chunk.text.split("\n")[0] in lines[first - 1]
        assert chunk.text.split("\n")[-1] in lines[last - 1]
        assert len(chunk.text.split("\n")) == last - first + 1
        position = chunk.end
    assert not text[position:].strip()


def test_a_short_document_is_one_chunk():
    (chunk,) = chunk_text("# Title\n\nOne paragraph.\n\nAnother.\n")
    assert chunk.text == "# Title\n\nOne paragraph.\n\nAnother."
    assert chunk.lines == (1, 5)


def test_an_empty_or_blank_document_has_no_chunks():
    assert chunk_text("") == []
    assert chunk_text(" \n\n\t\n") == []


def test_chunks_have_about_the_target_size_and_end_at_paragraphs():
    text = "\n\n".join(paragraph(7) for _ in range(20))  # 91 words each
    chunks = chunk_text(text)
    check(text, chunks)
    assert all(TARGET * 0.8 <= count_words(chunk.text) <= MOST for chunk in chunks[:-1])
    assert all(
        chunk.text.startswith("The harbour") and chunk.text.endswith("board.") for chunk in chunks
    )


def test_a_long_paragraph_is_cut_between_sentences():
    text = paragraph(60)
    chunks = chunk_text(text)
    check(text, chunks)
    assert len(chunks) == 3
    assert all(chunk.text.endswith("board.") for chunk in chunks)


def test_abbreviations_and_decimals_end_no_sentence():
    text = (
        "Dr. Chen of the U.S. Navy paid 3.5 million at 5 p.m. to Mr. Smith and left the room in a hurry. "
        * 40
    )
    chunks = chunk_text(text)
    check(text, chunks)
    assert len(chunks) > 1
    assert all(
        chunk.text.startswith("Dr. Chen") and chunk.text.endswith("hurry.") for chunk in chunks
    )


def test_a_heading_stays_with_what_follows_it():
    sections = "\n\n".join(f"## Section {number}\n\n{paragraph(20)}" for number in range(6))
    text = f"# Title\n\n{sections}\n"
    chunks = chunk_text(text, title="Title")
    check(text, chunks)
    assert [chunk.heading for chunk in chunks] == [
        "",
        *(f"Section {number}" for number in range(1, 6)),
    ]
    assert all(chunk.text.rstrip().endswith("board.") for chunk in chunks)
    assert all("## Section" in chunk.text for chunk in chunks)


def test_headings_nest_in_the_path():
    text = f"# T\n\n{paragraph(25)}\n\n## Steps\n\n{paragraph(25)}\n\n### Rollback\n\n{paragraph(25)}\n"
    assert [chunk.heading for chunk in chunk_text(text, title="T")] == [
        "",
        "Steps",
        "Steps > Rollback",
    ]


def test_restructured_text_headings_are_known():
    text = f"Title\n=====\n\n{paragraph(25)}\n\nUsage\n-----\n\n{paragraph(25)}\n"
    assert [chunk.heading for chunk in chunk_text(text)] == ["Title", "Title > Usage"]


def test_a_short_rest_joins_the_chunk_before_it():
    text = "\n\n".join([paragraph(23), "A last remark.", "And another one."])
    chunks = chunk_text(text)
    check(text, chunks)
    assert len(chunks) == 1
    text = "\n\n".join([paragraph(26), "## End", "A short rest."])
    assert len(chunk_text(text)) == 1


def test_code_and_tables_stay_whole_where_they_fit():
    code = (
        "```python\n" + "\n".join(f"x_{number} = call({number})" for number in range(60)) + "\n```"
    )
    table = "| a | b |\n|---|---|\n" + "\n".join(f"| one {n} | two |" for n in range(30))
    text = f"{paragraph(20)}\n\n{code}\n\n{table}\n\n{paragraph(5)}"
    chunks = chunk_text(text)
    check(text, chunks)
    assert sum(code in chunk.text for chunk in chunks) == 1
    assert sum(table in chunk.text for chunk in chunks) == 1


def test_code_too_long_for_a_chunk_is_cut_at_line_ends():
    text = (
        "```\n"
        + "\n".join(f"line number {number} of a very long listing" for number in range(200))
        + "\n```\n"
    )
    chunks = chunk_text(text)
    check(text, chunks)
    assert len(chunks) > 2
    assert all(chunk.text.endswith(("listing", "```")) for chunk in chunks)


def test_a_hash_inside_code_is_no_heading():
    assert [block.kind for block in blocks("```\n# not a heading\n```\n")] == ["solid"]


def test_one_endless_sentence_is_still_cut_at_blanks():
    text = "word " * 50_000
    chunks = chunk_text(text)
    check(text, chunks)
    assert max(count_words(chunk.text) for chunk in chunks) <= MOST + LEAST
    assert all(set(chunk.text.split()) == {"word"} for chunk in chunks)


def test_data_without_blanks_is_cut_too():
    text = "x" * 100_000
    chunks = chunk_text(text)
    check(text, chunks)
    assert max(len(chunk.text) for chunk in chunks) < 10_000


def test_chinese_and_japanese_are_cut_at_their_full_stops():
    text = "我们去了北京，看了长城。天气很好！你什么时候来？" * 60
    chunks = chunk_text(text)
    check(text, chunks)
    assert len(chunks) > 3
    assert all(chunk.text[-1] in "。！？" for chunk in chunks)
    assert all(count_words(chunk.text) <= MOST + LEAST for chunk in chunks)


def test_front_matter_is_in_no_chunk_and_lines_still_count_it():
    text = "---\ntitle: T\n---\n\nText.\n"
    (chunk,) = chunk_text(text, start=17)
    assert (chunk.text, chunk.lines) == ("Text.", (5, 5))


def test_indentation_of_a_first_line_is_kept():
    text = f"{paragraph(26)}\n\n    indented = True\n    second = 2\n\n{paragraph(20)}"
    assert any(
        chunk.text.startswith("    indented") or "\n    indented" in chunk.text
        for chunk in chunk_text(text)
    )


def test_a_table_keeps_its_header_in_every_chunk_and_its_rows_whole():
    rows = [f'{number},"quoted, with\nline end {number}",{"word " * 20}' for number in range(60)]
    text = "id,note,words\n" + "\n".join(rows) + "\n"
    chunks = chunk_table(text, delimiter=",")
    assert len(chunks) > 2
    assert all(chunk.text.startswith("id,note,words\n") for chunk in chunks)
    assert chunks[0].lines[0] == 2
    assert all(before.lines[1] + 1 == after.lines[0] for before, after in pairwise(chunks))
    assert (
        "".join(chunk.text.removeprefix("id,note,words\n") + "\n" for chunk in chunks).split("\n")
        == text.split("\n")[1:]
    )


def test_a_table_of_a_header_alone_is_one_chunk():
    (chunk,) = chunk_table("a;b\n", delimiter=";")
    assert (chunk.text, chunk.lines) == ("a;b", (1, 1))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Hello there. How are you? Fine!", ["Hello there. ", "How are you? ", "Fine!"]),
        ("He said “Go away. Now.” and left.", ["He said “Go away. Now.” and left."]),
        ("See Fig. 3 in Sec. 2.1 for that. Next.", ["See Fig. 3 in Sec. 2.1 for that. ", "Next."]),
        ("今日は雨です。傘を持った？はい", ["今日は雨です。", "傘を持った？", "はい"]),
        ("no end", ["no end"]),
    ],
)
def test_sentences_are_told_apart(text: str, wanted: list[str]):
    ends = sentence_ends(text)
    assert [text[start:end] for start, end in zip([0, *ends], ends, strict=False)] == wanted


PIECES = st.sampled_from(
    [SENTENCE, SENTENCE * 9, "Short one. ", "\n\n", "\n", "# Head\n\n", "## Sub\n", "- item one\n", "| a | b |\n",
     "```\ncode here\n```\n", "我们去了北京。", "  ", "Title\n=====\n\n", "word " * 90, "Dr. Who? ", "a.b.c ", "\t",
     "~~~\nopen\n", "é ü "]
)  # fmt: skip


@settings(max_examples=150)
@given(st.lists(PIECES, max_size=25))
def test_any_text_is_covered_with_exact_places(pieces: list[str]):
    text = "".join(pieces)
    check(text, chunk_text(text))
    assert "".join(text[block.start : block.end] for block in blocks(text)) == text


@settings(max_examples=100)
@given(st.text(alphabet="aB .!?\n#`|-=。我", max_size=300))
def test_any_characters_are_covered_with_exact_places(text: str):
    check(text, chunk_text(text))
    ends = sentence_ends(text)
    assert ends == sorted(set(ends))
    assert (ends[-1] if ends else 0) == len(text)


@settings(max_examples=50)
@given(st.lists(st.integers(3, 40), min_size=30, max_size=80))
def test_no_sentence_is_broken(lengths: list[int]):
    sentences = [
        f"Sentence {number} has {'more ' * length}words." for number, length in enumerate(lengths)
    ]
    text = " ".join(sentences)
    chunks = chunk_text(text)
    check(text, chunks)
    assert " ".join(chunk.text for chunk in chunks) == text
    assert all(
        chunk.text.startswith("Sentence") and chunk.text.endswith("words.") for chunk in chunks
    )


def test_a_heading_is_no_chunk_of_its_own_before_a_long_paragraph():
    text = f"# Title\n\n{paragraph(27)}\n\n## Next\n\n{paragraph(27)}\n"
    assert [chunk.text.split("\n")[0] for chunk in chunk_text(text)] == ["# Title", "## Next"]


@pytest.mark.parametrize(
    "unit",
    [".", "?! ", "# a\n", "- a\n", "```\n", "a\n===\n", "| a |\n", '"', "A b. ", "我", " \n"],
)
def test_time_grows_with_the_length_of_a_text_and_no_faster(unit: str):
    text = unit * (150_000 // len(unit))  # minutes, if anything were quadratic
    check(text, chunk_text(text))


def test_no_sentence_of_a_huge_paragraph_ends_at_an_abbreviation() -> None:
    sentence = "The firms, e.g. Acme Inc. and Dr. Chen's office in the U.S. of old, paid approx. a third; so it was. "
    ends = sentence_ends(sentence)
    assert not any(sentence[:end].endswith(("e.g. ", "Dr. ", "U.S. ")) for end in ends)
    assert sentence_ends(sentence * 600) == [
        len(sentence) * number + end for number in range(600) for end in ends
    ]


def test_a_long_paragraph_whose_sentences_end_like_abbreviations_is_cut_at_their_ends():
    sentence = "We met, e.g. at noon, Dr. Sand and Mr. Pell of St. Ives. "
    assert sentence_ends(sentence * 500) == [len(sentence) * count for count in range(1, 501)]


def test_who_cuts_otherwise_says_so():
    """Documents that were read before are cut again only when `CUT` says that it is done otherwise.

    If this fails, raise `CUT`, and write down here what it is now.
    """
    cut = [
        [chunk.start, chunk.end, *chunk.lines, chunk.heading]
        for page in sorted(DEMO.glob("*.md"))
        for chunk in chunk_text(page.read_text(encoding="utf-8"))
    ]
    digest = sha256(json.dumps(cut).encode()).hexdigest()[:12]
    assert (CUT, digest) == (1, "ec25fbc6c00e")
