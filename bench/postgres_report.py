"""The section of docs/benchmarks.md about the PostgreSQL store."""

from __future__ import annotations

from .targets import Found, Row, shown_time

__all__ = ["section"]

_AT = "/100000/postgres"
# What, the bar, the measurement, and the least of `ratio` or of a fact that meets it.
_TARGETS: tuple[tuple[str, str, str, dict[str, float]], ...] = (
    ("get by id, typed", "", f"get{_AT}", {}),
    ("LOOKUP with edges", "0.5 of a prepared SELECT", f"lookup{_AT}", {"ratio": 0.5}),
    ("FUZZY, 1 typo", "100/s at recall@5 0.95", f"fuzzy-1{_AT}", {"rate": 100, "recall": 0.95}),
    ("FUZZY, 2 typos", "100/s at recall@5 0.95", f"fuzzy-2{_AT}", {"rate": 100, "recall": 0.95}),
    (
        "SEARCH, k = 10, 384 dimensions",
        "500/s at recall@10 0.97",
        f"search{_AT}",
        {"rate": 500, "recall": 0.97},
    ),
    ("SEARCH, filter keeps 1 %", "recall 0.95", f"search-keep-1%{_AT}", {"recall": 0.95}),
    ("text, 3 words", "", f"text{_AT}", {}),
    (
        "a walk of depth 3, from hubs",
        "1.5 times the bare SQL (0.67)",
        f"walk{_AT}",
        {"ratio": 0.667},
    ),
    ("a walk, against one from Python", "10 times as quick", f"walk-by-hand{_AT}", {"ratio": 10}),
    ("TRAVERSE with its records", "", f"traverse{_AT}", {}),
    (
        "SEARCH of a small tenant",
        "± 50 %",
        f"beside-others-search{_AT}",
        {"ratio": 0.5},
    ),
    ("LOOKUP of a small tenant", "± 50 %", f"beside-others-lookup{_AT}", {"ratio": 0.5}),
    ("FUZZY of a small tenant", "± 50 %", f"beside-others-fuzzy{_AT}", {"ratio": 0.5}),
    ("text search of a small tenant", "± 50 %", f"beside-others-text{_AT}", {"ratio": 0.5}),
    ("write entities", "20,000/s", f"write-entities{_AT}", {"rate": 20_000}),
    ("write edges", "20,000/s", f"write-edges{_AT}", {"rate": 20_000}),
    ("write chunks with vectors and text", "", f"write-resources{_AT}", {}),
)


def section(found: Found, load: Found) -> str:
    """Each bar beside what was measured, and the load test."""
    speeds = [row["load"] for row in found.values()]
    busy = speeds and (
        f" The machine was shared, with load averages of {min(speeds):.0f} to {max(speeds):.0f}: an idle one is faster."
    )
    lines = [
        "## PostgreSQL",
        "",
        "`python -m bench.postgres`: PostgreSQL 18 with pgvector over its local socket, one client, 100,000 records a "
        "tenant, in turns with a bare statement through the same driver." + (busy or ""),
        "",
        "| what | target | measured | rate against a bare reference | |",
        "|---|---|---|---|---|",
    ]
    for what, bar, id, least in _TARGETS:
        lines.append(_line(what, bar, found.get(id), least))
    lines += ["", *_load_test(load)]
    return "\n".join(lines) + "\n"


def _line(what: str, bar: str, row: Row | None, least: dict[str, float]) -> str:
    if row is None:
        return f"| {what} | {bar} | not measured | | |"
    ours = row["ours"]
    shown = f"{ours['rate']:,.0f}/s"
    if "recall" in row:
        shown += f", recall {row['recall']:.3f}"
    beside = ""
    if "reference" in row:
        beside = f"{row['ratio']:.2f} × {row['against']}"
    values = {"rate": ours["rate"], "ratio": row.get("ratio", 0), "recall": row.get("recall", 0)}
    verdict = (
        ""
        if not least
        else "met"
        if all(values[k] >= v for k, v in least.items())
        else "**not met**"
    )
    return f"| {what} | {bar} | {shown} | {beside} | {verdict} |"


def _load_test(load: Found) -> list[str]:
    if "load" not in load:
        return []
    whole = load["load"]
    times = [
        f"p{part} {shown_time(whole[f'p{part}_ms'] * 1_000)}" for part in ("50", "95", "99", "99.9")
    ]
    return [
        f"**Load test** (`python -m bench.load`): {whole['connections']} connections, {whole['tenants']} tenants, "
        f"reads and writes at random for {whole['minutes']:g} minutes, server and clients on the same two cores: "
        f"{whole['calls']:,} calls, {whole['errors']} errors, {whole['disagreements']} disagreements between tables "
        f"and indexes afterwards; {', '.join(times)}.",
    ]
