"""What an agent waits for what is known of its user: python -m bench.profile --help.

A profile of 10,000 pieces of evidence, of some three years, lies in memories of 10³ records and
more. Contexts are made in turns between the sizes, without a query and with one (without an
embedder), beside a raw read of the same evidence's entries. What is timed is the CPU time of the
calling thread. The bars: 20 ms without a query, 40 ms with one, and no growth with the memory.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import numpy as np

from remloom import Memory
from remloom.kv import KeyRange
from remloom.profile.beliefs.belief_store import BELIEF
from remloom.profile.beliefs.recorder import Recorder
from remloom.profile.evidence.evidence import Evidence, key_of_subject
from remloom.profile.slots.registry import registry
from remloom.profile.slots.slot import Slot
from remloom.runs.lifecycle import run_to_end
from remloom.runs.run import begin_run
from remloom.runs.writer import Writer

from . import stores
from .measure import Results, timing

SIZES = (1_000, 10_000, 100_000)
EVIDENCE = 10_000
DAYS = 1_000
# ms; "changed": the first one after an edit
BARS = {"context": 20.0, "context, query": 40.0, "context, query, changed": 40.0}
QUERIES = (
    "What should I cook tonight?",
    "Which package manager do I use for Python?",
    "Where do I live now?",
    "What do you know about me?",
    "Write a letter to my landlord",
)


def evidence(count: int, *, seed: int = 31) -> list[Evidence]:
    """Pieces of evidence on all slots: most repeat what was said, some change it."""
    rng = np.random.default_rng(seed)
    slots = list(registry())
    now = datetime.now(UTC)
    pieces = []
    for number in range(count):
        slot = slots[int(rng.integers(len(slots)))]
        ago = timedelta(days=float(rng.uniform(0, DAYS)))
        pieces.append(
            Evidence(
                id=str(uuid5(NAMESPACE_URL, f"bench/{number}")),
                slot=slot.id,
                key=slot.id,
                value=_value(slot, rng),
                at=now - ago,
                group=f"session {ago.days}",
                citation=f"chat.json:{number}",
                quote="as it was said",
            )
        )
    return pieces


def _value(slot: Slot, rng: np.random.Generator) -> Any:
    if slot.kind == "flag":
        return bool(rng.integers(2))
    # the later ones are seldom said
    place = min(int(rng.geometric(0.5)) - 1, 7)
    if slot.kind == "number":
        return place
    return slot.values[place % len(slot.values)] if slot.values else f"value {place}"


def fill(memory: Memory, size: int, pieces: Sequence[Evidence]) -> None:
    """Write records, and the profile."""
    stores.write_all(memory, list(stores.chunks(size)))
    store, beliefs = memory._engine.store, memory.profile._editing.beliefs()
    writer = Writer(store, memory._engine.tenant, begin_run(store, "observe", {}), model="")
    recorder = Recorder(store, beliefs, writer)
    with run_to_end(writer):
        for some in stores.batches(pieces, 1_000):
            recorder.record((), some)
    memory.admin.optimize()


def calls(memory: Memory) -> dict[str, Callable[[int], Any]]:
    """What is timed, by name."""
    profile, kv = memory.profile, memory._engine.store.kv
    prefix = f"{key_of_subject('me')}/"
    return {
        "entries": lambda _: kv.list(BELIEF, KeyRange(prefix=prefix)),
        "context": lambda _: profile.context(),
        "context, query": lambda turn: profile.context(QUERIES[turn % len(QUERIES)]),
        "context, query, changed": lambda turn: profile.context(QUERIES[turn % len(QUERIES)]),
    }


def measure(folder: Path, sizes: Sequence[int], results: Results, *, turns: int = 20) -> None:
    """Time the contexts in memories of these sizes, in turns."""
    pieces = evidence(EVIDENCE)
    memories = {
        size: Memory.open(folder, tenant=f"profile-{size}", embedder="none") for size in sizes
    }
    for size, memory in memories.items():
        fill(memory, size, pieces)
    spent: dict[tuple[str, int], list[float]] = {}
    for turn in range(turns + 2):
        for size, memory in memories.items():
            for name, call in calls(memory).items():
                if name.endswith("changed"):
                    memory.profile.set("extras.turn", str(turn))
                before = time.thread_time()
                call(turn)
                # the first two turns warm up
                if turn > 1:
                    spent.setdefault((name, size), []).append(time.thread_time() - before)
    _report(spent, sizes, results)
    for memory in memories.values():
        memory.close()


def _report(
    spent: dict[tuple[str, int], list[float]], sizes: Sequence[int], results: Results
) -> None:
    for name, bar in BARS.items():
        smallest = timing(spent[name, sizes[0]])
        for size in sizes:
            ours = timing(spent[name, size])
            results.add(
                f"{name}/{size}",
                ours,
                timing(spent["entries", size]),
                against="reading the entries",
                growth=round(ours.p50 / smallest.p50, 2),
                within_bar=bool(ours.p50 <= bar * 1_000),
            )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.profile", description=__doc__)
    parser.add_argument("--sizes", type=float, nargs="+", default=SIZES, help="records")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="remloom-profile-") as folder:
        measure(Path(folder), [int(size) for size in given.sizes], Results("profile"))


if __name__ == "__main__":
    main()
