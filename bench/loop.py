"""An agent that talks for long: python -m bench.loop --help.

After every exchange it appends what was said, recalls what bears on the next question, and takes a
context for its prompt: two turns more, two searches, on one memory. Does the two-thousandth
exchange cost more than the first ones did?
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from remloom import Memory, Message

from . import data
from .measure import Results

_EPOCH = datetime(2026, 1, 5, 9, tzinfo=UTC)
STEPS = ("append", "recall", "context")
_PARTS = 20  # of the loop, each a point of the picture
_BARS = "▁▂▃▄▅▆▇█"


class Talk:
    """What is said and asked: people and projects that come up again and again, and new ones now
    and then."""

    def __init__(self, seed: int = 4) -> None:
        self._rng = np.random.default_rng(seed)
        self._names = data.names(400)
        self._words = list(data.texts(400, words=30, seed=seed))

    def exchange(self, number: int) -> tuple[list[Message], str]:
        """The two turns of an exchange, and the question that the next one begins with."""
        known = self._names[: 10 + number // 10]
        first, second = (str(known[int(place)]) for place in self._rng.integers(len(known), size=2))
        told = self._words[int(self._rng.integers(len(self._words)))]
        at = _EPOCH + timedelta(minutes=4 * number + (number // 60) * 960)  # sixty exchanges a day
        asked = f"What did {first} say about {second}? {told[:60]}"
        answered = f"{first} met {second} on day {number // 60}. {told}"
        turns = [
            Message(id=f"u{number}", speaker="user", text=asked, at=at),
            Message(
                id=f"a{number}", speaker="assistant", text=answered, at=at + timedelta(seconds=20)
            ),
        ]
        return turns, f"When did {second} meet {first}?"


def run(memory: Memory, exchanges: int) -> dict[str, list[tuple[float, float]]]:
    """CPU (of this thread) and wall seconds of each step of each exchange."""
    talk, spent = Talk(), defaultdict(list)
    for number in range(exchanges):
        turns, question = talk.exchange(number)
        steps: dict[str, Any] = {
            "append": lambda turns=turns: memory.read_chat(turns, uri="chats/loop", append=True),
            "recall": lambda question=question: memory.recall(question),
            "context": lambda question=question: memory.context(question),
        }
        for step, call in steps.items():
            wall, cpu = time.perf_counter(), time.thread_time()
            call()
            spent[step].append((time.thread_time() - cpu, time.perf_counter() - wall))
    return spent


def picture(values: Sequence[float]) -> str:
    """Bars from nothing to the highest."""
    return "".join(_BARS[int(value / max(values) * 7.99)] for value in values)


def shown(name: str, spent: dict[str, list[tuple[float, float]]]) -> dict[str, Any]:
    """Print the table and the picture of a loop; returns its numbers, in milliseconds."""
    exchanges = len(spent["append"])
    size = max(1, exchanges // _PARTS)
    facts: dict[str, Any] = {"exchanges": exchanges}
    print(f"{name}: {exchanges:,} exchanges; ms, medians of {size}")
    print(
        f"{'':10}{'CPU first':>12}{'CPU last':>12}{'growth':>9}{'first':>10}{'last':>10}   CPU from"
        " first to last"
    )
    for step in STEPS:
        parts = [spent[step][at : at + size] for at in range(0, size * _PARTS, size)]
        cpu = [statistics.median(one for one, _ in part) * 1e3 for part in parts if part]
        wall = [statistics.median(one for _, one in part) * 1e3 for part in parts if part]
        # The first part fills an empty memory: searches that find nothing are no measure. The
        # second is.
        growth = cpu[-1] / cpu[min(1, len(cpu) - 1)]
        bars = picture(cpu)
        print(
            f"{step:10}{cpu[1]:>12.2f}{cpu[-1]:>12.2f}{growth:>9.2f}{wall[1]:>10.2f}{wall[-1]:>10.2f}"
            f"   {bars}"
        )
        facts[step] = {
            "cpu_ms": [round(value, 3) for value in cpu],
            "wall_ms": [round(value, 3) for value in wall],
            "growth": round(growth, 2),
        }
    return facts


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Time the steps of an agent's loop, from its start to its end."
    )
    parser.add_argument("--exchanges", type=int, default=2_000)
    parser.add_argument(
        "--embedder", nargs="*", default=["none", "minilm"], help="default: none, then minilm"
    )
    parser.add_argument("--home", default="", help="a database instead of a scratch folder")
    chosen = parser.parse_args()
    results = Results("flat")
    for embedder in chosen.embedder:
        with tempfile.TemporaryDirectory() as scratch:
            home = chosen.home or str(Path(scratch) / "home")
            with Memory.open(home, tenant=f"loop-{embedder}", embedder=embedder) as memory:
                facts = shown(embedder, run(memory, chosen.exchanges))
        results.add(f"loop: {embedder}", **facts)


if __name__ == "__main__":
    main()
