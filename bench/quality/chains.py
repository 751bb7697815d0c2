"""Does `recall` find answers that no single turn has? Chats with planted chains, whose evidence is
known.

    python -m bench.quality.chains [--page]

Two who know many people talk for months. Facts are said in turns of different sessions, among other
facts of the same people, places and things. Kinds of questions:

* bridge: "Where does Ann's mentor live?" One turn says who the mentor is, another where that one
  lives; only the first has anything in common with the question but its form;
* of: "Who founded the company that Ann works for?", the same with the chain spelt out;
* three: a chain of three turns;
* both: two turns, of one thing that two people have done;
* count: every turn in which one person has done a thing.

The chats are of two halves, with other relations, phrases and names: on one, options are chosen, on
the other they are reported.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from remloom import Memory, Message

from ..data import names as made_names
from .cached import CachedEmbedder
from .tables import put_into_page

HALVES = ("chosen on", "reported on")
REPORTED = HALVES[1]
KINDS = ("bridge", "of", "three", "both", "count")
EACH = 12  # chains of each kind, in each half
SESSION = 12  # turns
BEGAN = datetime(2023, 2, 6, 18, tzinfo=UTC)
WAYS: dict[str, dict[str, Any]] = {
    "**recall**": {},
    "without hops": {"exclude": ("hops",)},
    "iterated, hops 1": {"mode": "iterated", "hops": 1},
    "iterated, hops 2": {"mode": "iterated", "hops": 2},
}
HEAD = f"| asked | {' | '.join(KINDS)} |\n|---{'|---' * len(KINDS)}|"

# what is said of a and b, and of b and c; what is asked of a; what is asked of a at more length
_LINKS: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "chosen on": (
        (
            "Did I tell you that {b} is {a}'s mentor? They meet every week.",
            "{b} moved to {c} in spring, to a house near the river.",
            "Where does {a}'s mentor live?",
            "In which town does the person who mentors {a} live?",
        ),
        (
            "{a} works for {b} now, and likes it.",
            "I read that {b} was started by {c} in a garage.",
            "Who started {a}'s employer?",
            "Who started the company that {a} works for?",
        ),
        (
            "{a} is married to {b}, since last year.",
            "{b} plays in a band called {c}.",
            "What band does the partner of {a} play in?",
            "Which band does the person that {a} is married to play in?",
        ),
    ),
    "reported on": (
        (
            "You know {a}? The landlord there is {b}, a quiet man.",
            "{b} grew up in {c}, on a farm with horses.",
            "Where did the landlord of {a} grow up?",
            "Where did the man who rents the flat to {a} grow up?",
        ),
        (
            "{a} takes singing lessons at {b} these days.",
            "They told me {c} is the director of {b}, and quite strict.",
            "Who is the director of the school of {a}?",
            "Who runs the school where {a} takes singing lessons?",
        ),
        (
            "{a}'s boat was built by {b}, all of oak.",
            "{b} learnt the trade from {c}, a long time ago.",
            "From whom did the builder of {a}'s boat learn?",
            "Who taught the one who built the boat of {a}?",
        ),
    ),
}
# the third step, of c and d
_THIRD = {
    "chosen on": ("The best thing about {c} is {d}, I was there on Sunday.", "What is best about"),
    "reported on": ("{c} is known for {d}, so a friend told me.", "What is known of"),
}
_BOTH = {
    "chosen on": ("{a} went to {c} and came back with a tan.", "Where have both {a} and {b} gone?"),
    "reported on": (
        "At last {a} has seen {c}, the whole of it, on foot.",
        "What place have {a} and {b} both seen?",
    ),
}
_COUNT = {
    "chosen on": (
        ("{a} adopted a cat called {c}, poor thing.", "{a} brought home {c}, one more cat."),
        "How many cats has {a} adopted?",
    ),
    "reported on": (
        ("{a} has finished a marathon in {c}.", "{c}: there {a} ran a marathon, in the rain."),
        "How many marathons has {a} run?",
    ),
}
# said of whoever comes in a chain, so that a name alone leads nowhere
_ASIDE = {
    "chosen on": (
        "{x} called about the tickets for Friday.",
        "I saw {x} mentioned in the paper again.",
        "Do you remember when we first heard of {x}?",
        "{x} came up at dinner, and everybody had an opinion.",
        "They say {x} is not what it was.",
        "I keep forgetting to write to you about {x}.",
    ),
    "reported on": (
        "Somebody at work would not stop talking of {x}.",
        "There was a photo of {x} on the wall.",
        "{x}? I thought of that yesterday as well.",
        "My sister asked me about {x}.",
        "We should ask around about {x} some day.",
        "I dreamt of {x}, of all things.",
    ),
}
_SMALL = {
    "chosen on": (
        "What a week! I slept until ten today.",
        "The tram was late again, and it rained.",
        "I made soup with too much pepper.",
        "How is the garden doing?",
        "That sounds lovely, tell me more.",
        "I have started to read in the evenings.",
    ),
    "reported on": (
        "My bicycle has a flat tyre, imagine.",
        "We had pancakes, as every Sunday.",
        "Did you sleep well?",
        "I am tired of the news, to be honest.",
        "How nice! I am happy for you.",
        "The neighbours are painting their door.",
    ),
}


@dataclass
class Question:
    kind: str
    text: str
    evidence: frozenset[str]  # ids of messages


class Plot:
    """A half: what is said, and what is asked."""

    def __init__(self, half: str) -> None:
        self.half = half
        self.rng = random.Random(HALVES.index(half) + 5)
        given = made_names(1_500)
        self._names = iter(given[HALVES.index(half) :: 2])
        self._said: list[tuple[str, str]] = []  # id, text
        self.questions: list[Question] = []
        for _ in range(EACH):
            self._chains()
            self._both()
            self._count()

    def name(self) -> str:
        return " ".join(next(self._names).split()[:2])

    def _say(self, text: str) -> str:
        self._said.append((f"{self.half[0]}{len(self._said)}", text))
        return self._said[-1][0]

    def _aside(self, *names: str) -> None:
        for name in names:
            for text in self.rng.sample(_ASIDE[self.half], 3):
                self._say(text.format(x=name))

    def _chains(self) -> None:
        links = _LINKS[self.half]
        for number, kind in enumerate(("bridge", "of", "three")):
            first, second, short, long = links[(len(self.questions) + number) % len(links)]
            a, b, c, d = (self.name() for _ in range(4))
            said = [self._say(first.format(a=a, b=b)), self._say(second.format(b=b, c=c))]
            asked = (long if kind == "of" else short).format(a=a)
            if kind == "three":
                said.append(self._say(_THIRD[self.half][0].format(c=c, d=d)))
                asked = f"{_THIRD[self.half][1]} the answer to this: {asked}"
            self._aside(a, b, c)
            self.questions.append(Question(kind, asked, frozenset(said)))

    def _both(self) -> None:
        template, asked = _BOTH[self.half]
        a, b, c = self.name(), self.name(), self.name()
        said = [self._say(template.format(a=one, c=c)) for one in (a, b)]
        for one in (a, b):
            self._say(template.format(a=one, c=self.name()))
        self._aside(a, b)
        self.questions.append(Question("both", asked.format(a=a, b=b), frozenset(said)))

    def _count(self) -> None:
        templates, asked = _COUNT[self.half]
        a = self.name()
        said = [
            self._say(self.rng.choice(templates).format(a=a, c=self.name()))
            for _ in range(self.rng.randint(2, 4))
        ]
        self._aside(a)
        self.questions.append(Question("count", asked.format(a=a), frozenset(said)))

    def messages(self) -> list[Message]:
        """All that is said, mixed, with small talk between."""
        said = list(self._said)
        small = _SMALL[self.half]
        said += [(f"s{n}", small[n % len(small)]) for n in range(len(said) // 2)]
        self.rng.shuffle(said)
        speakers = ("Ann", "Ben") if self.half == HALVES[0] else ("Lea", "Tom")
        return [
            Message(
                speaker=speakers[number % 2],
                text=text,
                id=id,
                at=BEGAN + timedelta(days=3 * (number // SESSION), minutes=number % SESSION),
            )
            for number, (id, text) in enumerate(said)
        ]


@contextmanager
def opened(embedder: CachedEmbedder) -> Iterator[list[tuple[Plot, Memory]]]:
    """Both halves, each read into a memory of its own."""
    with tempfile.TemporaryDirectory() as home:
        found = []
        for number, half in enumerate(HALVES):
            plot = Plot(half)
            memory = Memory.open(home, tenant=f"c{number}", embedder=embedder)
            memory.read_chat(plot.messages(), uri="chat.json")
            memory.embed_pending()
            found.append((plot, memory))
        embedder.save()
        yield found
        embedder.save()
        for _, memory in found:
            memory.close()


def shares(plot: Plot, memory: Memory, options: dict[str, Any]) -> list[float]:
    """How often all the evidence is among the first ten, in percent, by kind."""
    found: dict[str, list[bool]] = {kind: [] for kind in KINDS}
    for question in plot.questions:
        recall = memory.recall(question.text, neighbours=0, abstain=False, **options)
        ids = {id for hit in recall.hits for id in hit.message_ids}
        found[question.kind].append(question.evidence <= ids)
    return [100 * sum(some) / len(some) for some in found.values()]


def row(way: str, cells: Sequence[float]) -> str:
    return f"| {way} | {' | '.join(f'{cell:.1f}' for cell in cells)} |"


def main() -> int:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--embedder", default="minilm")
    arguments.add_argument("--page", action="store_true")
    given = arguments.parse_args()
    lines = [HEAD]
    with opened(CachedEmbedder(given.embedder)) as halves:
        for plot, memory in halves:
            for way, options in WAYS.items():
                cells = shares(plot, memory, options)
                print(f"{plot.half}: {row(way, cells)}", flush=True)
                if plot.half == REPORTED:
                    lines.append(row(way, cells))
    if given.page:
        put_into_page({"chains": "\n".join(lines)})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
