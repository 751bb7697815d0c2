"""Does a question about something bring along the change of what that depends on?

    python -m bench.quality.episodes [--file NAME …] [--exclude PART] [--page]

`episodes` has short chats by three writers who did not know the code, in the form of MEME (arXiv
2605.12477): a turn says something that depends on something else, says so or lets it be seen, and
a later turn tells that this has changed. All are read into one memory with other chats; where the
dependency is stated, its turn has `rests_on`, as an agent would write it. Counted is how often the
turn with the change is among the first 10 and 20 hits, and in a context. "without" leaves
out the part `dependencies`. `a.json` was seen while the search was made, `b.json` and `c.json` were
not.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from msgspec.structs import replace

from remloom import Memory, Message, Resource
from remloom.retrieve.dependencies import PART

from .cached import CachedEmbedder, CachedTokens
from .domains import Reading
from .form import load
from .locomo import Opened, in_context
from .tables import put_into_page
from .written import FOLDER as CHATS

FOLDER = Path(__file__).with_name("episodes")
OTHERS = ("friends-jodie-temi", "team-tannery")  # chats read beside them
KINDS = ("stated", "passing")
HEAD = "| written | dependency | episodes | change in 10 | in 20 | in a context | both in 20 |"


class Episode(NamedTuple):
    """A chat, and what in it depends on what."""

    id: str
    kind: str  # stated | passing
    messages: list[Message]
    dependency: str  # id of the message
    change: str
    on: str  # slot
    question: str


class Asked(NamedTuple):
    """An episode as its question went."""

    episode: Episode
    found: list[str]  # ids of messages
    given: set[str]  # in a context


def episodes(file: Path) -> Iterator[Episode]:
    for one in json.loads(file.read_text(encoding="utf-8")):
        messages = [
            Message(
                speaker=turn["speaker"],
                text=turn["text"],
                id=f"{one['id']}:{number}",
                at=datetime.fromisoformat(turn["at"]),
            )
            for number, turn in enumerate(one["turns"])
        ]
        dependency, change = (messages[one[name]].id for name in ("dependency", "change"))
        yield Episode(
            one["id"], one["kind"], messages, dependency, change, one["on"], one["question"]
        )


def read(memory: Memory, some: Sequence[Episode]) -> None:
    """Read episodes, and other chats beside them; what is stated is written as an agent would."""
    for name in OTHERS:
        for chat in load(CHATS / "chosen" / f"{name}.json"):
            memory.read_chat(chat.messages, uri=chat.id)
    for one in some:
        memory.read_chat(one.messages, uri=one.id)
        if one.kind == "stated" and "rests_on" in Resource.__struct_fields__:
            (turn,) = memory.admin.store.records.messages(one.id, [one.dependency])
            memory.write([replace(turn, rests_on=(one.on,))])


def ask(opened: Opened, one: Episode, exclude: Sequence[str]) -> Asked:
    options: Any = {"exclude": exclude, "now": one.messages[-1].at}
    hits = opened.memory.recall(one.question, limit=20, neighbours=0, abstain=False, **options).hits
    found = [id for hit in hits for id in hit.message_ids]
    return Asked(one, found, in_context(opened, one.question, exclude=exclude))


def row(file: str, kind: str, asked: Sequence[Asked]) -> str:
    of_kind = [one for one in asked if one.episode.kind == kind]
    values = (
        fmean(one.episode.change in one.found[:10] for one in of_kind),
        fmean(one.episode.change in one.found[:20] for one in of_kind),
        fmean(one.episode.change in one.given for one in of_kind),
        fmean({one.episode.change, one.episode.dependency} <= set(one.found) for one in of_kind),
    )
    shown = " | ".join(f"{100 * value:.0f}" for value in values)
    return f"| {file} | {kind} | {len(of_kind)} | {shown} |"


def main() -> int:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--file", action="append", help="of the two: a, b")
    arguments.add_argument("--exclude", action="append", default=[], help="a part of the search")
    arguments.add_argument("--page", action="store_true")
    given = arguments.parse_args()
    lines = [HEAD, "|---" * (HEAD.count("|") - 1) + "|"]
    with ExitStack() as stack:
        reading = Reading(stack, CachedEmbedder(), CachedTokens())
        for name in given.file or [file.stem for file in sorted(FOLDER.glob("*.json"))]:
            some = list(episodes(FOLDER / f"{name}.json"))
            memory = reading.memory(lambda memory, some=some: read(memory, some))
            for label, exclude in (("", given.exclude), (", without", [*given.exclude, PART])):
                asked = [
                    ask(Opened(one.id, memory, [], one.messages[-1].at), one, exclude)
                    for one in some
                ]
                lines += [row(f"{name}{label}", kind, asked) for kind in KINDS]
    table = "\n".join(lines)
    print(table)
    if given.page:
        put_into_page({"episodes": table})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
