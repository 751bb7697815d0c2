"""What the attacks share: rounds, short by default and long with `--long`, and the counts of what
was tried.

    make attack                              # everything, long; the counts go to bench/results/attack.json
    pytest -n0 tests/attack/test_sql.py      # the short form of one attack, which is what `make test` runs
    pytest --long tests/attack/test_sql.py   # the long form of one: its counts replace those it had in the file

A test asks `rounds(short, long)` how often to try, and says `counted("hostile SELECTs, sqlite", n)`
when it has. What a failed test counted is not kept. `python -m bench.attack` writes the counts into
docs/guarantees.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tried import Counted, Rounds

from remloom import Home

RESULTS = Path(__file__).parent.parent.parent / "bench" / "results" / "attack.json"
_COUNTS = "attack counts"


@pytest.fixture
def long(request: pytest.FixtureRequest) -> bool:
    """Is this the long form?"""
    return bool(request.config.getoption("--long", default=False))


@pytest.fixture
def rounds(long: bool) -> Rounds:
    """`rounds(short, long)`: how often to try."""
    return lambda short, many: many if long else short


@pytest.fixture
def counted(request: pytest.FixtureRequest) -> Counted:
    """`counted(what, n)`: so many were tried; the same words again add up."""

    def counted(what: str, tried: int) -> None:
        request.node.user_properties.append((_COUNTS, (what, tried)))

    return counted


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest) -> str:
    """The name of a store: a test that takes it runs once for each."""
    return str(request.param)


@pytest.fixture
def home(request: pytest.FixtureRequest, store: str) -> Iterator[str]:
    """An empty home in that store, as `Memory.open` takes it: a folder, or the URL of an empty
    database."""
    if store == "sqlite":
        yield str(request.getfixturevalue("tmp_path") / "home")
        return
    from postgres_server import database

    with database(request.getfixturevalue("postgres")) as url:
        Home(url).migrate()
        yield url


# -- the table of counts ---------------------------------------------------------------------------


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    reports = [
        report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, ())
    ]
    found = _found(reports)
    if not found:
        return
    long = config.getoption("--long", default=False)
    terminalreporter.section(f"attacks, {'long' if long else 'short'} form")
    for row in found.values():
        shown = f"{row['count']:>9,}  {row['what']}"
        terminalreporter.write_line(shown if row["held"] else f"{shown}   FAILED: {row['test']}")
    if long:
        write(found)


def _found(reports: list[Any]) -> dict[str, dict[str, Any]]:
    """What was counted, by its words; a count of which a test failed did not hold."""
    found: dict[str, dict[str, Any]] = {}
    for report in reports:
        if report.when != "call":
            continue
        for key, told in report.user_properties:
            if key != _COUNTS:
                continue
            what, tried = told
            row = found.setdefault(
                what, {"what": what, "count": 0, "seconds": 0.0, "held": True, "test": ""}
            )
            row["count"] += tried
            row["seconds"] = round(row["seconds"] + report.duration, 1)
            row["test"] = report.nodeid.split("[")[0]
            row["held"] = row["held"] and report.passed
    return found


def write(found: dict[str, dict[str, Any]]) -> None:
    """Replace what the file says of these; what failed is taken out of it."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for what, row in found.items():
        if row["held"]:
            day = datetime.now(UTC).date().isoformat()
            kept[what] = {
                "count": row["count"],
                "seconds": row["seconds"],
                "test": row["test"],
                "day": day,
            }
        else:
            kept.pop(what, None)
    RESULTS.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n", encoding="utf-8")
