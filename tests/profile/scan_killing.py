"""Kills scans in the middle, has each finished by another process, and tells how they ended.

    python scan_killing.py WORK TRIALS SEED    # prints JSON

Every trial is a process that kills itself (SIGKILL) right before or right after one of its
transactions, chosen at random, and another one that scans to the end.
"""

from __future__ import annotations

import json
import random
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from forked_work import Transactions, forked
from remloom import Memory, Message
from remloom.llm import Request
from remloom.llm.ledger import REPLY, identify
from remloom.testing.models import ScriptedModel, ScriptedReply

TURNS = 150  # of which 64 are looked at together
_TURN = re.compile(r"<data-\w+ number=(\d+)[^>]*>\n(My thing \d+ is blue\d+)", re.DOTALL)
_CLAIM = re.compile(r"<data-\w+ number=(\d+)[^>]*>\nkey: (thing \d+)", re.DOTALL)


def reply(request: Request) -> ScriptedReply:
    """A claim for every turn, and an extra for every claim."""
    if request.task == "profile_extract":
        items = []
        for number, quote in _TURN.findall(request.prompt):
            words = quote.split()
            claim = {"key": f"thing {words[2]}", "value": words[-1], "quote": quote}
            items.append({**claim, "message": int(number)})
        return {"items": items}
    return {
        "items": [
            {"item": int(number), "field": f"extras.{key.replace(' ', '_')}", "value": ""}
            for number, key in _CLAIM.findall(request.prompt)
        ]
    }


def read(home: Path) -> None:
    at = datetime(2026, 10, 1, tzinfo=UTC)
    with Memory.open(home, embedder="none") as memory:
        turns = [
            Message(speaker="user", text=f"My thing {n} is blue{n}.", at=at + timedelta(minutes=n))
            for n in range(TURNS)
        ]
        memory.read_chat(turns, uri="chat.json")


def scan(home: Path, log: Path, *, kill_at: int = 0, after: bool = False) -> int:
    """Scan and normalise; returns the number of transactions. Every request is logged."""

    def logged(request: Request) -> ScriptedReply:
        with log.open("a") as lines:
            lines.write(f"{identify('scripted:model', request)}\n")
        return reply(request)

    model = ScriptedModel(logged, latency=0.002)
    with Memory.open(home, embedder="none", llm=model) as memory:
        transactions = Transactions(memory, kill_at=kill_at, after=after)
        memory.profile.observe()
        memory.profile.normalise()
    return transactions.count


def outcome(home: Path) -> dict[str, Any]:
    with Memory.open(home, embedder="none") as memory:
        return {
            "beliefs": sorted(
                [one.slot, one.value, one.pieces] for one in memory.profile.beliefs()
            ),
            "staged": len(memory.profile.staged()),
            "problems": memory.admin.check(),
            "left": memory.admin.store.admin.stats().entries.get(REPLY, 0),
            "kept": [entry.key.rpartition("/")[2] for entry in memory.admin.store.kv.list(REPLY)],
        }


def trial(home: Path, result: Path, at: int, after: bool, whole: Any) -> dict[str, Any]:
    log = home.with_suffix(".log")
    log.touch()
    forked(lambda: read(home), result)
    killed = forked(lambda: scan(home, log, kill_at=at, after=after), result) is None
    paid = set(forked(lambda: outcome(home), result)["kept"])
    first = len(log.read_text().splitlines())
    forked(lambda: scan(home, log), result)
    again = log.read_text().splitlines()[first:]
    found = forked(lambda: outcome(home), result)
    return {
        "at": at, "after": after, "killed": killed, "same": found["beliefs"] == whole["beliefs"],
        "staged": found["staged"], "problems": found["problems"], "left": found["left"],
        "paid_twice": len(paid & set(again)),
    }  # fmt: skip


def main(work: Path, trials: int, seed: int) -> dict[str, Any]:
    choose = random.Random(seed)
    result = work / "result.json"
    forked(lambda: read(work / "whole"), result)
    transactions = forked(lambda: scan(work / "whole", work / "calls.log"), result)
    whole = forked(lambda: outcome(work / "whole"), result)
    points = [(choose.randint(1, transactions), choose.random() < 0.5) for _ in range(trials)]
    told = [
        trial(work / f"trial-{number}", result, at, after, whole)
        for number, (at, after) in enumerate(points)
    ]
    return {"transactions": transactions, "whole": whole, "trials": told}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
