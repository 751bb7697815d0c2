"""What waiting for the reader costs in long documents: python -m bench.reader --help.

Books of 70,000 lines and of a million are read into memories without an embedder; each is opened,
and searched, in turns with a plain scan of the same lines for a word, as `grep` does it: that is
the reference. What is timed is the CPU time of the calling thread. The bars: `find` and `search`
within 20 ms in 70,000 lines and within 200 ms in a million; opening 70,000 lines with their outline
within 2 s.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from remloom import Memory
from remloom.reader.reader import Reader

from . import data
from .measure import Results, timing
from .quality.reader import PAGE
from .quality.tables import put_into_page

SIZES = (70_000, 1_000_000)  # lines
BARS = {  # ms, by lines
    "search": {70_000: 20.0, 1_000_000: 200.0},
    "find": {70_000: 20.0, 1_000_000: 200.0},
    "open": {70_000: 2_000.0},
}
_WIDTH = 60  # characters of a line
_SECTION = 20  # texts


def book(lines: int) -> str:
    """A book of so many lines: paragraphs of wrapped lines, in sections."""
    made: list[str] = []
    # a text has some fifteen lines
    for number, text in enumerate(data.texts(lines // 10)):
        if number % _SECTION == 0:
            made += [f"## Section {number // _SECTION + 1}", ""]
        made += [*textwrap.wrap(text, _WIDTH), ""]
        if len(made) >= lines:
            break
    return "\n".join(made[:lines])


def calls(reader: Reader, texts: Sequence[str]) -> dict[str, Callable[[str], object]]:
    """What is timed, by name."""
    return {
        "scan": lambda question: sum(question.split()[0] in text for text in texts),
        "search": reader.search,
        "find": reader.find,
        "sql": lambda question: reader.sql(
            f"SELECT line_num, text FROM documents WHERE text LIKE '%{question.split()[0]}%'"
        ),
    }


def measure(folder: Path, sizes: Sequence[int], results: Results, *, turns: int = 20) -> None:
    """Time the calls in books of these sizes, in turns."""
    for size in sizes:
        text = book(size)
        texts = text.split("\n")
        questions = data.questions(turns + 2, [text[:100_000]], words=6)
        with Memory.open(folder, tenant=f"book-{size}", embedder="none") as memory:
            memory.read_text(text, uri="book.md")
            before = _memory()
            started = time.thread_time()
            with memory.reader("book.md") as reader:
                reader.outline()
                opened = [time.thread_time() - started]
                spent = _spent(calls(reader, texts), questions)
                grown = _memory() - before
        scan = timing(spent.pop("scan"))
        for name, seconds in {"open": opened, **spent}.items():
            ours = timing(seconds)
            bar = BARS.get(name, {}).get(size)
            facts = {"within_bar": ours.p50 <= bar * 1_000} if bar else {}
            results.add(f"{name}/{size}", ours, scan, against="a scan of the lines", **facts)
        results.add(f"memory/{size}", megabytes=round(grown, 1))


def _spent(
    timed: dict[str, Callable[[str], object]], questions: Sequence[str]
) -> dict[str, list[float]]:
    spent: dict[str, list[float]] = {name: [] for name in timed}
    for turn, question in enumerate(questions):
        for name, call in timed.items():
            before = time.thread_time()
            call(question)
            # the first two turns warm up
            if turn > 1:
                spent[name].append(time.thread_time() - before)
    return spent


def _memory() -> float:
    """What this process has in memory now, in megabytes."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * resource.getpagesize() / 1e6


def table(found: dict[str, dict[str, Any]]) -> str:
    """The results as a table: CPU time, and how many times a scan takes as long."""
    columns = " | ".join(f"{size:,} lines" for size in SIZES)
    rows = [f"| call | {columns} |", f"|---|{'---|' * len(SIZES)}"]
    for name in ("open", "search", "find", "sql"):
        times = [found[f"{name}/{size}"] for size in SIZES]
        cells = [f"{row['ours']['p50'] / 1_000:,.0f} ms ({1 / row['ratio']:.2g})" for row in times]
        rows.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.reader", description=__doc__)
    parser.add_argument("--sizes", type=float, nargs="+", default=SIZES, help="lines")
    parser.add_argument("--page", action="store_true", help="put the table into docs/reader.md")
    given = parser.parse_args()
    results = Results("reader")
    with tempfile.TemporaryDirectory(prefix="remloom-reader-") as folder:
        measure(Path(folder), [int(size) for size in given.sizes], results)
    if given.page:
        put_into_page({"times": table(results.found)}, PAGE)


if __name__ == "__main__":
    main()
