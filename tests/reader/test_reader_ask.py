"""Asking a reader: what a user of `memory.reader` sees."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from reading_tools import ANSWER, asked, book, scripted, step

from remloom import AsyncMemory, Memory
from remloom.errors import (
    GoneError,
    InvalidInputError,
    ModelNotConfiguredError,
    NotFoundError,
    RemloomError,
    StoreClosedError,
)
from remloom.llm import Request
from remloom.reader import ReadEvent
from remloom.testing.disk import on_disk
from remloom.testing.models import ScriptedModel

QUESTION = "What is the rent?"


def opened(home: Path, model: ScriptedModel | None = None) -> Memory:
    memory = Memory.open(home, embedder="none", llm=model)
    memory.read_text(book(), uri="book.md", name="The book")
    return memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    model = ScriptedModel({"read_step": step(satisfied=True), "read_answer": ANSWER})
    with opened(tmp_path, model) as memory:
        yield memory


def test_an_answer_cites_the_lines_it_rests_on(memory: Memory) -> None:
    with memory.reader("book.md") as reader:
        reading = reader.ask(QUESTION)
    assert reading.answer == "The rent is 900 euros a month. [Lines 998-998]"
    assert reading.found
    assert [cited.source for cited in reading.citations] in (["book.md:998"], ["book.md:998-998"])
    assert reading.citations[0].found == "verbatim"
    assert 0 < reading.coverage["The book"] < 0.3
    assert reading.tokens > 0
    assert reading.calls >= 1


def test_the_numbers_of_a_session_are_added_up(memory: Memory) -> None:
    with memory.reader("book.md") as reader:
        first = reader.ask(QUESTION)
        reader.ask("Who took the mole?")
        stats = reader.stats()
        assert reader.coverage()["The book"] >= first.coverage["The book"]
    assert stats["questions_asked"] == 2
    assert stats["total_lines_read"] >= first.unique_lines
    assert stats["avg_time_per_question"] == stats["total_time"] / 2


def test_without_a_model_the_error_names_the_setting(tmp_path: Path) -> None:
    with opened(tmp_path) as memory, memory.reader("book.md") as reader:
        with pytest.raises(ModelNotConfiguredError, match="REMLOOM_LLM_MODEL"):
            reader.ask(QUESTION)
        with pytest.raises(ModelNotConfiguredError):
            reader.stream(QUESTION)


def test_what_is_wrong_is_said_before_anything_is_paid(memory: Memory) -> None:
    with memory.reader("book.md") as reader:
        for wrong in ({"turns": -1}, {"budget_tokens": 0}, {"seconds": 0}, {"session": " "}):
            with pytest.raises(InvalidInputError):
                reader.stream(QUESTION, **wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError):
            reader.ask("  ")
    with pytest.raises(StoreClosedError):
        reader.ask(QUESTION)
    with memory.reader() as empty, pytest.raises(InvalidInputError, match="no document is open"):
        empty.ask(QUESTION)


def test_a_stream_yields_events_and_ends_with_the_reading(memory: Memory) -> None:
    with memory.reader("book.md") as reader:
        events = list(reader.stream(QUESTION))
    assert events[0].type == "session_start"
    assert events[-1].data["reading"].found
    assert events[-1].as_dict()["data"]["reading"]["answer"].startswith("The rent is 900")


def test_events_go_to_the_callback_of_the_question_or_else_of_the_reader(memory: Memory) -> None:
    of_reader: list[ReadEvent] = []
    of_question: list[ReadEvent] = []
    with memory.reader("book.md", told=of_reader.append) as reader:
        reader.ask(QUESTION, told=of_question.append)
        assert [event.type for event in of_reader] == ["document_loaded"]
        assert of_question[-1].type == "session_end"
        reader.ask(QUESTION)
    assert of_reader[-1].type == "session_end"


def test_a_stream_is_iterated_event_by_event_in_asyncio(tmp_path: Path) -> None:
    model = ScriptedModel({"read_step": step(satisfied=True), "read_answer": ANSWER})

    async def run() -> tuple[int, str]:
        async with AsyncMemory.open(tmp_path, embedder="none", llm=model) as memory:
            await memory.read_text(book(), uri="book.md")
            async with await memory.reader("book.md") as reader:
                before = -1
                async for event in reader.stream(QUESTION):
                    if event.type == "llm_request" and before < 0:
                        before = len(model.requests)
                reading = await reader.ask(QUESTION)
        assert event.data["reading"].answer == reading.answer
        return before, reading.answer

    before, answer = asyncio.run(run())
    # the request was told before it was made
    assert before == 0
    assert answer.startswith("The rent is 900")


def test_a_document_that_is_forgotten_while_it_is_read_ends_the_reading(tmp_path: Path) -> None:
    def reply(request: Request) -> object:
        if request.task == "read_answer":
            memory.forget("book.md")
        return ANSWER if request.task == "read_answer" else step(satisfied=True)

    with opened(tmp_path, ScriptedModel(reply)) as memory, memory.reader("book.md") as reader:
        with pytest.raises(GoneError, match="'The book' was forgotten"):
            reader.ask(QUESTION)
        assert reader.stats()["questions_asked"] == 0
        with pytest.raises(NotFoundError):
            reader.ask(QUESTION)


def test_a_document_that_is_changed_while_it_is_read_is_read_as_it_was(tmp_path: Path) -> None:
    def reply(request: Request) -> object:
        if request.task == "read_answer":
            memory.read_text(book().replace("900", "700"), uri="book.md", name="The book")
        return ANSWER if request.task == "read_answer" else step(satisfied=True)

    with opened(tmp_path, ScriptedModel(reply)) as memory, memory.reader("book.md") as reader:
        reading = reader.ask(QUESTION)
        assert "900" in reading.answer
        assert any("was changed while it was read" in doubt for doubt in reading.doubts)
        assert "700" in reader.lines(998).text


def test_sessions_are_listed_looked_at_and_deleted(memory: Memory) -> None:
    with memory.reader("book.md") as reader:
        reader.ask(QUESTION, session="lease")
        assert [session.name for session in reader.sessions()] == ["lease"]
    with memory.reader() as other:
        (asked_before,) = other.session("lease").asked
        assert asked_before.answer.startswith("The rent is 900")
        assert asked_before.cited == (("book.md", 998, 998),)
        other.delete_session("lease")
        assert other.sessions() == []
        with pytest.raises(NotFoundError, match="no session"):
            other.session("lease")


def test_a_follow_up_may_cite_what_an_earlier_answer_rests_on(tmp_path: Path) -> None:
    model = scripted([step(satisfied=True), step(satisfied=True)])
    with opened(tmp_path, model) as memory, memory.reader("book.md") as reader:
        reader.ask(QUESTION, session="lease")
        reading = reader.ask("And in dollars?", session="lease")
    assert "998| " in asked(model, "read_answer")[1]
    assert reading.found


def test_a_question_for_all_of_something_is_asked_of_every_part(tmp_path: Path) -> None:
    def reply(request: Request) -> object:
        if request.task == "read_step":
            return step(list_all=True)
        if request.task == "read_answer":
            return {"found": False, "list_all": True}
        assert request.task == "read_part"
        lines = re.findall(r"^(\d+)\| (.*The rent is 900.*)$", request.prompt, re.MULTILINE)
        items = [
            {"item": "900 euros", "first_line": int(line), "last_line": int(line), "quote": text}
            for line, text in lines
        ]
        return {"items": items}

    model = ScriptedModel(reply)
    with opened(tmp_path, model) as memory, memory.reader("book.md") as reader:
        events = list(reader.stream("List all rents.", budget_tokens=200_000))
        partly = reader.ask("List all rents.", budget_tokens=20_000)
    reading = events[-1].data["reading"]
    assert reading.answer.startswith("Found in every part, 1 item:\n- 900 euros")
    assert reading.iterations == 0
    assert reading.coverage == {"The book": 1.0}
    assert [event.data["calls"] for event in events if event.type == "llm_request"] == [
        1,
        len(model.requests) - partly.calls - 1,
    ]
    assert partly.answer.startswith("Found in the parts that were read, 1 item:")
    assert 0 < partly.coverage["The book"] < 1


def test_what_a_query_counts_or_lists_is_forgotten_with_the_chunk_that_it_is_of(
    tmp_path: Path,
) -> None:
    """A value without the number of its line may be of any line."""
    secret = "Zebra stripes are what the vault opens to."
    steps = iter(["SELECT max(text) AS last FROM documents", "", ""])

    def reply(request: Request) -> object:
        if request.task == "read_answer":
            return {"found": False}
        notes = f"It says {secret}" if secret in request.prompt else ""
        query = next(steps)
        return step(query, satisfied=not query, notes=notes)

    def forget(event: ReadEvent) -> None:
        if event.type == "iteration_end" and "Zebra" in str(event.data["notes"]):
            (row,) = memory.sql("SELECT id FROM resources WHERE content LIKE '%vault%'").rows
            memory.forget(str(row[0]))
            remains.append(secret.encode() in on_disk(tmp_path))

    remains: list[bool] = []
    with opened(tmp_path, ScriptedModel(reply)) as memory:
        lines = ["The water stood low, and nothing was sold."] * 800
        memory.read_text("\n\n".join([*lines, secret, *lines]), uri="vault.md")
        with memory.reader("vault.md", told=forget) as reader, suppress(RemloomError):
            reader.ask("What is the rent?", session="lease")
    assert remains == [False]
    assert secret.encode() not in on_disk(tmp_path)
