"""Does a profile follow a person who changes? Lives of our own making, told in dated chats.

    python -m bench.quality.profile [--page]

Every turn has its claims written down, so no extractor is judged, but what becomes of evidence. A
change is right if the new value holds, the old one does not, what holds cites the turn that said
so, and as of the moment before it is still the old one. Whatever else a turn changes is collateral
damage; so is any change by a turn in which nothing is said: a joke, somebody else's words, a wish.
Beside it: how often what is learnt from choices alone predicts the next one. With `--page` it also
writes the tables of docs/profile.md.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from remloom import Memory, Message
from remloom.profile.belief import Belief, fold, piece_of
from remloom.profile.belief_store import BeliefStore
from remloom.profile.claim import Claim, Value
from remloom.profile.evidence import Evidence, value_key
from remloom.profile.passages import Passage
from remloom.profile.recorder import Recorder
from remloom.profile.reliability import Constants
from remloom.profile.scan import Extracted, Found, Scanner
from remloom.profile.slots import registry
from remloom.runs.run import begin_run
from remloom.runs.writer import Writer

from .tables import put_into_page

DATA = Path(__file__).with_name("profile") / "changes.jsonl"
DOCS = Path(__file__).resolve().parents[2] / "docs"

# what has to be reached, as shares of the changes
BARS = {"current": 0.98, "retired": 0.98, "cited": 0.99, "as of": 0.98, "all four": 0.95}
# of the choices, once a preference is known, and once a changed one is
BEFORE, AFTER = 0.95, 0.85

USERS = 100  # who choose
CHOICES = 10  # that are seen before each examination
_ASKED = 5  # choices in an examination
_SLIP = 0.05  # of the choices are not what the user prefers
_MOMENT = timedelta(seconds=1)

Turn: TypeAlias = dict[str, Any]
# what holds: of whom, in which slot and scope, and what
Line: TypeAlias = tuple[str, str, str, str]


@dataclass
class Score:
    """Of all changes, which were right in what; and what else was changed."""

    changes: list[dict[str, bool]] = field(default_factory=list)
    collateral: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def share(self, name: str) -> float:
        judged = [change[name] for change in self.changes if name in change]
        return sum(judged) / len(judged)

    def missed(self) -> list[str]:
        """The bars that are not reached."""
        low = [f"{name} {self.share(name):.3f}" for name in BARS if self.share(name) < BARS[name]]
        return low + self.collateral


def load(place: Path = DATA) -> dict[str, list[Turn]]:
    """The turns of each life, in their order."""
    lives: dict[str, list[Turn]] = defaultdict(list)
    for line in place.read_text(encoding="utf-8").splitlines():
        turn = json.loads(line)
        lives[turn["life"]].append({**turn, "at": datetime.fromisoformat(turn["at"])})
    return lives


@contextmanager
def remembered(turns: Sequence[Turn]) -> Iterator[Memory]:
    """A memory that has read the turns as one chat, and was given their claims."""
    with tempfile.TemporaryDirectory() as home, Memory.open(home, embedder="none") as memory:
        messages = [
            Message(speaker=one["speaker"], text=one["text"], at=one["at"]) for one in turns
        ]
        memory.read_chat(messages, uri=f"{turns[0]['life']}.json")
        _scan(memory, turns)
        yield memory


def _scan(memory: Memory, turns: Sequence[Turn]) -> None:
    claims = {turn["text"]: turn.get("claims", ()) for turn in turns}

    def given(passages: Sequence[Passage]) -> Extracted:
        found = [
            Found(passage, _claim(row, passage.record.content), row.get("subject", ""))
            for passage in passages
            for row in claims[passage.record.content]
        ]
        return Extracted(tuple(found))

    engine = memory._engine
    beliefs = BeliefStore(engine.store, registry(), Constants())
    run = begin_run(engine.store, "observe", {})
    writer = Writer(engine.store, engine.tenant, run, model=None)
    Scanner(
        engine.store,
        writer,
        Recorder(engine.store, beliefs, writer),
        extract=given,
        extractor="given",
        slots=registry(),
        settings=engine.settings,
    ).run()
    writer.finish()


def _claim(row: dict[str, Any], text: str) -> Claim:
    fields = {name: value for name, value in row.items() if name != "subject"}
    return msgspec.convert({**fields, "quote": text, "span": (0, len(text))}, Claim)


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
    subject, scope = change.get("subject", _subject(turns[number])), change.get("scope", "")
    slot = change["slot"]
    until = _next_change(turns, number, change, subject)
    before = turns[number]["at"] - _MOMENT
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
    judged["all four"] = all(judged.values())
    score.changes.append(judged)
    if not judged["all four"]:
        bad = ", ".join(name for name, right in judged.items() if not right)
        score.wrong.append(f"{turns[number]['life']}: {turns[number]['text']} ({bad})")


def _values(memory: Memory, subject: str, slot: str, scope: str, at: datetime) -> set[str]:
    beliefs = memory.profile.beliefs(subject, scope=[scope] if scope else (), as_of=at)
    return {value_key(belief.value) for belief in beliefs if belief.slot == slot}


def _next_change(
    turns: Sequence[Turn], number: int, change: dict[str, Any], subject: str
) -> datetime:
    """Until when the change is the last one of its values; a day after the last turn at most."""
    values = {change["old"], change["new"]} - {None}
    is_list = registry().get(change["slot"]).kind == "list"
    for turn in turns[number + 1 :]:
        for other in turn.get("changes", ()):
            same = all(
                first == second
                for first, second in (
                    (other["slot"], change["slot"]),
                    (other.get("scope", ""), change.get("scope", "")),
                    (other.get("subject", _subject(turn)), subject),
                )
            )
            if same and (not is_list or values & {other["old"], other["new"]}):
                at: datetime = turn["at"]
                return at - _MOMENT
    last: datetime = turns[-1]["at"]
    return last + timedelta(days=1)


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
    said = {turn["text"] for turn in turns[number:] if _says(turn, slot, change["new"])}
    known = {one.citation for one in why.evidence if one.quote in said}
    return why.belief.citation in known


def _says(turn: Turn, slot: str, value: Value) -> bool:
    return any(
        claim["key"] == slot and value_key(claim["value"]) == value_key(value)
        for claim in turn.get("claims", ())
    )


def _is(belief: Belief, value: Value) -> bool:
    return not belief.holds and value_key(belief.value) == value_key(value)


def _collateral(memory: Memory, turns: Sequence[Turn]) -> list[str]:
    """What changed that nobody spoke of."""
    damage = []
    for at in sorted({turn["at"] for turn in turns}):
        now = [turn for turn in turns if turn["at"] == at]
        spoken = {
            (claim.get("subject", _subject(turn)), claim["key"], claim.get("scope", ""))
            for turn in now
            for claim in turn.get("claims", ())
            if claim.get("confident", True) and not turn.get("phenomenon", "").startswith("beh")
        }
        moved = _lines(memory, at) ^ _lines(memory, at - _MOMENT)
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


def _subject(turn: Turn) -> str:
    return "me" if turn["speaker"] == "user" else str(turn["speaker"])


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
    parser.add_argument("--page", action="store_true", help="write docs/profile.md's figures")
    arguments = parser.parse_args()
    score, chosen = measure(load()), choices()
    sections = {"changes": _table(score, chosen)}
    print(sections["changes"])
    print("\n".join(score.wrong))
    if arguments.page:
        put_into_page(sections, DOCS / "profile.md")
    missed = score.missed()
    missed += [
        f"{name} {share:.3f}"
        for name, share, bar in zip(("before", "after"), chosen, (BEFORE, AFTER), strict=True)
        if share < bar
    ]
    if missed:
        raise SystemExit("\n".join(missed))


def _table(score: Score, chosen: tuple[float, float]) -> str:
    names = {
        "current": "the new value holds",
        "retired": "the old one does not",
        "cited": "it cites the turn that said so",
        "as of": "as of before, it is the old one",
        "all four": "all of these",
    }
    rows = ["| of the changes | share | to reach |", "|---|---|---|"]
    rows += [f"| {names[name]} | {score.share(name):.3f} | {BARS[name]:.2f} |" for name in BARS]
    rows.append(f"| other beliefs that changed | {len(score.collateral)} | 0 |")
    rows.append(f"| choices foreseen | {chosen[0]:.3f} | {BEFORE:.2f} |")
    rows.append(f"| choices foreseen after a change of mind | {chosen[1]:.3f} | {AFTER:.2f} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
