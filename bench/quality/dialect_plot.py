"""A company whose records are known, and questions over three to five of them. See dialect.py."""

from __future__ import annotations

import random
import tomllib
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from msgspec import Struct
from msgspec.structs import replace

from remloom import Edge, Entity, Resource
from remloom.model import Moment, Person, Record

EACH = 20  # tasks of each family
_BEGAN, _ENDED = datetime(2023, 1, 9, tzinfo=UTC), datetime(2024, 12, 10, tzinfo=UTC)
_FROM = tomllib.loads(Path(__file__).with_name("dialect.toml").read_text("utf-8"))
_TOPICS = list(_FROM["topics"])
FAMILIES: dict[str, list[str]] = _FROM["families"]


class Step(Struct, kw_only=True):
    """What one who reads the question would look for next, in the question's words: seen where one
    of its texts, or its edge, was shown. Without them there is nothing to be seen."""

    phrase: str = ""  # {} stands for what the step before found
    to: str = ""  # the name that it leads to; empty: there is none, or are several
    texts: tuple[str, ...] = ()
    edge: str = "none"  # as one key: ann-reports-to-bob
    since: datetime | None = None
    until: datetime | None = None
    order: tuple[str, str] | None = None  # in time: table, and ASC or DESC


class Task(Struct):
    family: str
    start: str  # the name in the question
    question: str
    steps: list[Step]


class Company:
    """Made by rule from a seed; what is asked is chosen among what all of it has."""

    def __init__(self, seed: int = 11) -> None:
        self._rng = rng = random.Random(seed)
        self.items: list[Record | Edge] = []
        self._known: dict[tuple[str, str], Step] = {}  # by name and relation
        # when, and what is to be seen: by name and topic, and the meetings of a person
        self._texts: dict[tuple[str, str], list[tuple[datetime, Step]]] = defaultdict(list)
        self._people = people = rng.sample(_pairs(_FROM["first"], _FROM["last"]), 240)
        self._projects = projects = _pairs(*_FROM["projects"])
        self._aliases = dict(zip(projects, _pairs(*_FROM["aliases"]), strict=True))
        for name, alias in self._aliases.items():
            self.items.append(Entity(name=name, type="project", aliases=(alias,)))
            self._meant(
                name, "project", f"{name} is also called {alias}.", called="{} is also called"
            )
        firms = [f"{last} Works" for last in _FROM["last"].split()]
        self.items += [Entity(name=name, type="organization") for name in firms]
        chosen = people[:40]  # who lead, and write about everything
        for n, name in enumerate(people):
            place = rng.choice(_FROM["offices"].split())
            self.items.append(Entity(name=name, type="person", properties={"office": place}))
            asked = {"office": "in which office is {}", "desk": f"{{}} of {place}"}
            self._meant(name, "person", f"{name} has a desk in {place}.", **asked)
            if n:
                self._relate(name, "reports-to", people[rng.randrange(n)])
        for n, project in enumerate(projects):
            self._relate(project, "led-by", lead := rng.choice(chosen))
            self._relate(project, "depends-on", projects[(n + rng.randrange(1, 99)) % 100])
            self._relate(project, "supplied-by", rng.choice(firms))
            for _ in range(16):
                self._paper(rng.choice([lead, rng.choice(people)]), project, rng.choice(_TOPICS))
        for firm in firms:
            self._relate(firm, "represented-by", rng.choice(chosen))
        for n in range(320):
            self._paper(chosen[n // 8], rng.choice(projects), _TOPICS[n % 8])
        for n in range(240):
            self._meeting(n, rng.choice(projects), rng.sample(people[:60], 4))
        self.tasks = [task for family in FAMILIES for task in self._tasks(family)]

    def _note(self, text: str, *named: str, kind: str = "note") -> tuple[Resource, datetime]:
        rng, name = self._rng, f"{kind.capitalize()} {len(self.items)}"
        content = rng.sample(_FROM["filler"], 3)
        content.insert(rng.randrange(4), text)
        at = _BEGAN + timedelta(days=rng.randrange(700), minutes=rng.randrange(540, 900))
        note = Resource(
            id=str(uuid5(NAMESPACE_URL, name)), name=name, content=" ".join(content),
            category=kind, starts_at=at, related_entities=named,
        )  # fmt: skip
        self.items.append(note)
        return note, at

    def _meant(self, name: str, kind: str, text: str, **asked: str) -> None:
        self._note(text, name)
        for relation, phrase in asked.items():
            seen = (text, f"> {name} ({kind})")
            self._known[name, relation] = Step(phrase=phrase, to=name, texts=seen)

    def _relate(self, src: str, relation: str, dst: str) -> None:
        said, asked, reverse = _FROM["relations"][relation]
        note, _ = self._note(text := said.format(src, dst), src, dst)
        self.items += [Edge(src=note.name, rel_type="mentions", dst=one) for one in (src, dst)]
        self.items.append(Edge(src=src, rel_type=relation, dst=dst))
        edge = f"{src} {relation} {dst}".lower().replace(" ", "-")
        self._known[src, relation] = Step(phrase=asked, to=dst, texts=(text,), edge=edge)
        back = "" if (dst, f"of-{relation}") in self._known else src
        self._known[dst, f"of-{relation}"] = Step(phrase=reverse, to=back, texts=(text,), edge=edge)

    def _paper(self, author: str, project: str, topic: str) -> None:
        said = _FROM["topics"][topic].format(project, self._rng.randrange(10, 99_999) / 10)
        text = f"{author} on {topic}: {said}."
        paper, at = self._note(text, author, project, kind="paper")
        self.items.append(Edge(src=paper.name, rel_type="written-by", dst=author))
        self.items.append(Edge(src=paper.name, rel_type="about", dst=project))
        self._known[paper.name, "author"] = Step(phrase="who wrote {}, its author", to=author)
        for key in ((author, topic), (project, topic), (project, "")):
            self._texts[key].append((at, Step(to=paper.name, texts=(text,))))

    def _meeting(self, number: int, project: str, present: list[str]) -> None:
        text = f"{', '.join(present)} met: item {number} of {project} goes to the yard."
        minutes, at = self._note(text, project, *present, kind="minutes")
        people = tuple(Person(id=one, name=one) for one in present)
        self.items.append(Moment(
            name=f"Round {number}", type="meeting", starts_at=at, present_persons=people,
            entity_refs=(project,), resource_refs=(minutes.id,),
        ))  # fmt: skip
        for one in present:
            self._texts["meeting", one].append((at, Step(to=project, texts=(text,))))

    def _tasks(self, family: str) -> list[Task]:
        tasks: list[Task] = []
        path, question = FAMILIES[family]
        pool = self._people[1:] if family in ("meeting", "misspelt") else self._projects
        while len(tasks) < EACH:
            at, since = self._rng.choice(pool), _BEGAN + timedelta(days=self._rng.randrange(700))
            start = self._aliases[at] if family == "alias" else at
            told = {"start": start, "topic": self._rng.choice(_TOPICS), "month": f"{since:%B %Y}"}
            told["day"] = f"{since.day} {told['month']}"
            if family == "misspelt":  # its last letter but one twice
                told |= {"start": at[:-1] + at[-2:], "office": self._known[at, "desk"].phrase[6:]}
            task = Task(family, told["start"], question.format_map(told), [])
            for relation in path.split():
                step = self._known.get((at, relation)) or self._text(relation, at, told, since)
                task.steps.append(step)
                at = step.to
                if not at:
                    break
            else:
                tasks.append(task)
        return tasks

    def _text(self, relation: str, at: str, told: dict[str, str], since: datetime) -> Step:
        first = since.replace(day=1)
        month = first, (first + timedelta(days=32)).replace(day=1)
        after, until = {"month": month, "meeting": (since, None)}.get(relation, (None, None))
        keys = {"newest": (at, ""), "meeting": ("meeting", at)}
        some = sorted(self._texts[keys.get(relation, (at, told["topic"]))], key=itemgetter(0))
        found = [step for when, step in some if (after or _BEGAN) <= when < (until or _ENDED)]
        if relation in keys:
            found = found[-1:] if relation == "newest" else found[:1]
        return replace(
            found[0] if len(found) == 1 else Step(),
            phrase=_FROM["texts"].get(relation, "").format("{}", **told), since=after, until=until,
            order={"newest": ("resources", "DESC"), "meeting": ("moments", "ASC")}.get(relation),
        )  # fmt: skip


def _pairs(one: str, other: str) -> list[str]:
    return [f"{first} {last}" for first in one.split() for last in other.split()]
