"""Is the episode that decides given at the first prompt of a later session?

    python -m bench.quality.coding_tasks [--file NAME …] [--page] [--missed]

`coding_tasks` has tasks: a chat of a developer with an assistant in which a rule comes out piece by
piece, with wrong turns; for a third of them a later chat that amends it in passing; and the first
prompt of a later session, a symptom in other words, that the rule decides. All are read into one
memory, with the sessions of other chats beside them. `chosen.json` was written while the search was
made; `held.json` by somebody who had not seen it, and is not to be read.

Counted is how often the episode that decides is among those given, in a context of `BUDGET` tokens;
how much of what decides that context has; how often what amends comes before what it amends; and
how often a prompt that has nothing to do with the past gets nothing.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from remloom import Memory, Message
from remloom.model import Recall

from .cached import CachedEmbedder, CachedTokens
from .domains import Reading
from .form import load
from .tables import put_into_page
from .written import FOLDER as CHATS

FOLDER = Path(__file__).with_name("coding_tasks")
HALVES = ("chosen", "held")
# chats whose sessions are read beside
OTHERS = ("developers-chalk", "developers-heron", "assistant-joost", "assistant-nerys")
NOW = datetime(2026, 9, 10, 9, tzinfo=UTC)
BUDGET = 600  # tokens
AMENDMENT = "+"  # ends the uri of a chat that amends another
HEAD = (
    "| half | prompts | decides, first | decides, given | turns in 600 tokens | amended: both given"
    " | amendment first | nothing to do with it: silent |"
)


class Task(NamedTuple):
    """A prompt, and what decides it."""

    id: str
    language: str
    chats: dict[str, tuple[str, list[Message]]]  # title and turns, by uri
    deciding: frozenset[str]  # ids of messages
    amending: frozenset[str]
    prompt: str

    @property
    def amendment(self) -> str:
        """The uri of the chat that amends, or an empty string."""
        return f"{self.id}{AMENDMENT}" if self.amending else ""


class Tasks(NamedTuple):
    tasks: list[Task]
    unrelated: list[str]


class Asked(NamedTuple):
    """A task as its prompt went."""

    task: Task
    given: list[str]  # uris of the episodes, in their order
    found: set[str]  # ids of messages

    @property
    def is_first(self) -> bool:
        return bool(self.given) and self.given[0] in (self.task.id, self.task.amendment)

    @property
    def share(self) -> float:
        wanted = self.task.deciding | self.task.amending
        return len(wanted & self.found) / len(wanted)

    @property
    def has_both(self) -> bool:
        return {self.task.id, self.task.amendment} <= set(self.given)

    @property
    def is_in_order(self) -> bool:
        return self.has_both and self.given.index(self.task.amendment) < self.given.index(
            self.task.id
        )


def tasks_of(half: str) -> Tasks:
    given = json.loads((FOLDER / f"{half}.json").read_text(encoding="utf-8"))
    return Tasks([*map(_task, given["tasks"])], given["unrelated"])


def _task(given: dict[str, Any]) -> Task:
    chats = {given["id"]: _chat(given["id"], given["chat"])}
    amending: frozenset[str] = frozenset()
    if (amendment := given["amendment"]) is not None:
        uri = f"{given['id']}{AMENDMENT}"
        chats[uri] = _chat(uri, amendment["chat"])
        amending = frozenset(f"{uri}:{number}" for number in amendment["deciding"])
    deciding = frozenset(f"{given['id']}:{number}" for number in given["deciding"])
    return Task(given["id"], given["language"], chats, deciding, amending, given["prompt"])


def _chat(uri: str, chat: dict[str, Any]) -> tuple[str, list[Message]]:
    return chat["title"], [
        Message(
            speaker=turn["speaker"],
            role=turn["speaker"],
            text=turn["text"],
            id=f"{uri}:{number}",
            at=datetime.fromisoformat(turn["at"]),
        )
        for number, turn in enumerate(chat["turns"])
    ]


def read(memory: Memory, tasks: Sequence[Task], others: Sequence[str] = OTHERS) -> None:
    """Read the chats of tasks, and others beside them."""
    for task in tasks:
        for uri, (title, messages) in task.chats.items():
            memory.read_chat(messages, uri=uri, name=title, wait=False)
    for name in others:
        for chat in load(CHATS / "chosen" / f"{name}.json"):
            memory.read_chat(chat.messages, uri=chat.id, wait=False)


def recall(memory: Memory, prompt: str, **options: Any) -> Recall:
    return memory.recall(prompt, unit="episode", budget_tokens=BUDGET, now=NOW, **options)


def ask(memory: Memory, task: Task) -> Asked:
    found = recall(memory, task.prompt)
    ids = {id for hit in found.hits for id in hit.message_ids}
    return Asked(task, [one.uri for one in found.episodes], ids)


def row(half: str, asked: Sequence[Asked], silent: Sequence[bool]) -> str:
    amended = [one for one in asked if one.task.amending]
    both = [one for one in amended if one.has_both]
    values = (
        fmean(one.is_first for one in asked),
        fmean(one.task.id in one.given for one in asked),
        fmean(one.share for one in asked),
        fmean(one.has_both for one in amended),
        fmean(one.is_in_order for one in both) if both else 0.0,
        fmean(silent),
    )
    shown = " | ".join(f"{100 * value:.0f}" for value in values)
    return f"| {half} | {len(asked)} | {shown} |"


def measure(
    reading: Reading, halves: Sequence[str]
) -> Iterator[tuple[str, list[Asked], list[bool]]]:
    """Ask the prompts of some halves, of a memory with the chats of all."""
    given = {half: tasks_of(half) for half in HALVES if (FOLDER / f"{half}.json").is_file()}
    tasks = [task for some in given.values() for task in some.tasks]
    memory = reading.memory(lambda memory: read(memory, tasks))
    for half in halves:
        asked = [ask(memory, task) for task in given[half].tasks]
        yield half, asked, [not recall(memory, prompt).hits for prompt in given[half].unrelated]


def main() -> int:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--file", action="append", choices=HALVES)
    arguments.add_argument("--page", action="store_true")
    arguments.add_argument("--missed", action="store_true", help="the ids of what was missed")
    given = arguments.parse_args()
    lines = [HEAD, "|---" * (HEAD.count("|") - 1) + "|"]
    with ExitStack() as stack:
        reading = Reading(stack, CachedEmbedder(), CachedTokens())
        for half, asked, silent in measure(reading, given.file or HALVES):
            lines.append(row(half, asked, silent))
            for one in asked if given.missed else ():
                if one.share < 1 or (one.task.amending and not one.is_in_order):
                    print(one.task.id, one.task.language, one.given, f"{one.share:.2f}")
    table = "\n".join(lines)
    print(table)
    if given.page:
        put_into_page({"coding tasks": table})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
