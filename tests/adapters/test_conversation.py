"""Conversations in a memory: several processes add to one."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from remloom import Memory
from remloom.adapters.conversation import Conversation
from waiting import PATIENCE

# adds pairs of items: (name of the process, number), and a mark behind it
WORKER = """
import sys
from remloom import Memory
from remloom.adapters.conversation import Conversation

with Memory.open(sys.argv[1], embedder="none") as memory:
    conversation = Conversation(memory, "test", "c", lambda item: ("user", "words"))
    for number in range(15):
        conversation.add([[sys.argv[2], number], "mark"])
"""


def said_nothing(item: Any) -> tuple[str, str]:
    return "", ""


def test_two_processes_that_add_at_once_lose_nothing(tmp_path: Path) -> None:
    Memory.open(tmp_path, embedder="none").close()
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path), name]) for name in "ab"
    ]
    assert [worker.wait(PATIENCE) for worker in workers] == [0, 0]
    with Memory.open(tmp_path, embedder="none") as memory:
        items = Conversation(memory, "test", "c", said_nothing).items()
    assert [item for item in items if item[0] == "a"] == [["a", number] for number in range(15)]
    assert [item for item in items if item[0] == "b"] == [["b", number] for number in range(15)]
    # what was added together stands together
    assert items[1::2] == ["mark"] * 30


def test_what_expired_is_not_there_and_others_take_its_place(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        conversation = Conversation(memory, "test", "c", lambda item: ("user", item))
        conversation.add(["one", "two"])
        turn = memory.search_text("two").records[0]
        memory.admin.set_expiry([turn.id], datetime.now(UTC) - timedelta(seconds=1))
        assert conversation.items() == ["one"]
        conversation.add(["three"])
        assert conversation.items() == ["one", "three"]
        memory.admin.sweep()
        assert conversation.items() == ["one", "three"]


def test_an_item_is_removed_by_its_position_and_the_others_stay_in_order(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        conversation = Conversation(memory, "test", "c", lambda item: ("user", item))
        conversation.add(["one", "two", "three"])
        assert conversation.remove(1) == "two"
        assert conversation.remove(2) is None
        conversation.add(["four"])
        assert conversation.items() == ["one", "three", "four"]
        assert conversation.clear() == ["one", "three", "four"]
        assert conversation.items() == []
