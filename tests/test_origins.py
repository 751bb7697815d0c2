"""What was remembered from a source is what was written so, whatever uris look like."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import apsw
import pytest

from postgres_server import connect, database
from remloom import Entity, Home, Memory, Resource
from remloom.errors import NotFoundError
from remloom.operations.tools.remember import REMEMBER
from remloom.predicates import Query
from remloom.store.sqlite.file.sealing import unlock

KEY = "a key of some length"
STORES = ("sqlite", "sqlite-with-key", "postgres")
SOURCES = ("logs", "https://git.example/commit", "a b/Ü %_", "c:\\x", "pages/00112233445566ff", "/")
T0 = datetime(2025, 1, 15, 10, tzinfo=UTC)


@pytest.fixture(params=STORES)
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    home = tmp_path if request.param != "postgres" else request.getfixturevalue("postgres")
    key = KEY if request.param == "sqlite-with-key" else None
    with Memory.open(home, tenant=uuid4().hex, key=key, embedder="none") as opened:
        yield opened


def remember(memory: Memory, text: str, source: str) -> list[str]:
    return list(REMEMBER.does(memory, REMEMBER.takes(text=text, source=source), None).ids)


def lookalikes(source: str, draw: random.Random) -> list[str]:
    """Uris that might be taken for those of texts from a source."""

    def digits(count: int) -> str:
        return "".join(draw.choices("0123456789abcdef", k=count))

    hashed = sha256(source.encode()).hexdigest()[:16]
    return [
        f"{source}/{digits(16)}",
        f"{source}/{digits(15)}",
        f"{source}/{digits(17)}",
        f"{source}/{digits(32)}",
        f"{source}/{''.join(draw.choices('0123456789', k=16))}",
        f"{source}/{digits(15).upper()}A",
        f"{source}/{digits(8)}/{digits(16)}",
        f"{source}/{digits(16)}/{digits(16)}",
        f"{source}//{digits(16)}",
        f"{source}/{digits(16)}\n",
        f"{source}%2F{digits(16)}",
        f"{quote(source, safe='')}%2f{digits(16)}",
        f"{source}#{digits(16)}",
        f"{source}/{hashed}",
        f"{source}er/{digits(16)}",
        f"x{source}/{digits(16)}",
    ]


def long_text(draw: random.Random) -> str:
    """A text of several chunks."""
    words = ("weir", "lock", "otter", "gauge", "sluice", "heron", "ledger", "tow")
    sentences = (" ".join(draw.choices(words, k=12)).capitalize() + "." for _ in range(90))
    return "\n\n".join(sentences)


def fill(memory: Memory, source: str, seed: int) -> tuple[set[str], set[str]]:
    """Read what only looks as if it was remembered from a source, and remember some texts from it;
    the ids of both."""
    draw = random.Random(seed)
    others: set[str] = set()
    for number, uri in enumerate(lookalikes(source, draw)):
        others |= {*memory.read_text(f"The gauge shows {number}.", uri=uri, at=T0).ids}
    others |= {*remember(memory, "The gauge is read at noon.", f"{source}/inner")}
    others |= {*remember(memory, "The gauge is read at noon.", "")}
    # a text that looks like one of this source as another's does
    others |= {*remember(memory, "The gauge is read at noon.", lookalikes(source, draw)[0])}
    own = {*remember(memory, "The gauge is read at noon.", source)}
    own |= {*remember(memory, f"Level {seed} was the highest.", source)}
    own |= {*remember(memory, long_text(draw), source)}
    assert len(own) > 4
    return own, others


def texts(memory: Memory) -> set[str]:
    return {record.id for record in memory.query_resources(Query())}


@pytest.mark.parametrize("source", SOURCES)
def test_forgetting_a_source_takes_what_was_remembered_from_it_and_nothing_else(
    memory: Memory, source: str
) -> None:
    own, others = fill(memory, source, SOURCES.index(source))
    assert texts(memory) == own | others
    assert own <= {*memory.forget(source, dry_run=True).ids}
    receipt = memory.forget(source)
    assert receipt.verified
    assert own <= {*receipt.ids}
    assert texts(memory) == others
    with pytest.raises(NotFoundError):
        memory.forget(source)


def test_what_is_remembered_again_is_one_text_of_its_source(memory: Memory) -> None:
    for text in ("The lock opens at nine.", long_text(random.Random(1))):
        uri = f"logs/{sha256(text.strip().encode()).hexdigest()[:16]}"
        read = memory.read_text(text, uri=uri).ids
        with pytest.raises(NotFoundError):
            memory.forget("logs")
        assert remember(memory, text, "logs") == [*read] == remember(memory, text, "logs")
        # the last reading says what it is
        assert memory.read_text(text, uri=uri).ids == read
        with pytest.raises(NotFoundError):
            memory.forget("logs")
        remember(memory, text, "logs")
        assert {*read} <= {*memory.forget("logs").ids}
        assert texts(memory) == set()


def test_an_origin_may_be_written_with_any_uri_and_without(memory: Memory) -> None:
    ids = memory.write(
        [
            Resource(name="gate", content="The gate is shut.", origin="rounds"),
            Resource(name="tow", content="The tow is slack.", origin="rounds", uri="rounds/tow"),
            Resource(name="weir", content="The weir is dry.", uri="rounds/tow", ordinal=1),
            Entity(name="gate", type="thing", summary="Of iron."),
        ]
    )
    (text,) = memory.read_text("The sluice is open.", uri="sluice", origin="rounds").ids
    assert memory.get_resource(text).origin == "rounds"
    receipt = memory.forget("rounds")
    assert {ids[0], ids[1], text} <= {*receipt.ids}
    assert not {ids[2], ids[3]} & {*receipt.ids}
    assert texts(memory) == {ids[2]}


@pytest.mark.parametrize("to", STORES)
def test_where_a_memory_goes_the_origins_of_its_texts_go_along(
    memory: Memory, to: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    own, others = fill(memory, "logs", 7)
    exported = tmp_path / "export.jsonl"
    memory.admin.export(exported)
    home = tmp_path / "to" if to != "postgres" else request.getfixturevalue("postgres")
    key = KEY if to == "sqlite-with-key" else None
    with Memory.open(home, tenant=uuid4().hex, key=key, embedder="none") as there:
        there.admin.import_(exported)
        assert texts(there) == own | others
        there.forget("logs")
        assert texts(there) == others


def test_a_copy_has_the_origins_of_its_texts(postgres: str, tmp_path: Path) -> None:
    tenant = f"t{uuid4().hex}"
    with Memory.open(tmp_path / "a", tenant=tenant, embedder="none") as memory:
        _, others = fill(memory, "logs", 8)
    Home(f"sqlite:{tmp_path / 'a'}").copy(postgres, tenant=tenant)
    Home(postgres).copy(tmp_path / "b", tenant=tenant)
    for home in (postgres, tmp_path / "b"):
        with Memory.open(home, tenant=tenant, embedder="none") as memory:
            memory.forget("logs")
            assert texts(memory) == others


# -- memories from before --------------------------------------------------------------------------


def test_texts_of_an_older_folder_are_of_the_source_whose_hash_they_bear(tmp_path: Path) -> None:
    def make_old() -> None:
        connection = apsw.Connection(str(next(tmp_path.rglob("memory.db"))))
        unlock(connection, "")
        connection.execute(
            "DROP INDEX records_origin;"
            "UPDATE records SET body = json_remove(body, '$.origin');"
            "ALTER TABLE records DROP COLUMN says; ALTER TABLE parents DROP COLUMN digest;"
            "ALTER TABLE sequence DROP COLUMN revision;"
            "PRAGMA user_version = 10;"
        )
        connection.close()

    check_old(str(tmp_path), make_old)


def test_texts_of_an_older_database_are_of_the_source_whose_hash_they_bear(postgres: str) -> None:
    with database(postgres) as url:

        def make_old() -> None:
            with connect(url) as connection:
                connection.execute(
                    "DROP INDEX remloom.records_origin;"
                    "UPDATE remloom.records SET body = body - 'origin';"
                    "UPDATE remloom.alembic_version SET version_num = '0005'"
                )

        check_old(url, make_old)


def check_old(home: str, make_old: Callable[[], None]) -> None:
    short = ("The lock opens at nine.", "Läuft: 'ja' — %_\n\nund so weiter.")
    with Memory.open(home, tenant="old", embedder="none") as memory:
        own = {id for text in short for id in remember(memory, text, "logs/Ü")}
        others = {*remember(memory, short[0], ""), *remember(memory, short[0], "logs")}
        for uri in lookalikes("logs/Ü", random.Random(2)):
            others |= {*memory.read_text(short[0], uri=uri, at=T0).ids}
        # nothing tells of a text of several chunks
        long = remember(memory, long_text(random.Random(3)), "logs/Ü")
    make_old()
    with Memory.open(home, tenant="old", embedder="none") as memory:
        assert memory.admin.check() == []
        with pytest.raises(NotFoundError):
            memory.forget("remembered")
        assert remember(memory, short[0], "logs/Ü")[0] in own
        memory.forget("logs/Ü")
        assert texts(memory) == others | {*long}
        # until it is remembered again
        assert remember(memory, long_text(random.Random(3)), "logs/Ü") == long
        memory.forget("logs/Ü")
        assert texts(memory) == others
