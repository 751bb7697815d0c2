"""The page docs/conformance.md, made of what the runs wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten

from .outcomes import Outcomes
from .suite import HERE

__all__ = ["page_of", "write_page"]

PAGE = HERE.parent.parent / "docs" / "conformance.md"
_HEAD = """# Conformance

These are the test suites of other projects, run against Remloom. `make conformance` downloads each suite at the
version below, points it at Remloom by a plugin in `bench/conformance/`, and writes this page. No test was changed.
Every outcome, with the name of its test, is in `bench/results/conformance/`.

| suite | version | passed | failed | skipped | not applicable |
|---|---|---|---|---|---|"""
_LISTED = 3  # tests of one reason, from which on it is listed
_REASONS = "## What did not pass, and why\n"


def write_page(found: Sequence[Outcomes]) -> Path:
    """Write the page; returns its path."""
    PAGE.write_text(page_of(found), "utf-8")
    return PAGE


def page_of(found: Sequence[Outcomes]) -> str:
    """Make the page of what became of each suite."""
    return "\n".join([_HEAD, *map(_row, found), "", _REASONS, *_reasons(found), ""])


def _row(outcomes: Outcomes) -> str:
    counts = [outcomes.count(name) for name in ("passed", "failed", "skipped", "not applicable")]
    cells = [outcomes.title, f"{outcomes.package} {outcomes.version}", *map(str, counts)]
    return f"| {' | '.join(cells)} |"


def _reasons(found: Sequence[Outcomes]) -> list[str]:
    """What did not pass, and why, the most frequent reasons first."""
    reasons = Counter(
        (status, _first_sentence(outcome.reason) or "the suite gives no reason")
        for outcomes in found
        for status in ("failed", "skipped", "not applicable")
        for outcome in outcomes.of(status)
    )
    listed = {
        key: count for key, count in reasons.most_common() if count >= _LISTED or key[0] == "failed"
    }
    rows = [f"- {count} {status}: {why}" for (status, why), count in listed.items()]
    return [
        *rows,
        f"- {reasons.total() - sum(listed.values())} for reasons of one or two tests each",
    ]


def _first_sentence(reason: str) -> str:
    sentence = reason.removeprefix("Skipped: ").partition(". ")[0]
    return shorten(sentence, 130, placeholder=" …")
