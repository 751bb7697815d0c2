"""Timing of calls next to a reference, and the file of results."""

from __future__ import annotations

import json
import os
import platform
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

RESULTS = Path(__file__).parent / "results"
T = TypeVar("T")


@dataclass(frozen=True)
class Timing:
    """Durations of single calls, in microseconds, and calls (or rows) a second."""

    rate: float
    p50: float
    p99: float
    calls: int


def timing(seconds: Sequence[float], rows_per_call: int = 1) -> Timing:
    spent = np.asarray(seconds)
    p50, p99 = np.percentile(spent, [50, 99]) * 1e6
    rate = len(spent) * rows_per_call / float(spent.sum())
    return Timing(round(rate, 1), round(float(p50), 2), round(float(p99), 2), len(spent))


def race(
    items: Sequence[T],
    ours: Callable[[T], Any],
    reference: Callable[[T], Any] | None = None,
    *,
    rounds: int = 10,
    share: int = 1,
    warm: Sequence[T] | None = None,
) -> tuple[Timing, Timing | None]:
    """Time `ours` on every item and `reference` on each `share`-th, in turns, so that both see the
    same machine.

    Both go over `warm` untimed before (default: the items themselves, so that what they need has
    been read once).
    """
    before = items if warm is None else warm
    _timed(ours, before)
    if reference:
        _timed(reference, before[::share])
    spent: list[float] = []
    raw: list[float] = []
    for start in range(rounds):
        piece = items[start::rounds]
        spent += _timed(ours, piece)
        raw += _timed(reference, piece[::share]) if reference else []
    return timing(spent), timing(raw) if raw else None


def _timed(call: Callable[[T], Any], items: Sequence[T]) -> list[float]:
    clock, spent = time.perf_counter, []
    for item in items:
        before = clock()
        call(item)
        spent.append(clock() - before)
    return spent


def machine() -> str:
    """The machine in general words."""
    model = re.search(
        r"model name\s*: (AMD \w+|Intel\S* \w+\S*|[^\n]+)",
        Path("/proc/cpuinfo").read_text(encoding="utf-8"),
    )
    name = model[1] if model else platform.machine()
    return (
        f"{len(os.sched_getaffinity(0))} cores of an {name}, Python {platform.python_version()},"
        f" {platform.system()}"
    )


def memory() -> tuple[float, float]:
    """Resident memory of this process, now and at its peak, in MB."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    used = {name: int(size) / 1024 for name, size in re.findall(r"(VmRSS|VmHWM):\s+(\d+)", status)}
    return used["VmRSS"], used["VmHWM"]


class Results:
    """Measurements by id, kept in one JSON file that is written after each, so that a broken run
    keeps what it has."""

    def __init__(
        self, name: str, folder: Path = RESULTS, *, speed: Callable[[], float] = lambda: 1.0
    ) -> None:
        """`speed` tells how fast the machine is at this moment (see `reference.Clock`)."""
        self._path = folder / f"{name}.json"
        self._speed = speed
        self.found: dict[str, dict[str, Any]] = {}
        if self._path.exists():
            self.found = json.loads(self._path.read_text(encoding="utf-8"))["measurements"]

    def add(
        self, id: str, ours: Timing | None = None, reference: Timing | None = None, /, **facts: Any
    ) -> None:
        """Keep and show a measurement. `facts`: `against` says what the reference is; the rest is
        numbers."""
        # Our own work and the index thread's make up to 2; what is beyond that, others took from
        # the measurement.
        row: dict[str, Any] = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "load": round(os.getloadavg()[0], 1),
            "speed": self._speed(),
        }
        if ours:
            row["ours"] = asdict(ours)
        if reference:
            row["reference"] = asdict(reference)
        if ours and reference:
            row["ratio"] = round(ours.rate / reference.rate, 3)
        self.found[id] = row | facts
        self._path.parent.mkdir(parents=True, exist_ok=True)
        document = {"machine": machine(), "measurements": dict(sorted(self.found.items()))}
        self._path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        print(_line(id, self.found[id]), flush=True)


def _line(id: str, row: dict[str, Any]) -> str:
    parts = [f"{id:36}"]
    if ours := row.get("ours"):
        parts.append(
            f"{ours['rate']:>11,.0f}/s  p50 {ours['p50']:,.0f} us  p99 {ours['p99']:,.0f} us"
        )
    if reference := row.get("reference"):
        parts.append(
            f"| {row.get('against', 'reference')} {reference['rate']:,.0f}/s, ratio {row['ratio']}"
        )
    shown = {
        key: value
        for key, value in row.items()
        if key not in ("ours", "reference", "ratio", "against", "at", "load", "speed")
    }
    return " ".join([*parts, *(f"{key}={value}" for key, value in shown.items())])
