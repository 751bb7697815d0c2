"""Search in the lines of documents, and what is found to read for a question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remloom import Memory
from remloom.errors import InvalidInputError
from remloom.reader.find.search import LineSearch
from remloom.reader.find.term_scorer import LineIndex
from remloom.reader.lines.chunk_lines import read_lines
from remloom.reader.lines.lines import Lines
from remloom.testing.embedder import WordEmbedder
from remloom.text.analysis import terms

LEASE = """\
# Lease of the mill

This lease is made between Sarah Chen and the Orion company.

## 1 Term

The lease begins on 1 May 2020.
It ends five years after the day
on which it began, unless renewed.

## 2 Payment

The company pays the rent on the first day of each month.
A late payment bears interest of five percent.

## 3 Law

This agreement is governed by the laws of Scotland.
The courts of Edinburgh decide. To be or not to be is not asked.
"""
CHINESE = "合同的期限为五年。\n\n租金每月支付。\n\n本合同受苏格兰法律管辖。\n"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder="none") as memory:
        yield memory


def open_lines(memory: Memory, text: str, uri: str = "lease.md") -> Lines:
    memory.read_text(text, uri=uri)
    return read_lines(memory._engine.store, uri)


def words_alone(memory: Memory) -> LineSearch:
    return LineSearch(memory._engine.store, lambda text: None)


def lines_of(passages: list) -> list[tuple[int, int]]:
    return [(passage.first, passage.last) for passage in passages]


def test_lines_with_the_words_in_a_row_come_first_then_those_with_all_of_them(memory: Memory):
    text = "the day of rent\nrents and days\nrent day is today\nday, then rent\nnothing\n"
    found = words_alone(memory).search("rent day", [open_lines(memory, text)])
    assert lines_of(found) == [(3, 3), (1, 1), (4, 4), (2, 2)]
    assert [passage.score for passage in found] == sorted(
        (passage.score for passage in found), reverse=True
    )


def test_a_quoted_phrase_must_be_there_and_may_go_over_line_ends(memory: Memory):
    lines = open_lines(memory, LEASE)
    search = words_alone(memory)
    assert lines_of(search.search('"five years after the day on which"', [lines])) == [(8, 9)]
    assert lines_of(search.search('"FIVE  percent" payment', [lines])) == [(14, 14)]
    assert search.search('"percent five"', [lines]) == []


def test_words_that_no_index_has_are_found_as_they_are_written(memory: Memory):
    lines = open_lines(memory, LEASE)
    search = words_alone(memory)
    assert lines_of(search.search("to be or not to be", [lines])) == [(19, 19)]
    assert lines_of(search.search("§ %", [open_lines(memory, "5 § %\n\n6 §\n", "law")])) == [(1, 1)]
    many = Lines("many", "many", ["nothing at all"] * 12_000 + ["of which"], ())
    assert lines_of(search.search("of which", [lines, many])) == [(12_001, 12_001)]


def test_a_passage_says_where_it_is_from(memory: Memory):
    found = words_alone(memory).find("Which law governs?", [open_lines(memory, LEASE)], words=30)
    assert "governed by the laws of Scotland" in found[0].text
    assert found[0].source == "lease.md:16-19"
    assert found[0].words == len(found[0].text.split())


def test_what_is_found_never_has_more_words_than_asked_for_and_no_line_twice(memory: Memory):
    lines = open_lines(memory, LEASE)
    for words in range(1, 120):
        found = words_alone(memory).find("rent, term and law", [lines], words=words)
        assert sum(passage.words for passage in found) <= words
        read = [line for one in found for line in range(one.first, one.last + 1)]
        assert len(read) == len(set(read))


def test_with_room_for_all_of_it_the_whole_document_is_read(memory: Memory):
    lines = open_lines(memory, LEASE)
    found = words_alone(memory).find("governing law", [lines], words=5000)
    read = {line for one in found for line in range(one.first, one.last + 1)}
    assert {number for number, text in enumerate(lines.texts, 1) if text} <= read


def test_of_a_line_that_is_too_long_the_part_with_the_words_is_read(memory: Memory):
    line = f"{'This is not it. ' * 200}The rent is due on Monday. {'Nor is this. ' * 200}"
    found = words_alone(memory).find("rent due", [open_lines(memory, line)], words=12)
    assert lines_of(found) == [(1, 1)]
    assert "The rent is due on" in found[0].text
    assert found[0].words == 12


def test_nothing_is_found_for_words_that_are_not_there(memory: Memory):
    lines = open_lines(memory, LEASE)
    assert words_alone(memory).find("zebra crossings", [lines]) == []
    assert words_alone(memory).search("zebra", [lines]) == []
    assert words_alone(memory).find("zebra", []) == []


def test_the_label_of_a_question_weighs_more_than_its_explanation(memory: Memory):
    text = "The parties wrote it.\n\nsomething else\n\nLiability is limited.\n"
    lines = open_lines(memory, text)
    find = words_alone(memory).find
    for question in ("Liability: what the parties say", 'What do the parties say of "liability"?'):
        assert find(question, [lines], words=5)[0].text.endswith("limited.")


def test_forms_of_a_word_are_found_too(memory: Memory):
    text = "something else\n\nThe competitor leaves.\n\nmore of it\n"
    found = words_alone(memory).find("competition", [open_lines(memory, text)], words=3)
    assert [passage.text for passage in found] == ["The competitor leaves."]


def test_scripts_without_blanks_are_searched(memory: Memory):
    lines = open_lines(memory, CHINESE, "zh.md")
    search = words_alone(memory)
    assert lines_of(search.find("哪国法律管辖？", [lines], words=12)) == [(5, 5)]
    assert lines_of(search.search("租金", [lines])) == [(3, 3)]
    assert lines_of(search.search("租", [lines])) == [(3, 3)]


def test_several_documents_are_searched_with_scores_that_compare(memory: Memory):
    lines = open_lines(memory, LEASE)
    other = open_lines(memory, "Rent is due.\n\nThe rent of the house rises.\n", "house.md")
    found = words_alone(memory).find("How is the house rent paid?", [lines, other], words=20)
    assert {passage.uri for passage in found} == {"lease.md", "house.md"}
    assert found[0].uri == "house.md"


def test_what_is_near_in_meaning_is_found_without_the_words(tmp_path: Path):
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        text = "Mills grind the corn of the farmers. " * 60
        lines = open_lines(memory, f"{text}\n\n{'Courts decide what is right. ' * 60}\n")
        memory.embed_pending()
        embed = memory._engine.try_embed_query
        search = LineSearch(memory._engine.store, lambda question: embed("courts decide"))
        assert search.find("jurisdiction", [lines], words=400)[0].text.startswith("Courts")


@pytest.mark.parametrize("words", [0, -1, True, 2.5])
def test_a_number_of_words_that_is_none_is_refused(memory: Memory, words: int):
    lines = open_lines(memory, LEASE)
    with pytest.raises(InvalidInputError, match="whole number"):
        words_alone(memory).find("law", [lines], words=words)
    with pytest.raises(InvalidInputError, match="empty"):
        words_alone(memory).find("  ", [lines])
    with pytest.raises(InvalidInputError, match="empty"):
        words_alone(memory).search('""', [lines])


@given(st.lists(st.text(alphabet="ab cd東京.,", max_size=20), max_size=12))
def test_the_places_of_a_term_are_where_it_stands(texts: list[str]):
    index = LineIndex(texts)
    stream = [term for text in texts for term in terms(text)]
    assert index.starts[-1] == len(stream)
    for term in set(stream):
        assert [stream[place] for place in index.positions(term)] == [term] * stream.count(term)


def test_a_phrase_of_a_frequent_word_and_stop_words_is_found_wherever_it_is():
    texts = ["a lease"] * 2_000 + ["here is what is said of the lease in the end"]
    lines = Lines("many", "many", texts, ())
    search = LineSearch(None, lambda text: None)  # type: ignore[arg-type]
    assert lines_of(search.search('"of the lease"', [lines])) == [(2_001, 2_001)]
    assert lines_of(search.search("of the lease", [lines], limit=1)) == [(2_001, 2_001)]


def test_of_lines_that_have_the_same_words_the_first_are_found():
    texts = ["other", "mothers, the", "of the and", "and of the", "the of"] * 3_000
    lines = Lines("many", "many", texts, ())
    search = LineSearch(None, lambda text: None)  # type: ignore[arg-type]
    assert lines_of(search.search("the", [lines], limit=3)) == [(2, 2), (3, 3), (4, 4)]
    assert lines_of(search.search("of the", [lines], limit=3)) == [(3, 3), (4, 4), (8, 8)]
