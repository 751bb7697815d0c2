"""Schemathesis, which asks a server everything that its OpenAPI description allows and forbids."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.request import urlopen
from xml.etree import ElementTree

from remloom import Memory
from remloom.settings import Settings
from remloom.tenancy.api_keys import SCOPES, ApiKeys

from .environment import interpreter
from .outcomes import Outcome, Outcomes
from .suite import HERE, Suite

__all__ = ["run"]

_CHECKS = HERE / "configuration" / "schemathesis.toml"
_OPTIONS = (
    "--phases=coverage,fuzzing",
    "--max-examples=5",
    "--workers=1",
    "--continue-on-failure",
    "--generation-deterministic",
    "--suppress-health-check=all",
    "--warnings=off",
    "--no-color",
)
_SECONDS = 1_200  # until a run is given up
_START = 60.0  # seconds until the server must listen
_LONGEST = 1000  # characters of a reason


def run(suite: Suite, folder: Path) -> Outcomes:
    """Ask each operation of a server of its own.

    Raises:
        SystemExit: the server does not start, or the suite does not run.
    """
    python = interpreter(suite.requires)
    with tempfile.TemporaryDirectory() as name, _serving(Path(name) / "home") as (url, key):
        report = Path(name) / "junit.xml"
        command = [python, "-m", "schemathesis.cli", "--config-file", str(_CHECKS), "run"]
        options = [*_OPTIONS, f"--header=Authorization: Bearer {key}", "--report=junit"]
        options += [f"--report-junit-path={report}", f"{url}/openapi.json"]
        done = subprocess.run(
            [*command, *options],
            cwd=name,
            env=os.environ | {"PYTHONPATH": str(_CHECKS.parent)},  # of its hooks
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
        if not report.exists():
            raise SystemExit(f"schemathesis did not run:\n{done.stdout[-5_000:]}\n{done.stderr}")
        tests = tuple(_outcome(case) for case in ElementTree.parse(report).iter("testcase"))
    return Outcomes(suite.name, suite.title, suite.package, suite.version, tests)


@contextmanager
def _serving(home: Path) -> Iterator[tuple[str, str]]:
    """Serve a home with a record in it; gives the address, and a key."""
    settings = Settings.load(home=str(home), tenant="default", embedder="none")
    with Memory.open(home, embedder="none") as memory:
        memory.read_text("Sarah Chen manages Bob.", uri="notes/team.md")
    with ApiKeys(settings) as keys:
        key = keys.create("conformance", SCOPES, tenant="default").key
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{listener.getsockname()[1]}"
    environment = os.environ | {
        "PYTHONPATH": str(HERE.parent.parent / "src"),
        "REMLOOM_HOME": str(home),
        "REMLOOM_EMBEDDER": "none",
        "REMLOOM_SERVE_RATE": "0",
    }
    command = [sys.executable, "-m", "remloom", "serve", "--bind", place]
    log = home.with_suffix(".log")
    with log.open("wb") as written:
        process = subprocess.Popen(command, env=environment, stdout=written, stderr=written)
    try:
        _wait(process, f"http://{place}/health/live", log)
        yield f"http://{place}", key
    finally:
        process.terminate()
        process.wait(60)


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    end = time.monotonic() + _START
    while time.monotonic() < end and process.poll() is None:
        with suppress(OSError), urlopen(url):
            return
        time.sleep(0.1)
    raise SystemExit(f"the server did not start:\n{log.read_text()}")


def _outcome(case: ElementTree.Element) -> Outcome:
    name = case.get("name", "")
    for kind in ("failure", "error"):
        told = [one.text or one.get("message", "") for one in case.iter(kind)]
        if told:
            return Outcome(name, "failed", " ".join(" ".join(told).split())[:_LONGEST])
    for skipped in case.iter("skipped"):
        return Outcome(name, "skipped", skipped.get("message", ""))
    return Outcome(name, "passed")
