"""The words of the lines that were shown, and where quotes stand among them."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remloom.reader.check.quotes import ShownWords, WordRun

WORDS = st.sampled_from("abc")
LINES = st.lists(st.lists(WORDS, max_size=4), min_size=1, max_size=5)


def run(lines: list[list[str]], first: int = 1, document: str = "book") -> WordRun:
    words = [word for line in lines for word in line]
    return WordRun(document, first, words, list(accumulate(map(len, lines))))


def naive(runs: list[WordRun], part: list[str]) -> set[tuple[int, int]]:
    """Each line, of each run, in which the words of a part begin to follow each other."""
    return {
        (number, one.span(at, len(part)).first)
        for number, one in enumerate(runs)
        for at in range(len(one.words) - len(part) + 1)
        if one.words[at : at + len(part)] == part
    }


@given(st.lists(LINES, min_size=1, max_size=4), st.lists(WORDS, min_size=1, max_size=4))
def test_a_quote_is_found_where_its_words_follow_each_other_and_nowhere_else(texts, part):
    runs = [run(lines, first=10 * number + 1) for number, lines in enumerate(texts)]
    shown = ShownWords(runs)
    places = naive(runs, part)
    found = shown.find([part], "book", 1, farthest=9)
    assert (found is not None) == bool(places)
    if found:
        nearest = min(number for number, _ in places)
        assert found.first == min(line for number, line in places if number == nearest)
        assert found.words == len(part)


def test_of_several_places_the_one_nearest_to_a_line_is_found():
    runs = [
        run([["rent", "is", "due"]], first, name) for name, first in (("a", 1), ("b", 1), ("b", 90))
    ]
    span = ShownWords(runs).find([["rent", "is"]], "b", 80, farthest=9)
    assert span is not None
    assert (span.document, span.first, span.last, span.start) == ("b", 90, 90, 0)


def test_parts_follow_each_other_within_one_run():
    line = ["a", "b", "c", "d", "e", "f", "a", "x"]
    shown = ShownWords([run([line]), run([line], 20)])
    found = shown.find([["a", "b"], ["e"], ["x"]], "book", 1, farthest=5)
    assert found is not None
    assert (found.start, found.words) == (0, 8)
    assert shown.find([["a", "b"], ["e"]], "book", 1, farthest=1) is None
    assert shown.find([["f"], ["b"]], "book", 1, farthest=90) is None
    assert ShownWords([]).find([["a"]], "book", 1, farthest=9) is None


def test_lines_with_half_of_the_words_of_a_quote_are_like_it_and_no_others():
    lines = [["nothing", "here"]] * 50 + [["the", "rent", "is", "due", "on", "monday"]]
    shown = ShownWords([run(lines)])
    found = list(shown.likely([["the", "rent", "was", "due"]]))
    assert [one.first for one in found] == [50]
    assert list(shown.likely([["rent", "of", "a", "boat"]])) == []
    assert list(shown.likely([["zebra"]])) == []


def naive_parts(words: list[str], parts: list[list[str]], farthest: int) -> tuple[int, int] | None:
    """The first words in which each part follows the one before at once, or not too far away."""
    for start in range(len(words)):
        end = start
        for number, part in enumerate(parts):
            last = start if number == 0 else len(words)
            begins = (at for at in range(end, last + 1) if words[at : at + len(part)] == part)
            begin = next(begins, -1)
            if begin < 0 or (number and begin - end > farthest):
                break
            end = begin + len(part)
        else:
            return start, end - start
    return None


@given(
    st.lists(WORDS, min_size=1, max_size=20),
    st.lists(st.lists(WORDS, min_size=1, max_size=2), min_size=1, max_size=3),
    st.integers(0, 4),
)
def test_parts_are_found_where_they_first_follow_each_other(words, parts, farthest):
    found = run([words]).find(parts, farthest=farthest)
    place = (found.start, found.words) if found else None
    assert place == naive_parts(words, parts, farthest)


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["a"] * 1_000_000, [["a"], ["z"]]),
        (["customer", "pays"] * 500_000, [["customer"], ["shall", "pay", "the", "rent"]]),
        # the second part is there, and too far away from all but the last of the first
        ([*["a"] * 500_000, *["b"] * 200, "z"], [["a"], ["z"]]),
    ],
)
def test_no_part_is_looked_for_again_from_each_place_of_another(words, parts):
    # reading on from each of these places would take hours
    assert run([words]).find(parts, farthest=120) is None
