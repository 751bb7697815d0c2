"""What became of each test of a suite."""

from __future__ import annotations

import json
from pathlib import Path

from msgspec import Struct
from msgspec.structs import astuple

__all__ = ["STATUSES", "Outcome", "Outcomes", "load_outcomes"]

STATUSES = ("passed", "failed", "skipped", "not applicable")


class Outcome(Struct, frozen=True):
    """One test: what became of it, and why it did not pass."""

    test: str
    status: str  # of STATUSES
    reason: str = ""


class Outcomes(Struct, frozen=True):
    """All tests of a run of a suite."""

    suite: str
    title: str
    package: str
    version: str
    tests: tuple[Outcome, ...]

    def count(self, status: str) -> int:
        """Count the tests of which this became."""
        return sum(outcome.status == status for outcome in self.tests)

    def of(self, status: str) -> list[Outcome]:
        """List the tests of which this became."""
        return [outcome for outcome in self.tests if outcome.status == status]

    @property
    def is_passed(self) -> bool:
        """Whether something passed and nothing failed."""
        return self.count("passed") > 0 and not self.count("failed")

    def save(self, folder: Path) -> None:
        """Write them as JSON, in the order of the tests."""
        folder.mkdir(parents=True, exist_ok=True)
        head = {name: getattr(self, name) for name in ("suite", "title", "package", "version")}
        rows = [json.dumps(astuple(outcome), ensure_ascii=False) for outcome in self.tests]
        separator = ",\n  "
        # a line for each test, so that two runs can be compared
        text = json.dumps(head, indent=1, ensure_ascii=False)[:-2]
        text = f'{text},\n "tests": [\n  {separator.join(rows)}\n ]\n}}\n'
        (folder / f"{self.suite}.json").write_text(text, "utf-8")


def load_outcomes(path: Path) -> Outcomes:
    """Read what `save` wrote."""
    read = json.loads(path.read_text("utf-8"))
    tests = tuple(Outcome(*outcome) for outcome in read.pop("tests"))
    return Outcomes(tests=tests, **read)
