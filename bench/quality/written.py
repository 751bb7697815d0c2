"""Does `recall` find the evidence in chats by writers who did not know it?

    python -m bench.quality.written [--half held] [--domain NAME …] [--page]

`chats/chosen` and `chats/held` have a family's year, friends over three weeks, a work channel,
users with an assistant, developers with a coding assistant whose decisions are amended, and chats
in other languages. Options are chosen, and the order is learned, by the first; the second
decides, and is not to be read. Of developers' questions it also counts the sessions that decide,
and whether what holds now comes before what it amends.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from .cached import CachedEmbedder, CachedTokens
from .domains import Reading
from .form import Conversation, Question, load
from .locomo import Opened, in_context
from .tables import put_into_page

FOLDER = Path(__file__).with_name("chats")
HALVES = ("chosen", "held")
HEAD = (
    "| domain | half | questions | frac@10 | all@10 | frac@20 | three and more | sessions@10"
    " | newest first | context, all | context, share | silent without an answer |"
)

PIECES = 3  # of evidence, from which on a question has many


@dataclass
class Asked:
    """A question as it went."""

    question: Question
    found: list[str]  # ids of turns, best first
    given: set[str] = field(default_factory=set)  # ids of turns in a context
    is_silent: bool = False

    def frac(self, k: int) -> float:
        gold = self.question.gold
        return len(gold & set(self.found[:k])) / len(gold)

    @property
    def sessions(self) -> float:
        """The share of the sessions with evidence of which a turn is among the first ten."""
        wanted = {_session(id) for id in self.question.gold}
        return len(wanted & {_session(id) for id in self.found[:10]}) / len(wanted)

    @property
    def is_newest_first(self) -> bool:
        """Whether what holds now was found, and before all that it amends."""
        places = {id: place for place, id in enumerate(self.found)}
        newest = min((places.get(id, 99) for id in self.question.newest), default=99)
        return newest < 99 and all(places.get(id, 99) > newest for id in self.question.amends)


def _session(id: str) -> str:
    return id.partition(":")[0]


def ask(memory: Opened, question: Question, **options: Any) -> Asked:
    """Ask for hits, for a context, and whether there is an answer at all."""
    common: Any = {"now": memory.now, **options}
    if not question.gold:
        silent = memory.memory.recall(question.text, **common).abstained
        return Asked(question, [], is_silent=silent)
    found = memory.memory.recall(question.text, limit=20, neighbours=0, abstain=False, **common)
    asked = Asked(question, [id for hit in found.hits for id in hit.message_ids])
    asked.given = in_context(memory, question.text, **options)
    return asked


def read(reading: Reading, half: str) -> dict[str, list[Opened]]:
    """Read the chats of one half, by domain."""
    domains: dict[str, list[Opened]] = {}
    for file in sorted((FOLDER / half).glob("*.json")):
        for one in load(file):
            domains.setdefault(file.stem.partition("-")[0], []).append(opened(reading, one))
    return domains


def opened(reading: Reading, one: Conversation) -> Opened:
    """Read one chat."""
    memory = reading.memory(lambda memory: memory.read_chat(one.messages, uri=one.id))
    return Opened(one.id, memory, one.questions, one.messages[-1].at)


def row(domain: str, half: str, asked: Sequence[Asked]) -> str:
    """What was measured of one domain, in percent."""
    answered = [one for one in asked if one.question.gold]
    many = [one for one in answered if len(one.question.gold) >= PIECES]
    amended = [one for one in answered if one.question.newest]
    silent = [one.is_silent for one in asked if not one.question.gold]
    values = (
        _mean([one.frac(10) for one in answered]),
        _mean([one.frac(10) == 1 for one in answered]),
        _mean([one.frac(20) for one in answered]),
        _mean([one.frac(10) for one in many]),
        _mean([one.sessions for one in answered]),
        _mean([one.is_newest_first for one in amended]),
        _mean([one.question.gold <= one.given for one in answered]),
        _mean([len(one.question.gold & one.given) / len(one.question.gold) for one in answered]),
        _mean(silent),
    )
    return f"| {domain} | {half} | {len(answered)} | {' | '.join(values)} |"


def _mean(values: Sequence[float]) -> str:
    return f"{100 * fmean(values):.1f}" if values else "–"


def main() -> int:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--half", action="append", choices=HALVES)
    arguments.add_argument("--domain", action="append")
    arguments.add_argument("--exclude", action="append", default=[], help="a part of the search")
    for flag in ("--page", "--without-late"):
        arguments.add_argument(flag, action="store_true")
    given = arguments.parse_args()
    lines = [HEAD, "|---" * (HEAD.count("|") - 1) + "|"]
    print(lines[0])
    with ExitStack() as stack:
        encoder = None if given.without_late else CachedTokens()
        reading = Reading(stack, CachedEmbedder(), encoder)
        for half in given.half or HALVES:
            for domain, memories in read(reading, half).items():
                if given.domain and domain not in given.domain:
                    continue
                asked = [
                    ask(one, question, exclude=given.exclude)
                    for one in memories
                    for question in one.questions
                ]
                lines.append(row(domain, half, asked))
                print(lines[-1], flush=True)
        reading.save()
    if given.page:
        put_into_page({"written": "\n".join(lines)})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
