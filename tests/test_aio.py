"""AsyncMemory does what Memory does, under the same names, and survives being cancelled."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from remloom.aio import (
    AsyncAdmin,
    AsyncDreams,
    AsyncHome,
    AsyncJobs,
    AsyncMemory,
    AsyncReader,
    AsyncRuns,
    AsyncSchemas,
)
from remloom.dream.service import Dreams
from remloom.errors import NotFoundError, StoreClosedError, TenantNotFoundError, UnknownNameError
from remloom.jobs.service import Jobs
from remloom.memory import Home, Memory
from remloom.memory.admin import Admin
from remloom.model import Edge, Entity
from remloom.reader.reader import Reader
from remloom.runs.service import Runs
from remloom.schema.service import Schemas
from remloom.testing.embedder import WordEmbedder
from waiting import PATIENCE


def public(kind: type) -> dict[str, Callable[..., Any]]:
    return {
        name: getattr(kind, name)
        for name in dir(kind)
        if not name.startswith("_")
        and inspect.isroutine(inspect.getattr_static(kind, name).__get__(None, kind))
    }


def test_every_method_of_memory_is_there_with_the_same_signature_and_words() -> None:
    ours, theirs = public(AsyncMemory), public(Memory)
    assert sorted(ours) == sorted(theirs)
    for name, method in theirs.items():
        assert inspect.signature(ours[name]) == inspect.signature(method), name
        if name != "close":
            assert inspect.getdoc(ours[name]) == inspect.getdoc(method), name
        if name != "open":
            assert inspect.iscoroutinefunction(ours[name]), name


# iterators; `Runs.records` is a list
ITERATED = {(Admin, "records"), (Reader, "stream")}
NOUNS = [
    (AsyncRuns, Runs), (AsyncJobs, Jobs), (AsyncDreams, Dreams), (AsyncAdmin, Admin), (AsyncHome, Home),
    (AsyncReader, Reader), (AsyncSchemas, Schemas),
]  # fmt: skip


@pytest.mark.parametrize(("asynchronous", "noun"), NOUNS, ids=lambda noun: noun.__name__)
def test_every_method_of_a_noun_is_there_with_the_same_signature_and_words(
    asynchronous: type, noun: type
) -> None:
    ours, theirs = public(asynchronous), public(noun)
    assert sorted(ours) == sorted(theirs)
    for name, method in theirs.items():
        assert inspect.signature(ours[name]) == inspect.signature(method), name
        assert inspect.getdoc(ours[name]) == inspect.getdoc(method), name
        asynchronously = (
            inspect.isasyncgenfunction if (noun, name) in ITERATED else inspect.iscoroutinefunction
        )
        assert asynchronously(ours[name]), name


def test_records_are_iterated_a_few_at_a_time_and_may_be_left_early(tmp_path: Path) -> None:
    async def session() -> None:
        async with AsyncMemory.open(tmp_path, embedder="none") as memory:
            await memory.write([Entity(name=f"Item {n}", type="thing") for n in range(1200)])
            names = [record.name async for record in memory.admin.records("entities")]
            assert names == [f"Item {n}" for n in range(1200)]
            records = memory.admin.records()
            assert (await anext(records)).name == "Item 0"
            await records.aclose()
            with pytest.raises(UnknownNameError):
                await anext(memory.admin.records("nothing"))

    asyncio.run(session())


def test_an_iteration_that_is_cancelled_or_outlives_its_memory_ends_quietly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, go_on = threading.Event(), threading.Event()

    def read_slowly(iterator: Iterator[Any], count: int) -> Iterator[Any]:
        reading.set()
        go_on.wait(PATIENCE)
        return islice(iterator, count)

    monkeypatch.setattr("remloom.aio.threads.islice", read_slowly)

    async def run() -> None:
        memory = await AsyncMemory.open(tmp_path, embedder="none")
        await memory.write([Entity(name=f"Person {number}") for number in range(1_000)])

        async def count() -> int:
            return len([record async for record in memory.admin.records()])

        counting = asyncio.create_task(count())
        await asyncio.to_thread(reading.wait, 30)
        counting.cancel()
        asyncio.get_running_loop().call_later(0.1, go_on.set)
        with pytest.raises(asyncio.CancelledError):
            await counting

        records = memory.admin.records()
        await anext(records)
        await memory.close()
        await records.aclose()  # type: ignore[attr-defined]  # it is a generator

    asyncio.run(run())


def test_the_nouns_and_their_properties_are_those_of_memory() -> None:
    def properties(kind: type) -> list[str]:
        return sorted(name for name in dir(kind) if isinstance(getattr(kind, name), property))

    assert (
        properties(AsyncMemory)
        == properties(Memory)
        == [
            "admin",
            "dreams",
            "jobs",
            "profile",
            "runs",
            "schemas",
        ]
    )
    assert [properties(ours) for ours, _ in NOUNS] == [properties(noun) for _, noun in NOUNS]


def test_nouns_are_used_as_those_of_memory_are(tmp_path: Path) -> None:
    async def session() -> None:
        async with AsyncMemory.open(tmp_path, embedder="none") as memory:
            job = await memory.jobs.add("moments", key="once")
            assert await memory.jobs.list() == [job]
            assert await memory.jobs.work(until_idle=True) == 1
            (run,) = await memory.runs.list()
            assert (run.kind, await memory.runs.failed()) == ("moments", [])
        with pytest.raises(StoreClosedError):
            await memory.runs.list()

    asyncio.run(session())


def test_it_has_the_properties_of_memory_while_it_is_open(tmp_path: Path) -> None:
    properties = [name for name, value in vars(Memory).items() if isinstance(value, property)]
    embedder = WordEmbedder()

    async def session() -> None:
        async with AsyncMemory.open(tmp_path, tenant="acme", embedder=embedder) as memory:
            assert [name for name in properties if not hasattr(memory, name)] == []
            assert (memory.admin.tenant, memory.admin.settings.home, memory.admin.embedder) == (
                "acme",
                str(tmp_path),
                embedder,
            )
            assert memory.admin.llm is None
        with pytest.raises(StoreClosedError):
            memory.admin.tenant  # noqa: B018

    asyncio.run(session())


def test_it_writes_and_answers_as_memory_does(tmp_path: Path) -> None:
    async def session() -> dict[str, Any]:
        async with AsyncMemory.open(tmp_path, embedder="none") as memory:
            await memory.write(
                [Entity(name="Sarah Chen"), Edge(src="Sarah Chen", rel_type="manages", dst="Bob")]
            )
            answers = await asyncio.gather(
                *(memory.query("TRAVERSE WITH 'sarah chen'") for _ in range(20))
            )
            assert all(answer == answers[0] for answer in answers)
            with pytest.raises(NotFoundError):
                await memory.get_entity("no such id")
            return answers[0].as_dict()

    found = asyncio.run(session())
    with Memory.open(tmp_path, embedder="none") as memory:
        assert memory.query("TRAVERSE WITH 'sarah chen'").as_dict() == found
    assert [tenant.name for tenant in asyncio.run(AsyncHome(tmp_path).tenants())] == ["default"]


def test_it_may_be_awaited_and_closed_instead_of_entered(tmp_path: Path) -> None:
    async def session() -> None:
        memory = await AsyncMemory.open(tmp_path, embedder="none")
        async with memory:  # entering what is open already is fine
            assert await memory.admin.check() == []
        await memory.close()
        with pytest.raises(StoreClosedError):
            await memory.admin.stats()

    asyncio.run(session())


def test_a_memory_that_is_not_open_says_how_to_open_it(tmp_path: Path) -> None:
    async def session() -> None:
        with pytest.raises(StoreClosedError, match="async with"):
            await AsyncMemory.open(tmp_path).admin.stats()
        with pytest.raises(TenantNotFoundError):
            async with AsyncMemory.open(tmp_path, create=False):
                pass

    asyncio.run(session())


def test_the_loop_goes_on_while_a_call_runs(tmp_path: Path) -> None:
    async def session() -> int:
        async with AsyncMemory.open(tmp_path, embedder="none") as memory:
            writing = asyncio.create_task(
                memory.write(Entity(name=f"Thing {n}") for n in range(3000))
            )
            ticks = 0
            while not writing.done():
                await asyncio.sleep(0)
                ticks += 1
            assert len(await writing) == 3000
            return ticks

    assert asyncio.run(session()) > 1


def test_a_cancelled_write_is_finished_whole_before_the_memory_closes(tmp_path: Path) -> None:
    begun, cancelled = threading.Event(), threading.Event()

    def entities() -> Iterator[Entity]:
        begun.set()
        cancelled.wait(PATIENCE)
        for n in range(500):
            yield Entity(name=f"Thing {n}")

    async def session() -> None:
        async with AsyncMemory.open(tmp_path, embedder="none") as memory:
            writing = asyncio.create_task(memory.write(entities()))
            while not begun.is_set():
                await asyncio.sleep(0.001)
            writing.cancel()
            cancelled.set()
            with pytest.raises(asyncio.CancelledError):
                await writing

    asyncio.run(session())
    with Memory.open(tmp_path, embedder="none") as memory:
        assert memory.admin.stats().records["entities"] == 500
        assert memory.admin.check() == []


def test_an_opening_that_is_cancelled_leaves_nothing_open() -> None:
    entered, go = threading.Event(), threading.Event()
    closed = threading.Event()

    class Slow:
        def close(self) -> None:
            closed.set()

    def opener() -> Any:
        entered.set()
        go.wait(PATIENCE)
        return Slow()

    async def session() -> None:
        opening = asyncio.create_task(AsyncMemory(opener).__aenter__())
        while not entered.is_set():
            await asyncio.sleep(0.001)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening

    asyncio.run(session())
    assert not closed.is_set()
    go.set()
    assert closed.wait(PATIENCE)
