"""Run the suites of others and say what became of them: python -m bench.conformance [suite …]."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from ..measure import RESULTS
from .conformance_report import write_page
from .outcomes import STATUSES, load_outcomes
from .runner import run_suite
from .suite import load_suite, suite_names

FOLDER = RESULTS / "conformance"
_SHOWN = 20  # failures of a suite


def main() -> None:
    """Run what is asked for; ends with an error if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m bench.conformance", description=__doc__)
    parser.add_argument("suites", nargs="*", help=f"of {', '.join(suite_names())}; default all")
    parser.add_argument("--results", type=Path, default=FOLDER, help="where the JSON goes")
    parser.add_argument("--report", action="store_true", help="also write docs/conformance.md")
    parser.add_argument("--verbose", action="store_true", help="show what the tests print")
    given = parser.parse_args()
    failed = False
    for name in given.suites or suite_names():
        started = time.monotonic()
        outcomes = run_suite(load_suite(name), verbose=given.verbose)
        outcomes.save(given.results)
        failed |= not outcomes.is_passed
        counts = ", ".join(f"{outcomes.count(status)} {status}" for status in STATUSES)
        print(f"{name}: {counts}  ({time.monotonic() - started:.0f} s)")
        failures = outcomes.of("failed")
        for outcome in failures[:_SHOWN]:
            print(f"  FAILED {outcome.test}\n         {outcome.reason.splitlines()[-1][:300]}")
        if len(failures) > _SHOWN:
            print(f"  and {len(failures) - _SHOWN} more: see {given.results / name}.json")
    if given.report:
        found = [load_outcomes(path) for path in sorted(given.results.glob("*.json"))]
        print(f"written: {write_page(found)}")
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
