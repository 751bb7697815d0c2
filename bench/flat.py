"""Does a cost grow with what is stored? python -m bench.flat --help.

Every public method of `Memory` is called in tenants of 10³ records and more, in turns between the
sizes, so that a busy machine slows them alike; and so is appending to chats of 10² turns and more.
What is compared is the CPU time of the calling thread. `CALLS` has an entry for every method, which
a test sees to: one that touches one thing is not to grow by more than a half from the smallest to
the largest; of any other it says why it grows.
"""

from __future__ import annotations

import argparse
import inspect
import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from remloom import Edge, Entity, Home, Memory, Message, Moment, Resource
from remloom.dream.service import Dreams
from remloom.errors import RemloomError
from remloom.jobs.service import Jobs
from remloom.memory.admin import Admin
from remloom.predicates import Eq, Query
from remloom.profile.service import Profiles
from remloom.runs.service import Runs
from remloom.schema.service import Schemas

from . import data, stores
from .measure import Results, timing

SIZES = (1_000, 10_000, 100_000)
TURNS = (100, 1_000, 10_000, 100_000)
DIMS = 64
BAR = 1.5  # growth at most of what touches one thing
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_FEW = 3  # turns at least
_LONG = 4.0  # seconds for one method at all sizes, after which its turns end


class World:
    """A tenant of `size` records: half of them chunks, a third entities, the rest moments; and as
    many edges."""

    def __init__(self, home: Path | str, size: int, *, vectors: bool, name: str = "flat") -> None:
        self.size = size
        self.memory = Memory.open(home, tenant=f"{name}-{size}", embedder="none")
        self.scratch = Path(tempfile.mkdtemp(prefix="flat-"))
        self._numbers = itertools.count(size)
        self._rng = np.random.default_rng(size)
        self.chunks, self.names = size // 2, data.names(size // 3)
        self.moments = size - self.chunks - len(self.names)
        self.vectors = (
            data.vectors(64, dims=DIMS, start=50_000_000, total=1_000) if vectors else None
        )
        if not self.memory.query_resources(Query().limit(1)):
            self._fill(vectors)
        self.memory.admin.optimize()
        self.questions = data.questions(100, list(data.texts(200)))
        self.written = [self.fresh() for _ in range(40)]  # what is forgotten and changed
        documents = self._rng.choice(
            max(1, self.chunks // 20), min(40, max(1, self.chunks // 20)), replace=False
        )
        found = (
            self.memory.query_resources(Query().filter(Eq("uri", f"docs/{place}.md")))
            for place in documents
        )
        self.ids = [record.id for some in found for record in some]
        self.entity = self.memory.create_entity(Entity(type="person", name="Constant Person"))
        self.moment = self.memory.create_moment(
            Moment(name="Constant Moment", type="rare", starts_at=_EPOCH - timedelta(days=9))
        )
        self.memory.read_chat([Message(speaker="Ann", text="We begin.", id="0")], uri="chats/flat")

    def _fill(self, vectors: bool) -> None:
        made = data.vectors(self.chunks, dims=DIMS, total=self.chunks) if vectors else None
        stores.write_all(
            self.memory,
            (
                Resource(
                    name=f"document {number // 20} #{number % 20 + 1}",
                    content=text,
                    uri=f"docs/{number // 20}.md",
                    category=f"c{number % 500}",
                    ordinal=number % 20,
                    embedding=None if made is None else made[number],
                )
                for number, text in enumerate(data.texts(self.chunks, words=60))
            ),
        )
        kinds = ("person", "project", "place")
        stores.write_all(
            self.memory,
            (
                Entity(
                    type=kinds[number % 3],
                    name=name,
                    summary=f"{name} is known.",
                    properties={"number": number},
                )
                for number, name in enumerate(self.names)
            ),
        )
        stores.write_all(
            self.memory,
            (
                Moment(
                    name=f"moment {number}",
                    type="meeting",
                    starts_at=_EPOCH + timedelta(minutes=10 * number),
                )
                for number in range(self.moments)
            ),
        )
        sources, destinations = data.graph(len(self.names), self.size)
        kinds = ("knows", "manages", "mentions")
        stores.write_all(
            self.memory,
            (
                Edge(src=self.names[src], rel_type=kinds[number % 3], dst=self.names[dst])
                for number, (src, dst) in enumerate(
                    zip(sources.tolist(), destinations.tolist(), strict=True)
                )
            ),
        )

    def number(self) -> int:
        return next(self._numbers)

    def any_of(self, items: Sequence[Any]) -> Any:
        return items[int(self._rng.integers(len(items)))]

    def name(self) -> str:
        return str(self.any_of(self.names))

    def vector(self) -> Any:
        return self.any_of(self.vectors) if self.vectors is not None else None

    def fresh(self) -> str:
        """A chunk that was just written."""
        number = self.number()
        text = f"Note {number} says that nothing grows."
        chunk = Resource(
            name=f"fresh {number}", content=text, uri=f"fresh/{number}.md", embedding=self.vector()
        )
        return self.memory.create_resource(chunk)

    def file(self) -> Path:
        return self.scratch / f"{self.number()}.md"


@dataclass(frozen=True)
class Call:
    """How a method is measured."""

    run: Callable[[World], Any] | None = None  # what is timed
    # untimed: its answer is given to `run` as a second argument
    before: Callable[[World], Any] | None = None
    grows: str = ""  # why it may grow; else it may not
    left_out: str = ""  # why it is not measured
    vectors: bool = False  # only where there are vectors


def _one(
    run: Callable[..., Any], before: Callable[[World], Any] | None = None, **more: Any
) -> Call:
    return Call(run, before, **more)


def _profile(run: Callable[[World], Any], **more: Any) -> Call:
    """A call about the user, of whom two allergies are known."""

    def prepare(world: World) -> None:
        for allergen in ("peanuts", "sesame"):
            world.memory.profile.set("food_allergies", allergen)

    return Call(lambda world, *_: run(world), prepare, **more)


_ALL = "it reads or writes everything"
_MODEL = "its time is the language model's"
_PLACE = "it is about where memories are kept, and no memory is open"


def _public(prefix: str, kind: type) -> set[str]:
    """The names of a class's public methods."""
    return {prefix + name for name, _ in inspect.getmembers(kind, callable) if name[0] != "_"}


def _edge(world: World) -> Edge:
    edge = Edge(src=world.name(), rel_type="knows", dst=f"Stranger {world.number()}")
    world.memory.create_edge(edge)
    return edge


def _note(world: World, uri: str = "") -> Any:
    number = world.number()
    return world.memory.read_text(
        f"Note {number}. Sarah Chen met Ben in Berlin.", uri=uri or f"notes/{number}"
    )


def _said(world: World) -> Any:
    number = world.number()
    turn = Message(speaker="Ben", text=f"Turn {number}: Sarah Chen will know.", id=str(number))
    return world.memory.read_chat([turn], uri="chats/flat", append=True)


def _written_file(world: World) -> Path:
    file = world.file()
    file.write_text(
        f"# File {file.stem}\n\nSarah Chen met Ben in Berlin about file {file.stem}.\n",
        encoding="utf-8",
    )
    return file


CALLS: dict[str, Call] = {
    # writing
    "write": _one(
        lambda w: w.memory.write(
            [Entity(type="person", name=f"New {w.number()}") for _ in range(10)]
        )
    ),
    "create_resource": _one(lambda w: w.fresh()),
    "create_entity": _one(
        lambda w: w.memory.create_entity(Entity(type="person", name=f"Newer {w.number()}"))
    ),
    "create_moment": _one(
        lambda w: w.memory.create_moment(
            Moment(name=f"New moment {w.number()}", type="meeting", starts_at=_EPOCH)
        )
    ),
    "create_edge": _one(_edge),
    "update_entity": _one(
        lambda w: w.memory.update_entity(w.entity, properties={"number": w.number()})
    ),
    "admin.delete_edge": _one(
        lambda w, edge: w.memory.admin.delete_edge(edge.src, edge.rel_type, edge.dst), _edge
    ),
    "delete_resource": _one(
        lambda w, id: w.memory.delete_resource(id), World.fresh, grows="as forget"
    ),
    "forget": _one(
        lambda w, id: w.memory.forget(id),
        World.fresh,
        grows="the file is written anew, so that no unused part of a page keeps a word",
    ),
    "read": _one(lambda w, file: w.memory.read(file), _written_file),
    "read_text": _one(_note),
    "read_chat": _one(_said),
    "reader": _one(lambda w: w.memory.reader("docs/3.md").lines(1)),
    "create_index": Call(left_out="once a field, and it reads every record"),
    # asking
    "get_resource": _one(lambda w: w.memory.get_resource(w.any_of(w.ids))),
    "get_entity": _one(lambda w: w.memory.get_entity(w.entity)),
    "get_moment": _one(lambda w: w.memory.get_moment(w.moment)),
    "get_edges": _one(lambda w: w.memory.get_edges("Constant Person")),
    "get_moments_by_time": _one(
        lambda w: w.memory.get_moments_by_time(
            _EPOCH + timedelta(hours=2), _EPOCH + timedelta(hours=3)
        )
    ),
    "get_moments_by_type": _one(lambda w: w.memory.get_moments_by_type("rare")),
    "lookup": _one(lambda w: w.memory.lookup(w.name())),
    "fuzzy": _one(
        lambda w: w.memory.fuzzy(data.typo(w.name(), 1, w._rng)),
        grows="longer lists of names that share letters; see FUZZY above",
    ),
    "search": _one(
        lambda w: w.memory.search(vector=w.vector()),
        vectors=True,
        grows="below 2,000 vectors they are compared one by one; a graph grows logarithmically",
    ),
    "search_resources": _one(
        lambda w: w.memory.search_resources(vector=w.vector()), vectors=True, grows="as search"
    ),
    "search_entities": _one(lambda w: w.memory.search_entities(w.name()), grows="as fuzzy"),
    "search_text": _one(
        lambda w: w.memory.search_text(w.any_of(w.questions)),
        grows="longer lists of texts that have a word",
    ),
    "traverse": _one(lambda w: w.memory.traverse("Constant Person", max_depth=3)),
    "query": _one(lambda w: w.memory.query(f'LOOKUP "{w.name()}"')),
    "sql": _one(
        lambda w: w.memory.sql(f"SELECT name, uri FROM resources WHERE id = '{w.any_of(w.ids)}'")
    ),
    "rem_query": _one(lambda w: w.memory.rem_query("lookup", {"labels": [w.name()]})),
    "query_resources": _one(
        lambda w: w.memory.query_resources(Query().filter(Eq("uri", "docs/3.md")))
    ),
    "query_entities": _one(lambda w: w.memory.query_entities(Query().filter(Eq("id", w.entity)))),
    "query_moments": _one(lambda w: w.memory.query_moments(Query().filter(Eq("type", "rare")))),
    "admin.set_expiry": _one(
        lambda w: w.memory.admin.set_expiry([w.entity], datetime.now(UTC) + timedelta(days=999)),
    ),
    "admin.sweep": _one(lambda w: w.memory.admin.sweep()),
    "admin.complete": _one(
        lambda w: w.memory.admin.complete(w.name()),
        grows="up to its limit, as more names begin alike",
    ),
    "admin.describe": _one(lambda w: w.memory.admin.describe(w.entity)),
    "history": _one(lambda w: w.memory.history(w.any_of(w.ids))),
    "recall": _one(
        lambda w: w.memory.recall(w.any_of(w.questions), vector=w.vector()),
        grows="the searches that it is made of",
    ),
    "context": _one(lambda w: w.memory.context(w.any_of(w.questions)), grows="as recall"),
    # what is known of people: by how much is known of them, not by what else is remembered
    "profile.show": _profile(lambda w: w.memory.profile.show()),
    "profile.beliefs": _profile(lambda w: w.memory.profile.beliefs()),
    "profile.get": _profile(lambda w: w.memory.profile.get("food_allergies")),
    "profile.history": _profile(lambda w: w.memory.profile.history("food_allergies")),
    "profile.changes": _profile(lambda w: w.memory.profile.changes()),
    "profile.why": _profile(lambda w: w.memory.profile.why("food_allergies", "peanuts")),
    "profile.context": _profile(lambda w: w.memory.profile.context("What shall I cook?")),
    "profile.get_remme_context": _profile(
        lambda w: w.memory.profile.get_remme_context("What shall I cook?"), grows="as recall"
    ),
    "profile.subjects": _profile(lambda w: w.memory.profile.subjects()),
    "profile.slots": _profile(lambda w: w.memory.profile.slots()),
    "profile.slot": _profile(lambda w: w.memory.profile.slot("food_allergies")),
    "profile.set": _profile(lambda w: w.memory.profile.set("food_allergies", "peanuts")),
    "profile.confirm": _profile(lambda w: w.memory.profile.confirm("food_allergies", "peanuts")),
    "profile.reject": _profile(lambda w: w.memory.profile.reject("food_allergies", "peanuts")),
    "profile.correct": _profile(
        lambda w: w.memory.profile.correct("food_allergies", "peanuts", was="peanuts")
    ),
    "profile.retire": _profile(lambda w: w.memory.profile.retire("food_allergies", "peanuts")),
    "profile.pin": _profile(lambda w: w.memory.profile.pin("food_allergies", "peanuts")),
    "profile.hide": _profile(lambda w: w.memory.profile.hide("food_allergies", "peanuts")),
    "profile.forget": _profile(
        lambda w: w.memory.profile.forget("food_allergies", "peanuts"), grows="as forget"
    ),
    "profile.define_slot": _profile(
        lambda w: w.memory.profile.define_slot(
            {"id": "own.desk", "hub": "soft_identity", "label": "Desk of mine"}
        )
    ),
    "profile.remove_slot": Call(left_out="a write, as define_slot"),
    "profile.candidates": _profile(lambda w: w.memory.profile.candidates()),
    "profile.promote": Call(left_out="of an extra, by its evidence"),
    "profile.export": _profile(lambda w: w.memory.profile.export()),
    "profile.import_": Call(left_out="of a profile, by its evidence"),
    "profile.observe": _one(lambda w, _: w.memory.profile.observe(), _said),
    "profile.bootstrap": Call(left_out=_ALL),
    "profile.staged": _profile(lambda w: w.memory.profile.staged()),
    "profile.normalise": Call(left_out="of what waits"),
    "profile.learned": _profile(lambda w: w.memory.profile.learned()),
    # what is done later, and what was done
    "jobs.add": _one(lambda w: w.memory.jobs.add("affinity", key=f"job {w.number()}")),
    "jobs.remove": _one(
        lambda w, job: w.memory.jobs.remove(job.id),
        lambda w: w.memory.jobs.add("affinity", key=f"job {w.number()}"),
    ),
    "jobs.get": _one(
        lambda w, job: w.memory.jobs.get(job.id),
        lambda w: w.memory.jobs.add("affinity", key=f"job {w.number()}"),
    ),
    "jobs.list": _one(lambda w: w.memory.jobs.list()),
    "jobs.retry": Call(left_out="of a job that failed"),
    "jobs.work": Call(left_out="its time is that of the jobs"),
    "runs.list": _one(lambda w: w.memory.runs.list(limit=5)),
    "runs.records": Call(left_out="of a run, as many as it made"),
    "runs.rollback": Call(left_out="of a run, as many as it made"),
    "runs.failed": _one(lambda w: w.memory.runs.failed()),
    "admin.audit": _one(lambda w: w.memory.admin.audit()),
    "admin.usage": _one(lambda w: w.memory.admin.usage()),
    # over everything, or over a stretch of time
    "dreams.moments": _one(
        lambda w: w.memory.dreams.moments(since=datetime.now(UTC), model=False, dry_run=True),
        grows="it looks at what was remembered in the day before, which here is everything",
    ),
    "dreams.affinity": _one(
        lambda w: w.memory.dreams.affinity(
            since=datetime.now(UTC) + timedelta(seconds=1), dry_run=True
        ),
        vectors=True,
        grows="what is new is compared with everything",
    ),
    "dreams.consolidate": Call(left_out="it compares everything with everything near it"),
    "dreams.metrics": Call(left_out="it reads everything"),
    "dreams.refresh": Call(left_out="it passes over all that was derived"),
    "confirm": Call(left_out="a run of one write"),
    "unreplace": Call(left_out="one write of a text, as `write`"),
    "schemas.identify": Call(left_out="the next sync writes the rows of the schema"),
    "schemas.unite": Call(left_out="two edges, as `create_edge`"),
    "schemas.separate": Call(left_out="two edges, as `create_edge`"),
    "admin.stats": _one(
        lambda w: w.memory.admin.stats(),
        grows="records are counted by type along an index, 0.1 µs each",
    ),
    "admin.check": _one(lambda w: w.memory.admin.check(), grows=_ALL),
    "admin.records": _one(lambda w: next(w.memory.admin.records("moments")), grows=_ALL),
    "admin.export": _one(lambda w: w.memory.admin.export(w.file()), grows=_ALL),
    "admin.backup": _one(lambda w: w.memory.admin.backup(w.file()), grows=_ALL),
    "admin.optimize": _one(lambda w: w.memory.admin.optimize(), grows="it writes the indexes anew"),
    **{
        f"schemas.{name}": Call(left_out="by the schemas that there are, not by what is remembered")
        for name in ("register", "list", "get", "drop", "migrate", "taxonomy", "set_taxonomy")
    },
    **{
        f"schemas.{name}": Call(left_out="as its namesake of resources")
        for name in ("create_row", "get_row", "query_rows")
    },
    **{
        f"schemas.{name}": Call(left_out="its time is that of a database: bench.sync")
        for name in (
            "discover",
            "rediscover",
            "register_from_discovery",
            "sources",
            "sync",
            "drift",
        )
    },
    "admin.import_": Call(left_out="it writes everything"),
    "admin.reembed": Call(left_out="its time is the embedder's"),
    "embed_pending": Call(left_out="its time is the embedder's"),
    **{name: Call(left_out=_MODEL) for name in ("ask", "dream", "learn")},
    **{name: Call(left_out=_PLACE) for name in _public("Home.", Home)},
    **{name: Call(left_out="once a memory") for name in ("open", "close")},
}


def methods() -> set[str]:
    """The public methods of `Memory`, of its nouns, and of `Home`."""
    nouns = {
        "runs.": Runs,
        "jobs.": Jobs,
        "dreams.": Dreams,
        "profile.": Profiles,
        "schemas.": Schemas,
        "admin.": Admin,
        "Home.": Home,
    }
    listed = (_public(prefix, noun) for prefix, noun in nouns.items())
    return _public("", Memory).union(*listed)


def in_turns(call: Call, worlds: Sequence[World], rounds: int) -> list[list[tuple[float, float]]]:
    """CPU and wall seconds of the call in each world, in turns."""
    assert call.run
    spent: list[list[tuple[float, float]]] = [[] for _ in worlds]
    began = time.perf_counter()
    for number in range(rounds + 1):
        for place, world in enumerate(worlds):
            given = (call.before(world),) if call.before else ()
            wall, cpu = time.perf_counter(), time.thread_time()
            call.run(world, *given)
            if number:  # the first of each loads and compiles
                spent[place].append((time.thread_time() - cpu, time.perf_counter() - wall))
        if number >= _FEW and time.perf_counter() - began > _LONG:
            break
    return spent


def measure(
    results: Results, name: str, call: Call, worlds: Sequence[World], rounds: int, what: str = ""
) -> None:
    """Measure one method at all sizes, and keep it."""
    try:
        spent = in_turns(call, worlds, rounds)
    except RemloomError as error:
        print(f"{name}: {type(error).__name__}: {error}", flush=True)
        return
    cpu = {
        world.size: statistics.median(c for c, _ in times)
        for world, times in zip(worlds, spent, strict=True)
    }
    growth = cpu[worlds[-1].size] / cpu[worlds[0].size]
    results.add(
        what or name,
        cpu_us={str(size): round(value * 1e6, 1) for size, value in cpu.items()},
        wall_us={
            str(world.size): timing([w for _, w in times]).p50
            for world, times in zip(worlds, spent, strict=True)
        },
        growth=round(growth, 2),
        grows=call.grows,
        vectors=worlds[0].vectors is not None,
    )


class Chat:
    """A tenant with a chat of `size` turns."""

    def __init__(self, home: Path | str, size: int) -> None:
        self.size = size
        self.memory = Memory.open(home, tenant=f"chat-{size}", embedder="none")
        self.vectors = None
        self._numbers = itertools.count(size)
        for start in range(0, size, 2_000):
            turns = [self.turn(number) for number in range(start, min(start + 2_000, size))]
            self.memory.read_chat(turns, uri="chats/1", append=True)
        self.memory.admin.optimize()

    def turn(self, number: int) -> Message:
        speaker = ("Ann", "Ben")[number % 2]
        text = (
            f"Turn {number}: item {number * 7919 % 1000} went well. Sarah Chen will see to it in"
            " Berlin."
        )
        return Message(
            id=f"m{number}", speaker=speaker, text=text, at=_EPOCH + timedelta(seconds=30 * number)
        )

    def append(self, count: int = 1) -> None:
        turns = [self.turn(next(self._numbers)) for _ in range(count)]
        self.memory.read_chat(turns, uri="chats/1", append=True)

    def again(self) -> None:
        self.memory.read_chat([self.turn(self.size // 2)], uri="chats/1", append=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Call every method of a memory at several sizes, in turns."
    )
    parser.add_argument(
        "--home", default="", help="where the tenants are kept, or a database (default: nowhere)"
    )
    parser.add_argument(
        "--sizes", type=int, nargs="*", default=list(SIZES), help="records (default 10³ to 10⁵)"
    )
    parser.add_argument(
        "--turns", type=int, nargs="*", default=list(TURNS), help="of chats (default 10² to 10⁵)"
    )
    parser.add_argument("--rounds", type=int, default=30, help="turns of each method (default 30)")
    parser.add_argument("--only", default="", help="methods whose name has this in it")
    parser.add_argument(
        "--no-vectors", action="store_true", help="without vectors: for 10⁶ records"
    )
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home = chosen.home or scratch
        results = Results("flat")
        if chosen.sizes:
            worlds: list[Any] = [
                World(home, size, vectors=not chosen.no_vectors) for size in chosen.sizes
            ]
            for name, call in CALLS.items():
                if call.run and chosen.only in name and not (call.vectors and chosen.no_vectors):
                    what = f"{name}/{chosen.sizes[-1]}" if chosen.no_vectors else name
                    measure(results, name, call, worlds, chosen.rounds, what)
            for world in worlds:
                world.memory.close()
        if chosen.turns:
            chats: list[Any] = [Chat(home, size) for size in chosen.turns]
            for name, run in {
                "append one turn": Chat.append,
                "append ten turns": lambda chat: chat.append(10),
                "append a turn again": Chat.again,
            }.items():
                measure(results, name, Call(run), chats, chosen.rounds, f"chat: {name}")
            for chat in chats:
                chat.memory.close()


if __name__ == "__main__":
    main()
