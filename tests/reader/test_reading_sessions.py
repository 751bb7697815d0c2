"""Sessions: follow-up questions, readings that are killed and resumed, and forgetting."""

from __future__ import annotations

from pathlib import Path

import pytest
from reading_tools import ANSWER, ask, asked, asker, between, book, scripted, step, tools_of

from remloom import Memory
from remloom.errors import GoneError, InvalidInputError, NotFoundError
from remloom.llm import Request
from remloom.llm.ledger import REPLY
from remloom.reader.loop.calls import ReadLimits
from remloom.reader.loop.session import SessionStore
from remloom.testing.models import ScriptedModel

TURNS = [
    step(between(10, 13), notes="line 13: a town"),
    step(between(50, 60)),
    step(between(90, 99)),
    step(satisfied=True),
]


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.read_text(book(), uri="book.md")
        yield memory


def kept_replies(memory: Memory) -> int:
    return memory.admin.store.kv.count(REPLY)


class Killed(BaseException):
    """What ends a process."""


def interrupted(memory: Memory, calls: int, question: str = "What is the rent?") -> None:
    """Ask in the session "rent", and be killed in the call after so many."""

    def reply(request: Request) -> object:
        if len(model.requests) > calls:
            raise Killed
        return (*TURNS, ANSWER)[len(model.requests) - 1]

    model = ScriptedModel(reply)
    with pytest.raises(Killed):
        ask(memory, model, question, session="rent")


def test_a_reading_killed_in_its_third_turn_goes_on_and_pays_nothing_twice(memory: Memory) -> None:
    interrupted(memory, calls=2)
    _, reading, model = ask(memory, TURNS[2:], session="rent")
    assert len(model.requests) == 3
    assert reading.iterations == 4
    assert reading.steps[0].notes == "line 13: a town"
    assert kept_replies(memory) == 0


def test_a_reading_killed_while_the_answer_is_written_pays_for_no_turn_again(
    memory: Memory,
) -> None:
    interrupted(memory, calls=4)
    _, reading, model = ask(memory, [], session="rent")
    assert [request.task for request in model.requests] == ["read_answer"]
    assert reading.found


def test_another_question_lets_go_of_the_one_that_was_interrupted(memory: Memory) -> None:
    interrupted(memory, calls=2)
    assert kept_replies(memory) == 2
    ask(memory, [step(satisfied=True)], "Who took the mole?", session="rent")
    assert kept_replies(memory) == 0


def test_a_follow_up_sees_what_was_asked_and_noted_before(memory: Memory) -> None:
    ask(memory, [step(satisfied=True, notes="line 998: 900 euros")], session="rent")
    _, _, model = ask(memory, [step(satisfied=True)], "And when is it due?", session="rent")
    prompt = asked(model)[0]
    assert "question: What is the rent?" in prompt
    assert "notes: line 998: 900 euros" in prompt


def test_without_a_name_a_session_lasts_as_long_as_its_reader(memory: Memory) -> None:
    note = step(satisfied=True, notes="line 998: 900 euros")
    model = scripted([note, note])
    reader = asker(memory, model)
    tools = tools_of(memory, "book.md")
    for question in ("What is the rent?", "And when is it due?"):
        list(reader.ask(question, tools, ReadLimits()))
    assert "notes: line 998: 900 euros" in asked(model)[1]
    assert SessionStore(memory.admin.store).list() == []
    _, _, later = ask(memory, [step(satisfied=True)])
    assert (
        "900 euros" not in asked(later)[0].partition("Your turns")[0].partition("Asked before")[2]
    )


def test_a_session_can_be_read_by_another_process(memory: Memory, tmp_path: Path) -> None:
    ask(memory, [step(satisfied=True, notes="line 998: 900 euros")], session="rent")
    with Memory.open(tmp_path, embedder="none") as other:
        (session,) = SessionStore(other.admin.store).list()
    assert session.name == "rent"
    assert session.documents == ("book.md",)
    assert session.asked[0].notes == ("line 998: 900 euros",)


def test_forgetting_the_document_takes_the_session_along(memory: Memory) -> None:
    ask(memory, [step(satisfied=True, notes="line 998: 900 euros")], session="rent")
    memory.forget("book.md")
    assert SessionStore(memory.admin.store).list() == []


def test_forgetting_the_document_takes_an_interrupted_reading_along(memory: Memory) -> None:
    interrupted(memory, calls=2)
    memory.forget("book.md")
    assert SessionStore(memory.admin.store).list() == []
    assert kept_replies(memory) == 0


def test_what_is_forgotten_while_it_is_read_is_kept_nowhere(memory: Memory) -> None:
    def reply(request: Request) -> object:
        if len(model.requests) == 2:
            memory.forget("book.md")
        return (*TURNS, ANSWER)[len(model.requests) - 1]

    model = ScriptedModel(reply)
    with pytest.raises(GoneError):
        ask(memory, model, session="rent")
    assert SessionStore(memory.admin.store).list() == []
    assert kept_replies(memory) == 0


def test_two_processes_may_ask_in_one_session(memory: Memory) -> None:
    store = SessionStore(memory.admin.store)
    documents = tools_of(memory, "book.md").documents
    ask(memory, [step(satisfied=True)], session="rent")
    stale = store.find("rent")
    assert stale is not None
    ask(memory, [step(satisfied=True)], "Who took the mole?", session="rent")
    store.begin(stale, "When?", documents)
    found = store.find("rent")
    assert found is not None
    assert [asked.question for asked in found.asked] == ["What is the rent?", "Who took the mole?"]
    assert found.open is not None
    assert found.open.question == "When?"


def test_a_session_is_deleted_with_what_is_kept_for_it(memory: Memory) -> None:
    interrupted(memory, calls=2)
    store = SessionStore(memory.admin.store)
    store.delete("rent")
    assert store.list() == []
    assert kept_replies(memory) == 0
    with pytest.raises(NotFoundError, match="no session 'rent'"):
        store.delete("rent")


@pytest.mark.parametrize("name", [" ", "x" * 201, "a\0b", 7])
def test_what_cannot_be_a_name_is_refused_before_anything_happens(
    memory: Memory, name: object
) -> None:
    model = ScriptedModel([])
    with pytest.raises(InvalidInputError, match="a session cannot have the name"):
        asker(memory, model).ask("Rent?", tools_of(memory, "book.md"), ReadLimits(), name)  # type: ignore[arg-type]
