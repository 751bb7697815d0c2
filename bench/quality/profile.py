"""Does a profile follow a person who changes? Lives of our own making, told in dated chats.

    python -m bench.quality.profile [--page]

Every turn has its claims written down, so no extractor is judged, but what becomes of evidence. A
change is right if the new value holds, the old one does not, what holds cites the turn that said
so, and as of the moment before it is still the old one. Whatever else a turn changes is collateral
damage; so is any change by a turn in which nothing is said: a joke, somebody else's words, a wish.
Beside it: the same judged by what an agent is given (`profile_context`); whether requests are given
what they need and nothing else (`profile_requests`); how often what is learnt from choices alone
predicts the next one. With `--page` it also writes the tables of docs/profile-confidence.md.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from remloom import Memory
from remloom.profile.beliefs.belief import Belief, fold, piece_of
from remloom.profile.beliefs.reliability import Constants
from remloom.profile.evidence.claim import Value
from remloom.profile.evidence.evidence import Evidence, value_key
from remloom.profile.slots.registry import registry

from .profile_context import judge_contexts
from .profile_lives import (
    BARS,
    MOMENT,
    Score,
    Turn,
    load,
    next_change,
    remembered,
    says,
    subject_of,
)
from .profile_requests import FOUND, LEAKED, ODD, Given, judge_requests, known, load_requests
from .tables import put_into_page

DOCS = Path(__file__).resolve().parents[2] / "docs"

# of the choices, once a preference is known, and once a changed one is
BEFORE, AFTER = 0.95, 0.85

# how the purpose of a question is told: by whoever asks, or by the question alone
PURPOSES = {"with its purpose": "chat", "by the question alone": ""}

USERS = 100  # who choose
CHOICES = 10  # that are seen before each examination
_ASKED = 5  # choices in an examination
_SLIP = 0.05  # of the choices are not what the user prefers

# what holds: of whom, in which slot and scope, and what
Line: TypeAlias = tuple[str, str, str, str]


# changes


def measure(lives: dict[str, list[Turn]]) -> Score:
    """Judge every change of these lives."""
    score = Score()
    for turns in lives.values():
        with remembered(turns) as memory:
            for number, turn in enumerate(turns):
                for change in turn.get("changes", ()):
                    _judge(memory, turns, number, change, score)
            score.collateral += _collateral(memory, turns)
    return score


def _judge(
    memory: Memory, turns: Sequence[Turn], number: int, change: dict[str, Any], score: Score
) -> None:
    subject, scope = change.get("subject", subject_of(turns[number])), change.get("scope", "")
    slot = change["slot"]
    until = next_change(turns, number, change, subject)
    before = turns[number]["at"] - MOMENT
    held = _values(memory, subject, slot, scope, until)
    then = _values(memory, subject, slot, scope, before)
    old, new = change["old"], change["new"]
    expected = change.get("falls_back_to") if new is None else new
    judged = {
        "current": expected is None or value_key(expected) in held,
        "retired": old is None or value_key(old) not in held,
        "cited": _cites(memory, turns, number, change, subject, until),
        "as of": value_key(old) in then if old is not None else value_key(new) not in then,
    }
    score.add(judged, turns[number])


def _values(memory: Memory, subject: str, slot: str, scope: str, at: datetime) -> set[str]:
    beliefs = memory.profile.beliefs(subject, scope=[scope] if scope else (), as_of=at)
    return {value_key(belief.value) for belief in beliefs if belief.slot == slot}


def _cites(
    memory: Memory,
    turns: Sequence[Turn],
    number: int,
    change: dict[str, Any],
    subject: str,
    at: datetime,
) -> bool:
    """Whether what holds cites a turn that says so; of what has ended, the turn that ended it."""
    slot, scope = change["slot"], change.get("scope", "")
    text = turns[number]["text"]
    if change["new"] is None:
        beliefs = memory.profile.show(subject, as_of=at).beliefs
        ended = {(one.slot, one.scope): one for one in beliefs if _is(one, change["old"])}
        because = ended[slot, scope].because if (slot, scope) in ended else ""
        record = memory.get_resource(because) if because else None
        return record is not None and record.metadata["quote"] == text
    if value_key(change["new"]) not in _values(memory, subject, slot, scope, at):
        return False
    why = memory.profile.why(slot, change["new"], subject=subject, scope=scope, as_of=at)
    said = {turn["text"] for turn in turns[number:] if says(turn, slot, change["new"])}
    known = {one.citation for one in why.evidence if one.quote in said}
    return why.belief.citation in known


def _is(belief: Belief, value: Value) -> bool:
    return not belief.holds and value_key(belief.value) == value_key(value)


def _collateral(memory: Memory, turns: Sequence[Turn]) -> list[str]:
    """What changed that nobody spoke of."""
    damage = []
    for at in sorted({turn["at"] for turn in turns}):
        now = [turn for turn in turns if turn["at"] == at]
        spoken = {
            (claim.get("subject", subject_of(turn)), claim["key"], claim.get("scope", ""))
            for turn in now
            for claim in turn.get("claims", ())
            if claim.get("confident", True) and not turn.get("phenomenon", "").startswith("beh")
        }
        moved = _lines(memory, at) ^ _lines(memory, at - MOMENT)
        lists = {
            (claim["key"], value_key(claim["value"]))
            for turn in now
            for claim in turn.get("claims", ())
        }
        for subject, slot, scope, value in sorted(moved):
            neighbour = registry().get_or_extra(slot).kind == "list" and not (
                {(slot, value), (slot, "")} & lists
            )
            if (subject, slot, scope) not in spoken or neighbour:
                damage.append(f"{turns[0]['life']}: {now[0]['text']} → {slot} {scope} {value}")
    return damage


def _lines(memory: Memory, at: datetime) -> set[Line]:
    return {
        (subject, one.slot, one.scope, value_key(one.value))
        for subject in memory.profile.subjects()
        for one in memory.profile.show(subject, as_of=at)
    }


# choices

_DRINKS = ("tea", "coffee", "juice", "water", "milk", "cocoa")


def choices(seed: int = 11) -> tuple[float, float]:
    """How often the choice of simulated users is foreseen: before their preference changed, and
    after it did.
    """
    rng = random.Random(seed)
    results = [_chooser(rng) for _ in range(USERS)]
    before = sum(first for first, _ in results) / (USERS * _ASKED)
    after = sum(second for _, second in results) / (USERS * _ASKED)
    return before, after


def _chooser(rng: random.Random) -> tuple[int, int]:
    """Watch one user choose, and foresee; how often that was right, before and after a change."""
    preferred, later = rng.sample(_DRINKS, 2)
    seen: list[Evidence] = []
    day = datetime(2025, 1, 1, tzinfo=UTC)
    right = []
    for wish in (preferred, later):
        for _ in range(CHOICES):
            day += timedelta(days=rng.uniform(1, 4))
            seen.append(_choice(rng, wish, day, len(seen)))
        right.append(sum(_foresees(rng, seen, wish) for _ in range(_ASKED)))
    return right[0], right[1]


def _choice(rng: random.Random, wish: str, day: datetime, number: int) -> Evidence:
    options = _options(rng, wish)
    chosen = rng.choice(options) if rng.random() < _SLIP else wish
    return Evidence(
        id=f"{number:04}",
        slot="extras.drink",
        value=chosen,
        signal="implicit_behavior",
        authority="observed",
        at=day,
        group=str(number),
    )


def _foresees(rng: random.Random, seen: Sequence[Evidence], wish: str) -> bool:
    """Whether what is believed picks what the user wants; without belief it guesses."""
    options = _options(rng, wish)
    folded = fold(registry().extra("drink"), map(piece_of, seen), Constants())
    current = folded.current if folded is not None else None
    guess = current.value if current and current.value in options else rng.choice(options)
    return guess == wish


def _options(rng: random.Random, wish: str) -> list[str]:
    others = [drink for drink in _DRINKS if drink != wish]
    return rng.sample([wish, *rng.sample(others, 3)], 4)


# what is shown


def main() -> None:
    parser = argparse.ArgumentParser(description="Does a profile follow a person who changes?")
    parser.add_argument("--page", action="store_true", help="write the page's figures")
    arguments = parser.parse_args()
    lives = load()
    score, chosen = measure(lives), choices()
    contexts = {name: judge_contexts(lives, purpose) for name, purpose in PURPOSES.items()}
    with known() as memory:
        given = judge_requests(memory, load_requests())
    sections = {"changes": _table(score, contexts, chosen), "requests": _requests_table(given)}
    print("\n\n".join(sections.values()))
    scores = [score, *contexts.values()]
    print("\n".join(line for one in scores for line in one.wrong))
    print("\n".join([*given.missed, *given.unsafe, *given.leaks, *given.odd]))
    if arguments.page:
        put_into_page(sections, DOCS / "profile-confidence.md")
    missed = [line for one in scores for line in one.low()]
    missed += score.collateral + given.unsafe + given.low()
    missed += [
        f"{name} {share:.3f}"
        for name, share, bar in zip(("before", "after"), chosen, (BEFORE, AFTER), strict=True)
        if share < bar
    ]
    if missed:
        raise SystemExit("\n".join(missed))


def _table(score: Score, contexts: dict[str, Score], chosen: tuple[float, float]) -> str:
    names = {
        "current": "the new value holds",
        "retired": "the old one does not",
        "cited": "it cites the turn that said so",
        "as of": "as of before, it is the old one",
        "all four": "all of these",
    }
    scores = [score, *contexts.values()]
    heads = ["of the changes", "believed", *(f"given, {name}" for name in contexts), "to reach"]
    rows = [heads, ["---"] * len(heads)]
    for name, bar in BARS.items():
        shares = [f"{one.share(name):.3f}" for one in scores]
        rows.append([names[name], *shares, f"{bar:.2f}"])
    blank = [""] * len(contexts)
    rows.append(["other beliefs that changed", f"{len(score.collateral)}", *blank, "0"])
    rows.append(["choices foreseen", f"{chosen[0]:.3f}", *blank, f"{BEFORE:.2f}"])
    after = "choices foreseen after a change of mind"
    rows.append([after, f"{chosen[1]:.3f}", *blank, f"{AFTER:.2f}"])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _requests_table(given: Given) -> str:
    rows = [
        "| of the requests | share | to reach |",
        "|---|---|---|",
        f"| what is needed is given | {given.found:.3f} | {FOUND:.2f} |",
        f"| what could hurt is given | {given.safe:.3f} | 1 |",
        f"| private things given where they have no place, a request | {given.leaked:.3f} "
        f"| {LEAKED:.2f} |",
        f"| other things, a request | {given.out_of_place:.3f} | {ODD:.2f} |",
    ]
    return "\n".join(rows)


if __name__ == "__main__":
    main()
