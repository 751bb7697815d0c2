"""Read, changed and written by eight threads in each of four processes at once: every acknowledged
change is there."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from remloom import Edge, Entity, Home, Memory, Message, labels
from remloom.predicates import Eq, Query

PROCESSES, THREADS = 4, 8
RACING = Path(__file__).with_name("racing.py")

Race = Callable[[str, int], list[Any]]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def home(
    request: pytest.FixtureRequest, store: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A home for all races of a store: each has labels of its own."""
    if store == "sqlite":
        yield str(tmp_path_factory.mktemp("races"))
        return
    from postgres_server import database

    with database(request.getfixturevalue("postgres")) as url:
        Home(url).migrate()
        yield url


@pytest.fixture(scope="module")
def processes(home: str) -> Iterator[list[subprocess.Popen[str]]]:
    opened(home).close()
    started = [
        subprocess.Popen(
            [sys.executable, str(RACING), home, str(number), str(THREADS)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for number in range(PROCESSES)
    ]  # fmt: skip
    for process in started:
        assert answer(process) == "ready\n"
    yield started
    for process in started:
        process.communicate()


@pytest.fixture
def race(processes: list[subprocess.Popen[str]]) -> Race:
    """`race(what, turns)`: what was acknowledged to all processes together."""

    def race(what: str, turns: int) -> list[Any]:
        for process in processes:
            assert process.stdin is not None
            process.stdin.write(f"{what} {turns}\n")
            process.stdin.flush()
        return [some for process in processes for some in json.loads(answer(process))]

    return race


def answer(process: subprocess.Popen[str]) -> str:
    """The next line that it says; why it ended, if it did."""
    assert process.stdout is not None
    if line := process.stdout.readline():
        return line
    raise AssertionError(process.communicate()[1][-2000:])


def opened(home: str) -> Memory:
    return Memory.open(home, tenant="race", embedder="none")


def test_of_properties_that_many_merge_into_one_entity_every_one_is_there(
    home: str,
    store: str,
    race: Race,
    rounds: Callable[[int, int], int],
    counted: Callable[[str, int], None],
) -> None:
    with opened(home) as memory:
        memory.write([Entity(id="sum", name="sum")])
    told = race("merge", rounds(4, 157))  # 157 x 32 = 5,024
    assert len(told) == rounds(4, 157) * PROCESSES * THREADS
    with opened(home) as memory:
        assert sorted(memory.get_entity("sum").properties) == sorted(told)
        assert memory.admin.check() == []
    counted(f"merges into one entity, 32 writers, {store}", len(told))


def test_of_what_many_write_of_one_name_everything_is_there(
    home: str,
    store: str,
    race: Race,
    rounds: Callable[[int, int], int],
    counted: Callable[[str, int], None],
) -> None:
    told = race("merge_by_name", rounds(2, 20))
    with opened(home) as memory:
        (hit,) = memory.lookup("everybody").records
        assert sorted(hit.record.properties) == sorted(told)  # type: ignore[union-attr]
        assert sorted(hit.record.aliases) == sorted(f"alias {name}" for name in told)  # type: ignore[union-attr]
    counted(f"entities written by one name, 32 writers, {store}", len(told))


def test_of_properties_that_many_merge_into_one_edge_every_one_is_there(
    home: str,
    store: str,
    race: Race,
    rounds: Callable[[int, int], int],
    counted: Callable[[str, int], None],
) -> None:
    told = race("strengthen", rounds(2, 40))
    with opened(home) as memory:
        (edge,) = memory.get_edges("strength")
        assert sorted(edge.properties) == sorted(told)
    counted(f"merges into one edge, 32 writers, {store}", len(told))


def test_an_edge_that_many_take_back_is_taken_back_once(
    home: str,
    store: str,
    race: Race,
    rounds: Callable[[int, int], int],
    counted: Callable[[str, int], None],
) -> None:
    edges = rounds(6, 60)
    with opened(home) as memory:
        memory.write([Edge(src="Hub", rel_type="has", dst=f"spoke {n}") for n in range(edges)])
    told = race("unlink", edges)
    assert Counter(told) == dict.fromkeys(range(edges), 1)
    with opened(home) as memory:
        assert memory.get_edges("Hub") == []
    counted(f"edges taken back by 32 at once, {store}", edges * PROCESSES * THREADS)


def test_of_a_document_that_many_read_anew_one_version_is_there_and_it_is_whole(
    home: str,
    store: str,
    race: Race,
    rounds: Callable[[int, int], int],
    counted: Callable[[str, int], None],
) -> None:
    told = race("read_again", rounds(1, 5))
    with opened(home) as memory:
        texts = [
            resource.content
            for resource in memory.query_resources(Query().filter(Eq("uri", "doc:race")))
        ]
        assert (
            len({word for text in texts for word in text.split() if word.startswith("p")}) == 1
        ), texts
        assert memory.admin.check() == []
    counted(f"versions of one document read by 32 at once, {store}", len(told))


def test_documents_and_chats_of_one_title_that_many_read_at_once_have_each_a_name_of_its_own(
    home: str,
    store: str,
    race: Race,
    rounds: Callable[[int, int], int],
    counted: Callable[[str, int], None],
) -> None:
    told = race("read_namesakes", rounds(1, 5))
    with opened(home) as memory:
        read = memory.query_entities(
            Query().filter(Eq("type", "document"))
        ) + memory.query_entities(Query().filter(Eq("type", "chat")))
        named = [labels.key(entity.name) for entity in read if entity.name.startswith("Namesake")]
    assert len(named) == 2 * len(told)
    assert [name for name, count in Counter(named).items() if count > 1] == []
    counted(f"documents and chats of one title, read by 32 at once, {store}", len(named))


def test_at_no_time_is_there_whom_only_an_earlier_version_of_a_document_named(
    home: str, rounds: Callable[[int, int], int]
) -> None:
    """So a process that is killed while it reads leaves nobody behind."""
    names, over, seen = (
        ("Tobias Lindqvist", "Ines Duarte"),
        threading.Event(),
        Counter[tuple[str, ...]](),
    )

    def look() -> None:
        with opened(home) as other:
            while not over.is_set():
                with other.admin.store.snapshot():
                    seen[tuple(name for name in names if other.lookup(name).records)] += 1

    with opened(home) as memory:
        memory.read_text(f"Then {names[1]} came.", uri="doc:versions", name="Versions")
        watching = threading.Thread(target=look)
        watching.start()
        try:
            for n in range(rounds(40, 400)):
                memory.read_text(f"Then {names[n % 2]} came.", uri="doc:versions", name="Versions")
        finally:
            over.set()
            watching.join()
    assert set(seen) == {(name,) for name in names}, seen


def test_of_a_chat_that_many_append_to_every_acknowledged_turn_is_there(
    home: str,
    store: str,
    race: Race,
    rounds: Callable[[int, int], int],
    counted: Callable[[str, int], None],
) -> None:
    with opened(home) as memory:
        memory.read_chat([Message(id="first", speaker="Ann", text="We begin.")], uri="chat:race")
    told = race("append", rounds(1, 5))
    with opened(home) as memory:
        turns = memory.query_resources(Query().filter(Eq("uri", "chat:race")))
        there = [id for turn in turns for id in turn.metadata.get("message_ids", ())]
    assert len(there) == len(set(there))
    assert set(told) <= set(there)
    counted(f"turns appended by 32 at once, {store}", len(told))


def test_an_index_that_many_make_is_made_once_and_nobody_is_refused(home: str, race: Race) -> None:
    with opened(home) as memory:
        memory.write([Entity(name="a", properties={"field0": 1, "field1": 2, "field2": 3})])
    assert len(race("index", 3)) == PROCESSES * THREADS * 3
