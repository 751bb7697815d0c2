"""Kills readings in the middle, has each finished by another process, and tells how they ended.

    python reading_killing.py WORK TRIALS SEED    # prints JSON

Every trial is a process that kills itself (SIGKILL) right before or right after one of its
transactions, chosen at random, and another one that asks the same question in the same session.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

from reading_tools import ANSWER, between, book, step

from forked_work import Transactions, forked
from remloom import Memory
from remloom.llm import Request
from remloom.llm.ledger import REPLY, identify
from remloom.testing.models import ScriptedModel, ScriptedReply

QUESTION = "What is the rent?"
TURNS = [
    step(between(10, 30), notes="line 13: a town"),
    step("SELECT line_num FROM search('rent') LIMIT 5", reading_mode="search"),
    step(between(990, 1000), notes="line 998: 900 euros"),
    step(satisfied=True),
]


def reply(request: Request) -> ScriptedReply:
    """The turn that the prompt asks for: it names those that were before."""
    if request.task == "read_answer":
        return ANSWER
    return TURNS[sum(f"turn {number}, " in request.prompt for number in range(1, 5))]


def read(home: Path) -> None:
    with Memory.open(home, embedder="none") as memory:
        memory.read_text(book(), uri="book.md")


def ask(home: Path, log: Path, *, kill_at: int = 0, after: bool = False) -> dict[str, Any]:
    """Ask in a session; every request is logged."""

    def logged(request: Request) -> ScriptedReply:
        with log.open("a") as lines:
            lines.write(f"{identify('scripted:model', request)}\n")
        return reply(request)

    model = ScriptedModel(logged)
    with (
        Memory.open(home, embedder="none", llm=model) as memory,
        memory.reader("book.md") as reader,
    ):
        transactions = Transactions(memory, kill_at=kill_at, after=after)
        reading = reader.ask(QUESTION, session="lease")
    return {
        "transactions": transactions.count,
        "reading": [reading.answer, [step.notes for step in reading.steps], reading.doubts],
    }


def outcome(home: Path) -> dict[str, Any]:
    with Memory.open(home, embedder="none") as memory, memory.reader() as reader:
        (session,) = reader.sessions() or (None,)
        return {
            "open": session.open.question if session and session.open else "",
            "asked": [asked.answer for asked in session.asked] if session else [],
            "problems": memory.admin.check(),
            "kept": [entry.key.rpartition("/")[2] for entry in memory.admin.store.kv.list(REPLY)],
        }


def trial(home: Path, result: Path, at: int, after: bool) -> dict[str, Any]:
    log = home.with_suffix(".log")
    log.touch()
    forked(lambda: read(home), result)
    killed = forked(lambda: ask(home, log, kill_at=at, after=after), result) is None
    paid = set(forked(lambda: outcome(home), result)["kept"])
    first = len(log.read_text().splitlines())
    again = forked(lambda: ask(home, log), result)
    asked_again = log.read_text().splitlines()[first:]
    return {
        "at": at, "after": after, "killed": killed, "reading": again["reading"],
        "paid": len(paid), "paid_twice": len(paid & set(asked_again)),
        **forked(lambda: outcome(home), result),
    }  # fmt: skip


def main(work: Path, trials: int, seed: int) -> dict[str, Any]:
    choose = random.Random(seed)
    result = work / "result.json"
    forked(lambda: read(work / "whole"), result)
    whole = forked(lambda: ask(work / "whole", work / "calls.log"), result)
    points = [(at, after) for at in range(1, whole["transactions"] + 1) for after in (False, True)]
    told = [
        trial(work / f"trial-{number}", result, at, after)
        for number, (at, after) in enumerate(choose.sample(points, min(trials, len(points))))
    ]
    return {"whole": whole, "trials": told}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
