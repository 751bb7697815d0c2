"""MCP inspector's command line, which lists and calls what a server has, over HTTP and stdio."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from .mcp_servers import serving
from .node import node_package, run_node
from .outcomes import Outcome, Outcomes
from .suite import HERE, Suite

__all__ = ["run"]

# method and its options -> the field that the answer has to have
_CALLS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    # strict: schemas that other clients cannot read are errors
    ("tools/list", ("--strict",), "tools"),
    ("tools/call", ("--tool-name", "remember", "--tool-arg", "text=Bob likes tea."), "content"),
    ("tools/call", ("--tool-name", "lookup", "--tool-arg", 'labels=["Bob"]'), "structuredContent"),
    ("tools/call", ("--tool-name", "recall", "--tool-arg", "question=Likes Bob tea?"), "content"),
    ("resources/list", (), "resources"),
    ("resources/templates/list", (), "resourceTemplates"),
    ("resources/read", ("--uri", "memory://dialect"), "contents"),
    ("prompts/list", (), "prompts"),
    ("prompts/get", ("--prompt-name", "context", "--prompt-args", "question=Tea?"), "messages"),
)  # fmt: skip


def run(suite: Suite, folder: Path) -> Outcomes:
    """Make each call over both transports."""
    package = node_package(suite.package, suite.version)
    program = str(package.parent.parent / ".bin" / "mcp-inspector")
    with serving("remloom") as url:
        tests = list(_calls(program, "http", [url, "--transport", "http"]))
    with tempfile.TemporaryDirectory() as home:
        source = str(HERE.parent.parent / "src")
        settings = {"REMLOOM_HOME": home, "REMLOOM_EMBEDDER": "none", "PYTHONPATH": source}
        variables = [part for name, value in settings.items() for part in ("-e", f"{name}={value}")]
        variables += ["-e", f"PATH={os.environ['PATH']}"]
        command = [sys.executable, "-m", "remloom", "mcp"]
        tests += _calls(program, "stdio", [*variables, *command, "--transport", "stdio"])
    return Outcomes(suite.name, suite.title, suite.package, suite.version, tuple(tests))


def _calls(program: str, transport: str, target: Sequence[str]) -> Iterator[Outcome]:
    for method, options, field in _CALLS:
        name = options[1] if options[1:] else ""
        test = "/".join(part for part in (transport, method, name) if part)
        done = run_node(program, "--cli", *target, "--method", method, *options, seconds=120)
        try:
            passed = field in json.loads(done.stdout) and not done.returncode
        except ValueError:
            passed = False
        reason = "" if passed else (done.stderr or done.stdout)[-500:]
        yield Outcome(test, "passed" if passed else "failed", reason)
