"""Train the heads, and show how they do; or show what they decide of texts, without training."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from remloom.embed.bundled.sentence_embedder import MiniLM

from .report import show_decisions, show_trained
from .subjects import HEADS
from .train import train, write_frequent


def main() -> None:
    """Train the heads that are named, or all; or try them."""
    parser = argparse.ArgumentParser(prog="python -m training", description=__doc__)
    parser.add_argument("head", nargs="*", help=f"of {', '.join(HEADS)}; none: all are trained")
    parser.add_argument(
        "--try",
        dest="tried",
        type=Path,
        metavar="FILE",
        help="of texts, one a line: train nothing (heads that see pairs are left out)",
    )
    chosen = parser.parse_args()
    if unknown := set(chosen.head) - set(HEADS):
        parser.error(f"no head is named {', '.join(sorted(unknown))}: there are {', '.join(HEADS)}")
    if chosen.tried and not chosen.tried.is_file():
        parser.error(f"{chosen.tried} is no file")
    console, names = Console(), chosen.head or list(HEADS)
    if chosen.tried:
        show_decisions(console, names, chosen.tried.read_text(encoding="utf-8").splitlines())
        return
    write_frequent()
    runs = [
        (name, embedder)
        for name in names
        for embedder in ((None, MiniLM()) if HEADS[name].by_vector else (None,))
    ]
    for number, (name, embedder) in enumerate(runs, 1):
        seen = f" with vectors of {embedder.name}" if embedder else ""
        console.print(f"{number} of {len(runs)}: training {name}{seen} …", highlight=False)
        show_trained(console, train(name, embedder))


if __name__ == "__main__":
    main()
