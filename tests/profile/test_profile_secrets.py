"""Secrets never become part of a profile."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from remloom import Memory, Message
from remloom.errors import GoneError, InvalidInputError
from remloom.profile.beliefs.recorder import Recorder
from remloom.profile.evidence.evidence import Evidence
from remloom.runs.writer import Writer
from remloom.settings import Settings

OCTOBER = datetime(2026, 10, 1, 9, tzinfo=UTC)
KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"


def observed(tmp_path: Path, text: str, *, masked: bool = False) -> Memory:
    """A memory that read a text, as it is or `masked`."""
    settings = Settings(home=str(tmp_path), embedder="none", mask_secrets=masked)
    memory = Memory.open(settings=settings)
    turn = Message(speaker="user", text=text, at=OCTOBER)
    memory.read_chat([turn], uri="chat.json")
    return memory


def test_a_secret_beside_a_statement_is_masked_and_the_statement_kept(tmp_path: Path) -> None:
    text = f"My key is {KEY} by the way. I live in Lisbon."
    with observed(tmp_path, text) as memory:
        scan = memory.profile.observe()
        assert scan.run.counts["secrets"] == 1
        (evidence,) = memory.profile.why("location_region").evidence
        start, end = evidence.span
        # the place is that in the passage as it is stored
        assert text[start:end] == evidence.quote == "I live in Lisbon."


def test_a_quote_with_a_secret_in_it_stays_masked_and_its_place_is_right(tmp_path: Path) -> None:
    text = f"I live in Lisbon with the key {KEY} and a dog."
    with observed(tmp_path, text) as memory:
        memory.profile.observe()
        (evidence,) = memory.profile.why("location_region").evidence
        assert KEY not in evidence.quote
        assert evidence.quote.endswith("]")
        start, end = evidence.span
        assert text[start:end] == f"I live in Lisbon with the key {KEY}"


def test_a_quote_of_what_was_masked_when_it_was_read_has_the_whole_mask(tmp_path: Path) -> None:
    text = f"I live in Lisbon with the key {KEY} and a dog."
    with observed(tmp_path, text, masked=True) as memory:
        memory.profile.observe()
        (evidence,) = memory.profile.why("location_region").evidence
        assert evidence.quote.endswith("[secret: OpenAI key]")


def test_what_is_only_a_secret_is_no_value(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        with pytest.raises(InvalidInputError, match="secret"):
            memory.profile.set("extras.openai", KEY)
        belief = memory.profile.set("extras.access", f"with {KEY} only", note=f"it is {KEY}")
        assert KEY not in str(belief.value)
        (evidence,) = memory.profile.why("extras.access").evidence
        assert KEY not in evidence.note


def test_a_secret_is_counted_once_when_its_evidence_has_to_be_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        editing = memory.profile._editing
        write = Writer.write
        forgotten = iter([GoneError("a passage was forgotten")])

        def write_later(self: Writer, *given: Any, **named: Any) -> Any:
            for error in forgotten:
                raise error
            return write(self, *given, **named)

        monkeypatch.setattr(Writer, "write", write_later)
        secrets = []

        def work(writer: Writer) -> None:
            said = Evidence(id="e", slot="extras.note", value=f"call {KEY}", at=OCTOBER)
            recorder = Recorder(memory.admin.store, editing.beliefs(), writer)
            with pytest.raises(GoneError):
                recorder.record((), [said])
            recorder.record((), [said])
            secrets.append(writer.run.counts["secrets"])

        editing.run(work)
        assert secrets == [1]
