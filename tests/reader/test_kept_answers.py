"""An answer is kept as a record: it is recalled, rolled back, and forgotten with what it cites."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from remloom import Memory
from remloom.errors import InvalidInputError
from remloom.reader.result import Reading
from remloom.testing import ScriptedModel

LEASE = (
    "# Lease\n\nThe lease of the mill ends on March 31, 2027.\n"
    "The Tenant shall not keep horses in the mill.\n"
)
ENDS = {
    "text": "The lease ends on March 31, 2027.",
    "first_line": 3,
    "last_line": 3,
    "quote": "The lease of the mill ends on March 31, 2027",
}
HORSES = {
    "text": "The Landlord shall not keep horses.",
    "first_line": 4,
    "last_line": 4,
    "quote": "The Tenant shall not keep horses",
}
QUESTION = "When does the lease of the mill end?"


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    model = ScriptedModel(
        lambda request: (
            {"found": True, "sentences": [ENDS, HORSES]}
            if "Answer the question." in request.prompt
            else {"sentences": [HORSES | {"number": 2}]}
        )
    )
    with Memory.open(tmp_path, embedder="none", llm=model) as memory:
        memory.read_text(LEASE, uri="lease.md")
        yield memory


def ask(memory: Memory) -> Reading:
    with memory.reader("lease.md") as reader:
        return reader.ask(QUESTION)


def test_a_kept_answer_is_recalled_with_what_it_cites_and_without_what_is_in_doubt(
    memory: Memory,
) -> None:
    with memory.reader("lease.md") as reader:
        reading = reader.ask(QUESTION)
        id = reader.keep(reading)
        assert reader.keep(reading) == id
    assert len(reading.doubts) == 1
    record = memory.get_resource(id)
    assert record.content == "The lease ends on March 31, 2027. [Lease: Lines 3-3]"
    assert (record.kind, record.trust, record.generation) == ("answer", "derived", 1)
    assert record.metadata["citations"][0]["source"] == "lease.md:3"
    hits = memory.recall(QUESTION, limit=5).hits
    assert id in [hit.record.id for hit in hits]


def test_a_kept_answer_goes_with_its_document(memory: Memory) -> None:
    with memory.reader("lease.md") as reader:
        id = reader.keep(reader.ask(QUESTION))
    receipt = memory.forget("lease.md")
    assert memory.admin.store.records.get("resources", id) is None
    assert receipt.remaining == ()


def test_keeping_is_a_run_that_can_be_rolled_back(memory: Memory) -> None:
    with memory.reader("lease.md") as reader:
        id = reader.keep(reader.ask(QUESTION))
    (run,) = memory.runs.list()
    assert (run.kind, run.receipt["records"]) == ("reader", 1)
    memory.runs.rollback(run.id)
    assert memory.admin.store.records.get("resources", id) is None


def test_what_a_changed_document_does_not_say_any_more_is_not_kept(memory: Memory) -> None:
    reading = ask(memory)
    memory.read_text(LEASE.replace("2027", "2029"), uri="lease.md")
    nothing = pytest.raises(InvalidInputError, match="nothing in this answer is held")
    with memory.reader("lease.md") as reader, nothing:
        reader.keep(reading)


def test_an_answer_that_was_not_found_cannot_be_kept(memory: Memory) -> None:
    with memory.reader("lease.md") as reader, pytest.raises(InvalidInputError):
        reader.keep(Reading(question=QUESTION, answer="What was read does not answer this."))


def test_answers_kept_at_the_same_moment_wait_for_each_other(memory: Memory) -> None:
    with memory.reader("lease.md") as reader, ThreadPoolExecutor(4) as pool:
        readings = [msgspec.structs.replace(ask(memory), question=f"Question {n}") for n in "1234"]
        ids = set(pool.map(reader.keep, readings))
    names = {memory.get_resource(id).name for id in ids}
    assert names == {f"Question {n}" for n in "1234"}
