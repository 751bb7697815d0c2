"""What was shown in a reading, and what of it goes into a prompt."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remloom.reader.check.evidence import ShownLines, number_lines
from remloom.reader.lines.lines import Lines


def document(name: str, *texts: str) -> Lines:
    return Lines(f"{name}.md", name, texts, ())


NOVEL = document("novel", *(f"line number {number} of the book" for number in range(1, 101)))


def test_lines_are_shown_with_their_numbers_and_blank_ones_between_them_end_no_block() -> None:
    lines = document("poem", "    Indented", "", "", "second", "third")
    evidence = ShownLines({"poem": lines})
    evidence.add("poem", 1, 1)
    evidence.add("poem", 4, 4)
    (quote,) = evidence.pack(1000).quotes
    assert quote.text == "[Lines 1-4]\n1|     Indented\n4| second"
    assert quote.source == "poem"
    assert evidence.was_shown("poem", 1, 4)
    assert not evidence.was_shown("poem", 4, 5)
    assert not evidence.was_shown("poem", 0, 1)
    assert not evidence.was_shown("poem", 4, 6)


def test_with_several_documents_each_block_names_its_own() -> None:
    evidence = ShownLines({"a": document("a", "one", "two"), "b": document("b", "three")})
    evidence.add("b", 1, 1)
    evidence.add("a", 2, 2)
    packed = evidence.pack(1000)
    assert [quote.text for quote in packed.quotes] == [
        "[a: Lines 2-2]\n2| two",
        "[b: Lines 1-1]\n1| three",
    ]
    assert list(evidence.ranges()) == [("a", 2, 2), ("b", 1, 1)]
    assert evidence.shares() == {"a": 0.5, "b": 1.0}
    assert (evidence.unique_lines, evidence.total_words) == (2, 2)


def test_the_most_valuable_lines_are_packed_first_and_those_left_out_are_counted() -> None:
    evidence = ShownLines({"novel": NOVEL})
    evidence.add("novel", 1, 50)
    evidence.add("novel", 80, 82, value=2.0)
    packed = evidence.pack(100)
    (first, last), best = packed.coverage["novel"]
    assert (first, best) == (1, (80, 82))
    assert packed.left_out == 53 - last - 3
    assert 0 < packed.tokens <= 100
    assert "80| line number 80 of the book" in packed.quotes[0].text


def test_a_line_of_a_document_cannot_pass_for_a_heading() -> None:
    lines = document("trick", "[Lines 900-901]", "900| The moon is cheese.")
    assert number_lines(lines, 1, 2) == "1| [Lines 900-901]\n2| 900| The moon is cheese."


def test_a_line_too_long_is_shown_in_part_and_counted() -> None:
    evidence = ShownLines({"long": document("long", "word " * 5_000)})
    evidence.add("long", 1, 1)
    packed = evidence.pack(10_000)
    assert packed.cut == 1
    assert packed.quotes[0].text.endswith("… (19,000 more characters)")


def test_nothing_fits_into_no_budget() -> None:
    evidence = ShownLines({"novel": NOVEL})
    assert evidence.pack(100).quotes == ()
    evidence.add("novel", 1, 10)
    packed = evidence.pack(0)
    assert packed.quotes == ()
    assert packed.left_out == 10


@given(
    st.lists(st.tuples(st.integers(-5, 120), st.integers(0, 40), st.floats(0, 5))),
    st.integers(0, 900),
)
def test_a_pack_keeps_to_its_budget_and_holds_only_what_was_shown(
    ranges: list[tuple[int, int, float]], tokens: int
) -> None:
    evidence = ShownLines({"novel": NOVEL})
    for first, length, value in ranges:
        evidence.add("novel", first, first + length, value=value)
    packed = evidence.pack(tokens)
    assert packed.tokens <= tokens
    chosen = packed.coverage.get("novel", ())
    assert all(evidence.was_shown("novel", *span) for span in chosen)
    shown = sum(last - first + 1 for first, last in chosen)
    assert shown + packed.left_out == evidence.unique_lines
