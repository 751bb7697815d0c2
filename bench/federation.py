"""What asking five tenants costs beside the slowest of them: python -m bench.federation.

Each way of asking is done of one tenant after the other, and of all five at once, in turns. The CPU
time is that of the process, and so of all its threads; the embedder is the bundled one.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable

from remloom import Entity, Home, Memory, Resource
from remloom.federation import Federation

from . import data

TENANTS = [f"tenant{number}" for number in range(5)]
ROUNDS = 25
RECORDS = 100
WAYS: dict[str, Callable[[Federation, str], object]] = {
    "lookup": lambda asked, text: asked.lookup(text),
    "search_text": lambda asked, text: asked.search_text(text),
    "search": lambda asked, text: asked.search(text),
    "recall": lambda asked, text: asked.recall(text),
}


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        _fill(home)
        asked = {name: Federation.open(home, as_tenant="asker", tenants=[name]) for name in TENANTS}
        asked["all"] = Federation.open(home, as_tenant="asker")
        for way, ask in WAYS.items():
            _measure(way, ask, asked)
        for federation in asked.values():
            federation.close()


def _fill(home: str) -> None:
    Home(home).create("asker")
    for number, tenant in enumerate(TENANTS):
        texts = data.texts(RECORDS, words=30, seed=number)
        with Memory.open(home, tenant=tenant) as memory:
            records = [Resource(uri=f"{n}.md", content=text) for n, text in enumerate(texts)]
            memory.write([*records, Entity(name="Sarah Chen", summary="Leads.")], wait=True)
        Home(home).grant(tenant, to="asker", schemas=["resources", "entities"])


def _measure(
    way: str, ask: Callable[[Federation, str], object], asked: dict[str, Federation]
) -> None:
    cpu: dict[str, list[float]] = {name: [] for name in asked}
    wall: dict[str, list[float]] = {name: [] for name in asked}
    for number in range(ROUNDS):
        for name, federation in asked.items():
            # another question each time: vectors of questions are kept
            question = "Sarah Chen" if way == "lookup" else f"what of {name} in {number}?"
            began, spent = time.perf_counter(), time.process_time()
            ask(federation, question)
            cpu[name].append(time.process_time() - spent)
            wall[name].append(time.perf_counter() - began)
    shown = []
    for label, times in (("CPU", cpu), ("clock", wall)):
        medians = {name: statistics.median(spent) * 1_000 for name, spent in times.items()}
        slowest = max(medians[name] for name in TENANTS)
        shown.append(
            f"{label} {slowest:.2f} ms, five {medians['all']:.2f}: {medians['all'] / slowest:.2f}"
        )
    print(f"{way:12} {'; '.join(shown)}")


if __name__ == "__main__":
    main()
