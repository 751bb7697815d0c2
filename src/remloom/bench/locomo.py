"""LoCoMo's JSON form: long chats of two, in sessions, with questions and the turns that answer
them.

A list of these, or one alone: `{"sample_id", "conversation": {"session_1": [{"speaker", "dia_id",
"text", "blip_caption"?}], "session_1_date_time": "10:05 am on 3 March, 2024", …}, "qa":
[{"question", "category", "evidence": [dia_id], "newest"?: [dia_id], "amends"?: [dia_id]}]}`.
Category 5 is of questions that have no answer; their evidence, if any, is what they were twisted
from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..model import Message
from ..text.dates import parse

__all__ = ["LocomoChat", "LocomoQuestion", "load"]

_SESSION = re.compile(r"session_(\d+)")
# some of LoCoMo's evidence is malformed: "D8:6; D9:17", "D:11:26", "D30:05"
_TURN = re.compile(r"D:?(\d+):(\d+)")


@dataclass
class LocomoQuestion:
    text: str
    category: int | str
    gold: frozenset[str]  # ids of the turns that answer
    newest: frozenset[str] = frozenset()  # those that say what holds now
    amends: frozenset[str] = frozenset()  # what they amend


@dataclass
class LocomoChat:
    id: str
    messages: list[Message]
    questions: list[LocomoQuestion]


def load(place: Path) -> list[LocomoChat]:
    """The conversations of a file, or of every `.json` file of a folder."""
    files = sorted(place.glob("*.json")) if place.is_dir() else [place]
    read = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    return [_conversation(one) for some in read for one in ([some] if _is_one(some) else some)]


def _is_one(read: Any) -> bool:
    return isinstance(read, dict) and "conversation" in read


def _conversation(given: dict[str, Any]) -> LocomoChat:
    said = given["conversation"]
    numbers = sorted(int(found[1]) for name in said if (found := _SESSION.fullmatch(name)))
    messages = []
    for number in numbers:
        at = parse(said.get(f"session_{number}_date_time", ""))
        for turn in said[f"session_{number}"]:
            caption = turn.get("blip_caption") or ""
            text = f"{turn.get('text') or ''}{f' [image: {caption}]' if caption else ''}".strip()
            messages.append(
                Message(speaker=turn["speaker"], text=text or "…", id=turn["dia_id"], at=at)
            )
    known = {message.id for message in messages}
    questions = [
        LocomoQuestion(
            one["question"],
            one["category"],
            *(_gold(one.get(name), known) for name in ("evidence", "newest", "amends")),
        )
        for one in given["qa"]
    ]
    return LocomoChat(given["sample_id"], messages, questions)


def _gold(evidence: Iterable[str] | None, known: Collection[str | None]) -> frozenset[str]:
    named = (
        f"D{int(found[1])}:{int(found[2])}"
        for one in evidence or ()
        for found in _TURN.finditer(one)
    )
    return frozenset(id for id in named if id in known)
