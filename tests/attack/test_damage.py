"""Files are damaged: bits, blocks, pages, ends, in the database and in its log. No answer is wrong
without a word."""

from __future__ import annotations

import io
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tried import Counted, Rounds

from remloom import Entity, Home, Memory
from remloom.errors import CorruptStoreError, WrongKeyError

KEY = "5a" * 32
PAGE, LOG_HEADER, FRAME = 4096, 32, 24 + 4096  # bytes
WRITES = 40

# A memory whose first half is in the database and whose second half is in the log, left as a killed
# process leaves it.
MADE = """
import os, sys
from remloom import Edge, Entity, Memory, Resource, Row

memory = Memory.open(sys.argv[1], key=sys.argv[2] or None, embedder="none")
memory.schemas.register(schema_name="orders", fields={"number": "integer", "note": "string"})
for i in range(int(sys.argv[3])):
    memory.write([
        Entity(name=f"Person {i}", aliases=(f"Nick {i}",), summary=f"Knows of thing {i}. " * 20),
        Resource(name=f"doc {i}", content=f"In document {i} stands word{i} and more. " * (10 if i % 3 else 400)),
        Edge(src=f"Person {i}", rel_type="knows", dst=f"Person {i // 2}"),
        Row(schema="orders", handle=f"order-{i}", fields={"number": i, "note": "paid"}),
        Edge(src=f"order-{i}", rel_type="belongs_to", dst=f"Person {i}"),
    ])
    if i == int(sys.argv[3]) // 2:
        memory.admin.store._database.upkeep.checkpoint()
os._exit(0)
"""


@pytest.fixture(scope="module", params=["without a key", "with a key"])
def made(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str]:
    """A home and its key."""
    key = KEY if request.param == "with a key" else ""
    home = tmp_path_factory.mktemp("made")
    subprocess.run([sys.executable, "-c", MADE, str(home), key, str(WRITES)], check=True)
    return home, key


def answers(memory: Memory) -> dict[str, Any]:
    """What a user may ask of it."""
    stream = io.BytesIO()
    memory.admin.export(stream)
    return {
        "everything": sorted(stream.getvalue().splitlines()[1:-1]),
        "lookup": [[hit.name for hit in memory.lookup(f"Nick {i}").records] for i in range(WRITES)],
        "fuzzy": [hit.name for hit in memory.fuzzy("Persn 17", limit=3).records],
        "words": [hit.name for hit in memory.search_text("word7", limit=3).records],
        "edges": sorted(
            node["name"]
            for node in memory.traverse("Person 1", direction="both", max_depth=3, limit=50).nodes
        ),
        "rows": memory.sql("SELECT handle, number, note FROM orders ORDER BY number").rows,
        "counted": memory.sql("SELECT count(*) FROM resources").rows,
    }


def copied(made: tuple[Path, str], to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(made[0], to, ignore=shutil.ignore_patterns("*-shm"))
    return to / "tenants" / "default"


def flip(data: bytearray, draw: random.Random, unit: int, start: int) -> None:
    data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)


def zero(data: bytearray, draw: random.Random, unit: int, start: int) -> None:
    size = draw.choice([16, 512, PAGE])
    at = draw.randrange(len(data))
    data[at : at + size] = bytes(len(data[at : at + size]))


def noise(data: bytearray, draw: random.Random, unit: int, start: int) -> None:
    at = draw.randrange(len(data))
    data[at : at + 64] = draw.randbytes(len(data[at : at + 64]))


def swap(data: bytearray, draw: random.Random, unit: int, start: int) -> None:
    count = (len(data) - start) // unit
    one, other = (start + unit * draw.randrange(count) for _ in range(2))
    data[one : one + unit], data[other : other + unit] = (
        data[other : other + unit],
        data[one : one + unit],
    )


def repeat(data: bytearray, draw: random.Random, unit: int, start: int) -> None:
    count = (len(data) - start) // unit
    one, other = (start + unit * draw.randrange(count) for _ in range(2))
    data[one : one + unit] = data[other : other + unit]


def cut(data: bytearray, draw: random.Random, unit: int, start: int) -> None:
    del data[draw.randrange(len(data)) :]


def cut_between(data: bytearray, draw: random.Random, unit: int, start: int) -> None:
    del data[start + unit * draw.randrange((len(data) - start) // unit) :]


DAMAGES: list[Callable[[bytearray, random.Random, int, int], None]] = [
    flip, zero, noise, swap, repeat, cut, cut_between,
]  # fmt: skip


@pytest.mark.parametrize("file", ["memory.db", "memory.db-wal", "memory.db-mark"])
def test_a_damaged_file_answers_rightly_or_says_so(
    made: tuple[Path, str], file: str, tmp_path: Path, rounds: Rounds, counted: Counted
) -> None:
    copied(made, tmp_path / "whole")
    with Memory.open(tmp_path / "whole", key=made[1] or None, embedder="none") as memory:
        truth = answers(memory)
    assert len(truth["everything"]) > WRITES
    times, told = rounds(14, 140), 0
    for number in range(times):
        draw = random.Random(f"{file} {number}")
        damage = DAMAGES[number % len(DAMAGES)]
        path = copied(made, tmp_path / "home") / file
        data = bytearray(path.read_bytes())
        unit, start = {"memory.db": (PAGE, 0), "memory.db-wal": (FRAME, LOG_HEADER)}.get(
            file, (8, 0)
        )
        damage(data, draw, unit, start)
        path.write_bytes(data)
        try:
            with Memory.open(tmp_path / "home", key=made[1] or None, embedder="none") as memory:
                found = answers(memory)
        except (CorruptStoreError, WrongKeyError):
            told += 1
        else:
            assert found == truth, f"{damage.__name__}, number {number}"
        if file == "memory.db-mark":
            assert not told, "a damaged mark says nothing, and takes nothing away"
    counted(f"damages to {file}, {'with' if made[1] else 'without'} a key", times)


def test_what_is_lost_is_told_and_can_be_gone_on_from(
    made: tuple[Path, str], tmp_path: Path
) -> None:
    folder = copied(made, tmp_path / "home")
    log = folder / "memory.db-wal"
    data = bytearray(log.read_bytes())
    middle = LOG_HEADER + FRAME * ((len(data) - LOG_HEADER) // FRAME // 2)
    data[middle + 2_000] ^= 1
    log.write_bytes(data)
    for _ in range(2):  # who is refused changes nothing
        with pytest.raises(CorruptStoreError, match="acknowledged") as caught:
            Memory.open(tmp_path / "home", key=made[1] or None, embedder="none")
        assert log.read_bytes() == data
    lost = caught.value.fields["writes"]
    assert 0 < lost < WRITES
    assert caught.value.fields["since"] < caught.value.fields["until"]
    done = Home(tmp_path / "home", key=made[1] or None).repair("default")
    assert f"{lost} acknowledged" in done[0]
    (kept,) = folder.glob("*.damaged-*")
    assert kept.read_bytes() == data
    with Memory.open(tmp_path / "home", key=made[1] or None, embedder="none") as memory:
        assert memory.admin.check() == []
        there = [bool(memory.lookup(f"Person {i}").records) for i in range(WRITES)]
        assert there == [True] * (WRITES - lost) + [False] * lost
        rows = memory.sql("SELECT number FROM orders ORDER BY number").rows
        assert rows == [(i,) for i in range(WRITES - lost)]
        assert memory.schemas.get_row("orders", "order-0").fields["note"] == "paid"
    assert Home(tmp_path / "home", key=made[1] or None).repair("default") == []


@pytest.mark.parametrize("gone", ["memory.db-wal", "memory.db"])
def test_a_file_that_is_gone_is_missed(made: tuple[Path, str], gone: str, tmp_path: Path) -> None:
    (copied(made, tmp_path / "home") / gone).unlink()
    with pytest.raises(CorruptStoreError):
        Memory.open(tmp_path / "home", key=made[1] or None, embedder="none")


def test_without_its_mark_a_broken_log_is_told_from_a_torn_end(
    made: tuple[Path, str], tmp_path: Path
) -> None:
    def opened(change: Callable[[bytearray, int], None]) -> int:
        """How many of the writes are there."""
        folder = copied(made, tmp_path / "home")
        (folder / "memory.db-mark").unlink()
        data = bytearray((folder / "memory.db-wal").read_bytes())
        change(data, (len(data) - LOG_HEADER) // FRAME)
        (folder / "memory.db-wal").write_bytes(data)
        with Memory.open(tmp_path / "home", key=made[1] or None, embedder="none") as memory:
            assert memory.admin.check() == []
            return sum(bool(memory.lookup(f"Person {i}").records) for i in range(WRITES))

    def torn(data: bytearray, frames: int) -> None:
        del data[-PAGE:]

    # of the last write only the end reached the disk
    def scattered(data: bytearray, frames: int) -> None:
        data[-2 * FRAME : -FRAME] = bytes(FRAME)

    def broken(data: bytearray, frames: int) -> None:
        data[LOG_HEADER + FRAME * (frames // 2) + 2_000] ^= 1

    def beheaded(data: bytearray, frames: int) -> None:
        data[:LOG_HEADER] = bytes(LOG_HEADER)

    assert opened(torn) == opened(scattered) == WRITES - 1
    for change in (broken, beheaded):
        with pytest.raises(CorruptStoreError, match="at least"):
            opened(change)


def test_a_backup_put_in_the_place_of_its_tenant_is_not_taken_for_a_loss(
    made: tuple[Path, str], tmp_path: Path
) -> None:
    folder = copied(made, tmp_path / "home")
    with Memory.open(tmp_path / "home", key=made[1] or None, embedder="none") as memory:
        memory.admin.backup(tmp_path / "backup")
        memory.write([Entity(name="Later")])
    shutil.copy(tmp_path / "backup" / "memory.db", folder / "memory.db")
    with Memory.open(tmp_path / "home", key=made[1] or None, embedder="none") as memory:
        assert memory.admin.check() == []
        assert memory.lookup("Person 3").records
        assert not memory.lookup("Later").records
