"""The page docs/conformance.md, made of what the runs wrote."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .outcomes import Outcomes
from .suite import HERE

__all__ = ["page_of", "write_page"]

PAGE = HERE.parent.parent / "docs" / "conformance.md"
_HEAD = """# Conformance

What others wrote to test their own software, run against Remloom. `make conformance` downloads each suite at the version below, from the
package index, points it at Remloom by a small plugin (`bench/conformance/`), runs it, and writes this page. None of these tests is part of
the repository, and none was changed. What is not applicable is left out by name, with the reason.

| suite | version | passed | failed | skipped | not applicable |
|---|---|---|---|---|---|"""


def write_page(found: Sequence[Outcomes]) -> Path:
    """Write the page; returns its path."""
    PAGE.write_text(page_of(found), "utf-8")
    return PAGE


def page_of(found: Sequence[Outcomes]) -> str:
    """Make the page of what became of each suite."""
    rows = [_row(outcomes) for outcomes in found]
    sections = [section for outcomes in found if (section := _reasons(outcomes))]
    return "\n".join([_HEAD, *rows, "", *sections])


def _row(outcomes: Outcomes) -> str:
    counts = [outcomes.count(name) for name in ("passed", "failed", "skipped", "not applicable")]
    cells = [outcomes.title, f"{outcomes.package} {outcomes.version}", *map(str, counts)]
    return f"| {' | '.join(cells)} |"


def _reasons(outcomes: Outcomes) -> str:
    """What did not pass, and why: tests of one name and reason together."""
    reasons: dict[tuple[str, str, str], int] = {}
    for status in ("failed", "skipped", "not applicable"):
        for outcome in outcomes.of(status):
            name = outcome.test.partition("[")[0].split("::")[-1]
            reason = " ".join(outcome.reason.split()).replace("|", "\\|")[:300]
            key = (status, name, reason)
            reasons[key] = reasons.get(key, 0) + 1
    if not reasons:
        return ""
    lines = [f"## {outcomes.title}", "", "| test | | why |", "|---|---|---|"]
    for (status, name, reason), count in reasons.items():
        times = f" (×{count})" if count > 1 else ""
        lines.append(f"| `{name}`{times} | {status} | {reason} |")
    return "\n".join([*lines, ""])
