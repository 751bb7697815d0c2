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
    left_out = "; ".join(
        f"{', '.join(f'`{name}`' for name, call in flat.CALLS.items() if call.left_out == why)}: {why}"
        for why in dict.fromkeys(call.left_out for call in flat.CALLS.values() if call.left_out)
    )
    return "\n".join(
        [
            "## What does not grow",
            "",
            "`make flat` calls every public method of `Memory` in tenants of 10³ to 10⁵ records, half of them chunks",
            "with a vector, and appends to chats of 10² to 10⁵ turns, in turns between the sizes. The times are CPU",
            "time of the calling thread, medians, warm, without a key. What touches one thing is not to grow by more",
            "than a half; a test counts the same in steps of SQLite's virtual machine. Of what grows more, the last",
            "column says why.",
            "",
            *_table(methods),
            *([] if not large else ["Among 10⁶ records, without vectors:", "", *_table(large)]),
            f"Not measured: {left_out}.",
            "",
            "Turns of a chat that is there, without an embedder:",
            "",
            *_table(chats),
            *_loops(loops),
        ]
    )


def _table(rows: dict[str, Row]) -> list[str]:
    sizes = sorted({size for row in rows.values() for size in row["cpu_us"]}, key=int)
    lines = [
        f"| | {' | '.join(_SHOWN.get(size, f'{int(size):,}') for size in sizes)} | growth | |",
        "|---|" + "---|" * (len(sizes) + 2),
    ]
    for name, row in rows.items():
        cells = [shown_time(row["cpu_us"][size]) if size in row["cpu_us"] else "" for size in sizes]
        grown = row["growth"] > flat.BAR
        why = row["grows"] if grown and row["grows"] else ("**too much**" if grown else "")
        lines.append(f"| `{name}` | {' | '.join(cells)} | × {row['growth']:.2f} | {why} |")
    return [*lines, ""]


def _loops(rows: dict[str, Row]) -> list[str]:
    if not rows:
        return []
    lines = [
        "An agent's loop on one memory (`python -m bench.loop`): after each exchange two turns are appended, then",
        "`recall` and `context` are asked. CPU time of the calling thread, medians of a twentieth of the exchanges:",
        "the second twentieth, for the first begins with nothing, and the last.",
        "",
        "| embedder | exchanges | step | at the start | at the end | growth | |",
        "|---|---|---|---|---|---|---|",
    ]
    for embedder, row in rows.items():
        for step in loop.STEPS:
            cpu = row[step]["cpu_ms"]
            cells = [
                embedder,
                f"{row['exchanges']:,}",
                step,
                f"{cpu[1]:.1f} ms",
                f"{cpu[-1]:.1f} ms",
            ]
            lines.append(
                f"| {' | '.join(cells)} | × {row[step]['growth']:.2f} | {loop.picture(cpu)} |"
            )
    return [*lines, ""]
