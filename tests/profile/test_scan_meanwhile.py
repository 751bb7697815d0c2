"""What others do while a scan is going on is neither lost nor in its way."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec.structs import replace

from remloom import Memory, Message
from remloom.errors import ConflictError
from remloom.llm import Request
from remloom.testing.models import ScriptedModel, ScriptedReply
from waiting import PATIENCE

OCTOBER = datetime(2026, 10, 1, 9, tzinfo=UTC)


def test_edits_while_a_scan_is_going_on_and_a_second_scan_is_refused(tmp_path: Path) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def reply(request: Request) -> ScriptedReply:
        asked.set()
        go_on.wait(PATIENCE)
        return {"items": []}

    with Memory.open(tmp_path, embedder="none", llm=ScriptedModel(reply)) as memory:
        turns = [
            Message(speaker="user", text=f"I love city{n}.", at=OCTOBER + timedelta(minutes=n))
            for n in range(20)
        ]
        home = Message(speaker="user", text="I live in Lisbon.", at=OCTOBER)
        memory.read_chat([*turns, home], uri="chat.json")
        scan = threading.Thread(target=memory.profile.observe)
        scan.start()
        assert asked.wait(PATIENCE)
        refused = ""
        try:
            memory.profile.observe(model=False)
        except ConflictError as error:
            refused = str(error)
        # two people edit at once
        edits = [
            threading.Thread(target=memory.profile.set, args=(f"extras.thing_{n}", f"value {n}"))
            for n in range(2)
        ]
        for edit in edits:
            edit.start()
        for edit in edits:
            edit.join()
        go_on.set()
        scan.join()
        assert "run of observe is going on" in refused
        profile = memory.profile.show()
        for n in range(2):
            assert profile.values(f"extras.thing_{n}") == [f"value {n}"]
        assert profile.values("environment.location_region") == ["Lisbon"]
        assert memory.admin.check() == []


def test_a_message_that_is_forgotten_while_the_model_thinks_is_not_believed(tmp_path: Path) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def reply(request: Request) -> ScriptedReply:
        asked.set()
        go_on.wait(PATIENCE)
        item = {"key": "team", "value": "CSK", "quote": "CSK is my team", "message": 1}
        return {"items": [item]}

    with Memory.open(tmp_path, embedder="none", llm=ScriptedModel(reply)) as memory:
        memory.read_chat(
            [Message(speaker="user", text="CSK is my team.", at=OCTOBER)], uri="chat.json"
        )
        failures: list[Exception] = []

        def scan() -> None:
            try:
                memory.profile.observe()
            except Exception as error:
                failures.append(error)

        thread = threading.Thread(target=scan)
        thread.start()
        assert asked.wait(PATIENCE)
        assert memory.forget("chat.json").verified
        go_on.set()
        thread.join()
        assert failures == []
        assert memory.profile.staged() == []
        assert b"CSK" not in repr(list(memory.admin.records())).encode()


def test_a_turn_that_becomes_somebody_elses_while_the_model_thinks_is_not_the_users(
    tmp_path: Path,
) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def reply(request: Request) -> ScriptedReply:
        asked.set()
        go_on.wait(PATIENCE)
        item = {"key": "team", "value": "CSK", "quote": "CSK is my team", "message": 1}
        return {"items": [item]}

    turn = Message(id="1", speaker="user", text="CSK is my team.", at=OCTOBER)
    with Memory.open(tmp_path, embedder="none", llm=ScriptedModel(reply)) as memory:
        memory.read_chat([turn], uri="chat.json")
        thread = threading.Thread(target=memory.profile.observe)
        thread.start()
        assert asked.wait(PATIENCE)
        memory.read_chat([replace(turn, speaker="Ana")], uri="chat.json")
        go_on.set()
        thread.join()
        assert memory.profile.staged() == []
        memory.profile.observe()
        assert {one.subject for one in memory.profile.staged()} <= {"Ana"}
        assert memory.profile.subjects() in ([], ["Ana"])
