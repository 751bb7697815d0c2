"""Exports that were cut off, changed on their way, or whose import is killed: all of one is taken
in, or nothing."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tried import Counted, Rounds

from remloom import Edge, Entity, Memory, Moment, Resource
from remloom.errors import InvalidInputError


def memory(home: str | Path, **options: object) -> Memory:
    return Memory.open(home, **{"embedder": "none", **options})  # type: ignore[arg-type]


@pytest.fixture
def exported(home: str) -> bytes:
    stream = io.BytesIO()
    with memory(home, tenant="source") as source:
        (talk,) = source.write(
            [Resource(name="tälk", content="plüm jam \u2028 läuft " * 9, embedding=[0.6, 0.8])]
        )
        source.write([
            Resource(name="note", content="derived", parents=(talk,), generation=1),
            Entity(name="Sarah", aliases=("S",), properties={"n": 1}),
            Moment(name="m", starts_at=datetime(2025, 1, 1, tzinfo=UTC), resource_refs=(talk,)),
            Edge(src="S", rel_type="knows", dst="Nobody", weight=0.5),
            Edge(src="talk", rel_type="names", dst="Sarah"),
        ])  # fmt: skip
        source.admin.export(stream)
    return stream.getvalue()


def held(opened: Memory) -> int:
    found = opened.admin.stats()
    return sum(found.records.values()) + found.edges + found.vectors.count


def test_an_export_cut_off_at_any_byte_is_taken_in_whole_or_not_at_all(
    home: str, store: str, exported: bytes, rounds: Rounds, counted: Counted
) -> None:
    every = max(1, len(exported) // rounds(60, len(exported)))
    ends = sorted({
        *range(0, len(exported), every),
        *(place + shift for place, byte in enumerate(exported) if byte == 10 for shift in (-1, 0, 1, 2)),
    })  # fmt: skip
    cuts = [end for end in ends if end < len(exported) - 1]
    with memory(home, tenant="target") as target:
        for end in cuts:
            with pytest.raises(InvalidInputError, match="export"):
                target.admin.import_(io.BytesIO(exported[:end]))
            assert held(target) == 0
        target.admin.import_(io.BytesIO(exported[:-1]))  # only the last line break is missing
        whole = held(target)
        assert target.admin.import_(io.BytesIO(exported)).created == 0
        assert held(target) == whole > 8
        assert target.admin.check() == []
    counted(f"exports cut off, {store}", len(cuts))


def test_an_export_changed_at_any_byte_is_not_taken_in(
    home: str, store: str, exported: bytes, rounds: Rounds, counted: Counted
) -> None:
    body = exported.rindex(b"\n", 0, -1)
    tried = range(0, body, max(1, body // rounds(60, body)))
    with memory(home, tenant="target") as target:
        for place in tried:
            changed = bytearray(exported)
            changed[place] ^= 1
            with pytest.raises(InvalidInputError):
                target.admin.import_(io.BytesIO(bytes(changed)))
            assert held(target) == 0
    counted(f"exports changed on their way, {store}", len(tried))


def test_lines_left_out_added_or_given_twice_are_noticed(home: str, exported: bytes) -> None:
    lines = exported.splitlines(keepends=True)
    others = [lines[:place] + lines[place - 1 :] for place in range(1, len(lines) + 1)]
    others += [
        lines[:2] + lines[3:],
        [*lines[:-1], lines[-2], lines[-1]],
        [*lines, lines[2]],
        lines + lines,
    ]
    with memory(home, tenant="target") as target:
        for other in others:
            with pytest.raises(InvalidInputError):
                target.admin.import_(io.BytesIO(b"".join(other)))
            assert held(target) == 0


def test_what_there_is_of_a_cut_export_is_taken_in_when_that_is_asked_for(
    home: str, exported: bytes
) -> None:
    lines = exported.splitlines(keepends=True)
    with memory(home, tenant="target") as target:
        with pytest.raises(InvalidInputError) as caught:
            target.admin.import_(io.BytesIO(b"".join(lines[:4])))
        assert "after line 4" in caught.value.message
        assert "3 records and 0 edges" in caught.value.message
        assert "--incomplete" in caught.value.remedy
        counts = target.admin.import_(
            io.BytesIO(b"".join(lines[:4]) + lines[4][:9]), incomplete=True
        )
        assert counts.records == 3
        assert target.admin.check() == []


_IMPORTING = """
import sys
from remloom import Memory
with Memory.open(sys.argv[1], tenant="target", embedder="none") as memory:
    print("begun", flush=True)
    memory.admin.import_(sys.stdin.buffer)
"""


@pytest.mark.crash
def test_an_import_that_is_killed_leaves_nothing(
    home: str, store: str, rounds: Rounds, counted: Counted
) -> None:
    lines = [b'{"line":"remloom","format":1}\n', *many(4_000)]
    memory(home, tenant="target").close()
    times = rounds(2, 20)
    for number in range(times):
        child = subprocess.Popen(
            [sys.executable, "-c", _IMPORTING, home], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.readline()
        child.stdin.writelines(lines[: 1_100 + number * 140])
        child.stdin.flush()
        child.send_signal(signal.SIGKILL)
        child.communicate()
        with memory(home, tenant="target", create=False) as target:
            assert held(target) == 0
            assert target.admin.check() == []
    counted(f"kills of an import, {store}", times)


def many(count: int) -> Iterator[bytes]:
    for number in range(count):
        record = {
            "id": f"id {number}",
            "type": "person",
            "name": f"Person {number}",
            "summary": "likes plums " * 9,
        }
        yield (
            json.dumps({"line": "record", "schema": "entities", "record": record}).encode() + b"\n"
        )


class _Endless(io.RawIOBase):
    """A file that is made as it is read."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self) -> Iterator[bytes]:
        yield b'{"line":"remloom","format":1}\n'
        yield from many(self.count)
        yield json.dumps({"line": "end", "records": self.count, "edges": 0}).encode()


class _Sink(io.RawIOBase):
    def write(self, data: object) -> int:
        return len(data)  # type: ignore[arg-type]


def test_the_memory_that_an_export_and_an_import_take_does_not_grow_with_what_there_is(
    home: str,
) -> None:
    peaks = []
    for count in (2_000, 12_000):
        with memory(home, tenant=f"t{count}") as target:
            tracemalloc.start()
            try:
                assert target.admin.import_(_Endless(count)).records == count  # type: ignore[arg-type]
                taking = tracemalloc.get_traced_memory()[1]
                tracemalloc.reset_peak()
                target.admin.export(_Sink())  # type: ignore[arg-type]
                peaks.append((taking, tracemalloc.get_traced_memory()[1]))
            finally:
                tracemalloc.stop()
    # of six times as much; caches, and an index of names, grow a little
    for few, lots in zip(*peaks, strict=True):
        assert lots < 2 * few + 2_000_000


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_an_export_goes_through_a_pipe_into_another_tenant(
    tmp_path: Path, exported: bytes, home: str
) -> None:
    child = subprocess.run(
        [sys.executable, "-m", "remloom", "import", "-", "--home", home, "--tenant", "piped", "--json"],
        input=exported, capture_output=True, check=False, env={**os.environ, "REMLOOM_EMBEDDER": "none"},
    )  # fmt: skip
    assert child.returncode == 0, child.stderr
    assert json.loads(child.stdout)["records"] == 6
