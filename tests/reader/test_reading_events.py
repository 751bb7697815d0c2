"""Events of a reading: their order, their data, and when they are told."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from reading_tools import ask, asker, between, book, scripted, step, tools_of

from remloom import Memory
from remloom.errors import ModelUnavailableError
from remloom.reader.loop.calls import ReadLimits
from remloom.reader.loop.events import EventType, Listener, ReadEvent, deliver
from remloom.testing.models import ScriptedModel

# one letter for each event -> what a whole reading looks like
LETTERS = {
    "session_start": "(", "session_end": ")", "document_loaded": "d", "question_start": "q",
    "question_end": "Q", "iteration_start": "[", "iteration_end": "]", "sql_execute": "x",
    "sql_result": "s", "llm_request": "l", "llm_response": "m", "results": "r",
    "synthesis_start": "<", "synthesis_end": ">", "answer": "a", "error": "e", "warning": "w",
}  # fmt: skip
ITERATION = r"\[lm(xsr|x?e)?\]"
WHOLE = re.compile(rf"\(d+qw?(?:{ITERATION})*<(lm){{1,2}}>aQ\)")


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory.open(tmp_path_factory.mktemp("home"), embedder="none") as memory:
        memory.read_text(book(), uri="book.md")
        memory.read_text("The rent is 700.", uri="note.md")
        yield memory


def spell(events: list[ReadEvent]) -> str:
    return "".join(LETTERS[event.type] for event in events)


@pytest.mark.parametrize(
    "replies",
    [
        [step(satisfied=True)],
        [step(between(1, 9)), step(satisfied=True)],
        [step(between(1, 9), satisfied=True)],
        [step("SELECT nothing"), step(between(1, 9)), step(between(1, 9)), step(satisfied=True)],
        ["prose", "prose", "prose", "prose"],
        [step(), step(), step(satisfied=True)],
    ],
)
def test_every_reading_tells_its_events_in_order(memory: Memory, replies: list[object]) -> None:
    events, _, _ = ask(memory, replies)
    assert WHOLE.fullmatch(spell(events))


def test_there_is_a_letter_for_each_of_the_seventeen_kinds() -> None:
    assert set(LETTERS) == set(EventType)
    assert len(LETTERS) == 17


def test_each_kind_has_the_data_of_seed_3(memory: Memory) -> None:
    replies = [step("SELECT nothing"), step(between(1, 9)), step(satisfied=True)]
    events, reading, _ = ask(memory, replies)
    keys = {
        "document_loaded": {"filepath", "doc_name", "total_lines", "total_words"},
        "question_start": {"question"},
        "question_end": {"question", "elapsed_time"},
        "iteration_start": {"iteration", "max_iterations"},
        "iteration_end": {
            "iteration", "thought", "reading_mode", "goal", "satisfied", "next_move", "word_count",
        },
        "sql_execute": {"sql", "auto_fixed", "original_sql"},
        "results": {"row_count", "word_count", "preview"},
        "llm_response": {"has_error"},
        "synthesis_start": {"stage", "total_lines", "total_words"},
        "synthesis_end": {"stage", "total_lines", "total_words"},
        "answer": {"answer", "iterations", "total_lines", "total_words", "elapsed_time"},
        "error": {"error", "error_type", "recoverable"},
    }  # fmt: skip
    for event in events:
        assert keys.get(event.type, set()) <= set(event.data), event.type
        json.dumps(event.as_dict())
    results = next(event for event in events if event.type == "results")
    assert results.data["row_count"] == 9
    assert len(results.data["preview"]) == 5
    assert events[-1].data["reading"] is reading


def test_the_first_event_comes_before_anything_is_read(memory: Memory) -> None:
    searched: list[str] = []

    def find(question: str, words: int) -> list[object]:
        searched.append(question)
        return []

    tools = tools_of(memory, "book.md", find=find)
    model = scripted([step(satisfied=True)])
    telling = asker(memory, model).ask("What is the rent?", tools, ReadLimits())
    assert next(telling).type == "session_start"
    assert not searched
    assert not model.requests
    telling.close()


def test_a_request_is_told_before_the_model_is_called(memory: Memory) -> None:
    model = scripted([step(satisfied=True)])
    telling = asker(memory, model).ask("Rent?", tools_of(memory, "book.md"), ReadLimits())
    for event in telling:
        if event.type == "llm_request":
            break
    assert not model.requests
    assert event.data["task"] == "read_step"
    telling.close()


def test_who_stops_listening_stops_the_reading(memory: Memory) -> None:
    model = scripted([step(between(1, 9)), step(between(11, 19))])
    telling = asker(memory, model).ask("Rent?", tools_of(memory, "book.md"), ReadLimits())
    for event in telling:
        if event.type == "results":
            break
    telling.close()
    assert len(model.requests) == 1


def test_an_error_of_the_endpoint_is_told_and_what_has_begun_is_ended(memory: Memory) -> None:
    model = ScriptedModel(
        lambda _: (
            ModelUnavailableError("busy", status=503)
            if len(model.requests) > 1
            else step(between(1, 9))
        )
    )
    telling = asker(memory, model).ask("Rent?", tools_of(memory, "book.md"), ReadLimits())
    events: list[ReadEvent] = []
    with pytest.raises(ModelUnavailableError):
        deliver(telling, Listener(events.append))
    assert spell(events) == "(dq[lmxsr][lm]eQ)"
    assert events[-3].data["recoverable"] is False


def test_a_document_that_fits_is_told_without_iterations(memory: Memory) -> None:
    rent = {"text": "The rent is 700.", "first_line": 1, "last_line": 1, "document": ""}
    answer = {"found": True, "sentences": [{**rent, "quote": "The rent is 700."}], "missing": ""}
    model = scripted([], answer=answer)
    events, reading, _ = ask(memory, model, tools=tools_of(memory, "note.md"))
    assert reading.answer == "The rent is 700. [Lines 1-1]"
    assert spell(events) == "(dq<lm>aQ)"


def test_a_callback_that_fails_breaks_nothing_and_is_warned_of_once(memory: Memory) -> None:
    model = scripted([step(between(1, 9)), step(satisfied=True)])
    heard: list[str] = []

    def told(event: ReadEvent) -> None:
        heard.append(event.type)
        raise ValueError("no room on the screen")

    telling = asker(memory, model).ask("Rent?", tools_of(memory, "book.md"), ReadLimits())
    with pytest.warns(UserWarning, match="no room on the screen") as caught:
        reading = deliver(telling, Listener(told))
    assert len(caught) == 1
    assert heard.count("warning") == 1
    assert heard[-1] == "session_end"
    assert reading.iterations == 2
