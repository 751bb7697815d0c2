"""What the rules find of what people say of themselves, and what they find that nobody said.

    python -m bench.quality.profile_rules [--errors SET]

Statements of our own making, each with its claims: a claim is right if its key, its value as a
profile keeps it, and its polarity are those of one that the statement makes. What is `allowed`
counts neither way, and labels of slots that no rule fills do not: heads hear them. Of
`statements.jsonl` the rules were tuned on the half for development; all rows have been seen since,
so what the rules do with them is not what they do with text that they never saw.
"""

from __future__ import annotations

import argparse
import contextlib
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from remloom.errors import InvalidInputError
from remloom.profile.evidence.claim import Claim, Value
from remloom.profile.extract.rules import extract
from remloom.profile.extract.rules.extractor import patterns
from remloom.profile.extract.rules.lexicon import WORD_CLASSES
from remloom.profile.slots.registry import registry

STATEMENTS = Path(__file__).with_name("profile") / "statements.jsonl"
TURNS = STATEMENTS.with_name("turns.jsonl")
HALVES = ("development", "held out")
SETS = (
    *HALVES,
    "chat",
    "topics",
    "mixed",
    "asides",
    "errands",
    "requests",
    "visits",
    "news",
    "houses",
    "letters",
    "phones",
    "stories",
    "shops",
    "days",
    "slang",
    "crafts",
    "reasons",
)
AT = datetime(2024, 11, 20, 12, tzinfo=UTC)  # when all of it is said


@dataclass
class Score:
    """Counts of claims."""

    right: int = 0
    wrong: int = 0
    missed: int = 0
    errors: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        found = self.right + self.wrong
        return self.right / found if found else 1.0

    @property
    def recall(self) -> float:
        said = self.right + self.missed
        return self.right / said if said else 1.0

    def __str__(self) -> str:
        found = self.right + self.wrong
        said = self.right + self.missed
        return f"{self.precision:6.3f} ({found:3})  {self.recall:6.3f} ({said:3})"


def load(place: Path = STATEMENTS) -> list[dict[str, Any]]:
    return [json.loads(line) for line in place.read_text(encoding="utf-8").splitlines()]


def measure(statements: Iterable[dict[str, Any]]) -> dict[str, Score]:
    """Scores by phenomenon; "all" is of all of them."""
    scores: dict[str, Score] = defaultdict(Score)
    for statement in statements:
        found = extract(statement["text"], at=AT)
        for score in (scores[statement["phenomenon"]], scores["all"]):
            _count(score, statement, found)
    return dict(scores)


def _count(score: Score, statement: dict[str, Any], found: list[Claim]) -> None:
    said = {form(one) for one in statement["claims"] if one["key"] in _keys()}
    allowed = {form(one) for one in statement.get("allowed", ())}
    # who allows that something is not so allows that it is no longer so
    allowed |= {(key, value, "retire") for key, value, polarity in allowed if polarity == "against"}
    got = {name_of(claim) for claim in found}
    wrong = got - said - allowed
    score.right += len(got & said)
    score.wrong += len(wrong)
    score.missed += len(said - got)
    score.errors += [f"WRONG  {statement['text']!r}: {one}" for one in sorted(wrong)]
    score.errors += [f"missed {statement['text']!r}: {one}" for one in sorted(said - got)]


@cache
def _keys() -> frozenset[str]:
    """The slots that rules fill; what else is labelled the heads hear, as it was said."""
    keys = {pattern.key for _, pattern in patterns()}
    return frozenset(keys.union(*((one.id, one.version) for one in WORD_CLASSES)))


def name_of(claim: Claim) -> tuple[str, str, str]:
    """What is compared of a claim: its value as a profile keeps it."""
    return claim.key, _canonical(claim.key, claim.value), claim.polarity


def form(claim: dict[str, Any]) -> tuple[str, str, str]:
    """The same of a label."""
    return claim["key"], _canonical(claim["key"], claim["value"]), claim.get("polarity", "for")


def _canonical(key: str, value: Value) -> str:
    slots = registry()
    if key in slots and value != "":
        with contextlib.suppress(InvalidInputError):
            value = slots.canonical(key, value)
    return str(value).casefold()


def set_of(statement: dict[str, Any]) -> str:
    """The set that a statement is of: one with a name, or a half of the first."""
    return str(statement.get("set") or statement["half"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--errors", choices=SETS, help="show the errors of a set")
    chosen = parser.parse_args().errors
    statements = [*load(), *load(TURNS)]
    print(f"{'set':14}{'precision (found), recall (said)':^34}")
    for name in SETS:
        scores = measure(one for one in statements if set_of(one) == name)
        print(f"{name:14}{scores['all']!s:^34}")
        if name == chosen:
            for phenomenon, score in scores.items():
                print(f"  {phenomenon:12}{score!s:^34}")
            print(*scores["all"].errors, sep="\n")
    print(f"{'all':14}{measure(statements)['all']!s:^34}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
