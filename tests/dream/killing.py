"""Kills learning runs in the middle, has each finished by another process, and tells how the
outcomes differ.

    python killing.py SOURCE WORK TRIALS SEED ORDER    # prints JSON

Every trial is a process that kills itself (SIGKILL) right before or right after one of its
transactions, chosen at random, and another one that learns to the end.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path
from typing import Any

import scripted_models

from forked_work import Transactions, forked
from remloom import Memory
from remloom.dream.learn.lessons import LEARNED
from remloom.llm import Request
from remloom.llm.ledger import REPLY, identify
from remloom.testing.embedder import WordEmbedder
from remloom.testing.models import ScriptedModel, ScriptedReply


def learn(
    source: str, home: Path, log: Path, order: str, *, kill_at: int = 0, after: bool = False
) -> int:
    """Learn; returns the number of transactions. Every request is logged when it begins."""

    def reply(request: Request) -> ScriptedReply:
        with log.open("a") as lines:
            lines.write(f"{os.getpid()} {identify('scripted:model', request)}\n")
        return scripted_models.reply(request)

    model = ScriptedModel(reply, latency=0.003)
    with Memory.open(home, embedder=WordEmbedder(), llm=model) as memory:
        transactions = Transactions(memory, kill_at=kill_at, after=after)
        memory.learn(source, order=order, dreams=3)
    return transactions.count


def kept(home: Path) -> list[str]:
    """Requests whose replies are kept."""
    with Memory.open(home, embedder="none", create=False) as memory:
        return [entry.key.rpartition("/")[2] for entry in memory.admin.store.kv.list(REPLY)]


def outcome(home: Path) -> dict[str, Any]:
    """What was learned, and what is wrong with the store."""
    with Memory.open(home, embedder="none") as memory:
        left = sum(
            memory.admin.store.admin.stats().entries.get(kind, 0)
            for kind in (REPLY, "checkpoint", "checkpoint.write")
        )
        return {
            "content": scripted_models.content(memory), "problems": memory.admin.check(), "left": left,
            "runs": [run.status for run in memory.runs.list()],
            "learned": sorted(entry.key for entry in memory.admin.store.kv.list(LEARNED)),
        }  # fmt: skip


def main(source: str, work: Path, trials: int, seed: int, order: str) -> dict[str, Any]:
    import langgraph.graph  # noqa: F401 - so that it is there before the forks

    choose = random.Random(seed)
    log, result = work / "calls.log", work / "result.json"
    transactions = forked(lambda: learn(source, work / "whole", log, order), result)
    calls = len(log.read_text().splitlines())
    whole = forked(lambda: outcome(work / "whole"), result)
    told: dict[str, Any] = {
        "transactions": transactions,
        "calls": calls,
        "trials": [],
        "whole": whole["problems"],
    }
    for trial in range(trials):
        # in relaxed order, another run may have a few transactions less
        last = transactions if order == "strict" else transactions * 3 // 4
        at, after = choose.randint(1, last), choose.random() < 0.5
        told["trials"].append(kill(source, work / f"trial-{trial}", order, at, after, whole))
    return told


def kill(source: str, home: Path, order: str, at: int, after: bool, whole: Any) -> dict[str, Any]:
    """One trial."""
    home.mkdir()
    log, result = home / "calls.log", home / "result.json"
    killed = (
        forked(lambda: learn(source, home, log, order, kill_at=at, after=after), result) is None
    )
    paid = set(forked(lambda: kept(home), result)) if (home / "tenants").is_dir() else set()
    first = log.read_text().splitlines() if log.exists() else []
    forked(lambda: learn(source, home, log, order), result)
    lines = log.read_text().splitlines() if log.exists() else []
    before = {line.split()[1] for line in first}
    again = [line.split()[1] for line in lines[len(first) :]]
    found = forked(lambda: outcome(home), result)
    return {
        "at": at, "after": after, "killed": killed, "same": found["content"] == whole["content"],
        "learned": found["learned"] == whole["learned"], "problems": found["problems"],
        "left": found["left"], "runs": found["runs"], "paid_twice": len(paid & set(again)),
        "in_flight": len(before & set(again)), "calls": len(before | set(again)),
    }  # fmt: skip


if __name__ == "__main__":
    print(
        json.dumps(
            main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
        )
    )
