"""A tenant is copied between a folder and a database, exactly, and however often it is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from remloom import Edge, Entity, Home, Memory, Moment, Resource
from remloom.errors import ConflictError, InvalidInputError, StoreError, WrongKeyError
from remloom.kv import Entry

T0 = datetime(2025, 1, 15, 10, tzinfo=UTC)
KEY = "ab" * 32


@pytest.fixture
def tenant() -> str:
    return f"t{uuid4().hex}"


def fill(home: Path, tenant: str, key: str | None = None) -> None:
    """One of everything that a memory can hold."""
    with Memory.open(home, tenant=tenant, embedder="none", key=key) as memory:
        source = Resource(
            id="r1", name="note", content="Sarah proposed a price.\nBob agreed.", uri="notes.md", starts_at=T0,
            metadata={"lines": [1, 2.5, None]}, embedding=[0.5, 0.1, 0.2],
        )  # fmt: skip
        insight = Resource(
            id="i1", content="Prices rise.", kind="synthesis", generation=1, parents=("r1",)
        )
        memory.write([
            source, insight, Entity(name="Sarah Chen", type="person", aliases=("S. Chen", "Sarah"), summary="Writes."),
            Edge(src="Sarah Chen", rel_type="manages", dst="Bob", weight=0.7, properties={"since": 2021}, created_at=T0,
                 valid_from=T0, valid_to=T0 + timedelta(days=9)),
            Edge(src="note", rel_type="mentions", dst="x" * 3_000),
            Moment(id="m1", name="Standup", starts_at=T0, ends_at=T0 + timedelta(hours=1), resource_refs=("r1", "i1")),
        ])  # fmt: skip
        memory.create_index("entities", "properties.team")
        memory.admin.store.kv.put([Entry("usage", "2025", b'{"tokens": 5}', refs=("r1",))])


def exported(home: str | Path, tenant: str, path: Path, key: str | None = None) -> list[str]:
    with Memory.open(home, tenant=tenant, embedder="none", key=key, create=False) as memory:
        assert memory.admin.check() == []
        memory.admin.export(path)
    return sorted(path.read_text().splitlines()[1:])


def test_a_tenant_goes_to_a_database_and_comes_back_the_same(
    postgres: str, tmp_path: Path, tenant: str
) -> None:
    fill(tmp_path / "a", tenant)
    there = Home(f"sqlite:{tmp_path / 'a'}").copy(postgres, tenant=tenant)
    back = Home(postgres).copy(tmp_path / "b", tenant=tenant, to_tenant="other")
    assert (there.records, there.edges, there.vectors, there.entries) == (6, 2, 1, 2)
    assert back.checksum == there.checksum
    with Memory.open(tmp_path / "b", tenant="other", embedder="none") as memory:
        assert memory.get_resource("r1").metadata == {"lines": [1, 2.5, None]}
        assert [step.id for step in memory.history("i1").entries] == ["i1", "r1"]
        assert [
            moment.resource_refs for moment in memory.get_moments_by_time(T0, T0 + timedelta(1))
        ] == [("r1", "i1")]
        (edge,) = memory.get_edges("Sarah Chen", as_of=T0 + timedelta(days=1))
        assert (edge.weight, edge.properties, edge.valid_to) == (
            0.7,
            {"since": 2021},
            T0 + timedelta(days=9),
        )
        entry = memory.admin.store.kv.get("usage", "2025")
        assert entry is not None
        assert (entry.value, entry.refs) == (b'{"tokens": 5}', ("r1",))
        assert [entry.key for entry in memory.admin.store.kv.list("index")] == [
            "entities.properties.team"
        ]
        assert memory.admin.check() == []


def test_what_waits_to_be_embedded_waits_in_the_copy_too(
    postgres: str, tmp_path: Path, tenant: str
) -> None:
    from remloom.testing.embedder import WordEmbedder

    with Memory.open(tmp_path, tenant=tenant, embedder=WordEmbedder()) as memory:
        memory._writing.write_batch(
            [Resource(id="r1", content="some words"), Resource(id="r2", content="more")],
            embed=False,
        )
        memory.admin.store.vectors.park("r2", "refused")
    Home(tmp_path).copy(postgres, tenant=tenant)
    with Memory.open(postgres, tenant=tenant, embedder="none") as memory:
        assert memory.admin.stats().pending == 2


def test_a_copy_that_is_there_already_is_only_verified(
    postgres: str, tmp_path: Path, tenant: str
) -> None:
    fill(tmp_path, tenant)
    first = Home(tmp_path).copy(postgres, tenant=tenant)
    again = Home(tmp_path).copy(postgres, tenant=tenant)
    assert (again.written, again.checksum) == (0, first.checksum)


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_target_of_which_everything_was_forgotten_is_empty(
    postgres: str, tmp_path: Path, tenant: str, is_folder: bool
) -> None:
    fill(tmp_path / "a", tenant)
    target = str(tmp_path / "b") if is_folder else postgres
    with Memory.open(target, tenant=tenant, embedder="none") as memory:
        memory.read_text("A call with Bob.", uri="call.txt")
        ids = memory.write([Entity(name="Bob", type="person"), Entity(name="mine")])
        memory.admin.optimize()
        memory.forget("call.txt", *ids)
    assert Home(tmp_path / "a").copy(target, tenant=tenant).records == 6


def test_a_target_with_memories_of_its_own_is_left_alone(
    postgres: str, tmp_path: Path, tenant: str
) -> None:
    fill(tmp_path, tenant)
    with Memory.open(postgres, tenant=tenant, embedder="none") as memory:
        memory.write([Entity(name="mine")])
    with pytest.raises(ConflictError, match="memories of its own") as caught:
        Home(tmp_path).copy(postgres, tenant=tenant)
    assert "--as" in caught.value.remedy
    with Memory.open(postgres, tenant=tenant, embedder="none") as memory:
        assert memory.admin.stats().records == {"resources": 0, "entities": 1, "moments": 0}


def test_a_tenant_is_not_copied_into_itself(tmp_path: Path, tenant: str) -> None:
    fill(tmp_path, tenant)
    with pytest.raises(InvalidInputError, match="same tenant"):
        Home(tmp_path).copy(f"sqlite:{tmp_path}", tenant=tenant)


def test_an_encrypted_tenant_becomes_plain_only_when_that_is_meant(
    postgres: str, tmp_path: Path, tenant: str
) -> None:
    fill(tmp_path / "a", tenant, KEY)
    with pytest.raises(InvalidInputError, match="encrypted, and its copy would not be") as caught:
        Home(tmp_path / "a", key=KEY).copy(postgres, tenant=tenant)
    assert "--plain" in caught.value.remedy
    with pytest.raises(WrongKeyError):
        Home(tmp_path / "a", key="cd" * 32).copy(postgres, tenant=tenant, plain=True)
    Home(tmp_path / "a", key=KEY).copy(postgres, tenant=tenant, plain=True)
    Home(postgres, key=KEY).copy(tmp_path / "b", tenant=tenant)
    assert [info.encrypted for info in Home(tmp_path / "b").tenants()] == [True]
    lines = [exported(tmp_path / name, tenant, tmp_path / f"{name}.jsonl", KEY) for name in "ab"]
    assert lines[0] == lines[1]


def test_a_source_that_changed_since_a_copy_broke_off_is_followed(
    postgres: str, tmp_path: Path, tenant: str
) -> None:
    fill(tmp_path, tenant)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Home(tmp_path).copy(postgres, tenant=tenant, progress=stop)
    with Memory.open(tmp_path, tenant=tenant, embedder="none") as memory:
        memory.forget("i1")
        memory.write([Entity(name="Sarah Chen", type="person", summary="Edits.")])
        memory.write([Edge(src="Sarah Chen", rel_type="manages", dst="Bob", weight=0.9)])
    copied = Home(tmp_path).copy(postgres, tenant=tenant)
    assert copied.resumed
    lines = [
        exported(home, tenant, tmp_path / f"{n}.jsonl")
        for n, home in enumerate((tmp_path, postgres))
    ]
    assert lines[0] == lines[1]


def test_a_source_that_is_written_to_meanwhile_is_told(
    postgres: str, tmp_path: Path, tenant: str
) -> None:
    fill(tmp_path, tenant)
    with Memory.open(tmp_path, tenant=tenant, embedder="none") as memory:
        told: list[int] = []

        def meddle(done: int, total: int) -> None:
            if not told:
                memory.write([Entity(name="late")])
            told.append(done)

        with pytest.raises(StoreError, match="differ") as caught:
            Home(tmp_path).copy(postgres, tenant=tenant, progress=meddle)
    assert "run the same command again" in caught.value.remedy
    assert Home(tmp_path).copy(postgres, tenant=tenant).records == 7


def test_a_copy_killed_in_the_middle_goes_on_where_it_was(
    postgres: str, tmp_path: Path, tenant: str
) -> None:
    with Memory.open(tmp_path, tenant=tenant, embedder="none") as memory:
        for start in range(0, 6_000, 1_000):
            memory.write(
                [Resource(id=f"r{n}", content=f"text {n}") for n in range(start, start + 1_000)]
            )
        memory.write([Edge(src=f"a{n}", rel_type="r", dst=f"b{n}") for n in range(1_000)])
    program = f"""
import time
from remloom import Home

def told(done, total):
    print(done, flush=True)
    time.sleep(0.2)

Home({str(tmp_path)!r}).copy({postgres!r}, tenant={tenant!r}, progress=told)
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()  # a part is there
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    time.sleep(0.1)
    copied = Home(tmp_path).copy(postgres, tenant=tenant)
    assert copied.resumed
    assert 0 < copied.written < copied.records + copied.edges
    lines = [
        exported(home, tenant, tmp_path / f"{n}.jsonl")
        for n, home in enumerate((tmp_path, postgres))
    ]
    assert lines[0] == lines[1]


def test_copying_from_the_command_line_tells_what_was_verified(
    postgres: str, tmp_path: Path, tenant: str
) -> None:
    fill(tmp_path, tenant)

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "remloom", *arguments], capture_output=True, text=True
        )
        return done.stdout + done.stderr

    told = run("copy", f"sqlite:{tmp_path}", postgres, "--tenant", tenant)
    assert "copied 6 records, 2 edges, 1 vector" in told
    assert "same checksum" in told
    refused = run("copy", str(tmp_path), postgres, "--tenant", tenant, "--to-key", "ab" * 32)
    assert "never stands on a command line" in refused


def test_half_a_copy_is_said_to_be_one_until_it_is_whole(
    postgres: str, tmp_path: Path, tenant: str
) -> None:
    fill(tmp_path, tenant)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Home(tmp_path).copy(postgres, tenant=tenant, progress=stop)
    with Memory.open(postgres, tenant=tenant, embedder="none") as memory:
        assert any("was copied here" in line for line in memory.admin.check())
    Home(tmp_path).copy(postgres, tenant=tenant)
    with Memory.open(postgres, tenant=tenant, embedder="none") as memory:
        assert memory.admin.check() == []
