"""The scenarios of MCP's conformance suite, against two servers: Remloom's own, and the SDK's
fixtures behind Remloom's guard.

Most scenarios call tools that no product has (`test_simple_text`, …): what they say of Remloom,
they say of its guard, which stands before the fixtures.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from .mcp_servers import serving
from .node import node_package, run_node
from .outcomes import Outcome, Outcomes
from .runner import download
from .suite import Suite

__all__ = ["run"]

_SDK = "2.3.0"  # of `mcp`, whose sdist has the fixtures
_FIXTURES = Path("examples") / "servers" / "everything-server"
_UNSCORED = re.compile(r"^ {2}[✓✗] (\S+) \((.+)\)$", re.MULTILINE)
_FOLDER = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
_STATUSES = {"SUCCESS": "passed", "FAILURE": "failed"}


def run(suite: Suite, folder: Path) -> Outcomes:
    """Run what the revision of the suite's name requires."""
    revision = suite.name.removeprefix("mcp-")
    package = node_package(suite.package, suite.version)
    sources = download(replace(suite, package="mcp", version=_SDK))
    tests: list[Outcome] = []
    for server, arguments in (("remloom", ()), ("fixtures", (str(sources / _FIXTURES),))):
        with serving(server, *arguments) as url, tempfile.TemporaryDirectory() as name:
            script = str(package / "dist" / "index.js")
            options = ("--url", url, "--requirements", revision, "-o", name)
            done = run_node(script, "server", *options, seconds=300)
            unscored = dict(_UNSCORED.findall(done.stdout.partition("Not scored")[2]))
            found = list(_outcomes(suite, server, Path(name), unscored))
            if not found:
                raise SystemExit(f"{suite.name} checked nothing:\n{done.stdout}{done.stderr}")
            tests += found
    return Outcomes(suite.name, suite.title, suite.package, suite.version, tuple(tests))


def _outcomes(
    suite: Suite, server: str, folder: Path, unscored: dict[str, str]
) -> Iterator[Outcome]:
    """What became of each check, in the order of their names."""
    for path in sorted(folder.glob("*/checks.json")):
        named = _FOLDER.fullmatch(path.parent.name)
        scenario = named.group(1) if named else path.parent.name
        place = f"{server}/{scenario}"
        for check in json.loads(path.read_text("utf-8")):
            test = f"{place}/{check['id']}"
            status = _STATUSES.get(check["status"], "skipped")
            reason = "" if status == "passed" else str(check.get("errorMessage", ""))
            excused = suite.not_applicable.get(test) or suite.not_applicable.get(place, "")
            if scenario in unscored:
                excused = f"not scored by the suite: {unscored[scenario]}"
            if status == "failed" and excused:
                status, reason = "not applicable", excused
            yield Outcome(test, status, reason)
