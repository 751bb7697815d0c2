"""What is each part of `recall` worth in each domain? Every part is left out once.

    python -m bench.quality.parts [--domain NAME …] [--part NAME …] [--page]

A cell is how much higher frac@10 is with the part, with half of the width of its 95 % interval
(bootstrap over questions); it is bold where the interval is on one side of zero. Domains are those
by which no option was chosen: the held half of the chats of `written`, LoCoMo, and the reported
halves of `domains`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
from rich.console import Console

from remloom.retrieve import PARTS

from . import domains, locomo, written
from .cached import CachedEmbedder, CachedTokens
from .domains import Reading, ask_all, recalled
from .locomo import ANSWERABLE, Opened
from .tables import put_into_page

# parts that need more than a question
NOT_CUT = ("paraphrases", "history", "recency", "preferences", "rerank", "hops")
WAYS: dict[str, dict[str, Any]] = {
    **{part: {"exclude": (part,)} for part in PARTS if part not in NOT_CUT},
    "blend, not rrf": {"fusion": "rrf"},
}
SHOWN_AS = {
    "assistant": "made up",
    "assistant, fresh": "made up, fresh",
    "assistant, months_reported": "made up, months",
    "foreign": "passages, German",
}
DRAWS = 2_000  # of the bootstrap
CHOSEN = "chosen"


def read(reading: Reading) -> Iterator[tuple[str, list[Opened]]]:
    """Read each domain: its name and its memories."""
    yield from written.read(reading, "held").items()
    if locomo.FOLDER.exists():
        yield "LoCoMo", list(_people(reading))
    others = [name for name in domains.DOMAINS if name != "people"]
    for domain in domains.read_domains(reading, others):
        if CHOSEN not in domain.half:
            name = domain.name if domain.half == "reported" else f"{domain.name}, {domain.half}"
            yield SHOWN_AS.get(name, name), domain.memories


def _people(reading: Reading) -> Iterator[Opened]:
    for one in locomo.load(locomo.FOLDER):
        one.questions[:] = [asked for asked in one.questions if asked.category in ANSWERABLE]
        yield written.opened(reading, one)


def fractions(memories: Sequence[Opened], **options: Any) -> np.ndarray[Any, Any]:
    """frac@10 of every question that has an answer."""
    run = ask_all("", domains.Domain("", "", list(memories)), recalled(**options))
    return np.array([one.frac_at(10) for one in run.asked])


def worth(with_it: np.ndarray[Any, Any], without: np.ndarray[Any, Any]) -> str:
    """By how many points a part raises frac@10, and half of the interval's width."""
    gained = 100 * (with_it - without)
    draws = np.random.default_rng(7).integers(len(gained), size=(DRAWS, len(gained)))
    low, high = np.percentile(gained[draws].mean(axis=1), (2.5, 97.5))
    if low == high == 0:
        return "0"
    shown = f"{gained.mean():+.1f} ±{(high - low) / 2:.1f}"
    return f"**{shown}**" if low > 0 or high < 0 else shown


def main() -> int:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--domain", action="append")
    arguments.add_argument("--part", action="append", choices=WAYS)
    arguments.add_argument("--page", action="store_true")
    given = arguments.parse_args()
    ways = given.part or list(WAYS)
    rows = {way: [f"| {way}"] for way in ("questions", "recall", *ways)}
    names = []
    console = Console(width=110, highlight=False)
    with ExitStack() as stack:
        reading = Reading(stack, CachedEmbedder(), CachedTokens())
        for name, memories in read(reading):
            if given.domain and name not in given.domain:
                continue
            names.append(name)
            whole = fractions(memories)
            rows["questions"].append(str(len(whole)))
            rows["recall"].append(f"{100 * whole.mean():.1f}")
            for way in ways:
                rows[way].append(worth(whole, fractions(memories, **WAYS[way])))
            cells = (f"{way} {cells[-1]}" for way, cells in rows.items())
            console.print(f"{name}: {', '.join(cells)}")
        reading.save()
    table = [f"| without | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    table += [f"{' | '.join(cells)} |" for cells in rows.values()]
    print("\n".join(table))
    if given.page:
        put_into_page({"parts": "\n".join(table)})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
