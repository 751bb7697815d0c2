"""Readings with the SQL engine: what the queries that models write bring to them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading_tools import ANSWER, asked, between, book, scripted, step

from remloom import Memory
from remloom.reader import ReadEvent, Reading
from remloom.reader.reader import Reader
from remloom.testing.models import ScriptedModel

pytest.importorskip("duckdb")

HARBOUR = "\n".join(
    ["# Harbour rules", "", *(f"Rule {n}: no nets on pier {n}." for n in range(1, 900))]
)


class Scripts:
    """A model whose script is set for each question."""

    def __init__(self) -> None:
        self.current = scripted([])
        self.model = ScriptedModel(lambda request: self.current._reply(request))


@pytest.fixture(scope="module")
def scripts() -> Scripts:
    return Scripts()


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory, scripts: Scripts) -> Iterator[Memory]:
    home = tmp_path_factory.mktemp("home")
    with Memory.open(home, embedder="none", llm=scripts.model) as memory:
        memory.read_text(book(), uri="book.md", name="The book")
        memory.read_text(HARBOUR, uri="harbour.md", name="The harbour's rules")
        yield memory


@pytest.fixture
def ask(memory: Memory, scripts: Scripts) -> Any:
    def ask(
        replies: Iterable[Any], *documents: str, **options: Any
    ) -> tuple[Reading, list[str], list[ReadEvent]]:
        scripts.model.requests.clear()
        scripts.current = scripted(replies)
        events: list[ReadEvent] = []
        with memory.reader(*(documents or ("book.md",))) as reader:
            reading = reader.ask("What is the rent?", told=events.append, **options)
        return reading, asked(scripts.model), events

    return ask


def test_a_ranked_search_brings_the_line_that_fits_best(ask: Any) -> None:
    query = "SELECT line_num, text FROM search('rent euros') LIMIT 3"
    reading, prompts, _ = ask([step(query, reading_mode="search"), step(satisfied=True)])
    assert prompts[1].rpartition("Your last query brought")[2].count("998| ") == 1
    assert reading.steps[0].lines[0] == ("The book", 998, 998)
    assert reading.steps[0].sample_lines[0].startswith("998: Of the harbour town number 200")


def test_a_query_that_shows_too_much_is_mended_and_the_model_is_told(ask: Any) -> None:
    query = "SELECT line_num, text FROM documents WHERE text ILIKE '%town%'"
    reading, prompts, events = ask([step(query), step(satisfied=True)])
    assert reading.steps[0].fixes
    assert "your query was changed" in prompts[1]
    executed = next(event for event in events if event.type == "sql_execute")
    assert executed.data["auto_fixed"]
    assert executed.data["original_sql"] == query
    assert "LIMIT 50" in executed.data["sql"]


def test_what_counts_lines_is_shown_as_a_table(ask: Any) -> None:
    query = "SELECT count(*) AS storms, max(line_num) AS last FROM documents WHERE text ~ 'storm'"
    query = query.replace("text ~ 'storm'", "text LIKE '%storm%'")
    reading, prompts, _ = ask([step(query), step(satisfied=True)])
    assert "storms | last\n400 | 1999" in prompts[1]
    assert reading.steps[0].lines == ()


def test_headings_can_be_listed(ask: Any) -> None:
    query = "SELECT title, first_line, last_line FROM sections WHERE title LIKE '%20%'"
    _, prompts, _ = ask([step(query), step(satisfied=True)])
    assert "Chapter 200 | 996 | 1000" in prompts[1]


def test_an_error_shows_the_place_and_what_would_be_right(ask: Any) -> None:
    wrong = "SELECT line_number, text FROM documents"
    _, prompts, events = ask([step(wrong), step(satisfied=True)])
    shown = prompts[1].rpartition("Your last query did not run")[2]
    assert "line_number" in shown
    assert "^" in shown
    assert "line_num" in shown.replace("line_number", "")
    assert [event.data["recoverable"] for event in events if event.type == "error"] == [True]


@pytest.mark.parametrize(
    "order",
    [
        "DROP TABLE documents",
        "SELECT content AS text, 1 AS line_num FROM read_text('/etc/hostname')",
        "COPY documents TO '/tmp/stolen.csv'",
        "SELECT line_num, text FROM documents; DELETE FROM documents",
        "ATTACH '/tmp/other.db'",
    ],
)
def test_a_model_that_obeys_a_document_can_still_only_select_lines(ask: Any, order: str) -> None:
    reading, _, _ = ask([step(order), step(between(990, 999)), step(satisfied=True)])
    assert reading.steps[0].error
    assert not reading.steps[0].lines
    # and the lines are still there
    assert reading.steps[1].row_count == 10
    assert reading.found


def test_of_several_documents_each_line_says_which_it_is_of(ask: Any) -> None:
    query = "SELECT doc, line_num, text FROM documents WHERE line_num = 5 ORDER BY doc"
    replies = [step(query), step(between(998, 998).replace("ORDER", "AND doc = 'The book' ORDER"))]
    reading, prompts, events = ask([*replies, step(satisfied=True)], "book.md", "harbour.md")
    assert "doc 'The harbour's rules': lines 1-901" in prompts[0]
    assert "[The harbour's rules: Lines 5-5]" in prompts[1]
    assert ("The book", 998, 998) in reading.steps[1].lines
    assert set(reading.coverage) == {"The book", "The harbour's rules"}
    loaded = [event.data["doc_name"] for event in events if event.type == "document_loaded"]
    assert loaded == ["The book", "The harbour's rules"]


def test_a_line_without_its_document_is_told_by_its_text(ask: Any) -> None:
    query = "SELECT line_num, text, word_count FROM documents WHERE text LIKE 'Rule 7:%'"
    reading, _, _ = ask([step(query), step(satisfied=True)], "book.md", "harbour.md")
    assert reading.steps[0].lines == (("The harbour's rules", 9, 9),)


REPLIES = st.one_of(
    st.text(max_size=40),
    st.dictionaries(
        st.sampled_from(["sql_query", "satisfied", "notes", "reading_mode", "x"]),
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=30)),
    ),
    st.builds(between, st.integers(-5, 3000), st.integers(-5, 3000)).map(step),
    st.text(alphabet="SELECT*from line_num'(),;%documents 0189", max_size=60).map(step),
    st.builds(
        lambda first, last, satisfied: step(
            between(1, 9), notes=f"lines {first}-{last}: x", satisfied=satisfied
        ),
        st.integers(0, 10**12), st.integers(0, 10**12), st.booleans(),
    ),
)  # fmt: skip
ORDER = re.compile(r"SdQ(\[lm(e|xe|xsr)?\])*\{(lm)+\}aqE")
LETTERS = {
    "session_start": "S", "session_end": "E", "document_loaded": "d", "question_start": "Q",
    "question_end": "q", "iteration_start": "[", "iteration_end": "]", "llm_request": "l",
    "llm_response": "m", "sql_execute": "x", "sql_result": "s", "results": "r", "error": "e",
    "synthesis_start": "{", "synthesis_end": "}", "answer": "a",
}  # fmt: skip


@pytest.fixture(scope="module")
def reader(memory: Memory) -> Iterator[Reader]:
    with memory.reader("book.md") as reader:
        yield reader


@settings(max_examples=20)
@given(replies=st.lists(REPLIES, max_size=8))
def test_whatever_a_model_replies_there_is_an_answer_and_the_events_are_in_order(
    reader: Reader, scripts: Scripts, replies: list[Any]
) -> None:
    script = iter([*replies, *[step(satisfied=True)] * 20])
    scripts.current = ScriptedModel(
        lambda request: ANSWER if request.task == "read_answer" else next(script)
    )
    events = list(reader.stream("What is the rent?"))
    reading = events[-1].data["reading"]
    assert ORDER.fullmatch("".join(LETTERS[event.type] for event in events))
    assert reading.found
    assert reading.iterations == len(reading.steps) <= 6
    for one in reading.steps:
        assert all(1 <= first <= last <= 1999 for _, first, last in one.lines)
