"""A plugin of pytest: leaves out what does not apply, and writes down what became of the rest.

Reads the names of tests that do not apply, with their reasons, from the JSON file that the
environment variable CONFORMANCE_LEFT_OUT names, and writes to the one of CONFORMANCE_OUTCOMES.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

_left_out: dict[str, str] = json.loads(Path(os.environ["CONFORMANCE_LEFT_OUT"]).read_text("utf-8"))
_used: set[str] = set()
_outcomes: dict[str, tuple[str, str]] = {}  # id of a test -> status, reason


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept = []
    for item in items:
        name = _name_in(_left_out, item)
        if name is None:
            kept.append(item)
            continue
        _used.add(name)
        _outcomes[item.nodeid] = ("not applicable", _left_out[name])
    items[:] = kept


def _name_in(names: dict[str, str], item: pytest.Item) -> str | None:
    """The name by which a test is listed: its whole id, its path, or its name, with or without
    parameters."""
    bare = item.nodeid.partition("[")[0]
    for name in (item.nodeid, bare, bare.split("/")[-1], item.name, bare.split("::")[-1]):
        if name in names:
            return name
    return None


def pytest_runtest_logreport(report: Any) -> None:
    if report.outcome == "failed":
        reason = str(getattr(report.longrepr, "reprcrash", report.longrepr))
        _outcomes[report.nodeid] = ("failed", reason.strip()[-500:])
    elif report.outcome == "skipped":
        _outcomes.setdefault(report.nodeid, ("skipped", _reason_of(report)))
    elif report.when == "call":
        _outcomes[report.nodeid] = ("passed", "")


def _reason_of(report: Any) -> str:
    if expected := getattr(report, "wasxfail", ""):
        return f"expected to fail: {expected}"
    return str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)


def pytest_collectreport(report: Any) -> None:
    if report.failed:
        _outcomes[report.nodeid] = ("failed", f"not collected: {report.longrepr}"[-500:])


def pytest_sessionfinish() -> None:
    # a list that names what is not there has been left behind by its suite
    for name in _left_out.keys() - _used:
        _outcomes[name] = ("failed", "listed as not applicable, but there is no such test")
    shown = [[test, *outcome] for test, outcome in _outcomes.items()]
    Path(os.environ["CONFORMANCE_OUTCOMES"]).write_text(json.dumps(shown), "utf-8")
