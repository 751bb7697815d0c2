"""What reading in and asking cost with each bundled model, on one core.

    python -m bench.reading [passages] [--page]

Passages of 250 words and turns of about 30, from the paragraphs of `../shared/bench/xquad`. Each
combination runs in a process of its own: CPU of writing and embedding, bytes on disk a record, CPU
of `recall` with a question that was not asked before, and the most memory held. Several times as
many turns as passages, and a tenth as many questions.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

from remloom import Memory, Resource
from remloom.settings import Settings

from .quality.tables import put_into_page
from .quality.xquad import FOLDER, load

PAGE = Path(__file__).resolve().parents[1] / "docs" / "embedders.md"
PASSAGE, TURN = 250, 30  # words
TURNS = 4  # for each passage
HEAD = (
    "| embedder | late interaction | passages/s | turns/s | bytes a passage | bytes a turn "
    "| a question, CPU ms | with a second look, CPU ms | memory, MB |"
)


def texts(count: int, words: int) -> list[str]:
    """Texts of this many words, one after the other from the paragraphs."""
    paragraphs, _ = load(FOLDER / "xquad.en.json")
    found = " ".join(paragraphs).split()
    starts = range(0, count * words, words)
    return [" ".join((found * 4)[start : start + words]) for start in starts]


def measure(embedder: str, encoder: str, count: int) -> dict[str, float]:
    """One combination, in this process."""
    settings = Settings.load(threads=1, embedder=embedder, token_encoder=encoder)
    _, questions = load(FOLDER / "xquad.en.json")
    measured: dict[str, float] = {}
    for kind, number, words in (("passage", count, PASSAGE), ("turn", count * TURNS, TURN)):
        with tempfile.TemporaryDirectory() as home:
            with Memory.open(home, settings=settings) as memory:
                memory.write([Resource(content="A text by which models are loaded.")], wait=True)
                records = [Resource(content=text) for text in texts(number, words)]
                began = time.process_time()
                memory.write(records)
                memory.embed_pending()
                measured[f"{kind}s/s"] = number / (time.process_time() - began)
                if kind == "passage":
                    number_asked = 2 * max(1, count // 10)
                    asked = [text for text, _ in questions[:: len(questions) // number_asked]]
                    for name, rerank, some in (
                        ("plain", "none", asked[::2]),
                        ("second", "local", asked[1::2]),
                    ):
                        memory.recall("What loads a model?", rerank=rerank)
                        began = time.process_time()
                        for question in some:
                            memory.recall(question, rerank=rerank)
                        spent = time.process_time() - began
                        measured[name] = 1000 * spent / len(some)
            size = sum(file.stat().st_size for file in Path(home).rglob("*") if file.is_file())
            measured[f"bytes a {kind}"] = size / number
    measured["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return measured


def row(embedder: str, encoder: str, of: dict[str, float]) -> str:
    late = "no" if encoder == "none" else "yes"
    return (
        f"| {embedder} | {late} | {of['passages/s']:.1f} | {of['turns/s']:.0f} "
        f"| {of['bytes a passage']:,.0f} | {of['bytes a turn']:,.0f} "
        f"| {of['plain']:.0f} | {of['second']:.0f} | {of['memory']:.0f} |"
    )


def main() -> int:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("passages", nargs="?", type=int, default=200)
    arguments.add_argument("--page", action="store_true")
    arguments.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if not FOLDER.exists():
        print(f"skipped: there is no {FOLDER}")
        return 0
    if given.one:
        embedder, encoder = given.one
        print(json.dumps(measure(embedder, encoder, given.passages)))
        return 0
    lines = [HEAD, "|---" * (HEAD.count("|") - 1) + "|"]
    print("\n".join(lines))
    for embedder, encoder in product(("minilm", "bge"), ("none", "colbert")):
        command = [sys.executable, "-m", "bench.reading", str(given.passages), "--one"]
        said = subprocess.run(
            [*command, embedder, encoder], check=True, capture_output=True, env=os.environ
        ).stdout
        lines.append(row(embedder, encoder, json.loads(said)))
        print(lines[-1], flush=True)
    if given.page:
        put_into_page({"costs": "\n".join(lines)}, PAGE)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
