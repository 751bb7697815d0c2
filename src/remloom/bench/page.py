"""A comparison as one HTML page with pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from ..text.report_page import FIRST, INK, SECOND, THIRD, PageSection, page, svg
from .compare import BenchResult, MemoryResult
from .tables import tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = (FIRST, SECOND, THIRD)


def html_page(comparison: BenchResult) -> str:
    """Write the page, which needs no other file.

    Raises:
        MissingExtraError: the extra `report` is not installed.
    """
    measured = [one for one in comparison.memories if one.overall]
    about = (
        f"{comparison.data}: {comparison.questions:,} questions ({comparison.with_answer:,} with "
        f"an answer) about {comparison.documents:,} documents, {comparison.k} asked for. frac@k: "
        "the share of the evidence among the first k ids; all@10: how often all of it is there; "
        "MRR: the mean of 1 / the rank of the first; budget: the share of the evidence in the "
        f"first {comparison.budget:,} tokens returned. Intervals are of 95 %: one with 0 in it "
        "shows no difference. "
        f"Measured {datetime.now(UTC):%Y-%m-%d %H:%M UTC}."
    )
    figures = {
        f"{one.memory}, frac@10": f"{100 * one.overall['frac@10']:.1f} %" for one in measured
    }
    found = {
        name: [100 * one.overall[name] for one in measured]
        for name in ("frac@5", "frac@10", "frac@20")
    }
    times = {"p50 ms": [1000 * one.seconds["p50"] for one in measured]}
    pictures: dict[str, Callable[[Axes], None]] = {
        "evidence": partial(_bars, measured, found),
        "against": partial(_intervals, [one for one in measured if one.differences]),
        "ms": partial(_bars, measured, times),
    }
    sections = []
    for table in tables(comparison):
        draw = pictures.get(table.title.partition(" ")[0])
        plot = svg(table.title, draw, height=1.2 + 0.5 * len(measured)) if draw else ""
        sections.append(PageSection(table.title, "", plot, ("memory", *table.columns), table.rows))
    if comparison.notes:
        rows = [(note,) for note in comparison.notes]
        sections.append(PageSection("notes", "", "", ("note",), rows))
    problems = [(one.memory, problem) for one in comparison.memories for problem in one.problems]
    if problems:
        sections.append(PageSection("problems", "", "", ("memory", "problem"), problems))
    return page("Memories, measured", about, figures, sections)


def _bars(measured: Sequence[MemoryResult], values: dict[str, list[float]], axes: Axes) -> None:
    height = 0.8 / len(values)
    for number, (name, lengths) in enumerate(values.items()):
        places = [at + (number - (len(values) - 1) / 2) * height for at in range(len(lengths))]
        axes.barh(places, lengths, height * 0.9, color=_COLOURS[number], label=name)
    axes.set_yticks(range(len(measured)), [one.memory for one in measured])
    axes.invert_yaxis()
    axes.legend(frameon=False, labelcolor=INK, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)


def _intervals(others: Sequence[MemoryResult], axes: Axes) -> None:
    for at, one in enumerate(others):
        points = {name: 100 * value for name, value in one.differences["frac@10"].items()}
        axes.plot([points["low"], points["high"]], [at, at], color=FIRST, linewidth=3)
        axes.plot([points["mean"]], [at], "o", color=FIRST, markersize=8)
    axes.axvline(0, color=INK, linewidth=1)
    axes.set_yticks(range(len(others)), [one.memory for one in others])
    axes.set_ylim(len(others) - 0.5, -0.5)
    axes.set_xlabel("points of frac@10")
