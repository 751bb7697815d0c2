"""What is asked of a profile at the worst moment, and with the worst arguments."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from remloom import Memory, Message
from remloom.errors import InvalidInputError
from remloom.profile.beliefs.belief_store import BELIEF
from remloom.runs.run import run_entry
from remloom.runs.writer import Writer
from waiting import PATIENCE

MARCH = datetime(2026, 3, 2, 9, tzinfo=UTC)


def test_what_is_forgotten_during_a_scan_does_not_come_back_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(tmp_path, embedder="none") as memory, Memory.open(tmp_path) as other:
        memory.profile.set("allergies", "peanuts")
        turn = Message(speaker="user", text="I'm allergic to peanuts. I live in Rome.", at=MARCH)
        memory.read_chat([turn], uri="chat.json")
        write, forgotten = Writer.write, []

        def forget_first(writer: Writer, *args: object, **fields: object) -> list[str]:
            # between the moment when the scan looks at marks, and the write
            if writer.run.kind == "observe" and not forgotten:
                forgotten.append(True)
                assert other.profile.forget("allergies", "peanuts").verified
            return write(writer, *args, **fields)  # type: ignore[arg-type]

        monkeypatch.setattr(Writer, "write", forget_first)
        scan = memory.profile.observe()
        assert forgotten
        assert scan.run.counts["deleted_before"] == 1
        assert [belief.value for belief in memory.profile.beliefs()] == ["Rome"]
        memory.profile.bootstrap()
        assert [belief.value for belief in other.profile.beliefs()] == ["Rome"]


def test_evidence_that_comes_in_before_the_mark_is_forgotten_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(tmp_path, embedder="none") as memory, Memory.open(tmp_path) as other:
        memory.profile.set("allergies", "peanuts")
        turn = Message(speaker="user", text="I'm allergic to peanuts.", at=MARCH)
        memory.read_chat([turn], uri="chat.json")
        write, scanned = Writer.write, []

        def scan_first(writer: Writer, *args: object, **fields: object) -> list[str]:
            if writer.run.kind != "observe" and not scanned:
                scanned.append(True)
                other.profile.observe()
            return write(writer, *args, **fields)  # type: ignore[arg-type]

        monkeypatch.setattr(Writer, "write", scan_first)
        memory.profile.forget("allergies", "peanuts")
        assert scanned
        assert memory.profile.beliefs() == []


def test_a_scan_folds_each_belief_once_however_much_is_said_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from remloom.profile.beliefs.belief_store import BeliefStore

    refresh, folded = BeliefStore.refresh, []

    def count(store: BeliefStore, keys: set[str]) -> None:
        folded.extend(keys)
        refresh(store, keys)

    monkeypatch.setattr(BeliefStore, "refresh", count)
    with Memory.open(tmp_path, embedder="none") as memory:
        turns = [
            Message(speaker="user", text="I live in Rome.", at=MARCH + timedelta(minutes=n))
            for n in range(150)
        ]
        memory.read_chat(turns, uri="chat.json")
        memory.profile.observe()
        assert len(folded) == 1
        assert len(memory.profile._store.kv.list(BELIEF)) == 1
        assert len(memory.profile.why("location_region").evidence) == 150


@pytest.mark.parametrize(
    "scope", ["project:x\n", " project:x", "project:x  ", "project: X", "Project :ｘ", " "]
)
def test_a_scope_is_the_same_however_it_is_written(tmp_path: Path, scope: str) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        place = memory.profile.set("verbosity", "concise", scope=scope).scope
        assert place == ("project:x" if scope.strip() else "")
        assert memory.profile.confirm("verbosity", scope=scope).scope == place
        assert len(memory.profile.history("verbosity", scope=scope)) == 1
        assert memory.profile.forget("verbosity", scope=scope).verified


def test_times_at_the_ends_of_the_calendar(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.profile.set("location_region", "Rome")
        first = datetime.min.replace(tzinfo=UTC)
        assert memory.profile.context("Rome", as_of=first).text == ""
        assert memory.profile.beliefs(as_of=datetime.max.replace(tzinfo=UTC)) != []
        before = datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))
        for read in (memory.profile.beliefs, memory.profile.export, memory.profile.context):
            with pytest.raises(InvalidInputError, match="out of range"):
                read(as_of=before, **({"format": "markdown"} if read.__name__ == "export" else {}))


def test_of_two_marks_at_once_neither_is_lost(tmp_path: Path) -> None:
    with (
        Memory.open(tmp_path, embedder="none") as one,
        Memory.open(tmp_path, embedder="none") as other,
    ):
        for number in range(8):
            name = f"extras.thing_{number}"
            one.profile.set(name, "x")
            both = threading.Barrier(2)

            def pin(name: str = name, both: threading.Barrier = both) -> None:
                both.wait(PATIENCE)
                one.profile.pin(name)

            thread = threading.Thread(target=pin)
            thread.start()
            both.wait(PATIENCE)
            other.profile.hide(name)
            thread.join(30)
            belief = one.profile.why(name).belief
            assert (belief.pinned, belief.hidden) == (True, True), name


def test_an_edit_after_one_that_was_killed_is_a_run_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        with monkeypatch.context() as patched:
            # as if the process ended between the write and the end of the run
            patched.setattr(Writer, "finish", lambda writer, *_: writer.run)
            memory.profile.set("dietary_style", "vegan")
        (killed,) = memory.runs.list("profile")
        assert killed.status == "running"
        memory.admin.store.kv.put([run_entry(killed, process="gone")])
        memory.profile.set("pet_names", "Rex")
        last = memory.runs.list("profile", limit=1)[0]
        assert last.id != killed.id
        memory.runs.rollback(last.id)
        assert [belief.value for belief in memory.profile.show()] == ["vegan"]


def test_as_of_a_time_nothing_counts_that_was_said_later(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        turn = Message(speaker="user", text="I live in Porto.", at=MARCH)
        memory.read_chat([turn], uri="march.json")
        memory.profile.observe()
        memory.profile.retire("location_region", at=MARCH + timedelta(days=10))
        assert memory.profile.get("location_region") is None
        then = MARCH + timedelta(days=30)
        # it had ended, but nobody had said so yet
        home = memory.profile.get("location_region", as_of=then)
        assert home is not None
        assert home.value == "Porto"
        assert len(memory.profile.why("location_region", as_of=then).evidence) == 1


def test_an_extra_that_was_forgotten_does_not_come_back_as_a_slot(tmp_path: Path) -> None:
    said = [("user", "My blood type is B+."), ("Ana", "My blood type is A+.")]
    turns = [
        Message(speaker=speaker, text=text, at=MARCH + timedelta(minutes=number))
        for number, (speaker, text) in enumerate(said)
    ]
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.read_chat(turns, uri="march.json")
        memory.profile.observe()
        memory.profile.forget("extras.blood_type")
        slot = memory.profile.promote("extras.blood_type")
        memory.profile.bootstrap()
        assert memory.profile.show().values(slot.id) == []
        assert memory.profile.show("Ana").values(slot.id) == ["A+"]
        # saying it again brings it back
        again = Message(speaker="user", text="My blood type is B+.", at=datetime.now(UTC))
        memory.read_chat([again], uri="later.json")
        memory.profile.observe()
        assert memory.profile.show("user").values(slot.id) == ["B+"]


@pytest.mark.parametrize("speaker", ["User:", "ＵＳＥＲ", "user\u202e", " Human : "])
def test_the_user_is_known_however_an_export_writes_their_name(
    tmp_path: Path, speaker: str
) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        said = Message(speaker=speaker, text="I live in Rome.", at=MARCH)
        memory.read_chat([said], uri="chat.json")
        memory.profile.observe()
        assert memory.profile.subjects() == ["me"]


def test_a_name_is_one_however_it_is_written_and_what_is_no_name_is_nobodys(
    tmp_path: Path,
) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        speakers = ["Anna", "Ａｎｎａ", "\u202aAnna\u202c:", "x" * 10_000, "\u202e", "Assistant:"]
        turns = [
            Message(speaker=speaker, text="I live in Rome.", at=MARCH + timedelta(minutes=n))
            for n, speaker in enumerate(speakers)
        ]
        memory.read_chat(turns, uri="chat.json")
        memory.profile.observe()
        assert memory.profile.subjects() == ["Anna"]
        assert len(memory.profile.why("location_region", subject="ANNA:").evidence) == 3
        for wrong in ("x" * 10_000, "\u202e"):
            with pytest.raises(InvalidInputError, match="not the name of a person"):
                memory.profile.show(wrong)


def test_a_scope_that_a_text_makes_up_is_none_and_stops_no_scan(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        said = [f"For project {'x' * 900} I prefer concise answers.", "I live in Rome."]
        turns = [Message(speaker="user", text=text, at=MARCH) for text in said]
        memory.read_chat(turns, uri="chat.json")
        memory.profile.observe()
        assert all(len(one.scope) < 200 for one in memory.profile.show().beliefs)
        assert memory.profile.get("location_region") is not None
        shown = memory.profile.show()
        assert shown.get("environment.location_region", scope="project: Apollo") is not None


def test_an_assistant_with_a_name_of_its_own_is_nobody(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        said = [
            Message(speaker="Aria", text="I live in Rome.", role="assistant"),
            Message(speaker="Ann", text="I live in Paris.", role="user"),
        ]
        memory.read_chat(said, uri="a.json")
        memory.profile.observe()
        assert memory.profile.subjects() == ["Ann"]


@pytest.mark.parametrize("speaker", ["AI assistant", "Support Bot", "claude-agent", "Assistant:"])
def test_programs_by_longer_names_are_nobody(tmp_path: Path, speaker: str) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.read_chat([Message(speaker=speaker, text="I live in Rome.")], uri="a.json")
        memory.read_chat([Message(speaker="Claude Monet", text="I live in Paris.")], uri="b.json")
        memory.profile.observe()
        assert memory.profile.subjects() == ["Claude Monet"]
