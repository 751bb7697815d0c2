"""`remloom bench`: how well memories find the evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ....bench import BenchResult


def bench(
    data: str | None = None,
    *,
    memories: Sequence[str] = ("remloom",),
    k: int = 50,
    budget: int = 2000,
    deadline: float = 60.0,
    report: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> BenchResult:
    """Measure whether a memory finds the evidence for questions, without a language model.

    DATA is a file or folder in LoCoMo's form, or in that of the open harness
    (agent-memory-benchmark); without it, a small sample is used. A memory is remloom, bm25, chroma,
    langgraph or mem0; a class, as package.module:Class; or a command, as "cmd: ./mine". Each runs
    in a process of its own, in a folder that is removed. Nothing of it is sent anywhere.

    Args:
        memories: what to measure; repeat it for several, which are compared with the first.
        k: documents to ask for.
        budget: tokens of what is returned that are read for the measure "budget".
        deadline: for an answer; thirty times that for taking the documents of a user.
        report: write a page with pictures, which needs nothing else.
    """
    from ....bench import compare, load
    from ....bench.data import SAMPLE

    dataset = load(Path(data) if data else SAMPLE)
    measured = compare(dataset, memories, k=k, budget=budget, deadline=deadline, progress=progress)
    if report:
        from ....bench.page import html_page

        Path(report).write_text(html_page(measured), encoding="utf-8")
    return measured
