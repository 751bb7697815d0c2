"""An outline is the tree of sections, and fits where it is shown."""

from __future__ import annotations

from remloom.reader.lines.lines import Lines
from remloom.reader.lines.outline import Outline
from remloom.text.sentences import approximate_token_ends


def outline(*texts: str, budget: int = 1_000) -> Outline:
    return Outline(Lines("u", "book", texts).sections, budget)


def levels(*texts: str) -> list[tuple[str, int, int, int]]:
    return [(one.title, one.level, one.first, one.last) for one in outline(*texts).sections]


def test_sections_nest_and_end_where_the_next_of_their_level_begins() -> None:
    assert levels("# A", "a", "## B", "b", "### C", "c", "## D", "d", "# E") == [
        ("A", 1, 1, 8),
        ("B", 2, 3, 6),
        ("C", 3, 5, 6),
        ("D", 2, 7, 8),
        ("E", 1, 9, 9),
    ]


def test_a_level_that_is_left_out_leaves_no_gap() -> None:
    assert [level for _, level, _, _ in levels("## A", "x", "##### B", "x", "### C")] == [1, 2, 2]


def test_sections_of_a_contract_stand_below_its_articles() -> None:
    texts = ["ARTICLE I", "", "DEFINITIONS", "", "1.1 Terms. As used herein it is so.", ""]
    texts += ["1.2 Other Terms. These too.", "", "ARTICLE II", "", "FEES", "", "None."]
    assert levels(*texts) == [
        ("ARTICLE I DEFINITIONS", 1, 1, 8),
        ("1.1 Terms", 2, 5, 6),
        ("1.2 Other Terms", 2, 7, 8),
        ("ARTICLE II FEES", 1, 9, 13),
    ]


def test_a_section_has_its_words_and_the_path_to_it() -> None:
    sections = outline("# A b", "", "c d e", "## F", "g").sections
    assert [(one.words, one.path) for one in sections] == [(9, "A b"), (3, "A b > F")]


def test_a_text_without_headings_has_no_outline() -> None:
    prose = ["It was a dark night.", "", "They went on, and on.", "", "USA", "", "The end."] * 50
    assert not outline(*prose)
    assert str(outline(*prose)) == ""


def test_thousands_of_headings_are_shown_within_the_budget() -> None:
    texts = [
        line
        for chapter in range(40)
        for line in (
            f"# Chapter {chapter}",
            *(f"## Section {chapter}.{n}" for n in range(50)),
            "text",
        )
    ]
    whole = outline(*texts)
    assert len(whole) == 40 * 51
    shown = str(whole)
    assert len(approximate_token_ends(shown)) <= 1_000
    assert shown.splitlines()[0] == "Chapter 0 [Lines 1-52], 154 words (+50 below)"
    assert len(shown.splitlines()) == 40
    few = str(outline(*texts, budget=100))
    assert "more" in few.splitlines()[-1]
    assert len(approximate_token_ends(few)) <= 115


def test_an_endless_title_is_cut_where_it_is_shown() -> None:
    long = outline("# " + "word " * 150, "x")
    assert len(str(long)) < 150
    assert "…" in str(long)
