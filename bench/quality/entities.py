"""How many of the people and places that editors tagged in real essays the extractors find.

    python -m bench.quality.entities [folder with entities.json and the essays]

Editors tag only some names, so precision cannot be measured; the number of entities an essay gets
and the share of them that is written once in lower case too are shown instead.
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

from remloom import labels
from remloom.ingest.names import Extractor, Name
from remloom.ingest.names.rules import CapitalizedNames
from remloom.sources import open_source

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "bench" / "milestones"


def wanted(tagged: str) -> list[str]:
    """The forms of a tagged name that count: without stray punctuation, possessive or explanation
    in brackets."""
    text = re.sub(r"\s*\([^)]*\)", "", tagged)
    text = re.sub(r"[’']s$", "", text.strip(" ,.;"))
    text = text.rpartition("—")[2]
    forms = [text]
    if "," in text:  # "Geneva, Switzerland": found as Geneva
        forms.append(text.partition(",")[0])
    return [labels.key(form) for form in forms]


def measure(extractor: Extractor, folder: Path) -> dict[str, Any]:
    tagged = json.loads((folder / "entities.json").read_text(encoding="utf-8"))
    hits = {"people": 0, "places": 0}
    typed = {"people": 0, "places": 0}
    total = {"people": 0, "places": 0}
    misses: dict[str, list[str]] = {"people": [], "places": []}
    counts: list[int] = []
    seconds = 0.0
    for document in open_source(folder, glob="*.md"):
        essay = Path(document.uri).stem
        began = time.perf_counter()
        names = extractor.extract(document.text[document.body :])
        seconds += time.perf_counter() - began
        counts.append(len(names))
        found: dict[str, list[Name]] = {}
        for name in names:
            for label in (name.name, *name.aliases):
                found.setdefault(labels.key(label), []).append(name)
        for kind, word in (("people", "person"), ("places", "place")):
            for label in tagged.get(essay, {}).get(kind, []):
                total[kind] += 1
                match = next((found[form] for form in wanted(label) if form in found), [])
                hits[kind] += bool(match)
                typed[kind] += any(name.type == word for name in match)
                if not match:
                    misses[kind].append(f"{essay}: {label}")
    return {
        "hits": hits,
        "typed": typed,
        "total": total,
        "misses": misses,
        "counts": counts,
        "seconds": seconds,
    }


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    if not (folder / "entities.json").is_file():
        print(f"skipped: no entities.json in {folder}")
        return 0
    extractors: dict[str, Extractor] = {"capitalised names": CapitalizedNames()}
    try:
        from remloom.ingest.names.spacy import SpacyNames

        extractors["spaCy (extra ner)"] = SpacyNames()
    except ImportError:
        print("without the extra ner: pip install 'remloom[ner]'\n")
    print(
        f"{'extractor':20} {'people':>8} {'typed':>7} {'places':>8} {'typed':>7}"
        f" {'names/essay':>12} {'essays/s':>9}"
    )
    for title, extractor in extractors.items():
        result = measure(extractor, folder)
        hits, typed, total, counts = (result[key] for key in ("hits", "typed", "total", "counts"))
        row = [
            f"{hits[k] / total[k]:8.3f} {typed[k] / total[k]:7.3f}" for k in ("people", "places")
        ]
        print(
            f"{title:20} {row[0]} {row[1]} {sum(counts) / len(counts):12.1f}"
            f" {len(counts) / result['seconds']:9.1f}"
        )
        if "--misses" in sys.argv:
            for kind, lines in result["misses"].items():
                print(kind, *lines, sep="\n  ")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
