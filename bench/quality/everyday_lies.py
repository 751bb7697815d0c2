"""Everyday lies: how many pass unflagged beside a true quote, and how many right answers do not.

What the checks of an answer can be trusted with: `python -m bench.quality.everyday_lies` shows it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct, convert

from remloom.reader.citations import CitationChecker, Draft
from remloom.reader.evidence import Evidence
from remloom.reader.lines import Lines

__all__ = ["Passage", "Result", "describe", "measure", "passages"]


class Passage(Struct, frozen=True):
    """A line, what is truly said of it, and lies about it, each with its kind."""

    line: str
    true: list[str]
    lies: list[tuple[str, str]]


class Result(Struct):
    """How the sentences about some lines came out."""

    right: int = 0
    wrong: int = 0
    flagged: list[tuple[str, str]] = []  # right ones, with the doubt
    unflagged: list[tuple[str, str]] = []  # kinds and lies


def passages(name: str) -> list[Passage]:
    """The passages of a set: `first` or `second`."""
    path = Path(__file__).with_suffix(".toml")
    return convert(tomllib.loads(path.read_text(encoding="utf-8"))[name], list[Passage])


def measure(name: str) -> Result:
    """Check every sentence of a set as an answer of a model that quotes the whole line."""
    result = Result()
    for passage in passages(name):
        evidence = Evidence({"notes": Lines("notes.md", "notes", [passage.line], ())})
        evidence.add("notes", 1, 1)
        checker = CitationChecker(evidence, "What does it say?")

        def doubt(text: str, checker: CitationChecker = checker, line: str = passage.line) -> str:
            draft = Draft(text=text, quote=line, first_line=1, last_line=1)
            return checker.check(draft).doubt

        result.right += len(passage.true)
        result.wrong += len(passage.lies)
        result.flagged += [(text, doubt(text)) for text in passage.true if doubt(text)]
        result.unflagged += [(kind, text) for kind, text in passage.lies if not doubt(text)]
    return result


def describe() -> Iterator[str]:
    """The lines of a table."""
    yield "| sentences with a true quote | lies that have no doubt | right ones that have one |"
    yield "|---|---|---|"
    for name in ("first", "second"):
        result = measure(name)
        unflagged = f"{len(result.unflagged)} of {result.wrong}"
        flagged = f"{len(result.flagged)} of {result.right}"
        yield f"| {name} set | {unflagged} | {flagged} |"


if __name__ == "__main__":
    print("\n".join(describe()))
    for name in ("first", "second"):
        for kind, text in measure(name).unflagged:
            print(f"{name}, {kind}: {text}")
        for text, doubt in measure(name).flagged:
            print(f"{name}, right: {text} ({doubt})")
