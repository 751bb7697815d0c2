"""Long chats of a user with an assistant, made up by rule from the topics in `assistant/`.

Over months a user speaks of several projects, some at a time, and says in passing what questions
ask for later: facts, facts that change, preferences and standing orders (which share no words with
the requests that they govern), what is counted over several sessions, times, and contrary things.
The assistant answers at length, and says again what it was told: that is what drowns the evidence.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from remloom import Message

from .form import Conversation, Question

__all__ = ["HALVES", "KINDS", "conversations"]

FOLDER = Path(__file__).with_name("assistant")
# of "fresh" nothing was ever chosen; "months" has longer messages, orders that hold under a
# condition, and preferences that are reasons within a plan
HALVES = ("chosen", "reported", "fresh", "months_chosen", "months_reported")
KINDS = (
    "facts",
    "changed",
    "preferences",
    "instructions",
    "told",
    "counts",
    "times",
    "contradictions",
    "order",
    "summaries",
)
BEGAN = datetime(2024, 1, 8, 9, tzinfo=UTC)
SPAN = 180  # days
SEED = 17
TOPICS = (3, 2)  # of each chat
EXCHANGES = (5, 8)  # of a session
INTRODUCED = 6  # aspects that a question about order asks for
# what a set may say otherwise
DEFAULTS: dict[str, Any] = {
    "fillers": 16,  # exchanges of a topic that no question is about
    "chattered": [0, 2],  # sentences of a message of the user that say little
    "words": [150, 380],  # of a reply
    "pasted": 0.0,  # share of messages of the user with something of their work
}
ASKED = 0.7  # share of statements that come with a request
YOURS = {
    "i": "you",
    "i'm": "you're",
    "i've": "you've",
    "i'd": "you'd",
    "my": "your",
    "me": "you",
    "we": "you",
    "our": "your",
    "us": "you",
    "am": "are",
    "mine": "yours",
}


@dataclass
class Exchange:
    """A message of the user, and the reply to it."""

    at: float  # of the time that the topic takes, 0..1
    kind: str  # of what it is evidence for; "aspect" for a first request; else ""
    said: str = ""
    aspect: str = ""
    told: str = ""  # by the assistant
    id: str = ""  # of the message that is evidence, once it is written


@dataclass
class Topic:
    """A project of the user: what is said of it, and what is asked later."""

    given: dict[str, Any]
    random: random.Random
    exchanges: list[Exchange] = field(default_factory=list)
    asked: list[tuple[str, str, list[Exchange]]] = field(default_factory=list)

    def plan(self, phrases: dict[str, Any]) -> None:
        """Lay out what is said when, and which of it answers what."""
        aspects = list(self.given["aspects"])
        self.random.shuffle(aspects)
        introduced = [
            self._add(number / len(aspects), "aspect", aspect=aspect)
            for number, aspect in enumerate(aspects)
        ]
        for kind in ("facts", "preferences", "instructions"):
            for said, question in self.given[kind]:
                self._ask(kind, question, self._say(kind, said))
        for first, then, now, before in self.given["changed"]:
            both = self._say("changed", first, then)
            self._ask("changed", now, both)
            self._ask("changed", before, both[:1])
        for request, told, question in self.given["told"]:
            at = self.random.random()
            self._ask("told", question, [self._add(at, "told", said=request, told=told)])
        for kind, name in (("counts",) * 2, ("times", "gaps"), ("contradictions",) * 2):
            for question, *said in self.given[name]:
                self._ask(kind, question, self._say(kind, *said))
        for _ in range(phrases["fillers"]):
            self._add(self.random.random(), "")
        project = self.given["project"]
        for question in phrases["order"]:
            self._ask("order", question.format(project=project), introduced[:INTRODUCED])
        developed = [one for one in self.exchanges if one.kind in ("facts", "changed", "times")]
        for question in phrases["summary"]:
            self._ask("summaries", question.format(project=project), developed)
        self.exchanges.sort(key=lambda one: one.at)

    def _say(self, kind: str, *said: str) -> list[Exchange]:
        times = sorted(self.random.random() for _ in said)
        return [self._add(at, kind, said=one) for at, one in zip(times, said, strict=True)]

    def _add(self, at: float, kind: str, **given: str) -> Exchange:
        self.exchanges.append(Exchange(at, kind, **given))
        return self.exchanges[-1]

    def _ask(self, kind: str, question: str, evidence: list[Exchange]) -> None:
        self.asked.append((kind, question, evidence))


@dataclass
class Chat:
    """A chat as it is written."""

    phrases: dict[str, Any]
    random: random.Random
    messages: list[Message] = field(default_factory=list)
    introduced: dict[str, list[str]] = field(default_factory=dict)  # aspects, by project

    def write(self, topic: Topic, exchange: Exchange, at: datetime) -> None:
        project = topic.given["project"]
        known = self.introduced.setdefault(project, [])
        aspect = exchange.aspect
        pasted = self.phrases["pasted"]
        alone = ("told",) if pasted else ("told", "instructions")
        if aspect:
            known.append(aspect)
        elif exchange.kind not in alone and known:
            aspect = self.random.choice(known) if self.random.random() < ASKED else ""
        asked = self._pick("requests").format(aspect=aspect) if aspect else ""
        said = _lead(self._pick("leads"), exchange.said) if exchange.said else ""
        if exchange.kind in ("told", "instructions"):
            said = exchange.said
        chatter = [one.format(project=project) for one in self.phrases["chatter"]]
        parts = [said, asked, *self.random.sample(chatter, self._between("chattered"))]
        self.random.shuffle(parts)
        if pasted:
            if self.random.random() < pasted:
                parts.append(f"\n{self.random.choice(topic.given['pastes'])}\n")
            if exchange.kind == "instructions":  # afterthoughts
                parts.remove(said)
                parts.append(said)
        user = " ".join(filter(None, parts)) or self._pick("thanks")
        user_id = self._say("user", user[:1].upper() + user[1:], at)
        reply = self._reply(topic, exchange, aspect or self.random.choice(topic.given["aspects"]))
        reply_id = self._say("assistant", reply, at + timedelta(minutes=1))
        exchange.id = reply_id if exchange.kind == "told" else user_id

    def _say(self, speaker: str, text: str, at: datetime) -> str:
        id = f"m{len(self.messages) + 1}"
        self.messages.append(Message(speaker=speaker, text=text, id=id, at=at))
        return id

    def _between(self, name: str) -> int:
        return self.random.randint(*self.phrases[name])

    def _pick(self, name: str) -> str:
        return str(self.random.choice(self.phrases[name]))

    def _reply(self, topic: Topic, exchange: Exchange, aspect: str) -> str:
        names = {"aspect": aspect, "project": yours(topic.given["project"])}
        begun = []
        if exchange.kind == "instructions":
            begun.append(self._pick("agreed"))
        begun.append(self._pick("openings").format(**names))
        if exchange.said and exchange.kind != "told":
            begun.append(self._pick("restatements").format(said=yours(exchange.said)))
        points = [*topic.given["advice"], *(one.format(**names) for one in self.phrases["generic"])]
        self.random.shuffle(points)
        wanted = self._between("words")
        chosen: list[str] = []
        while points and sum(len(point.split()) for point in chosen) < wanted:
            chosen.append(points.pop())
        if exchange.told:
            chosen.insert(self.random.randrange(len(chosen)), exchange.told)
        listed = [f"{number}. {point}" for number, point in enumerate(chosen, 1)]
        return "\n".join([" ".join(begun), *listed, self._pick("closings")])


def _lead(lead: str, said: str) -> str:
    """What is said behind words that lead to it: "I" stays as it is, "It" does not."""
    if lead.endswith(", ") and not re.match(r"I\b", said):
        said = said[0].lower() + said[1:]
    return lead + said


def yours(text: str) -> str:
    """What the user said, as the assistant says it again.

    >>> yours("I'm tired of my bike.")
    "you're tired of your bike."
    """
    return re.sub(r"[\w']+", lambda word: YOURS.get(word[0].casefold(), word[0]), text)


def conversations(half: str) -> list[Conversation]:
    """The chats of one half, with their questions; the same ones every time."""
    phrases = DEFAULTS | tomllib.loads((FOLDER / f"{half}.toml").read_text(encoding="utf-8"))
    chance = random.Random(f"{SEED} {half}")
    topics = [Topic(given, chance) for given in phrases["topics"]]
    found = []
    for number, count in enumerate(TOPICS):
        some, topics = topics[:count], topics[count:]
        for topic in some:
            topic.plan(phrases)
        found.append(_conversation(f"{half}-{number}", some, phrases, chance))
    return found


def _conversation(
    id: str, topics: Sequence[Topic], phrases: dict[str, Any], chance: random.Random
) -> Conversation:
    chat = Chat(phrases, chance)
    sessions = sorted(_sessions(topics, chance), key=lambda session: session[1][0].at)
    for topic, exchanges in sessions:
        at = BEGAN + timedelta(days=SPAN * exchanges[0].at, hours=chance.randrange(8))
        for number, exchange in enumerate(exchanges):
            chat.write(topic, exchange, at + timedelta(minutes=3 * number))
    questions = [
        Question(question, kind, frozenset(one.id for one in evidence))
        for topic in topics
        for kind, question, evidence in topic.asked
    ]
    return Conversation(id, chat.messages, questions)


def _sessions(
    topics: Sequence[Topic], chance: random.Random
) -> Iterator[tuple[Topic, list[Exchange]]]:
    for topic in topics:
        rest = topic.exchanges
        while rest:
            count = chance.randint(*EXCHANGES)
            yield topic, rest[:count]
            rest = rest[count:]
