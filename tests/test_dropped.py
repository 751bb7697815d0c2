"""A memory that is dropped without `close` gives back its threads and files, and says that it was
dropped."""

from __future__ import annotations

import gc
import os
import threading
import time
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import pytest

from remloom import Entity, Home, Memory, Resource
from remloom.engine import closing
from remloom.errors import StoreClosedError
from remloom.testing.embedder import WordEmbedder
from remloom.testing.models import ScriptedModel
from waiting import until

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/fd").is_dir(), reason="counts files as Linux does"
)


@pytest.fixture(autouse=True)
def _nothing_left_behind() -> None:
    """Collect what tests before left behind, or else it would be closed during one of these."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()


def held() -> tuple[int, int]:
    return len(os.listdir("/proc/self/fd")), threading.active_count()


def use(home: str | Path, tenant: str) -> Memory:
    memory = Memory.open(home, tenant=tenant, embedder=WordEmbedder())
    memory.write([Entity(name="Ann"), Resource(name="note", content="plum jam and more")])
    memory.lookup("ann")
    memory.fuzzy("an")
    memory.search("plum")
    memory.recall("plum")
    return memory


def drop(home: str | Path, tenant: str) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        use(home, tenant)
    told = [str(warning.message) for warning in seen if warning.category is ResourceWarning]
    (said,) = [text for text in told if f"<Memory of '{tenant}' in" in text]
    assert "was not closed" in said


def test_a_hundred_memories_that_are_dropped_leave_no_thread_and_no_file_open(
    tmp_path: Path,
) -> None:
    use(tmp_path, "first").close()
    before = held()
    for number in range(100):
        drop(tmp_path, f"t{number % 7}")
    until(lambda: held() <= before)
    for number in range(7):
        with Memory.open(
            tmp_path, tenant=f"t{number}", embedder=WordEmbedder(), create=False
        ) as memory:
            assert memory.search("plum").records
            assert memory.admin.check() == []
    until(lambda: held() <= before)


def test_memories_of_a_database_that_are_dropped_leave_no_connection(postgres: str) -> None:
    from remloom.store.postgres.database import PostgresDatabase

    before = held()
    for number in range(20):
        drop(postgres, f"dropped{number % 3}")
    until(lambda: not PostgresDatabase._open)
    until(lambda: held() <= before)
    for number in range(3):
        Home(postgres).delete(f"dropped{number}")


def test_what_is_held_of_a_memory_keeps_it_open(tmp_path: Path) -> None:
    def opened() -> Memory:
        return Memory.open(tmp_path, embedder="none")

    with opened() as memory:
        memory.write([Entity(name=f"Ann {number}") for number in range(2_000)])
    before = held()
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        runs, jobs, dreams, admin = opened().runs, opened().jobs, opened().dreams, opened().admin
        records = opened().admin.records()
        assert next(records).name == "Ann 0"
        time.sleep(1.5)  # what nobody holds is closed by now
        assert (runs.list(), runs.failed(), jobs.list()) == ([], [], [])
        assert dreams.metrics().insights == 0
        assert admin.check() == []
        assert len(list(records)) == 1_999
        assert opened().runs.list() == []
        del runs, jobs, dreams, admin, records
    until(lambda: held() <= before)


def test_threads_that_need_something_first_at_once_share_one_of_it(tmp_path: Path) -> None:
    class Slow(WordEmbedder):
        made: ClassVar[list[str]] = []

        @property
        def name(self) -> str:
            self.made.append("name")
            time.sleep(0.05)  # while the other threads come
            return "slow"

        @name.setter
        def name(self, name: str) -> None: ...

    with Memory.open(tmp_path, embedder=Slow(), llm=ScriptedModel([])) as memory:
        barrier = threading.Barrier(16)

        def ask() -> int:
            barrier.wait()
            memory.search("plum")
            return id(memory.admin.llm)

        with ThreadPoolExecutor(16) as threads:
            asked = [threads.submit(ask) for _ in range(16)]
            assert len({one.result() for one in asked}) == 1
        assert Slow.made == ["name"]


def test_a_memory_in_a_circle_is_closed_when_the_collector_finds_it(tmp_path: Path) -> None:
    before = held()
    memory = use(tmp_path, "a")
    memory.circle = memory  # type: ignore[attr-defined]
    seen = weakref.ref(memory)
    del memory
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        gc.collect()
    assert seen() is None
    until(lambda: held() <= before)


def test_what_is_being_embedded_when_a_memory_is_dropped_is_kept(tmp_path: Path) -> None:
    before = set(closing._open)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        Memory.open(tmp_path, embedder=WordEmbedder()).write(
            [Resource(name=f"n{number}", content=f"plum {number}") for number in range(200)]
        )
    until(lambda: closing._open <= before)
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        memory.embed_pending()
        assert memory.admin.stats().vectors.count >= 200
        assert memory.admin.check() == []


def test_a_memory_that_was_closed_says_nothing_and_is_closed_once(tmp_path: Path) -> None:
    with Memory.open(tmp_path, tenant="z", embedder="none"):
        # what a process starts once for all its memories, and tests before this one may have
        gc.collect()
    before = held()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        memory = use(tmp_path, "a")
        memory.close()
        memory.close()
        other = use(tmp_path, "b")
        del memory
        gc.collect()
        other.close()
    until(lambda: held() <= before)


class Breaking:
    """A language model that cannot be closed: that of the parent of a forked process, say."""

    def close(self) -> None:
        raise OSError("it breaks")


def test_a_memory_gives_back_its_threads_and_files_though_its_model_cannot_be_closed(
    tmp_path: Path,
) -> None:
    use(tmp_path, "z").close()
    gc.collect()
    before = held()
    memory = use(tmp_path, "a")
    memory._engine._resources.llm = Breaking()  # type: ignore[assignment]
    with pytest.raises(OSError, match="it breaks"):
        memory.close()
    until(lambda: held() <= before)
    with pytest.raises(StoreClosedError):
        memory.lookup("ann")
