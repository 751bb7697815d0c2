"""What is forgotten while work is under way is not written by it: at every call of a model, of the
embedder and of a progress callback, and before every transaction, of every kind of work.

The points are found by the work itself: it is done once while they are counted, then again for each
of them, with the forgetting there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import pytest
from forgetting_histories import MONDAY, SAID, WHO, reply, turns
from test_forgotten_words import left, stored
from tried import Counted, Rounds
from write_points import tell_of_writes

from remloom import Edge, Entity, Memory, Resource
from remloom.errors import EmbedderError, GoneError, InvalidInputError, NotFoundError
from remloom.llm import Request
from remloom.model import Receipt
from remloom.settings import Settings
from remloom.testing.embedder import WordEmbedder
from remloom.testing.models import ScriptedModel, ScriptedReply

pytest.importorskip("langgraph")

NOTE = "notes/engines.md"


# -- the points ------------------------------------------------------------------------------------


@dataclass
class Points:
    """Counts the points that the work passes, and forgets at one of them."""

    act: Callable[[], Receipt | None] = lambda: None
    at: int = -1
    seen: int = 0
    quiet: bool = True  # before the work, after it, and while it forgets
    receipt: Receipt | None = None
    where: str = ""

    def passed(self, where: str) -> None:
        if self.quiet:
            return
        self.seen += 1
        if self.seen - 1 == self.at:
            self.quiet = True
            self.where = where
            self.receipt = self.act()
            self.quiet = False

    def progress(self, *_: Any) -> None:
        self.passed("progress")


class Embedder(WordEmbedder):
    """Passes a point before each batch and after it."""

    def __init__(self, points: Points, name: str = "words-256") -> None:
        super().__init__(name)
        self.points = points
        self.is_down = False

    def embed_documents(self, texts: Sequence[str]) -> Any:
        if self.is_down:
            raise EmbedderError("it is down")
        self.points.passed("before the embedder")
        vectors = super().embed_documents(texts)
        self.points.passed("after the embedder")
        return vectors

    def embed_query(self, text: str) -> Any:
        self.points.passed("the embedder of a question")
        return super().embed_query(text)


# -- what is remembered, and what of it is forgotten -----------------------------------------------


def the_source(memory: Memory) -> list[str]:
    memory.read_text(f"# Engines\n\n{SAID} Engines of the harbour hum.", uri=NOTE, at=MONDAY)
    return [NOTE]


def the_id(memory: Memory) -> list[str]:
    report = memory.read_chat(
        turns("Engines hum.", f"I love {WHO} more. {SAID}", "Do they?", speakers=("user", "Ann")),
        uri="chat:team",
    )
    return [
        id
        for id in report.ids
        if SAID in getattr(memory.admin.store.records.get("resources", id), "content", "")
    ]


def the_label(memory: Memory) -> list[str]:
    memory.write(
        [
            Entity(name=WHO, type="person", summary="A vexotherm."),
            *(Edge(src=f"Boat {n}", rel_type="mentions", dst=WHO) for n in range(3)),
        ]
    )
    return [WHO]


TARGETS = {"source": the_source, "id": the_id, "label": the_label}


def remember(memory: Memory, target: str) -> list[str]:
    for n in range(3):
        memory.read_text(
            f"# Boat {n}\n\nBoat {n} has engines that hum in the harbour of Salem. Captain Hall sails.",
            uri=f"notes/boat{n}.md",
            name=f"Boat {n}",
            at=MONDAY,
        )
    given = TARGETS[target](memory)
    memory.read_chat(
        turns("I live in Lisbon.", "Boats hum.", "My favourite team is Salem.", first=50,
              speakers=("user", "Ann")),
        uri="chat:other",
    )  # fmt: skip
    return given


# -- the work --------------------------------------------------------------------------------------

Work = Callable[[Memory, Points, Path], object]
KINDS: dict[str, Work] = {}
BEFORE: dict[str, Work] = {}  # done before the points count
CONCURRENT = {"learn_relaxed"}  # several threads: they pass more points one time than another


def kind(function: Work) -> Work:
    KINDS[function.__name__] = function
    return function


@kind
def learn(memory: Memory, points: Points, folder: Path) -> object:
    return memory.learn(dreams=2, seed="hum", progress=points.progress)


@kind
def learn_relaxed(memory: Memory, points: Points, folder: Path) -> object:
    return memory.learn(order="relaxed", dreams=2, seed="hum", progress=points.progress)


@kind
def dream(memory: Memory, points: Points, folder: Path) -> object:
    return memory.dream(3, seed="hum", progress=points.progress)


@kind
def moments(memory: Memory, points: Points, folder: Path) -> object:
    return memory.dreams.moments(hours=None, model=False, progress=points.progress)


@kind
def moments_by_model(memory: Memory, points: Points, folder: Path) -> object:
    return memory.dreams.moments(hours=None, progress=points.progress)


@kind
def affinity(memory: Memory, points: Points, folder: Path) -> object:
    return memory.dreams.affinity(judge=False, min_score=0.1, progress=points.progress)


@kind
def affinity_by_model(memory: Memory, points: Points, folder: Path) -> object:
    return memory.dreams.affinity(judge=True, min_score=0.1, progress=points.progress)


@kind
def consolidate(memory: Memory, points: Points, folder: Path) -> object:
    return memory.dreams.consolidate(progress=points.progress)


def _insights(memory: Memory, points: Points, folder: Path) -> object:
    store = memory.admin.store
    texts = [r for r in store.records.all("resources") if isinstance(r, Resource)]
    derived: Any = {"kind": "synthesis", "generation": 1, "trust": "derived"}
    for n, text in enumerate(texts):
        memory.write(
            [
                Resource(
                    id=str(uuid5(NAMESPACE_URL, f"{n}{m}")),
                    name=f"Insight {n}{m}",
                    content=f"{text.content} Insight number {m}.",
                    parents=(text.id,),
                    **derived,
                )
                for m in range(3)
            ]
        )
    return memory.embed_pending()


BEFORE["consolidate"] = _insights


@kind
def observe(memory: Memory, points: Points, folder: Path) -> object:
    return memory.profile.observe(progress=points.progress)


@kind
def observe_by_rules(memory: Memory, points: Points, folder: Path) -> object:
    return memory.profile.observe(model=False, progress=points.progress)


@kind
def normalise(memory: Memory, points: Points, folder: Path) -> object:
    return memory.profile.normalise(now=True, progress=points.progress)


@kind
def confirm(memory: Memory, points: Points, folder: Path) -> object:
    for belief in memory.profile.beliefs():
        memory.profile.confirm(belief.slot, belief.value)
    return None


@kind
def retire(memory: Memory, points: Points, folder: Path) -> object:
    for belief in memory.profile.beliefs():
        memory.profile.retire(belief.slot, belief.value)
    return None


@kind
def roll_back(memory: Memory, points: Points, folder: Path) -> object:
    return [
        memory.runs.rollback(run.id) for run in memory.runs.list() if run.status != "rolled_back"
    ]


def _learn_and_dream(memory: Memory, points: Points, folder: Path) -> object:
    memory.learn(dreams=2, seed="hum")
    memory.dreams.moments(hours=None)
    memory.dreams.affinity(judge=True, min_score=0.1)
    return memory.profile.observe()


BEFORE["roll_back"] = _learn_and_dream


@kind
def read_a_folder(memory: Memory, points: Points, folder: Path) -> object:
    return memory.read(more_files(folder), progress=points.progress)


def more_files(folder: Path) -> Path:
    files = folder / "more"
    files.mkdir(exist_ok=True)
    for n in range(3):
        (files / f"{n}.md").write_text(f"# More {n}\n\nBoat {n} hums near Captain Hall.\n")
    return files


@kind
def learn_a_source(memory: Memory, points: Points, folder: Path) -> object:
    files = more_files(folder)
    return memory.learn(files, period="none", seed="hum", progress=points.progress)


@kind
def bootstrap(memory: Memory, points: Points, folder: Path) -> object:
    return memory.profile.bootstrap(progress=points.progress)


@kind
def edit_beliefs(memory: Memory, points: Points, folder: Path) -> object:
    for belief in memory.profile.beliefs():
        memory.profile.pin(belief.slot)
        memory.profile.hide(belief.slot)
        memory.profile.correct(belief.slot, "Salem")
    memory.profile.set("employer", "Harbour Ltd")
    for belief in memory.profile.beliefs():
        memory.profile.forget(belief.slot)
    return None


@kind
def take_in_a_profile(memory: Memory, points: Points, folder: Path) -> object:
    return memory.profile.import_(folder / "profile.json")


def _export_profile(memory: Memory, points: Points, folder: Path) -> object:
    memory.profile.observe()
    memory.profile.set("employer", "Harbour Ltd")
    (folder / "profile.json").unlink(missing_ok=True)
    memory.profile.export(folder / "profile.json")
    return memory.profile.forget("employer")


@kind
def read_a_longer_chat(memory: Memory, points: Points, folder: Path) -> object:
    said = turns("Boats sail.", "Do they?", first=60, speakers=("user", "Ann"))
    memory.read_chat(said, uri="chat:other", append=True)
    return memory.read_chat(said, uri="chat:third")


@kind
def read_again(memory: Memory, points: Points, folder: Path) -> object:
    for n in range(3):
        memory.read_text(
            f"# Boat {n}\n\nBoat {n} rests in Salem. Captain Hall sleeps.",
            uri=f"notes/boat{n}.md",
            name=f"Boat {n}",
            at=MONDAY,
        )
    return None


@kind
def keep_an_answer(memory: Memory, points: Points, folder: Path) -> object:
    sources = dict.fromkeys(hit.record.uri for hit in memory.search_text("hum hums").records)
    with memory.reader(*sources, told=points.progress) as reader:
        reading = reader.ask("What hums?", session="humming")
        points.passed("the answer is there")
        with suppress(InvalidInputError):
            return reader.keep(reading)
    return None


@kind
def take_in(memory: Memory, points: Points, folder: Path) -> object:
    return memory.admin.import_(folder / "other.rem")


def _export_another(memory: Memory, points: Points, folder: Path) -> object:
    (folder / "other.rem").unlink(missing_ok=True)
    settings = Settings.load(home=folder / "other")
    with Memory.open(settings=settings, embedder="none") as other:
        other.read_text("# More\n\nBoat 9 hums near Captain Hall.", uri="more.md")
        return other.admin.export(folder / "other.rem")


@kind
def sweep(memory: Memory, points: Points, folder: Path) -> object:
    (id, *_) = (hit.id for hit in memory.search_text("sails").records)
    memory.admin.set_expiry([id], MONDAY)
    return memory.admin.sweep()


@kind
def embed(memory: Memory, points: Points, folder: Path) -> object:
    return memory.embed_pending(progress=points.progress)


@kind
def embed_anew(memory: Memory, points: Points, folder: Path) -> object:
    return memory.admin.reembed(Embedder(points, "other"), progress=points.progress)


@kind
def forget_another(memory: Memory, points: Points, folder: Path) -> object:
    return memory.forget("notes/boat1.md")


@kind
def work_at_jobs(memory: Memory, points: Points, folder: Path) -> object:
    memory.jobs.add("moments", {"hours": None})
    memory.jobs.add("affinity")
    return memory.jobs.work(until_idle=True)


def _observe(memory: Memory, points: Points, folder: Path) -> object:
    return memory.profile.observe()


for name in ("confirm", "retire", "normalise", "bootstrap", "edit_beliefs"):
    BEFORE[name] = _observe
BEFORE["take_in_a_profile"] = _export_profile
BEFORE["take_in"] = _export_another


# -- the attack ------------------------------------------------------------------------------------


@dataclass
class Trial:
    """One tenant in which one kind of work is done, with the forgetting at one point or none."""

    home: str
    tenant: str
    kind: str
    target: str
    folder: Path
    at: int = -1
    points: Points = field(default_factory=Points)
    known: set[str] = field(default_factory=set)

    def reply(self, request: Request) -> ScriptedReply:
        self.points.passed(f"the model's {request.task}")
        if request.task == "affinity":
            return {"related": True, "reason": f"Both: {_quoted(request)}"}
        if request.task == "profile_extract":
            text = _quoted(request)
            quote = f"I love {WHO} more." if WHO in text else "I live in Lisbon."
            return {"items": [{"key": "team", "value": quote[7:-1], "quote": quote, "message": 1}]}
        return reply(request)

    def open(self, *, is_down: bool = False) -> Memory:
        settings = Settings.load(home=self.home, llm_retries=0)
        embedder: Any = Embedder(self.points)
        embedder.is_down = is_down
        model = ScriptedModel(self.reply)
        return Memory.open(tenant=self.tenant, embedder=embedder, llm=model, settings=settings)

    def run(self) -> list[str]:
        """Do the work; returns what is wrong afterwards."""
        points = self.points
        with self.open(is_down=self.kind == "embed") as memory:
            given = remember(memory, self.target)
            if self.kind != "embed":
                memory.embed_pending()
        with self.open() as memory:
            tell_of_writes(memory, points.passed)
            if before := BEFORE.get(self.kind):
                before(memory, points, self.folder)

            def forget() -> Receipt:
                receipt = memory.forget(*given)
                # what a receipt of an earlier run names is not what this one writes
                self.known = self.ids_found(receipt)
                return receipt

            points.act = forget
            points.at = self.at
            points.quiet = False
            # what was to be done is gone
            with suppress(NotFoundError, GoneError):
                KINDS[self.kind](memory, points, self.folder)
            points.quiet = True
            if self.at < 0:
                return []
            if not points.receipt:
                assert self.kind in CONCURRENT, "the work did not come to the point again"
                assert points.seen <= self.at
                return []
            wrong = [f"check: {line}" for line in memory.admin.check()]
            wrong += [f"{run.kind} {run.status}: {run.reason}" for run in memory.runs.list()
                      if run.status not in ("done", "rolled_back")]  # fmt: skip
            wrong += self.found(points.receipt)
        with self.open() as memory:
            roll_back(memory, self.points, self.folder)
            wrong += [f"after it was rolled back: {one}" for one in self.found(points.receipt)]
        return [f"forgotten at {points.where}: {one}" for one in wrong]

    def found(self, receipt: Receipt) -> list[str]:
        return [*left(self.home), *(self.ids_found(receipt) - self.known)]

    def ids_found(self, receipt: Receipt) -> set[str]:
        ids = [id.encode() for id in receipt.ids]
        return {
            f"the id {id!r} in {place}"
            for place, data in stored(self.home)
            for id in ids
            if id in data
        }


def _quoted(request: Request) -> str:
    return request.prompt[-2000:]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", KINDS)
def test_work_under_way_writes_nothing_of_what_is_forgotten(
    home: str, kind: str, target: str, tmp_path: Path, counted: Counted, rounds: Rounds
) -> None:
    if (
        "://" in home
        and rounds(1, 0)
        and list(TARGETS).index(target) != list(KINDS).index(kind) % len(TARGETS)
    ):
        pytest.skip("the short form tries one target for each kind of work in PostgreSQL")

    def trial(name: str, at: int = -1) -> Trial:
        # ids are made of the tenant's name, and what is dreamt of is drawn by them
        place = home if "://" in home else f"{home}/{name}"
        return Trial(place, "harbour", kind, target, tmp_path, at)

    counting = trial("counting")
    assert counting.run() == []
    many = counting.points.seen
    assert many, "nothing could be forgotten in the middle"
    if "://" in home:
        forget_everything(home)
    step = -(-many // rounds(4, many))
    tried = range(0, many, step)
    for at in tried:
        one = trial(f"at{at}", at)
        assert one.run() == [], f"point {at} of {many}"
        if "://" in home:
            forget_everything(home)
    counted(
        f"forgetting in the middle of {kind}, {'postgres' if '://' in home else 'sqlite'}",
        len(tried),
    )


def forget_everything(url: str) -> None:
    from remloom import Home

    for tenant in Home(url).tenants():
        Home(url).delete(tenant.name)
