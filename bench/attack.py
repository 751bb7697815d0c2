"""Write the table of attacks in docs/guarantees.md from bench/results/attack.json: python -m
bench.attack."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
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
    groups: dict[tuple[str, str], _Group] = defaultdict(_Group)
    for key, row in counts.items():
        attack, _, variant = key.rpartition(", ") if ", " in key else (key, "", "")
        verb, middle, work = attack.partition(" in the middle of ")
        test = row["test"].removeprefix("tests/attack/").split("::")[0]
        groups[verb + middle, test].add(work, variant, row["count"])
    rows = ["| attack | tried | test |", "|---|---:|---|"]
    for (attack, test), group in groups.items():
        rows.append(f"| {attack}{group.works()} | {group.tried()} | `{test}` |")
    table = "\n".join(rows) + "\n" if counts else ""
    return _PLACE.sub(lambda found: found[1] + table + found[2], page)


class _Group:
    """Attacks of one kind: on which work, and how often on each store, format or database."""

    def __init__(self) -> None:
        self._works: dict[str, None] = {}
        self._counts: Counter[str] = Counter()

    def add(self, work: str, variant: str, count: int) -> None:
        self._works[work.replace("_", " ")] = None
        self._counts[variant] += count

    def works(self) -> str:
        return ", ".join(self._works)

    def tried(self) -> str:
        return ", ".join(f"{count:,} {variant}".rstrip() for variant, count in self._counts.items())


if __name__ == "__main__":
    main()
