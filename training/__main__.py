"""Train the heads, and show how they do: python -m training [HEAD …]"""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

from remloom.embed.minilm import MiniLM

from .subjects import HEADS
from .train import Trained, train, write_frequent


def main() -> None:
    """Train the heads that are named, or all."""
    console = Console()
    write_frequent()
    for name in sys.argv[1:] or HEADS:
        console.print(_table(train(name)))
        if HEADS[name].by_vector:
            console.print(_table(train(name, MiniLM())))


def _table(done: Trained) -> Table:
    languages = ", ".join(f"{one} {share:.2f}" for one, share in done.by_language.items())
    table = Table(
        title=f"{done.name} {done.version}: {done.texts:,} texts, {done.right:.3f} right"
        f"\n{languages}; {done.size // 1000} kB",
        title_justify="left",
    )
    for column in ("label", "precision", "recall"):
        table.add_column(column, justify="left" if column == "label" else "right")
    for label, (precision, recall) in done.by_label.items():
        table.add_row(label, f"{precision:.2f}", f"{recall:.2f}")
    return table


if __name__ == "__main__":
    main()
