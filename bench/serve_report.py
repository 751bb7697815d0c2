"""The section of docs/benchmarks.md on the server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .targets import shown_time

_HEAD = """## The server

`remloom serve` in a process of its own, with its checks, next to the same calls in process (`python -m bench.serve`):
10,000 chunks with vectors and as many names, encrypted, over kept connections. The load average reached {load:.0f}.

| call | CPU of a request | in process | p50 more |
|---|---|---|---|"""


def section(found: dict[str, dict[str, Any]]) -> str:
    """Write what was measured of the server; nothing when nothing was."""
    if not found:
        return ""
    load = max(row["load"] for row in found.values())
    lines = [
        _HEAD.format(load=load),
        *_calls(found),
        "",
        *_doors(found),
        "",
        *_at_once(found),
        "",
        *_held(found),
    ]
    return "\n".join(lines) + "\n"


def _calls(found: dict[str, dict[str, Any]]) -> Iterator[str]:
    for name, row in found.items():
        if "cpu ratio" in row:
            ours, inside = shown_time(row["cpu"]), shown_time(row["cpu in process"])
            more = f"{row['p50 more, ms']:.1f} ms"
            yield f"| {name} | {ours} | {inside} | {more} |"


def _doors(found: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Tell what a tool costs over MCP, beside REST."""
    for name, row in found.items():
        shown = [
            f"{door.removesuffix(', times')} × {times}"
            for door, times in row.items()
            if door.endswith(", times")
        ]
        if shown:
            cost = shown_time(row["REST, us"])
            yield f"- {name}: REST {cost}; {', '.join(shown)}."


def _at_once(found: dict[str, dict[str, Any]]) -> Iterator[str]:
    yield "| at once | requests/s | p50 | p99 |"
    yield "|---|---|---|---|"
    for name, row in found.items():
        if "p99 by p50" in row:
            ours = row["ours"]
            p50, p99 = shown_time(ours["p50"]), shown_time(ours["p99"])
            yield f"| {name} | {ours['rate']:,.0f} | {p50} | {p99} |"


def _held(found: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Tell what the server holds after many tenants, and after a long time."""
    yield "Resident memory and open files after:"
    yield ""
    held = [(name, row) for name, row in found.items() if "MB" in row]
    for name, row in sorted(
        held, key=lambda pair: int(pair[0].split()[0]) if pair[0][0].isdigit() else 0
    ):
        if "MB before" in row:
            yield f"- the first tenth of the soak: {row['MB before']:,.0f} MB, {row['files before']}"
        yield f"- {name}: {row['MB']:,.0f} MB, {row['files']}"
