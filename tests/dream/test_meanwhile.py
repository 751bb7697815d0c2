"""What happens to a run while others forget, roll back, or the model falters."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import scripted_models

from remloom import Memory, Resource
from remloom.errors import ModelRefusedError, ModelUnavailableError, NotFoundError
from remloom.llm import Request
from remloom.settings import Settings
from remloom.testing.embedder import WordEmbedder
from remloom.testing.models import ScriptedModel, ScriptedReply

pytest.importorskip("langgraph")


class Flaky:
    """Replies as `scripted_models.reply`, unless told otherwise; `before` is called with each request."""

    def __init__(self) -> None:
        self.before: Callable[[Request], ScriptedReply | None] = lambda _: None

    def __call__(self, request: Request) -> ScriptedReply:
        said = self.before(request)
        return scripted_models.reply(request) if said is None else said


@pytest.fixture
def flaky() -> Flaky:
    return Flaky()


@pytest.fixture
def memory(tmp_path: Path, flaky: Flaky) -> Iterator[Memory]:
    settings = Settings.load(home=str(tmp_path / "home"), llm_retries=1)
    with Memory.open(
        embedder=WordEmbedder(), llm=ScriptedModel(flaky), settings=settings
    ) as memory:
        yield memory


@pytest.fixture
def essays(tmp_path: Path) -> Path:
    return scripted_models.folder(tmp_path / "essays")


def entries(memory: Memory) -> bytes:
    kinds = [kind for kind in memory.admin.stats().entries if kind != "run"]
    return b"".join(entry.value for kind in kinds for entry in memory.admin.store.kv.list(kind))


def derived(memory: Memory) -> list[Resource]:
    return [
        r
        for r in memory.admin.store.records.all("resources")
        if isinstance(r, Resource) and r.generation
    ]


@pytest.mark.parametrize("task", ["entities", "synthesis", "entity_synthesis", "question", "dream"])
@pytest.mark.parametrize("order", ["strict", "relaxed"])
def test_a_document_that_is_forgotten_while_it_is_thought_about_leaves_nothing(
    memory: Memory, flaky: Flaky, essays: Path, task: str, order: str
) -> None:
    thought_about = []

    def forgetting(request: Request) -> ScriptedReply | None:
        thought_about.append("Captain Hall" in request.prompt)
        if request.task == task and any(thought_about):
            flaky.before = lambda _: None
            memory.forget(str(essays / "2021-01-20-ships.md"))
        return None

    flaky.before = forgetting
    memory.read(essays)
    learned = memory.learn(order=order, dreams=3)
    assert learned.run.status == "done"
    with pytest.raises(NotFoundError):
        memory.forget(str(essays / "2021-01-20-ships.md"))
    for record in derived(memory):
        assert "ships" not in record.name
        assert all(
            memory.admin.store.records.get(None, id) is not None
            for id in memory.admin.store.records.parents(record.id)
        )
        assert memory.admin.store.records.parents(record.id)
    assert b"Captain Hall" not in entries(memory)
    assert memory.admin.check() == []
    again = memory.learn(order=order, dreams=3)
    assert again.failed == []


def test_a_run_that_stops_keeps_nothing_that_was_forgotten_meanwhile(
    memory: Memory, flaky: Flaky, essays: Path
) -> None:
    def forgetting(request: Request) -> ScriptedReply | None:
        if request.task == "entities" and "Captain Hall" in request.prompt:
            memory.forget(str(essays / "2021-01-20-ships.md"))
            flaky.before = lambda _: ModelRefusedError("nothing is paid for", status=402)
        return None

    flaky.before = forgetting
    memory.read(essays)
    with pytest.raises(ModelRefusedError):
        memory.learn(dreams=3)
    assert memory.runs.list()[0].status == "stopped"
    assert b"Captain Hall" not in entries(memory)


def test_a_period_that_two_runs_learned_from_is_the_first_ones_again(
    memory: Memory, tmp_path: Path
) -> None:
    first = {"2021-01-05-tea.md": scripted_models.ESSAYS["2021-01-05-tea.md"]}
    memory.learn(scripted_models.folder(tmp_path / "a", first), dreams=1)
    (before,) = memory.admin.store.kv.list("period")
    later = {"2021-01-20-ships.md": "Nobody waits in Salem for anybody."}
    run = memory.learn(scripted_models.folder(tmp_path / "b", later), dreams=1).run
    memory.runs.rollback(run.id)
    (after,) = memory.admin.store.kv.list("period")
    assert (after.key, after.value) == (before.key, before.value)


def test_a_cycle_that_another_run_began_is_dreamt_whole(
    memory: Memory, flaky: Flaky, essays: Path
) -> None:
    memory.read(essays)
    waves = 0

    def failing(request: Request) -> ScriptedReply | None:
        nonlocal waves
        waves += request.task == "question"
        return ModelRefusedError("nothing is paid for", status=402) if waves > 10 else None

    flaky.before = failing
    with pytest.raises(ModelRefusedError):
        memory.learn(dreams=14, period=len(scripted_models.ESSAYS))
    flaky.before = lambda _: None
    run = memory.learn(dreams=12, seed="b", period=len(scripted_models.ESSAYS)).run
    assert run.counts["rem_dream"] + run.counts["nothing"] >= 12


def test_an_endpoint_that_is_busy_once_is_asked_again(
    memory: Memory, flaky: Flaky, essays: Path
) -> None:
    asked = []

    def busy(request: Request) -> ScriptedReply | None:
        asked.append(request.task)
        return (
            ModelUnavailableError("slow down", status=429, retry_after=0.01)
            if len(asked) == 1
            else None
        )

    flaky.before = busy
    learned = memory.learn(essays, dreams=1)
    assert (learned.run.status, learned.failed) == ("done", [])


@pytest.mark.parametrize("task", ["synthesis", "entities", "entity_synthesis", "question", "dream"])
def test_a_server_that_fails_at_one_task_parks_that_and_the_rest_goes_on(
    memory: Memory, flaky: Flaky, essays: Path, task: str
) -> None:
    left = [1]

    def failing(request: Request) -> ScriptedReply | None:
        if request.task == task and left and "London" in request.prompt:
            left.clear()
            return ModelUnavailableError("Internal Server Error", status=500, retry_after=1e6)
        return None

    flaky.before = failing
    learned = memory.learn(essays, dreams=2)
    assert learned.run.status == "done"
    # dreamt again
    assert (
        learned.run.counts["parked"] == len(learned.failed) == (task not in ("question", "dream"))
    )
    assert all("Internal Server Error" in item.reason for item in learned.failed)
    before = {record.id for record in derived(memory)}
    memory.learn(dreams=2)
    assert memory.runs.failed() == []
    assert before <= {record.id for record in derived(memory)}
    assert memory.admin.check() == []


def test_nothing_of_a_run_of_an_encrypted_tenant_is_on_disk_in_words(
    tmp_path: Path, flaky: Flaky
) -> None:
    home = tmp_path / "home"

    def failing(request: Request) -> ScriptedReply | None:
        return (
            ModelUnavailableError("Captain is away", status=500)
            if request.task == "dream"
            else None
        )

    flaky.before = failing
    key = "5a" * 32
    settings = Settings.load(home=str(home), llm_retries=0)
    with Memory.open(
        embedder=WordEmbedder(), llm=ScriptedModel(flaky), settings=settings, key=key
    ) as memory:
        memory.learn(scripted_models.folder(tmp_path / "essays"), dreams=2)
        assert memory.runs.failed("dream")
        written = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
        for word in (b"Captain", b"Boston", b"insight of", b"What binds", b"learned"):
            assert word not in written


def test_a_run_gives_a_sign_of_life_while_the_model_thinks(
    memory: Memory, flaky: Flaky, essays: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remloom.runs.lifecycle.INTERVAL", 0.01)
    seen = set()

    def slow(request: Request) -> ScriptedReply | None:
        for _ in range(100):
            seen.add(memory.runs.list()[0].seen_at)
            if len(seen) > 3:
                break
            time.sleep(0.02)
        return None

    flaky.before = slow
    memory.read(essays)
    memory.dream(1)
    assert len(seen) > 3
