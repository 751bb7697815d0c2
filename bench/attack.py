"""Write the table of attacks in docs/guarantees.md from bench/results/attack.json: python -m
bench.attack."""

from __future__ import annotations

import json
import re
from collections import Counter
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
    """The page with these counts in it: a row for each kind of attack, over all stores, formats and
    kinds of work."""
    totals: Counter[str] = Counter()
    for attack, row in counts.items():
        kind = re.sub(r" in the middle of .*?(?=, |$)", " in the middle of work", attack)
        totals[_without_variant(kind)] += row["count"]
    rows = ["| attack | tried |", "|---|---:|"]
    rows += [f"| {attack} | {count:,} |" for attack, count in totals.items()]
    table = "\n".join(rows) + "\n" if counts else ""
    return _PLACE.sub(lambda found: found[1] + table + found[2], page)


def _without_variant(attack: str) -> str:
    """The name without the store, format or database that ends it."""
    return attack.rpartition(", ")[0] or attack


if __name__ == "__main__":
    main()
