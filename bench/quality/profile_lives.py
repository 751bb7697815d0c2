"""Lives of our own making, told in dated chats, with the changes in them, to judge a profile by.

Every turn has its claims written down, so no extractor is judged, but what becomes of evidence.
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from remloom import Memory, Message
from remloom.profile.beliefs.belief_store import BeliefStore
from remloom.profile.beliefs.recorder import Recorder
from remloom.profile.beliefs.reliability import Constants
from remloom.profile.evidence.claim import Claim, Value
from remloom.profile.evidence.evidence import value_key
from remloom.profile.evidence.passages import Passage
from remloom.profile.extract.scan import Extracted, FoundClaim, Scanner
from remloom.profile.slots.registry import registry
from remloom.runs.run import begin_run
from remloom.runs.writer import Writer

DATA = Path(__file__).with_name("profile") / "changes.jsonl"
MOMENT = timedelta(seconds=1)

# what has to be reached, as shares of the changes
BARS = {"current": 0.98, "retired": 0.98, "cited": 0.99, "as of": 0.98, "all four": 0.95}
Turn: TypeAlias = dict[str, Any]


@dataclass
class Score:
    """Of all changes, which were right in what; and what else was changed."""

    changes: list[dict[str, bool]] = field(default_factory=list)
    collateral: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def share(self, name: str) -> float:
        judged = [change[name] for change in self.changes if name in change]
        return sum(judged) / len(judged)

    def add(self, judged: dict[str, bool], turn: Turn) -> None:
        """Count a change that was made in this turn."""
        judged["all four"] = all(judged.values())
        self.changes.append(judged)
        if not judged["all four"]:
            bad = ", ".join(name for name, right in judged.items() if not right)
            self.wrong.append(f"{turn['life']}: {turn['text']} ({bad})")

    def low(self) -> list[str]:
        """The bars that are not reached."""
        return [f"{name} {self.share(name):.3f}" for name in BARS if self.share(name) < BARS[name]]


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
            FoundClaim(
                replace(passage, subject=row.get("subject", passage.subject)),
                _claim(row, passage.record.content),
            )
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


def next_change(
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
                    (other.get("subject", subject_of(turn)), subject),
                )
            )
            if same and (not is_list or values & {other["old"], other["new"]}):
                at: datetime = turn["at"]
                return at - MOMENT
    last: datetime = turns[-1]["at"]
    return last + timedelta(days=1)


def says(turn: Turn, slot: str, value: Value) -> bool:
    return any(
        claim["key"] == slot and value_key(claim["value"]) == value_key(value)
        for claim in turn.get("claims", ())
    )


def subject_of(turn: Turn) -> str:
    return "me" if turn["speaker"] == "user" else str(turn["speaker"])
