"""Does `recall` find the paragraph with the answer? XQuAD, in several languages, without a language
model.

    python -m bench.quality.xquad [folder with xquad.LANGUAGE.json] [--embedder NAME …] [--language
    CODE …] [--page]

Each paragraph is a note of its own. Shows recall@1, recall@5 and MRR of `recall` with each
embedder, beside BM25 and the bare embedder, and how often it wrongly abstains.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from remloom import Memory, Resource

from .cached import CachedEmbedder
from .tables import put_into_page

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "bench" / "xquad"
LANGUAGES = ("en", "de", "es", "zh")
HEAD = "| language | system | recall@1 | recall@5 | abstained |\n|---|---|---|---|---|"


def load(file: Path) -> tuple[list[str], list[tuple[str, int]]]:
    """The paragraphs, and each question with the number of its paragraph."""
    paragraphs: list[str] = []
    questions: list[tuple[str, int]] = []
    for article in json.loads(file.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            questions += [(asked["question"], len(paragraphs)) for asked in paragraph["qas"]]
            paragraphs.append(paragraph["context"])
    return paragraphs, questions


def measure(
    memory: Memory, questions: list[tuple[str, int]], name: str
) -> dict[str, tuple[float, ...]]:
    systems: dict[str, Callable[[str], Any]] = {
        "BM25": lambda question: memory.search_text(question, limit=10).records,
        f"**recall**, {name}": lambda question: (
            memory.recall(question, limit=10, abstain=False, neighbours=0).hits
        ),
    }
    found = {}
    for system, search in systems.items():
        places = [
            next(
                (
                    place
                    for place, hit in enumerate(search(question))
                    if hit.record.ordinal == number
                ),
                99,
            )
            for question, number in questions
        ]
        count = len(places)
        first, five = sum(place < 1 for place in places), sum(place < 5 for place in places)
        found[system] = (first / count, five / count, 0.0)
    silent = sum(
        memory.recall(question, limit=1, neighbours=0).abstained for question, _ in questions
    )
    found[f"**recall**, {name}"] = (*found[f"**recall**, {name}"][:2], silent / len(questions))
    return found


def main() -> int:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("place", nargs="?", type=Path, default=FOLDER)
    arguments.add_argument("--embedder", action="append", help="also none")
    arguments.add_argument("--language", action="append", choices=LANGUAGES)
    arguments.add_argument("--page", action="store_true")
    given = arguments.parse_args()
    if not given.place.exists():
        print(f"skipped: there is no {given.place}")
        return 0
    embedders = [
        CachedEmbedder(name) if name != "none" else None for name in given.embedder or ["minilm"]
    ]
    rows: dict[tuple[str, str], str] = {}
    for language in given.language or LANGUAGES:
        file = given.place / f"xquad.{language}.json"
        if not file.exists():
            continue
        paragraphs, questions = load(file)
        for embedder in embedders:
            name = embedder.name.partition("+")[0] if embedder else "no embedder"
            with (
                tempfile.TemporaryDirectory() as home,
                Memory.open(home, embedder=embedder or "none") as memory,
            ):
                memory.write(
                    Resource(uri=file.name, ordinal=n, content=text)
                    for n, text in enumerate(paragraphs)
                )
                if embedder:
                    memory.embed_pending()
                    embedder.save()
                for system, values in measure(memory, questions, name).items():
                    row = (
                        f"| {language} | {system} |"
                        f" {' | '.join(f'{100 * value:.1f}' for value in values)} |"
                    )
                    if rows.setdefault((language, system), row) is row:
                        print(row, flush=True)
            if embedder:
                embedder.save()
    if given.page:
        put_into_page({"xquad": "\n".join([HEAD, *rows.values()])})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
