"""A premise that changes while a model thinks: what the model says of it then is refused, or stale."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from msgspec.structs import replace

from remloom import Memory, Moment, Resource
from remloom.dream.affinity import outdated_pairs
from remloom.llm import Request
from remloom.store.premises import find_stale
from remloom.testing.embedder import WordEmbedder
from remloom.testing.models import ScriptedModel, ScriptedReply

# races of each kind: in SQLite 90 in all, and 1,008 in the long form; as many there in PostgreSQL
ROUNDS = {"sqlite": (10, 112), "postgres": (2, 112)}
MAY = datetime(2024, 5, 1, 9, tzinfo=UTC)
FACT = re.compile(r"\bfact\d+[abc]\b")
_NEXT = {"a": "b", "b": "c"}
WORDS = "the tidb migration begins with a cluster of three nodes on monday"


def facts(prompt: str) -> list[str]:
    """What a prompt quotes of the notes."""
    return list(dict.fromkeys(FACT.findall(prompt)))


class Racer:
    """A model that repeats the facts it is shown. As it thinks about `task`, the notes change."""

    def __init__(self, task: str) -> None:
        self.task = task
        self.change: Callable[[], None] | None = None

    def __call__(self, request: Request) -> ScriptedReply:
        said = " ".join(facts(request.prompt))
        if request.task == self.task and said and self.change is not None:
            change, self.change = self.change, None
            change()
        return _reply(request.task, said)


def _reply(task: str, said: str) -> ScriptedReply:
    if task == "entities":
        return {"items": [{"entity": "Orion", "learning": f"Orion has {said}."}]}
    if task == "moment":
        return {"items": [{"name": f"Talk {said}", "summary": f"It is of {said}."}]}
    if task == "affinity":
        return {"related": True, "relation": "same", "strength": 0.9, "reason": said}
    if task == "profile_extract":
        items = [{"key": "has", "value": one, "quote": one, "message": 1} for one in said.split()]
        return {"items": items[:1]}
    return f"What follows from {said}: herons like {said}."


def notes(count: int = 3) -> list[Resource]:
    return [
        Resource(
            id=f"note{n}",
            name=f"Note {n}",
            content=f"{WORDS} fact{n}a",
            uri=f"note{n}.md",
            category="chat",
            metadata={"speaker": "user"},
            starts_at=MAY + timedelta(days=n),
        )
        for n in range(count)
    ]


def insights() -> list[Resource]:
    return [
        Resource(
            id=f"insight{n}",
            name=f"Insight {n}",
            content=f"roses bloom in the palace garden all summer fact1{n}a",
            kind="synthesis",
            generation=1,
            parents=("note0",),
        )
        for n in range(3)
    ]


def changed(records: Sequence[Resource]) -> list[Resource]:
    return [replace(one, content=f"{one.content[:-1]}{_NEXT[one.content[-1]]}") for one in records]


def prepare_consolidate(memory: Memory) -> list[Resource]:
    others = [f"word{n} thing{n} item{n} part{n}" for n in range(12)]
    memory.write([Resource(name=text, content=text, uri=text) for text in others])
    memory.write(insights())
    return insights()


RACES: dict[str, tuple[str, Callable[[Memory], Any]]] = {
    "learn": ("synthesis", lambda memory: memory.learn()),
    "learn entities": ("entities", lambda memory: memory.learn()),
    "learn entity": ("entity_synthesis", lambda memory: memory.learn()),
    "dream": ("dream", lambda memory: memory.dream(dreams=2, seed="one")),
    "moments": ("moment", lambda memory: memory.dreams.moments(hours=None)),
    "affinity": ("affinity", lambda memory: memory.dreams.affinity(min_score=0.6, judge=True)),
    "consolidate": ("summary", lambda memory: memory.dreams.consolidate(min_score=0.999)),
    "refresh": ("synthesis", lambda memory: memory.dreams.refresh()),
    "observe": ("profile_extract", lambda memory: memory.profile.observe()),
}


def lies(memory: Memory) -> tuple[list[str], int]:
    """What says a fact that is no longer so, and is not stale; and how much says one at all."""
    store = memory.admin.store
    kept = (
        store.records.get("resources", f"{name}{n}")
        for name in ("note", "insight")
        for n in range(3)
    )
    true = {fact for one in kept if isinstance(one, Resource) for fact in facts(one.content)}
    old: list[str] = []
    for schema in ("resources", "moments"):
        for record in store.records.all(schema):
            text = ""
            if isinstance(record, Moment):
                text = record.summary if record.metadata.get("made_by") else ""
            elif (
                isinstance(record, Resource) and record.parents and not record.id.startswith("ins")
            ):
                text = f"{record.content} {record.metadata.get('quote', '')}"
            if not true.issuperset(facts(text)):
                old.append(record.id)
    stale = find_stale(store.records, old)
    pairs = set(outdated_pairs(store))
    judged = [
        edge
        for edge in store.graph.all_edges()
        if not true.issuperset(facts(str(edge.properties.get("context"))))
    ]
    ends = {f"note-{n}": f"note{n}" for n in range(3)}
    missed = [
        f"{edge.src} {edge.dst}"
        for edge in judged
        if "/".join(sorted((ends[edge.src], ends[edge.dst]))) not in pairs
    ]
    return [id for id in old if id not in stale] + missed, len(old) + len(judged)


@pytest.mark.parametrize("store", ROUNDS)
@pytest.mark.parametrize("kind", RACES)
def test_what_changes_while_a_model_thinks_is_refused_or_stale_at_once(
    tmp_path: Path, kind: str, store: str, request: pytest.FixtureRequest
) -> None:
    task, run = RACES[kind]
    home = request.getfixturevalue("postgres") if store == "postgres" else tmp_path
    if kind == "consolidate":
        pytest.importorskip("scipy")
    marked = 0
    for number in range(ROUNDS[store][request.config.getoption("--long", default=False)]):
        racer = Racer(task)
        model = ScriptedModel(racer)
        tenant = uuid4().hex
        with Memory.open(home, tenant=tenant, embedder=WordEmbedder(), llm=model) as memory:
            memory.write(notes())
            premises = notes()
            if kind == "consolidate":
                premises = prepare_consolidate(memory)
            memory.embed_pending()
            if kind == "refresh":
                memory.learn()
                premises = changed(premises)
                memory.write(premises)
            one = premises[number % 3 :][:1] if number % 2 else premises
            racer.change = lambda memory=memory, one=one: memory.write(changed(one)) and None
            run(memory)
            assert racer.change is None, f"the model was never asked for {task}"
            wrong, old = lies(memory)
            assert wrong == []
            marked += old
            if not number:
                run(memory)
                assert lies(memory)[0] == []
                assert memory.admin.check() == []
    # what was seen is not refused for nothing: most of it is kept, and marked
    assert marked or kind == "observe"
