"""Is an agent given of a profile what a request needs, and nothing that is nobody's business?

One person of our own making, of whom a dozen things are known, makes requests. Of each it is
written down what the answer needs, and what would be out of place; what may be argued about is in
neither. What could hurt (an allergy, medication) has to be given with every request.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from remloom import Memory
from remloom.profile.slots.registry import registry

DATA = Path(__file__).with_name("profile") / "purposes.jsonl"
BUDGET = 800  # tokens
FOUND = 0.85  # share of what is needed that has to be given
LEAKED, ODD = 0.25, 0.05  # of what is out of place, by request, at most

# what is known of the person: by the word that stands for it in the data, its slot and its value
KNOWN = {
    "peanuts": ("allergies", "peanuts"),
    "vegetarian": ("dietary_style", "vegetarian"),
    "Lisbon": ("location_region", "Lisbon"),
    "nurse": ("role_type", "nurse"),
    "short": ("output_contract.verbosity", "concise"),
    "English": ("reply_language", "English"),
    "neovim": ("editor_ide.primary", "neovim"),
    "Python": ("primary_languages", "Python"),
    "chess": ("personal_hobbies", "chess"),
    "Fado": ("music.genres", "Fado"),
    "Ana": ("extras.sister", "Ana"),
    "blood pressure": ("identity.health", "blood pressure medicine"),
    "budget": ("extras.budget", "tight"),
    "5": ("extras.gets_up_at", "5"),
    "sushi": ("cuisine_affinities.favorites", "sushi restaurants"),
}


SAFETY = frozenset(("peanuts", "blood pressure"))


class Request(TypedDict):
    """A request, by the words of `KNOWN` what it needs, and what would be out of place."""

    query: str
    may: list[str]
    must_not: list[str]


@dataclass
class Given:
    """What was given for requests: each line a request, and what was missed or out of place."""

    requests: int = 0
    needed: int = 0
    missed: list[str] = field(default_factory=list)
    # what could hurt and was not given
    unsafe: list[str] = field(default_factory=list)
    # of who the user is
    leaks: list[str] = field(default_factory=list)
    # of what tasks need, where this one does not
    odd: list[str] = field(default_factory=list)

    @property
    def found(self) -> float:
        """The share of what is needed that was given."""
        return 1 - len(self.missed) / self.needed

    @property
    def safe(self) -> float:
        """The share of requests that were given all that could hurt."""
        return 1 - len(self.unsafe) / self.requests

    @property
    def leaked(self) -> float:
        """Leaks by request."""
        return len(self.leaks) / self.requests

    @property
    def out_of_place(self) -> float:
        """What else was out of place, by request."""
        return len(self.odd) / self.requests

    def low(self) -> list[str]:
        """The bars that are not reached."""
        bars = {
            f"found {self.found:.3f}": self.found >= FOUND,
            f"leaked {self.leaked:.3f}": self.leaked <= LEAKED,
            f"odd {self.out_of_place:.3f}": self.out_of_place <= ODD,
        }
        return [name for name, is_reached in bars.items() if not is_reached]


def load_requests(place: Path = DATA) -> list[Request]:
    return [json.loads(line) for line in place.read_text(encoding="utf-8").splitlines()]


@contextmanager
def known(embedder: str = "minilm") -> Iterator[Memory]:
    """A memory in which these things are known."""
    with tempfile.TemporaryDirectory() as home, Memory.open(home, embedder=embedder) as memory:
        for slot, value in KNOWN.values():
            memory.profile.set(slot, value)
        yield memory


def judge_requests(memory: Memory, requests: Sequence[Request]) -> Given:
    """Ask for the context of each request, and compare."""
    result = Given(requests=len(requests))
    slots = {memory.profile.slot(slot).id: word for word, (slot, _) in KNOWN.items()}
    for request in requests:
        context = memory.profile.context(request["query"], budget_tokens=BUDGET)
        given = {slots[line.slot] for line in context.lines}
        if missing := sorted(SAFETY - given):
            result.unsafe.append(f"{request['query']} ({', '.join(missing)}; {context.purpose})")
        result.needed += len(request["may"])
        for word in request["may"]:
            if word not in given:
                result.missed.append(f"{request['query']} ({word}; {context.purpose})")
        for word in given.intersection(request["must_not"]):
            found = result.leaks if _is_private(KNOWN[word][0]) else result.odd
            found.append(f"{request['query']} ({word}; {context.purpose})")
    return result


def _is_private(name: str) -> bool:
    slot = (
        registry().extra(name.partition(".")[2])
        if name.startswith("extras.")
        else registry().get(name)
    )
    return slot.usage == "soft" or slot.sensitive
