"""A comparison as tables, which the terminal and the page show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .compare import BenchResult, MemoryResult
from .scores import MEASURES

_COMPARED = ("frac@10", "all@10", "MRR", "budget")  # with an interval


class ComparisonTable(NamedTuple):
    """Rows of cells; the first column names memories. `title` says what the others have."""

    title: str
    columns: Sequence[str]
    rows: list[tuple[str, ...]]


def tables(comparison: BenchResult) -> Iterator[ComparisonTable]:
    """Give the tables that have rows."""
    measured = [one for one in comparison.memories if one.overall]
    if not measured:
        return
    yield ComparisonTable(
        "evidence found, %",
        MEASURES,
        [(one.memory, *(_percent(one.overall[name]) for name in MEASURES)) for one in measured],
    )
    others = [one for one in measured if one.differences]
    if others:
        yield ComparisonTable(
            f"against {comparison.compared_with}",
            _COMPARED,
            [
                (one.memory, *(_interval(one.differences[name]) for name in _COMPARED))
                for one in others
            ],
        )
    yield _by_group("kind", measured, [one.kinds for one in measured])
    yield _by_group("evidence", measured, [one.evidence for one in measured])
    abstaining = [(one.memory, *map(_percent, one.nothing)) for one in measured if one.nothing]
    if abstaining:
        columns = ("without an answer", "with an answer")
        yield ComparisonTable("nothing returned, %", columns, abstaining)
    yield ComparisonTable(
        "ms a question",
        ("p50", "p95", "CPU p50", "CPU p95", "ingest s", "MB on disk"),
        [
            (
                one.memory,
                *(f"{1000 * seconds:.1f}" for seconds in one.seconds.values()),
                *(f"{1000 * seconds:.1f}" for seconds in one.cpu.values()),
                *(() if one.cpu else ("–", "–")),
                f"{one.ingest_seconds:.1f}",
                f"{one.bytes / 1e6:.1f}" if one.bytes else "–",
            )
            for one in measured
        ],
    )


def _by_group(
    title: str, measured: Sequence[MemoryResult], groups: Sequence[dict[str, dict[str, float]]]
) -> ComparisonTable:
    sizes = {name: int(group["questions"]) for name, group in groups[0].items()}
    columns = [f"{name or 'any'} ({count:,})" for name, count in sizes.items()]
    rows = [
        (one.memory, *(_percent(some[name]["frac@10"]) for name in sizes))
        for one, some in zip(measured, groups, strict=True)
    ]
    return ComparisonTable(f"frac@10 by {title}", columns, rows)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _interval(difference: dict[str, float]) -> str:
    points = {name: 100 * value for name, value in difference.items()}
    return "{mean:+.1f} ({low:+.1f} … {high:+.1f})".format(**points)
