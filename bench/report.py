"""Write docs/benchmarks.md and docs/img/bench.svg from bench/results/*.json: python -m
bench.report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import flat_report, postgres_report, serve_report, targets
from .measure import RESULTS
from .targets import Found, Row, shown_time

DOCS = Path(__file__).parent.parent / "docs"
SIZES = (1_000, 100_000, 1_000_000)
PEERS = ("Remloom", "Chroma", "LanceDB", "LangGraph SqliteStore")
TASKS = {"add": "add", "search": "search", "filtered": "filtered search", "get": "get by id"}

_READS = {
    "get by id": "get",
    "LOOKUP": "lookup",
    "FUZZY, 1 typo": "fuzzy-1",
    "FUZZY, 2 typos": "fuzzy-2",
    "SEARCH, k = 10": "search",
    "SEARCH, filter keeps 1 %": "search-keep-1%",
    "text, 3 words": "text",
    "TRAVERSE depth 3, from hubs": "traverse",
}
_WRITES = {
    "entities": "write-entities",
    "edges, into few": "write-edges",
    "edges, the last 5 %": "write-edges-late",
    "resources with vector, text, name": "write-resources",
    "one resource a call": "create-resource",
    "one entity a call": "create-entity",
    "one edge a call": "create-edge",
}
_LINES = (
    "get by id",
    "LOOKUP",
    "FUZZY, 1 typo",
    "SEARCH, k = 10",
    "text, 3 words",
    "TRAVERSE depth 3, from hubs",
)


def main() -> None:
    ours, peers = _load("remloom"), _load("peers")
    measured = ours["measurements"]
    sections = [
        _head(ours),
        targets_table(measured),
        _table(
            "## By size",
            "The median time of a call, encrypted. For TRAVERSE the size is the number of edges, over a tenth as many "
            "nodes. A million vectors are not measured.",
            _READS,
            measured,
            lambda row: shown_time(row["ours"]["p50"]),
        ),
        _table(
            "## Writing",
            "Rows a second, durable; the first four in batches of 1,000.",
            _WRITES,
            measured,
            lambda row: f"{row['ours']['rate']:,.0f}",
        ),
        flat_report.section(_load("flat")["measurements"]),
        serve_report.section(_load("serve")["measurements"]),
        _peers(peers["measurements"]),
        postgres_report.section(_load("postgres")["measurements"], _load("load")["measurements"]),
        _METHOD,
    ]
    _plot(measured, peers["measurements"])
    (DOCS / "benchmarks.md").write_text("\n".join(sections), encoding="utf-8")
    print("written: docs/benchmarks.md, docs/img/bench.svg")


def _load(name: str) -> dict[str, Any]:
    path = RESULTS / f"{name}.json"
    return (
        json.loads(path.read_text(encoding="utf-8"))
        if path.exists()
        else {"machine": "", "measurements": {}}
    )


def _head(results: dict[str, Any]) -> str:
    rows = results["measurements"].values()
    days = sorted(row["at"][:10] for row in rows) or ["never"]
    load = max((row["load"] for row in rows), default=0.0)
    return f"""# Benchmarks

How fast is Remloom? ([Recall, measured](recall-quality.md) says how well it finds things.) `make bench` measures everything through the public
`Memory`; `python -m bench.report` writes this page from `bench/results/`, which also has the p99 of every call.

Machine: {results["machine"]}; {" to ".join(dict.fromkeys((days[0], days[-1])))}, with a load average of up to {load:.1f} (the benchmark itself makes 1 to 2). Each measurement took turns with a
raw reference doing the same work: **trust the ratios** more than the rates.

![Cost by size, and the same work done by other systems](img/bench.svg)
"""


def targets_table(found: Found) -> str:
    """Each target beside what was measured, and whether it is met."""
    lines = [
        "## Targets",
        "",
        "One thread, warm, one encrypted tenant of 100,000 records unless stated. Writes are durable, 1,000 a batch.",
        "The targets come from a machine on which the standard library's `sqlite3` reads 106,000 rows of 0.9 kB a",
        "second; “at full speed” allows for the speed of this one.",
        "",
        "| what | target | measured | rate against a raw reference | |",
        "|---|---|---|---|---|",
    ]
    for target in targets.all_targets():
        try:
            measured, verdict = target.verdict(found)
        except KeyError:
            lines.append(f"| {target.what} | {target.bar} | not measured | | |")
            continue
        beside = _reference(found.get(target.beside, {}))
        lines.append(f"| {target.what} | {target.bar} | {measured} | {beside} | {verdict} |")
    return "\n".join([*lines, ""])


def _reference(row: Row) -> str:
    if "reference" not in row:
        return ""
    return f"{row['ratio']:.2f} × {row['against']}"


def _table(
    title: str, text: str, rows: dict[str, str], found: Found, cell: Callable[[Row], str]
) -> str:
    lines = [title, "", text, "", "| | 10³ | 10⁵ | 10⁶ |", "|---|---|---|---|"]
    for label, what in rows.items():
        found_rows = [found.get(f"{what}/{size}/encrypted") for size in SIZES]
        if any(found_rows):
            cells = [cell(row) if row else "" for row in found_rows]
            lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _peers(found: Found) -> str:
    lines = [
        "## The same work, other systems",
        "",
        "20,000 documents of some 900 characters with a 384-dimensional vector, on disk. Remloom is encrypted and also "
        "indexes words and names. HNSW with M 16, efConstruction 200, ef 50; LangGraph's store has none.",
        "",
        "| | version | adds/s | index complete after | searches/s (recall) | filter keeping 1 % (recall) | gets/s |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in PEERS:
        if f"get/{name}" not in found:
            lines.append(f"| {name} | | not measured | | | | |")
            continue
        add, search, filtered, get = (found[f"{task}/{name}"] for task in TASKS)
        searches = [
            f"{row['ours']['rate']:,.0f} ({row['recall']:.3f})" for row in (search, filtered)
        ]
        adding = [f"{add['ours']['rate']:,.0f}", f"{add['finishing']:.0f} s"]
        cells = [name, add["version"], *adding, *searches, f"{get['ours']['rate']:,.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


_METHOD = """## Method

- Data is synthetic and follows from seeds (`bench/data.py`): text with Zipf word frequencies, vectors in clusters, names
  with typos, a power-law graph whose largest node has some 3,000 edges.
- Each call is timed on its own, warm, in turns with a reference: `sqlite3` and `json.loads`, numpy, rapidfuzz, or bare
  inserts into a table with two indexes, equally durable and encrypted.
- Recall is against exact answers.
"""


def _plot(ours: Found, peers: Found) -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"svg.hashsalt": "remloom", "font.size": 9})
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    for label in _LINES:
        points = [
            (size, ours[id]["ours"]["p50"])
            for size in SIZES
            if (id := f"{_READS[label]}/{size}/encrypted") in ours
        ]
        if points:
            left.plot(
                *zip(*points, strict=True), marker="o", markersize=3, label=label.partition(",")[0]
            )
    left.set(xscale="log", yscale="log", title="Cost by size, encrypted")
    left.set(xlabel="records (TRAVERSE: edges)", ylabel="µs a call (p50)")
    for number, name in enumerate(name for name in PEERS if f"get/{name}" in peers):
        heights = [peers[f"{task}/{name}"]["ours"]["rate"] for task in TASKS]
        right.bar([at + number * 0.2 for at in range(len(TASKS))], heights, width=0.19, label=name)
    right.set(yscale="log", ylabel="a second", title="The same work, 20,000 documents")
    right.set_xticks([at + 0.3 for at in range(len(TASKS))], list(TASKS.values()))
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8)
    (DOCS / "img").mkdir(exist_ok=True)
    figure.savefig(DOCS / "img" / "bench.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
