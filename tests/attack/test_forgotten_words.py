"""What is forgotten is in no byte of any file and in no row of any table, whatever was made of it
before."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from forgetting_histories import HISTORIES, MONDAY, SAID, WHO, WORDS, refuse, reply

from remloom import Memory, Resource
from remloom.settings import Settings
from remloom.testing.disk import on_disk
from remloom.testing.embedder import WordEmbedder
from remloom.testing.models import ScriptedModel

pytest.importorskip("langgraph")

Counted = Any


def opened(home: str, *, embedder: bool = True) -> Memory:
    settings = Settings.load(home=home, llm_retries=0)
    embed: Any = WordEmbedder() if embedder else "none"
    return Memory.open(embedder=embed, llm=ScriptedModel(reply), settings=settings)


def stored(home: str) -> Iterator[tuple[str, bytes]]:
    """Every byte that is kept: of all files, or row by row."""
    if not home.startswith("postgresql"):
        yield "files", on_disk(Path(home))
        return
    with psycopg.connect(home) as connection:
        tables = connection.execute(
            "SELECT c.relname, string_agg(a.attname, ',') FILTER (WHERE a.atttypid = 'bytea'::regtype) FROM pg_class c"
            " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
            " WHERE c.relnamespace = 'remloom'::regnamespace AND c.relkind = 'r' GROUP BY 1"
        ).fetchall()
        for table, binary in tables:
            for (row,) in connection.execute(f"SELECT t::text FROM remloom.{table} t"):  # type: ignore[arg-type]
                yield table, row.encode()
            for column in binary.split(",") if binary else ():
                for (data,) in connection.execute(f"SELECT {column} FROM remloom.{table}"):  # type: ignore[arg-type]
                    yield f"{table}.{column}", bytes(data or b"")


def left(home: str) -> list[str]:
    """Where the planted words still are, as they are or in Base64, which is how bytes stand in
    JSON."""
    found = set()
    for place, data in stored(home):
        for word, needle in _NEEDLES:
            where = data.lower() if needle == word else data
            if needle in where:
                at = where.index(needle)
                found.add(f"{place}: {where[max(0, at - 60) : at + 40]!r}")
    return sorted(found)


def _needles() -> Iterator[tuple[bytes, bytes]]:
    for word in (word.encode() for word in WORDS):
        yield word, word
        for form in (word, word.capitalize()):
            for before in range(3):
                coded = base64.b64encode(bytes(before) + form)
                yield word, coded[(before * 8 + 5) // 6 : (before + len(form)) * 8 // 6]


_NEEDLES = list(_needles())


@pytest.mark.parametrize("embedder", [True, False], ids=["vectors", "no-vectors"])
@pytest.mark.parametrize("name", HISTORIES)
def test_nothing_is_left_of_what_was_forgotten(
    home: str, name: str, embedder: bool, tmp_path: Path, counted: Counted, long: bool
) -> None:
    if not (embedder or long):
        pytest.skip("in the long form")
    if not embedder and name in ("a_document_that_was_learned", "a_document_that_was_dreamt_of"):
        pytest.skip("needs an embedder")
    with opened(home, embedder=embedder) as memory:
        memory.write([Resource(name="Bystander", content="An old wall stands beside the road.")])
        targets = HISTORIES[name](memory, tmp_path)
        assert targets
        memory.search_text("vexotherm")
        memory.fuzzy(WHO)
        if embedder:
            memory.admin.optimize()
        assert left(home) or name in (
            "an_edge_that_was_taken_back",
            "a_document_that_was_read_again_without_them",
        )
        told = memory.forget(*targets, dry_run=True)
        receipt = memory.forget(*targets)
        assert left(home) == []
        assert receipt.verified, receipt
        assert set(told.ids) == set(receipt.ids)
        assert (told.records, told.keys, told.edges, told.derived) == (
            receipt.records, receipt.keys, receipt.edges, receipt.derived,
        )  # fmt: skip
        memory.admin.optimize()
        assert left(home) == []
        assert memory.admin.check() == []
        for word in WORDS:
            assert not [
                hit
                for hit in memory.search_text(word, limit=5).records
                if word in str(hit.record).casefold()
            ]
            assert not [
                hit for hit in memory.fuzzy(word).records if word in str(hit.record).casefold()
            ]
        assert memory.search_text("wall").records
    assert left(home) == []
    with opened(home, embedder=embedder) as memory:
        # what can still be taken back is, and brings nothing back
        for run in memory.runs.list():
            if run.status != "rolled_back":
                memory.runs.rollback(run.id)
        memory.dreams.moments(hours=None, model=False)
        memory.dreams.affinity()
        assert memory.admin.check() == []
    assert left(home) == []
    counted(
        f"histories after which nothing is left, {'postgres' if '://' in home else 'sqlite'}", 1
    )


def test_what_is_said_again_after_it_was_forgotten_is_known_again_and_forgotten_again(
    home: str,
) -> None:
    with opened(home) as memory:
        for _ in range(3):
            memory.read_text(f"# Engines\n\n{SAID}", uri="notes/engines.md", at=MONDAY)
            assert memory.search_text("vexotherm").records
            assert memory.lookup(WHO).records
            assert memory.forget("notes/engines.md").verified
            assert left(home) == []


def test_a_source_that_stays_keeps_its_words_and_what_was_made_of_it(home: str) -> None:
    with opened(home) as memory:
        memory.read_text(f"# Engines\n\n{SAID}", uri="notes/engines.md", at=MONDAY)
        memory.read_text(
            f"# Other\n\nAlso here {WHO} has a vexotherm.", uri="notes/other.md", at=MONDAY
        )
        assert memory.forget("notes/engines.md").verified
        assert [hit.uri for hit in memory.search_text("vexotherm").records if hit.uri] == [
            "notes/other.md"
        ]
        assert WHO in memory.lookup(WHO).records[0].name


@pytest.mark.parametrize("store", ["sqlite"])
def test_another_process_that_has_it_open_brings_nothing_back(home: str, store: str) -> None:
    code = (
        "import sys; from remloom import Memory\n"
        "with Memory.open(sys.argv[1], embedder='none') as m:\n"
        "    m.search_text('vexotherm'); m.fuzzy('zorbleflux'); print('open', flush=True); sys.stdin.readline()\n"
        "    print(len(m.search_text('vexotherm').records), len(m.fuzzy('zorbleflux').records), flush=True)\n"
        "    m.admin.optimize()\n"
    )
    with opened(home, embedder=False) as memory:
        memory.read_text(f"# Engines\n\n{SAID}", uri="notes/engines.md")
        with subprocess.Popen(
            [sys.executable, "-c", code, home],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as other:
            assert other.stdin
            assert other.stdout
            assert other.stdout.readline() == "open\n"
            assert memory.forget("notes/engines.md").verified
            other.stdin.write("\n")
            other.stdin.flush()
            assert other.stdout.readline() == "0 0\n"
        assert other.returncode == 0
        assert left(home) == []
    assert left(home) == []


_FORGETTER = """
import sys
from remloom import Memory, Message
home = sys.argv[1]
with Memory.open(home, embedder="none") as memory:
    for n in range(10_000):
        memory.read_text(f"# Engines {n}\\n\\nThe vexotherm of Zorbleflux Quandrimal hums {n}.", uri=f"engines{n}.md")
        memory.fuzzy("zorbleflux")
        print("written", n, flush=True)
        receipt = memory.forget(f"engines{n}.md")
        print("forgotten", n, receipt.verified, flush=True)
"""


@pytest.mark.parametrize("store", ["sqlite"])
def test_a_process_that_is_killed_while_forgetting_leaves_it_whole_or_gone(
    home: str, store: str, rounds: Any, counted: Counted
) -> None:
    kills = rounds(4, 100)
    for round in range(kills):
        place = f"{home}-{round}"
        with subprocess.Popen(
            [sys.executable, "-c", _FORGETTER, place],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ,
        ) as process:
            assert process.stdout
            process.stdout.readline()
            time.sleep((zlib.crc32(str(round).encode()) % 1000) / 2500)
            process.send_signal(signal.SIGKILL)
            last = process.stdout.read().splitlines() or ["written 0"]
        with opened(place, embedder=False) as memory:
            assert memory.admin.check() == []
            there = {hit.uri for hit in memory.search_text("vexotherm", limit=9).records if hit.uri}
            number = int(last[-1].split()[1])
            if last[-1].startswith("forgotten"):
                assert there <= {f"engines{number + 1}.md"}
            else:
                assert there <= {f"engines{number}.md", f"engines{number + 1}.md"}
            if there:
                assert memory.forget(*there).verified
                assert left(place) == []
        # what the killed one had yet to erase is erased in the background, or at the end
        assert left(place) == []
    counted("kills while forgetting, sqlite", kills)


def test_a_refusal_goes_with_whatever_the_model_had_been_told_before_it(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    settings = Settings.load(home=home, llm_retries=0)
    with Memory.open(
        embedder=WordEmbedder(), llm=ScriptedModel(refuse), settings=settings
    ) as memory:
        for n in range(5):
            text = f"# Day {n}\n\nOn day {n} boats and harbour of Lisbon, with Ines Duarte."
            memory.read_text(text, uri=f"n{n}", at=MONDAY + timedelta(days=n))
        text = f"# Engines\n\nThe vexotherm of {WHO} hums, and {WHO} knows Ines Duarte."
        memory.read_text(text, uri="engines", at=MONDAY + timedelta(days=2))
        memory.dream()
        assert memory.runs.failed()
        assert memory.forget("engines").verified
        assert left(home) == []
    assert left(home) == []


def test_a_backup_taken_before_is_yours_to_delete(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    with opened(home, embedder=False) as memory:
        memory.read_text(f"# Engines\n\n{SAID}", uri="notes/engines.md")
        memory.admin.backup(tmp_path / "backup")
        assert memory.forget("notes/engines.md").verified
    assert left(home) == []
    assert left(str(tmp_path / "backup"))
