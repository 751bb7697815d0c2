"""The part of docs/benchmarks.md about costs that do not grow, from bench/results/flat.json."""

from __future__ import annotations

from . import flat, loop
from .targets import Found, Row, shown_time

_SHOWN = {"1000": "10³", "10000": "10⁴", "100000": "10⁵", "1000000": "10⁶"}


def section(found: Found) -> str:
    """The tables of methods, of chats and of an agent's loop."""
    if not found:
        return ""
    methods = {name: found[name] for name in flat.CALLS if name in found}
    chats = {id.removeprefix("chat: "): row for id, row in found.items() if id.startswith("chat: ")}
    loops = {id.removeprefix("loop: "): row for id, row in found.items() if id.startswith("loop: ")}
    large = {id.partition("/")[0]: row for id, row in found.items() if "/" in id}
    grown = {name: row for name, row in methods.items() if row["growth"] > flat.BAR}
    flat_ones = {name: row for name, row in methods.items() if name not in grown}
    return "\n".join(
        [
            "## What does not grow",
            "",
            "`make flat` calls the methods of `Memory` in tenants of 10³ to 10⁵ records (`bench/flat.py` says which it",
            "leaves out, and why). Times are the median CPU time of the calling thread, warm, without a key. A call about",
            "one thing may grow by at most a half; a test counts the steps of SQLite's virtual machine.",
            f"{len(flat_ones)} calls grow by × {max(row['growth'] for row in flat_ones.values()):.2f} at most. These grow more:",
            "",
            *_table(grown),
            *([] if not large else ["Among 10⁶ records, without vectors:", "", *_table(large)]),
            "Appending to a chat of 10² to 10⁵ turns, without an embedder:",
            "",
            *_table(chats),
            *_loops(loops),
        ]
    )


def _table(rows: dict[str, Row]) -> list[str]:
    sizes = sorted({size for row in rows.values() for size in row["cpu_us"]}, key=int)
    sizes = [sizes[0], sizes[-1]]
    lines = [
        f"| | {' | '.join(_SHOWN.get(size, f'{int(size):,}') for size in sizes)} | growth | |",
        "|---|" + "---|" * (len(sizes) + 2),
    ]
    for name, row in rows.items():
        cells = [shown_time(row["cpu_us"][size]) if size in row["cpu_us"] else "" for size in sizes]
        grown = row["growth"] > flat.BAR
        why = row["grows"] if grown and row["grows"] else ("**too much**" if grown else "")
        lines.append(f"| `{name}` | {' | '.join(cells)} | {row['growth']:.2f} | {why} |")
    return [*lines, ""]


def _loops(rows: dict[str, Row]) -> list[str]:
    if not rows:
        return []
    lines = [
        "An agent's loop on one memory (`python -m bench.loop`), two turns an exchange. CPU time of the calling thread in",
        "ms, medians of the second → the last twentieth of the exchanges:",
        "",
        f"| embedder | {' | '.join(f'{name} | growth' for name in rows)} |",
        "|---|" + "---|---|" * len(rows),
    ]
    for step in loop.STEPS:
        cells = [
            f"{row[step]['cpu_ms'][1]:.1f} → {row[step]['cpu_ms'][-1]:.1f} | {row[step]['growth']:.2f}"
            for row in rows.values()
        ]
        lines.append(f"| {step} | {' | '.join(cells)} |")
    return [*lines, ""]
