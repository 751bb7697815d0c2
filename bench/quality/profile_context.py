"""Is what an agent is given of a profile right, and is nothing given that is nobody's business?

The lives of `profile.py` are told anew, and after each change an agent is asked about it, in 800
tokens: "What about my diet?". The change is right if a line of the context has the new value as
what holds, none has the old one, the line cites the turn that said so, and as of the moment before
the line has the old one. It is judged twice: with the purpose of small talk given, and with the
purpose told from the question alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from remloom import Memory
from remloom.profile.context.build import ProfileContext
from remloom.profile.context.context_line import ContextLine
from remloom.profile.evidence.claim import Value
from remloom.profile.evidence.evidence import value_key
from remloom.profile.slots.registry import registry

from .profile_lives import MOMENT, Score, Turn, next_change, remembered, says, subject_of

BUDGET = 800  # tokens


@dataclass(frozen=True)
class _Asked:
    """A question on a change, to a memory."""

    memory: Memory
    slot: str
    scope: str
    subject: str
    purpose: str

    def at(self, at: datetime) -> ProfileContext:
        label = registry().get_or_extra(self.slot).label
        return self.memory.profile.context(
            f"What about my {label.lower()}?",
            subject=self.subject,
            scope=self.scope or (),
            purpose=self.purpose,
            budget_tokens=BUDGET,
            as_of=at,
        )

    def lines(self, at: datetime) -> list[ContextLine]:
        """What the context says of the slot as what holds."""
        return [line for line in self.all_lines(at) if line.part != "changed"]

    def all_lines(self, at: datetime) -> list[ContextLine]:
        return [line for line in self.at(at).lines if line.slot == self.slot]


def judge_contexts(lives: dict[str, list[Turn]], purpose: str = "") -> Score:
    """Judge every change of these lives by what an agent is given on it."""
    score = Score()
    for turns in lives.values():
        with remembered(turns) as memory:
            for number, change in _changes(turns):
                _judge(memory, turns, number, change, purpose, score)
    return score


def _changes(turns: list[Turn]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, turn in enumerate(turns):
        for change in turn.get("changes", ()):
            yield number, change


def _judge(
    memory: Memory,
    turns: list[Turn],
    number: int,
    change: dict[str, Any],
    purpose: str,
    score: Score,
) -> None:
    turn = turns[number]
    subject = change.get("subject", subject_of(turn))
    asked = _Asked(memory, change["slot"], change.get("scope", ""), subject, purpose)
    until = next_change(turns, number, change, subject)
    old, new = change["old"], change["new"]
    now, then = asked.lines(until), asked.lines(turn["at"] - MOMENT)
    expected = change.get("falls_back_to") if new is None else new
    judged = {
        "current": expected is None or _find(now, expected) is not None,
        "retired": old is None or _find(now, old) is None,
        "cited": _is_cited(asked, turns[number:], change, until),
        "as of": _find(then, new) is None if old is None else _find(then, old) is not None,
    }
    score.add(judged, turn)


def _find(lines: list[ContextLine], value: Value) -> ContextLine | None:
    for line in lines:
        if line.value is not None and value_key(line.value) == value_key(value):
            return line
    return None


def _is_cited(asked: _Asked, turns: list[Turn], change: dict[str, Any], at: datetime) -> bool:
    """Whether the line cites a turn that says so; of what has ended, the turn that ended it."""
    slot, new = change["slot"], change["new"]
    if new is None:
        ended = [line for line in asked.all_lines(at) if line.value is None]
        return any(_quote(asked, line, change["old"], at) == turns[0]["text"] for line in ended)
    line = _find(asked.lines(at), new)
    if line is None:
        return False
    said = {turn["text"] for turn in turns if says(turn, slot, new)}
    return _quote(asked, line, new, at) in said


def _quote(asked: _Asked, line: ContextLine, value: Value, at: datetime) -> str:
    """What the place says that a line cites."""
    why = asked.memory.profile.why(
        asked.slot, value, subject=asked.subject, scope=line.scope, as_of=at
    )
    return next((one.quote for one in why.evidence if one.citation == line.citation), "")
