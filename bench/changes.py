"""What keeping track of changes costs: python -m bench.changes --help.

Each row is work that premises, marks or former versions take part in, beside a reference in the
same memory that they take none in, in turns. What counts is the ratio of their CPU times, and that
it does not grow with the memory.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import count
from typing import Any

from msgspec.structs import replace

from remloom import Memory, Resource

from . import data, stores

Call = Callable[[], Any]

_BATCH = 200
_DEPENDENTS = 10  # of a hundred texts, insights that rest on the first


class Changes:
    """A memory of so many texts, with insights of a tenth of them."""

    def __init__(self, home: str, size: int) -> None:
        self.memory = Memory.open(home, tenant=f"changes-{size}", embedder="none")
        self._size, self._numbers = size, count(size)
        self._texts = list(data.texts(min(size, 2_000)))
        notes = [self._note(number) for number in range(size)]
        stores.write_all(self.memory, notes)
        self._alone, self._premise = notes[-1], notes[0]
        count_of_insights = max(1, size * _DEPENDENTS // 100)
        insights = [self._insight(number, "n0") for number in range(count_of_insights)]
        stores.write_all(self.memory, insights)

    def rows(self) -> dict[str, tuple[Call, Call]]:
        """What is measured, and the reference of each."""
        write = self.memory.write

        def new() -> Any:
            return write([self._note(next(self._numbers)) for _ in range(_BATCH)])

        return {
            "write insights of five : texts": (
                lambda: write([self._insight(next(self._numbers)) for _ in range(_BATCH)]),
                new,
            ),
            "write texts over : new": (lambda: write([self._again() for _ in range(_BATCH)]), new),
            "touch what a tenth rests on : nothing": (
                lambda: write([self._touched(self._premise)]),
                lambda: write([self._touched(self._alone)]),
            ),
            "recall insights : texts": (
                lambda: self.memory.recall(f"insight {next(self._numbers) % self._size}"),
                lambda: self.memory.recall(f"note {next(self._numbers) % self._size}"),
            ),
        }

    def _note(self, number: int) -> Resource:
        text = self._texts[number % len(self._texts)]
        return Resource(id=f"n{number}", name=f"note {number}", content=f"note {number} {text}")

    def _insight(self, number: int, *parents: str) -> Resource:
        """One of five texts of the first half, or of these."""
        some = tuple(f"n{(number * 31 + one * 17) % (self._size // 2)}" for one in range(5))
        text = f"insight {number} {self._texts[number % len(self._texts)]}"
        return Resource(
            id=f"i{number}", name=f"insight {number}", content=text, parents=parents or some
        )

    def _again(self) -> Resource:
        number = next(self._numbers)
        # nothing rests on those of the second half
        note = self._note(self._size // 2 + number * 7919 % (self._size // 2 - 1))
        return replace(note, content=f"{number} {note.content}")

    def _touched(self, note: Resource) -> Resource:
        return replace(note, metadata={"seen": next(self._numbers)})


def measured(row: tuple[Call, Call], rounds: int) -> tuple[float, float, float]:
    """Milliseconds of a call and of its reference (the fastest), and the median of the ratios."""
    spent: tuple[list[float], list[float]] = ([], [])
    for number in range(-1, rounds):  # the first loads and compiles
        for place in (0, 1) if number % 2 else (1, 0):
            began = time.thread_time()
            row[place]()
            if number >= 0:
                spent[place].append(1_000 * (time.thread_time() - began))
    ratio = statistics.median(one / other for one, other in zip(*spent, strict=True))
    return min(spent[0]), min(spent[1]), ratio


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what keeping track of changes costs.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=15, help="turns of each row (default 15)")
    parser.add_argument("--url", default="", help="a PostgreSQL database, in place of SQLite")
    chosen = parser.parse_args()
    print(f"{'ms':38} {'texts':>8} {'this':>9} {'other':>9} {'ratio':>7}")
    with tempfile.TemporaryDirectory() as scratch:
        for size in chosen.sizes:
            changes = Changes(chosen.url or scratch, size)
            with changes.memory:
                for name, row in changes.rows().items():
                    this, other, ratio = measured(row, chosen.rounds)
                    print(
                        f"{name:38} {size:>8,} {this:>9.2f} {other:>9.2f} {ratio:>7.2f}", flush=True
                    )


if __name__ == "__main__":
    main()
