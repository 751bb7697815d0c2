"""Write the table of attacks in docs/guarantees.md from bench/results/attack.json: python -m
bench.attack."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from .measure import RESULTS

PAGE = Path(__file__).parent.parent / "docs" / "guarantees.md"
_PLACE = re.compile(r"(<!-- attacks -->\n).*?(<!-- /attacks -->)", re.DOTALL)


def main() -> None:
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), load()), encoding="utf-8")
    print(f"written: {PAGE.name}")


def load() -> dict[str, dict[str, Any]]:
    """What the long form counted, by what was tried."""
    path = RESULTS / "attack.json"
    found: dict[str, dict[str, Any]] = (
        json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    )
    return found


def written(page: str, counts: dict[str, dict[str, Any]]) -> str:
    """The page with these counts in it."""
    rows = ["| attack | tried | test |", "|---|---:|---|"]
    for what, row in counts.items():
        rows.append(
            f"| {what} | {row['count']:,} |"
            f" `{row['test'].removeprefix('tests/attack/').split('::')[0]}` |"
        )
    table = "\n".join(rows) + "\n" if counts else ""
    return _PLACE.sub(lambda found: found[1] + table + found[2], page)


if __name__ == "__main__":
    main()
